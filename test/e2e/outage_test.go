//go:build unix

package e2e_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/testbed/operatorbed"
)

// grace is how long facts stay good without contact: max(3 check intervals, 120 s).
const grace = 120 * time.Second

// All brokers of a Kafka hang or die for longer than the grace. Nothing is claimed that nobody can know, nothing is
// rewritten before the grace is over, the operator waits in peace, and all heals by itself.
func TestAllBrokersOutOfReach(t *testing.T) {
	t.Parallel()
	w := enter(t, "outage")
	w.uses = []*kafka{w.annex}
	const count = 20
	var topics []*v1alpha1.DurableTopic
	for i := range count {
		topics = append(topics, w.topic(fmt.Sprintf("t-%02d", i), inCluster(annexCluster)))
	}
	w.apply(topics...)
	w.untilAll(count, "Ready=True", "Durable=True")
	process := w.operator.Info()

	began, before, mark := time.Now(), w.metrics(), w.auditMark()
	t.Cleanup(func() { w.revive(w.annex) })
	w.must(w.annex.bed.Pause(1, 2))
	w.must(w.annex.bed.Kill(3))
	t.Logf("the KafkaCluster tells after %s", rounded(w.untilCluster(annexCluster, "Ready=Unknown", "Reconciling=True")))
	edited, newborn := topics[0].Name, w.topic("newborn", inCluster(annexCluster))
	w.edit(edited, func(d *v1alpha1.DurableTopic) { d.Spec.Config = map[string]string{"retention.ms": "86400000"} })
	w.apply(newborn)
	w.until(edited, "Ready=Unknown", "Reconciling=True")
	w.until(newborn.Name, "Ready=Unknown", "Reconciling=True")

	w.within(grace+patience, "every topic to be Unknown", func() string {
		return allAre(count+1, w.history.newest(), []string{"Ready=Unknown", "Durable=Unknown", "Reconciling=True", "!Stalled"})
	})
	t.Logf("every topic Unknown %s after the outage began", rounded(time.Since(began)))
	w.nothingTooEarly(began, edited, newborn.Name)
	w.inPeace(before, mark, began)
	if now := w.operator.Info(); now.State != operatorbed.Running || now.Pid != process.Pid {
		t.Errorf("the operator was process %d, now %d is %s %s", process.Pid, now.Pid, now.State, now.Exit)
	}

	back := time.Now()
	w.revive(w.annex)
	w.untilCluster(annexCluster, "Ready=True", "!Reconciling")
	w.untilAll(count+1, "Ready=True", "Durable=True", "!Reconciling", "!Stalled", "!Drifted")
	t.Logf("all Ready %s after the brokers were started", rounded(time.Since(back)))
	configs, err := w.annex.onTopic(w.ctx, []string{edited, newborn.Name})
	w.must(err)
	if configs[edited]["retention.ms"] != "86400000" || configs[newborn.Name][minISR] != "2" {
		t.Errorf("what was declared during the outage is not in Kafka: %v", configs)
	}
}

// nothingTooEarly: inside the grace only new generations are told, and at no time Ready=True.
func (w *world) nothingTooEarly(began time.Time, told ...string) {
	w.t.Helper()
	for _, v := range w.history.since(began) {
		if after := v.at.Sub(began); after < grace-time.Second && !slices.Contains(told, v.Name) {
			w.t.Errorf("%s changed %s after the outage began: %s", v.Name, rounded(after), conditions(v))
		}
		if is(v, "Ready=True") {
			w.t.Errorf("%s is Ready while no broker answers: %s", v.Name, conditions(v))
		}
	}
}

// inPeace: few attempts at Kafka, no write to it, and one status write for each topic.
func (w *world) inPeace(before metrics, mark int64, began time.Time) {
	w.t.Helper()
	did := w.metrics().since(before)
	reads, writes := did.requests(annexCluster)
	seconds := time.Since(began).Seconds()
	w.t.Logf("attempts in %.0f s: %s", seconds, did.requestWords(annexCluster))
	if writes > 0 || reads > 2*seconds {
		w.t.Errorf("%v writes and %v reads in %.0f s, want none and at most 2 a second", writes, reads, seconds)
	}
	for name, n := range w.cost(mark).statusWrites {
		if n > 2 {
			w.t.Errorf("the status of %s was written %d times", name, n)
		}
	}
}
