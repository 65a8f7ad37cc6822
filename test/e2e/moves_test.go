//go:build unix

package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/testbed/kafkabed"
)

const (
	leaderThrottled   = "leader.replication.throttled.replicas"
	followerThrottled = "follower.replication.throttled.replicas"
)

// bounds sets the bounds of moves for a test.
func (w *world) bounds(r v1alpha1.Reassignment) {
	w.t.Helper()
	set := func(r v1alpha1.Reassignment) {
		w.editCluster(mainCluster, func(c *v1alpha1.KafkaCluster) { c.Spec.Reassignment = r })
	}
	before := w.cluster(mainCluster).Spec.Reassignment
	set(r)
	w.t.Cleanup(func() {
		w.ctx = context.Background() // the test's own has ended
		set(before)
	})
}

func limited(bytesPerSecond int64) v1alpha1.Reassignment {
	return v1alpha1.Reassignment{
		MaxConcurrentPartitionMoves: 10, StallTimeoutSeconds: 600,
		Throttle: v1alpha1.Throttle{Mode: v1alpha1.ThrottleLimited, BytesPerSecond: bytesPerSecond},
	}
}

// replicas of a topic, by partition.
func (w *world) replicas(name string) [][]int32 {
	w.t.Helper()
	shown, err := w.main.partitions(w.ctx, name)
	w.must(err)
	list := shown[name]
	slices.SortFunc(list, func(a, b kafkabed.Partition) int { return int(a.Partition) - int(b.Partition) })
	all := make([][]int32, 0, len(list))
	for _, p := range list {
		all = append(all, p.Replicas)
	}
	return all
}

// madeAnew counts the replicas that are on other brokers than before.
func madeAnew(before, after [][]int32) int {
	n := 0
	for i := range after {
		for _, id := range after[i] {
			if !slices.Contains(before[i], id) {
				n++
			}
		}
	}
	return n
}

// leavesNothing checks that no throttle is left on topics, and none for the brokers as a whole.
func (w *world) leavesNothing(names ...string) {
	w.t.Helper()
	w.eventually("the throttles to go", func() string {
		configs, err := w.main.onTopic(w.ctx, names, leaderThrottled, followerThrottled)
		w.must(err)
		for name, c := range configs {
			if len(c) > 0 {
				return fmt.Sprintf("%s: %v", name, c)
			}
		}
		rates, err := w.main.rates(w.ctx)
		w.must(err)
		if len(rates) > 0 {
			return fmt.Sprint(rates)
		}
		return ""
	})
}

// Topics in wrong states become right while producers write with acks=all: nothing that was confirmed is lost, no record is
// refused because of it, and no more replicas are made than have to be.
func TestMovesUnderLoad(t *testing.T) {
	w := enter(t, "moved")
	oneRack, single, mixed := w.prefix+"one-rack", w.prefix+"single", w.prefix+"mixed"
	w.must(w.main.create(w.ctx, oneRack, []int32{1, 2}, []int32{2, 1}))
	w.must(w.main.create(w.ctx, single, []int32{1}, []int32{3}, []int32{5}))
	w.must(w.main.create(w.ctx, mixed, []int32{1}, []int32{2}))
	w.must(w.main.move(w.ctx, mixed, 0, 1, 3, 5))
	w.eventually("the first partition of "+mixed+" to have three replicas", func() string {
		if r := w.replicas(mixed); len(r) != 2 || len(r[0]) != 3 {
			return fmt.Sprint(r)
		}
		return ""
	})
	fewest := map[string]int{oneRack: 4, single: 6, mixed: 2}
	names := []string{oneRack, single, mixed}
	w.must(w.main.set(w.ctx, names, minISR, "2"))
	before := map[string][][]int32{}
	var writers []*writer
	for _, name := range names {
		before[name] = w.replicas(name)
		writers = append(writers, w.write(name, "all", int32(len(before[name])), 50))
	}
	w.eventually("records", func() string {
		for _, r := range writers {
			if n := r.count(); n < 50 {
				return fmt.Sprintf("%s: %d", r.topic, n)
			}
		}
		return ""
	})
	began := time.Now()
	w.apply(w.topic("one-rack", partitions(0)), w.topic("single", partitions(0)), w.topic("mixed", partitions(0)))
	w.untilAll(len(names), "Ready=True", "Durable=True:FullyReplicated", "!Drifted", "!Reconciling")
	t.Logf("right after %s", rounded(time.Since(began)))
	for _, r := range writers {
		r.stop()
		if len(r.failed) > 0 || r.refused > 0 {
			t.Errorf("%s: %d times refused, failures %v", r.topic, r.refused, r.failed)
		}
		if lost := w.lost(r); len(lost) > 0 {
			t.Errorf("%s: %d of %d confirmed records are lost", r.topic, len(lost), r.count())
		}
		if n := madeAnew(before[r.topic], w.replicas(r.topic)); n != fewest[r.topic] {
			t.Errorf("%s: %d replicas were made anew, want %d: %v to %v", r.topic, n, fewest[r.topic], before[r.topic], w.replicas(r.topic))
		}
	}
	w.leavesNothing(names...)
	if n := w.setRight(names); n != len(names) {
		t.Errorf("the locks of %d topics are set, want %d", n, len(names))
	}
}

