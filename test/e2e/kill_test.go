//go:build unix

package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/testbed/operatorbed"
)

// Whenever the operator is killed, its successor brings everything to the same end, and repeats no write with another
// effect: every topic is created once and keeps its ID, its replicas and its leader epochs.
func TestKilledOperatorsWorkIsFinished(t *testing.T) {
	w := enter(t, "kill")
	const first, second = 100, 40

	w.apply(w.many("a", first)...)
	w.killWhen("Kafka shows the first new topic", func() bool { return len(w.mainIDs()) > 0 })
	made := w.mainIDs()
	w.succeed(false)
	t.Logf("killed when %d of %d topics were in Kafka; all Ready %s after the start of the successor, which waited for the lease",
		len(made), first, rounded(w.untilAll(first, "Ready=True", "!Drifted")))
	w.madeOnce(made, first)

	names, before := w.mainNames(), w.metrics()
	w.must(w.main.set(w.ctx, names, minISR, "1", unclean, "true"))
	w.killWhen("Kafka has answered the first correction", func() bool {
		return w.metrics().since(before).sum("durabletopic_kafka_requests_total", `cluster="default"`, `api="IncrementalAlterConfigs"`) > 0
	})
	right := w.setRight(names)
	w.succeed(true)
	took := w.eventually("every topic to be set right", func() string {
		if n := w.setRight(names); n < len(names) {
			return fmt.Sprintf("%d of %d", n, len(names))
		}
		return ""
	})
	t.Logf("killed when %d of %d topics were set right; the successor had done the rest after %s", right, len(names), rounded(took))
	w.untilAll(first, "Ready=True", "!Drifted", "!Reconciling", "!Stalled")
	w.madeOnce(made, first)

	w.apply(w.many("b", second)...)
	w.killWhen("the first status is written", func() bool {
		return slices.ContainsFunc(w.history.newest(), func(d *v1alpha1.DurableTopic) bool {
			return is(d, "Ready=True") && d.Name > w.prefix+"b"
		})
	})
	made = w.mainIDs()
	w.succeed(true)
	w.untilAll(first+second, "Ready=True", "!Drifted")
	w.madeOnce(made, first+second)
}

// many declares n topics of three partitions.
func (w *world) many(name string, n int) []*v1alpha1.DurableTopic {
	topics := make([]*v1alpha1.DurableTopic, n)
	for i := range topics {
		topics[i] = w.topic(fmt.Sprintf("%s-%04d", name, i), partitions(3))
	}
	return topics
}

func (w *world) mainIDs() map[string]string {
	w.t.Helper()
	ids, err := w.main.ids(w.ctx, w.prefix)
	w.must(err)
	return ids
}

// shown waits until the broker that the test asks shows as many topics: brokers learn of new ones one by one.
func (w *world) shown(count int) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%d topics in Kafka", count), func() string {
		if n := len(w.mainIDs()); n != count {
			return fmt.Sprint(n)
		}
		return ""
	})
}

func (w *world) mainNames() []string {
	w.t.Helper()
	return slices.Sorted(maps.Keys(w.mainIDs()))
}

// setRight counts the topics whose locks are as profile critical wants them.
func (w *world) setRight(names []string) int {
	w.t.Helper()
	configs, err := w.main.onTopic(w.ctx, names, minISR, unclean)
	w.must(err)
	n := 0
	for _, c := range configs {
		if c[minISR] == "2" && c[unclean] == "false" {
			n++
		}
	}
	return n
}

func (w *world) killWhen(what string, now func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	for !now() {
		if time.Now().After(deadline) {
			w.t.Fatalf("waited for the moment to kill the operator: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
	w.must(w.operator.Kill())
}

// succeed starts another operator. The lease of the dead one holds for another 15 s, unless it is removed.
func (w *world) succeed(removeLease bool) {
	w.t.Helper()
	if removeLease {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operatorbed.Namespace, Name: "durabletopic-manager"}}
		w.must(w.api.Delete(w.ctx, lease))
	}
	w.must(w.operator.Restart(w.ctx))
}

// madeOnce: the topics that were there when the operator was killed are the same ones, none was touched in its replicas
// or leaders, and the successor asked for no more creations than needed.
func (w *world) madeOnce(before map[string]string, count int) {
	w.t.Helper()
	w.shown(count)
	now := w.mainIDs()
	for name, id := range before {
		if now[name] != id {
			w.t.Errorf("topic %s had the ID %s, now %q", name, id, now[name])
		}
	}
	for _, d := range w.list() {
		if d.Status.TopicID != now[d.Name] {
			w.t.Errorf("status of %s has the topic ID %q, Kafka %q", d.Name, d.Status.TopicID, now[d.Name])
		}
	}
	shown, err := w.main.partitions(w.ctx, w.prefix)
	w.must(err)
	for name, list := range shown {
		if len(list) != 3 {
			w.t.Errorf("%s has %d partitions, want 3", name, len(list))
		}
		for _, p := range list {
			if wrong := w.main.placed(p); wrong != "" || p.LeaderEpoch != 0 {
				w.t.Errorf("%s was changed after its creation, or created wrongly %s", p, wrong)
			}
		}
	}
	creations := w.metrics().sum("durabletopic_kafka_requests_total", `cluster="default"`, `api="CreateTopics"`)
	if most := 8.0; creations > most || len(before) == count && creations > 0 {
		w.t.Errorf("the successor sent %v requests to create topics, when %d of %d were there", creations, len(before), count)
	}
	for _, e := range w.events() {
		if e.Reason == "TopicRecreated" || e.Reason == "TopicReplaced" {
			w.t.Errorf("an event says %s of %s: %s", e.Reason, e.Regarding.Name, e.Note)
		}
	}
}

// Deleting objects needs no operator, and never reaches the topics.
func TestDeletionWhileTheOperatorIsStopped(t *testing.T) {
	w := enter(t, "deletion")
	const count = 20
	w.apply(w.many("t", count)...)
	w.untilAll(count, "Ready=True")
	w.shown(count)
	before := w.mainIDs()
	configs, err := w.main.onTopic(w.ctx, w.mainNames())
	w.must(err)

	w.must(w.operator.Term(w.ctx))
	began := time.Now()
	ctx, cancel := context.WithTimeout(w.ctx, 30*time.Second)
	defer cancel()
	w.must(w.api.DeleteAllOf(ctx, &v1alpha1.DurableTopic{}, client.InNamespace(w.namespace)))
	if left := w.list(); len(left) > 0 {
		t.Errorf("%d objects are left, the first is %s with the finalizers %v", len(left), left[0].Name, left[0].Finalizers)
	}
	t.Logf("%d objects deleted in %s", count, rounded(time.Since(began)))

	w.must(w.operator.Restart(w.ctx))
	w.sweeps(mainCluster, 3)
	if diff := cmp.Diff(before, w.mainIDs()); diff != "" {
		t.Errorf("topics were touched (-before +after):\n%s", diff)
	}
	after, err := w.main.onTopic(w.ctx, w.mainNames())
	w.must(err)
	if diff := cmp.Diff(configs, after); diff != "" {
		t.Errorf("configs were touched (-before +after):\n%s", diff)
	}
}
