//go:build unix

package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/testbed/kafkabed"
)

// One broker after the other hangs, until it was the one that the operator reads from: everything goes on.
func pausedBroker(t *testing.T) {
	w := enter(t, "pause")
	bed := w.main.bed
	brokers := bed.Brokers()
	steady := w.many("steady", len(brokers))
	w.apply(steady...)
	w.untilAll(len(brokers), "Ready=True")
	connected, began := w.cluster(mainCluster), time.Now()
	hit := false
	for i, id := range brokers {
		hit = w.hang(id, steady[i].Name) || hit
		if hit {
			break
		}
	}
	if !hit {
		t.Error("no broker that hung was the one that the operator reads from")
	}
	// a topic that was Ready stays so, and the new ones became Ready
	for _, v := range w.history.since(began) {
		for _, c := range v.Status.Conditions {
			if c.Reason == v1alpha1.ReasonKafkaUnreachable {
				t.Errorf("%s: %s", v.Name, conditions(v))
			}
		}
		if slices.ContainsFunc(steady, func(s *v1alpha1.DurableTopic) bool { return s.Name == v.Name }) && !is(v, "Ready=True") {
			t.Errorf("%s did not stay Ready: %s", v.Name, conditions(v))
		}
	}
	was, now := ready(connected), ready(w.cluster(mainCluster))
	if now == "" || was != now {
		t.Errorf("KafkaCluster: %s, before %s", now, was)
	}
}

// ready tells since when a KafkaCluster is Ready.
func ready(c *v1alpha1.KafkaCluster) string {
	if r := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady); r != nil && is(c, "Ready=True") {
		return fmt.Sprintf("Ready since %s", r.LastTransitionTime)
	}
	return ""
}

// hang pauses a broker while there is work, and tells whether the operator has asked it in vain.
func (w *world) hang(id int32, drifting string) bool {
	w.t.Helper()
	bed := w.main.bed
	before, began := w.metrics(), time.Now()
	w.must(bed.Pause(id))
	resume := func() { w.must(bed.Resume(id)) }
	defer func() {
		resume()
		w.must(bed.WaitUnfenced(w.short(), id))
	}()
	w.must(w.main.set(w.ctx, []string{drifting}, minISR, "1"))
	created := w.topic(fmt.Sprintf("new-%d", id), partitions(3))
	w.apply(created)
	w.untilCorrected(before, drifting)
	corrected := time.Since(began)
	w.until(created.Name, "Ready=True")
	hit := w.metrics().since(before).sum("durabletopic_kafka_requests_total", `cluster="default"`, `result="timeout"`) > 0
	w.t.Logf("broker %d hung (asked in vain: %v): drift corrected after %s, a new topic Ready after %s", id, hit,
		rounded(corrected), rounded(time.Since(began)))
	return hit
}

// short is a context for waits of the bed.
func (w *world) short() context.Context {
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	w.t.Cleanup(cancel)
	return ctx
}

