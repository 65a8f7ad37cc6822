//go:build unix

package e2e_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/testbed/kubebed"
)

// The night that this operator exists for: a rack loses power while a broker of another rack is paused. Critical topics lose
// no confirmed record, and their partitions that were hit wait, which their status says; telemetry goes on. The operator
// stays calm, and when the brokers are back all is well without a hand.
func TestBadNight(t *testing.T) {
	w := enter(t, "night")
	w.prefix = ""
	objects, err := kubebed.Manifests(filepath.Join("..", "..", "config", "samples", "freshcart.yaml"))
	w.must(err)
	for _, o := range objects {
		o.SetNamespace(w.namespace)
	}
	w.must(w.kube.Apply(w.ctx, objects...))
	w.untilAll(9, "Ready=True", "Durable=True")
	t.Cleanup(w.bringBack)
	writers := map[string]*writer{}
	for _, d := range w.list() {
		acks := "all"
		if d.Spec.Profile == v1alpha1.ProfileTelemetry {
			acks = "1"
		}
		writers[d.Name] = w.write(d.Name, acks, d.Spec.Partitions, 2)
	}
	w.allGoOn(writers, time.Now())

	bed, ctx := w.main.bed, w.short()
	mark, before, logged := time.Now(), w.metrics(), w.logSize()
	w.must(bed.Kill(bed.Rack("a")...))
	w.must(bed.Pause(3))
	w.must(bed.WaitFenced(ctx, append(bed.Rack("a"), 3)...))
	hit := w.hitBy(3)
	w.statusesTellWhatWaits(hit)
	w.onlyWhatWasHitWaits(writers, hit)
	if did := w.metrics().since(before); true {
		if _, writes := did.requests(mainCluster); writes > 0 {
			t.Errorf("the operator wrote to Kafka: %s", did.requestWords(mainCluster))
		}
	}
	w.bringBack()
	w.untilAll(9, "Ready=True", "Durable=True:FullyReplicated", "!Drifted", "!Reconciling", "!Stalled")
	w.allGoOn(writers, time.Now())
	for _, v := range w.history.since(mark) {
		if !is(v, "Ready=True") {
			t.Errorf("%s was not Ready all the while: %s", v.Name, conditions(v))
		}
	}
	for _, line := range w.log(logged) {
		if strings.Contains(line, "moving replicas") || strings.Contains(line, "changing topic") {
			t.Errorf("the operator did not stay calm: %s", brief(line))
		}
	}
	w.nothingConfirmedIsLost(writers)
}

// hitBy gives the partitions that a paused broker leaves with one replica in service, by topic.
func (w *world) hitBy(paused int32) map[string]map[int32]bool {
	w.t.Helper()
	shown, err := w.main.partitions(w.ctx, "")
	w.must(err)
	hit := map[string]map[int32]bool{}
	for _, d := range w.list() {
		hit[d.Name] = map[int32]bool{}
		for _, p := range shown[d.Name] {
			if slices.Contains(p.Replicas, paused) {
				hit[d.Name][p.Partition] = true
			}
		}
	}
	return hit
}

// statusesTellWhatWaits: every topic with a partition that was hit is not durable, and names the paused broker.
func (w *world) statusesTellWhatWaits(hit map[string]map[int32]bool) {
	w.t.Helper()
	for name, partitions := range hit {
		if len(partitions) == 0 {
			continue
		}
		d := w.until(name, "Ready=True", "Durable=False:UnderMinISR")
		said := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionDurable).Message
		want := fmt.Sprintf("%d of %d partitions", len(partitions), d.Spec.Partitions)
		w.eventually(name+" to say "+want, func() string {
			said = meta.FindStatusCondition(w.get(name).Status.Conditions, v1alpha1.ConditionDurable).Message
			if !strings.Contains(said, want) || !strings.Contains(said, "waits for") || !strings.Contains(said, "broker 3 (rack b") {
				return said
			}
			return ""
		})
		if name == "payments" {
			w.t.Log(said)
		}
	}
}

// onlyWhatWasHitWaits: acks=all records of critical partitions with one replica in service are not confirmed, all other
// records are.
func (w *world) onlyWhatWasHitWaits(writers map[string]*writer, hit map[string]map[int32]bool) {
	w.t.Helper()
	from := time.Now()
	time.Sleep(4 * time.Second)
	profiles := map[string]v1alpha1.Profile{}
	counts := map[string]int32{}
	for _, d := range w.list() {
		profiles[d.Name], counts[d.Name] = d.Spec.Profile, d.Spec.Partitions
	}
	w.eventually("all that was not hit to go on", func() string {
		for name, r := range writers {
			goes := r.since(from)
			for p := range counts[name] {
				waits := profiles[name] == v1alpha1.ProfileCritical && hit[name][p]
				if !waits && !goes[p] {
					return fmt.Sprintf("%s-%d does not: %s", name, p, r)
				}
			}
		}
		return ""
	})
	for name, r := range writers {
		goes := r.since(from)
		for p := range hit[name] {
			if profiles[name] == v1alpha1.ProfileCritical && goes[p] {
				w.t.Errorf("%s-%d confirmed records with one replica in service", name, p)
			}
		}
	}
}

// allGoOn waits until every partition has confirmed a record since.
func (w *world) allGoOn(writers map[string]*writer, since time.Time) {
	w.t.Helper()
	w.eventually("every partition to confirm records", func() string {
		for name, r := range writers {
			goes := r.since(since)
			for _, d := range w.history.newest() {
				for p := range d.Spec.Partitions {
					if d.Name == name && !goes[p] {
						return fmt.Sprintf("%s-%d does not: %s", name, p, r)
					}
				}
			}
		}
		return ""
	})
}

// nothingConfirmedIsLost ends the writing and reads everything again.
func (w *world) nothingConfirmedIsLost(writers map[string]*writer) {
	w.t.Helper()
	total, tails := 0, 0
	for name, r := range writers {
		r.stop()
		total += r.count()
		lost := w.lost(r)
		if w.get(name).Spec.Profile == v1alpha1.ProfileTelemetry {
			tails += len(lost)
			continue
		}
		if len(lost) > 0 {
			w.t.Errorf("%s: %d of %d confirmed records are lost", name, len(lost), r.count())
		}
		if len(r.failed) > 0 {
			w.t.Errorf("%s: %v", name, r.failed)
		}
	}
	w.t.Logf("%d records were confirmed; none of a critical topic is lost, %d of telemetry", total, tails)
}
