//go:build unix

package e2e_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"durabletopic.io/operator/api/v1alpha1"
)

// A topic that somebody deletes comes back; one that somebody replaces is recognised as another one.
func TestTopicsDeletedAndReplacedByHand(t *testing.T) {
	w := enter(t, "recreate")
	gone, other := w.prefix+"gone", w.prefix+"other"
	w.apply(w.topic("gone", partitions(3)), w.topic("other", partitions(3)))
	w.untilAll(2, "Ready=True")
	w.shown(2)
	before, metrics := w.mainIDs(), w.metrics()

	began := time.Now()
	w.must(w.main.remove(w.ctx, gone, other))
	w.must(w.replace(other))
	w.eventually("the deleted topic to be created again", func() string {
		if id := w.mainIDs()[gone]; id == "" || id == before[gone] {
			return "ID " + id
		}
		return ""
	})
	t.Logf("created again after %s", rounded(time.Since(began)))
	w.eventually("the status to tell the new ID", func() string {
		if d := w.get(gone); d.Status.TopicID != w.mainIDs()[gone] || !is(d, "Ready=True") || d.Status.LastDrift == nil {
			return fmt.Sprintf("topic ID %s, last drift %v; %s", d.Status.TopicID, d.Status.LastDrift, conditions(d))
		}
		return ""
	})
	for name, reason := range map[string]string{gone: "TopicRecreated", other: "TopicReplaced"} {
		w.eventually("event "+reason, func() string {
			if n := w.happened(name, reason); n != 1 {
				return conditions(w.get(name))
			}
			return ""
		})
	}
	if n := w.metrics().since(metrics).sum("durabletopic_topics_recreated_total", `cluster="default"`); n != 1 {
		t.Errorf("%v topics are counted as created again, want 1", n)
	}

	// one replica: it is brought to its replicas, and the locks are enforced
	d := w.until(other, "Ready=True", "Durable=True", "!Reconciling")
	if id := w.mainIDs()[other]; d.Status.TopicID != id || id == before[other] || d.Status.Origin != v1alpha1.TopicOriginAdopted {
		t.Errorf("status has the ID %s and origin %s; Kafka %s, before %s", d.Status.TopicID, d.Status.Origin, id, before[other])
	}
	w.eventually("the unclean election lock on the replacement", func() string {
		configs, err := w.main.onTopic(w.ctx, []string{other}, unclean)
		w.must(err)
		if configs[other][unclean] != "false" {
			return configs[other][unclean]
		}
		return ""
	})
	shown, err := w.main.partitions(w.ctx, other)
	w.must(err)
	for _, p := range shown[other] {
		if wrong := w.main.placed(p); wrong != "" {
			t.Error(wrong)
		}
	}
}

// replace makes a topic of one replica where another one is being deleted.
func (w *world) replace(name string) error {
	w.t.Helper()
	var err error
	w.eventually("room for another topic "+name, func() string {
		if err = w.main.create(w.ctx, name, []int32{1}, []int32{2}, []int32{3}); errors.Is(err, kerr.TopicAlreadyExists) {
			return err.Error()
		}
		return ""
	})
	return err
}
