//go:build unix

package e2e_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/api/v1alpha1"
)

// A KafkaCluster whose servers suddenly lead to another Kafka writes nothing there.
func TestRepointedKafkaClusterWritesNothing(t *testing.T) {
	w := enter(t, "identity")
	w.uses = append(w.uses, w.annex)
	orders, payments, late := w.prefix+"orders", w.prefix+"payments", w.prefix+"late"
	w.apply(w.topic("orders", partitions(3)), w.topic("payments", partitions(3)))
	w.untilAll(2, "Ready=True")
	// the other Kafka has a topic of the same name, far from what is declared
	w.must(w.annex.create(w.ctx, orders, []int32{1}))
	w.must(w.annex.set(w.ctx, []string{orders}, minISR, "1", unclean, "true"))
	w.configIn(w.annex, orders, unclean, "true")
	elsewhere, before := w.snapshot(w.annex), w.metrics()

	right := w.cluster(mainCluster).Spec.BootstrapServers
	w.point(w.annex.bed.Bootstrap())
	w.untilCluster(mainCluster, "Ready=False:ClusterIDChanged", "Stalled=True:ClusterIDChanged")
	w.must(w.main.set(w.ctx, []string{payments}, minISR, "1"))
	w.apply(w.topic("late"))
	w.edit(orders, func(d *v1alpha1.DurableTopic) { d.Spec.Config = map[string]string{"retention.ms": "86400000"} })
	w.looks(before, 12)
	if is(w.get(late), "Ready=True") || is(w.get(orders), "Ready=True") {
		t.Error("something that was declared while the wrong Kafka answers is Ready")
	}
	t.Logf("declared meanwhile: %s; edited meanwhile: %s", conditions(w.get(late)), conditions(w.get(orders)))
	if _, writes := w.metrics().since(before).requests(mainCluster); writes > 0 {
		t.Errorf("%v requests to write were sent: %s", writes, w.metrics().since(before).requestWords(mainCluster))
	}
	if diff := cmp.Diff(elsewhere, w.snapshot(w.annex)); diff != "" {
		t.Errorf("the other Kafka was changed (-before +after):\n%s", diff)
	}

	w.point(right)
	t.Logf("pointed back: connected after %s, and all set right after %s",
		rounded(w.untilCluster(mainCluster, "Ready=True", "!Stalled")), rounded(w.untilAll(3, "Ready=True", "!Drifted")))
	for _, name := range []string{orders, payments, late} {
		w.config(name, minISR, "2")
		w.config(name, unclean, "false")
	}
	if diff := cmp.Diff(elsewhere, w.snapshot(w.annex)); diff != "" {
		t.Errorf("the other Kafka was changed (-before +after):\n%s", diff)
	}
}

// point gives KafkaCluster "default" other servers.
func (w *world) point(servers []string) {
	w.t.Helper()
	w.editCluster(mainCluster, func(c *v1alpha1.KafkaCluster) { c.Spec.BootstrapServers = servers })
}

// looks waits until the operator has asked KafkaCluster "default" so many times more.
func (w *world) looks(before metrics, n float64) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%v more requests", n), func() string {
		reads, _ := w.metrics().since(before).requests(mainCluster)
		if reads < n {
			return fmt.Sprintf("%v", reads)
		}
		return ""
	})
}

// snapshot is everything an intruder could have changed in a Kafka.
func (w *world) snapshot(k *kafka) map[string]string {
	w.t.Helper()
	ids, err := k.ids(w.ctx, "")
	w.must(err)
	shown, err := k.partitions(w.ctx, "")
	w.must(err)
	configs, err := k.onTopic(w.ctx, slices.Sorted(maps.Keys(ids)))
	w.must(err)
	all := map[string]string{}
	for name, id := range ids {
		all[name] = fmt.Sprint(id, configs[name])
		for _, p := range shown[name] {
			all[name] += fmt.Sprint(" ", p.Replicas)
		}
	}
	return all
}