// Eligible leader replicas (KIP-966) on brokers that really fail: what only their return may change waits for it.
func eligibleLeaders(t *testing.T) {
	w := enter(t, "elr")
	bed, ctx := w.main.bed, w.short()
	held, flipped, erased := w.prefix+"held", w.prefix+"flipped", w.prefix+"erased"
	all := []string{held, flipped, erased}
	for _, name := range all {
		w.must(w.main.create(w.ctx, name, []int32{1, 3, 5}))
	}
	w.apply(w.topic("held"), w.topic("flipped"), w.topic("erased"))
	w.untilAll(len(all), "Ready=True")
	t.Cleanup(func() { w.bringBack() })

	// somebody raises min.insync.replicas while the operator may only look, and then two of three replicas fail
	w.enforce(held, v1alpha1.EnforcementObserve)
	w.must(w.main.set(w.ctx, []string{held}, minISR, "3"))
	w.until(held, "Drifted=True:ObserveOnly")
	w.must(bed.Kill(bed.Rack("c")...))
	w.must(bed.WaitFenced(ctx, bed.Rack("c")...))
	w.must(bed.Pause(3))
	for _, name := range all {
		w.must(bed.WaitISR(ctx, name, 0, 1))
	}
	recorded := w.partition(held).ELR
	if len(recorded) == 0 || len(w.partition(erased).ELR) == 0 {
		t.Fatalf("no eligible leaders: %s, %s", w.partition(held), w.partition(erased))
	}

	// a foreign change has erased the record already, so there is nothing to protect: the lock is restored at once
	w.must(w.main.set(w.ctx, []string{erased}, minISR, "1"))
	w.eventually("the foreign change to erase the eligible leaders", func() string {
		if p := w.partition(erased); len(p.ELR) > 0 {
			return p.String()
		}
		return ""
	})
	w.config(erased, minISR, "2")

	w.enforce(held, v1alpha1.EnforcementEnforce)
	d := w.until(held, "Drifted=True:MinInSyncReplicasHeld", "Ready=False:MinInSyncReplicasHeld", "Reconciling=True")
	t.Logf("held: %s", meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionDrifted).Message)
	w.must(w.main.set(w.ctx, []string{held}, unclean, "true"))
	w.config(held, unclean, "false") // the held change holds back nothing else
	w.sweeps(mainCluster, 2)
	if p := w.partition(held); !slices.Equal(p.ELR, recorded) {
		t.Errorf("eligible leaders were %v: %s", recorded, p)
	}

	w.leaderless(flipped)

	w.must(bed.Resume(1))
	w.config(flipped, unclean, "true")
	w.must(bed.WaitPartitions(w.short(), "the safe leader", func(p kafkabed.Partition) bool { return p.Leader == 1 }, flipped))
	w.until(flipped, "Ready=True", "!Drifted")
	w.sweeps(mainCluster, 2) // one replica in sync is not enough
	w.config(held, minISR, "3")
	w.must(bed.Resume(3))
	w.config(held, minISR, "2")
	w.bringBack()
	w.must(bed.WaitFullISR(w.short(), all...))
	w.untilAll(len(all), "Ready=True", "Durable=True", "!Drifted", "!Reconciling", "!Stalled")
}

// leaderless takes the last replica of a partition away and then asks for unclean election.
func (w *world) leaderless(name string) {
	w.t.Helper()
	w.must(w.main.bed.Pause(1))
	w.must(w.main.bed.WaitPartitions(w.short(), "no leader", func(p kafkabed.Partition) bool { return p.Leader == -1 }, name))
	w.until(name, "Durable=False:Offline")
	w.edit(name, func(d *v1alpha1.DurableTopic) { d.Spec.Profile = v1alpha1.ProfileTelemetry })
	w.until(name, "Drifted=True:UncleanElectionHeld", "Ready=False:UncleanElectionHeld", "Reconciling=True")
	w.sweeps(mainCluster, 2)
	w.config(name, unclean, "false")
	if p := w.partition(name); p.Leader != -1 || len(p.ELR) == 0 {
		w.t.Errorf("an election took place: %s", p)
	}
}

func (w *world) enforce(name string, e v1alpha1.Enforcement) {
	w.t.Helper()
	w.edit(name, func(d *v1alpha1.DurableTopic) { d.Spec.Enforcement = e })
}

// config waits for a value on a topic of KafkaCluster "default".
func (w *world) config(name, key, want string) { w.t.Helper(); w.configIn(w.main, name, key, want) }

// configIn waits, for a broker may show a change a moment after it was answered.
func (w *world) configIn(k *kafka, name, key, want string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%s=%s on %s", key, want, name), func() string {
		configs, err := k.onTopic(w.ctx, []string{name}, key)
		w.must(err)
		if got := configs[name][key]; got != want {
			return "it is " + got
		}
		return ""
	})
}

// partition gives partition 0 of a topic.
func (w *world) partition(name string) kafkabed.Partition {
	w.t.Helper()
	list, err := w.main.bed.Partitions(w.ctx, name)
	w.must(err)
	if len(list) == 0 {
		w.t.Fatalf("topic %s is not in Kafka", name)
	}
	return list[0]
}

// bringBack has every broker of KafkaCluster "default" do its work again.
func (w *world) bringBack() {
	w.t.Helper()
	w.revive(w.main)
}

func (w *world) revive(k *kafka) {
	w.t.Helper()
	for _, n := range k.bed.Nodes() {
		switch n.State {
		case kafkabed.Paused:
			w.must(k.bed.Resume(n.ID))
		case kafkabed.Stopped:
			w.must(k.bed.Start(n.ID))
		case kafkabed.Running:
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	w.must(k.bed.WaitUnfenced(ctx, k.bed.Brokers()...))
}