// A slow move keeps to its throttle, both halves of which are set while it runs. The operator is killed meanwhile, and its
// successor brings the move to its end and cleans up, and leaves alone what others have set.
func TestMovesOfAKilledOperator(t *testing.T) {
	w := enter(t, "slow")
	name := w.prefix + "orders"
	const size, rate = 12 << 20, 1 << 20
	w.bounds(limited(rate))
	w.must(w.main.create(w.ctx, name, []int32{1, 2, 3}))
	w.must(w.main.load(w.ctx, name, size))
	foreign := []string{leaderThrottled, "7:1", followerThrottled, "7:2"}
	w.must(w.main.set(w.ctx, []string{name}, foreign...))
	began := time.Now()
	w.apply(w.topic("orders"))
	w.eventually("the move to run under its throttle", func() string {
		configs, err := w.main.onTopic(w.ctx, []string{name}, leaderThrottled, followerThrottled)
		w.must(err)
		rates, err := w.main.rates(w.ctx)
		w.must(err)
		p := w.partition(name)
		both := strings.Contains(configs[name][leaderThrottled], "0:1") && strings.Contains(configs[name][followerThrottled], "0:") && len(rates) == 2
		if moving := len(p.Replicas) > 3; moving && !both {
			t.Fatalf("the move runs without its throttle: %v, %v", configs, rates)
		}
		if !both || len(p.Replicas) == 3 {
			return fmt.Sprintf("%s, %v, %v", p, configs, rates)
		}
		return ""
	})
	d := w.until(name, "Ready=False:MovingReplicas", "Reconciling=True:MovingReplicas")
	t.Log(conditions(d))
	w.must(w.operator.Kill())
	w.succeed(false)
	w.until(name, "Ready=True", "Durable=True")
	took := time.Since(began)
	t.Logf("%d MiB moved in %s, throttle %d MiB/s", size>>20, rounded(took), rate>>20)
	w.eventually("the throttle to be as others have set it", func() string {
		configs, err := w.main.onTopic(w.ctx, []string{name}, leaderThrottled, followerThrottled)
		w.must(err)
		rates, err := w.main.rates(w.ctx)
		w.must(err)
		if configs[name][leaderThrottled] != "7:1" || configs[name][followerThrottled] != "7:2" || len(rates) > 0 {
			return fmt.Sprintf("%v, %v", configs[name], rates)
		}
		return ""
	})
	w.must(w.main.unset(w.ctx, []string{name}, leaderThrottled, followerThrottled))
	w.leavesNothing(name)
	if least := time.Duration(float64(size) / rate * 0.5 * float64(time.Second)); took < least {
		t.Errorf("moved in %s, faster than the throttle allows", took)
	}
}

// With replaceFencedBrokersAfterSeconds the replicas of a broker that stays away are made anew, in its own rack, while its
// partitions are written to; without it nothing moves.
func TestBrokerThatStaysAway(t *testing.T) {
	w := enter(t, "away")
	name := w.prefix + "orders"
	w.must(w.main.create(w.ctx, name, []int32{1, 3, 5}, []int32{3, 5, 1}))
	w.apply(w.topic("orders", partitions(0)))
	w.until(name, "Ready=True", "Durable=True:FullyReplicated")
	r := w.write(name, "all", 2, 20)
	t.Cleanup(func() { w.ctx = context.Background(); w.bringBack() })
	w.must(w.main.bed.Kill(1))
	w.must(w.main.bed.WaitFenced(w.short(), 1))
	w.sweeps(mainCluster, 3)
	if list := w.replicas(name); !slices.Contains(list[0], 1) {
		t.Errorf("moved although that is not wished: %v", list)
	}
	b := limited(50 << 20)
	b.ReplaceFencedBrokersAfterSeconds = 10
	w.bounds(b)
	began := time.Now()
	w.eventually("the replicas to be made anew", func() string {
		for _, list := range w.replicas(name) {
			if !slices.Equal(slices.Sorted(slices.Values(list)), []int32{2, 3, 5}) {
				return fmt.Sprint(list)
			}
		}
		return ""
	})
	w.until(name, "Ready=True", "Durable=True:FullyReplicated", "!Reconciling")
	t.Logf("replicas made anew after %s", rounded(time.Since(began)))
	r.stop()
	if lost := w.lost(r); len(lost) > 0 || len(r.failed) > 0 {
		t.Errorf("%d of %d confirmed records are lost, failures %v", len(lost), r.count(), r.failed)
	}
	w.leavesNothing(name)
}
