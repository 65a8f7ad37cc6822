package operator_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

// TestMovedByHandIsMovedBack: a partition that somebody moves so that it breaks the rack rule is repaired within the check
// interval and a second. The best of some tries counts, since machines are busy.
func TestMovedByHandIsMovedBack(t *testing.T) {
	t.Parallel()
	const interval = 2 * time.Second // of connect
	w := newWorld(t, kafkatest.Options{})
	w.create(topic("orders", critical))
	w.until("orders", "Ready=True")
	best := patience
	for range 4 {
		w.sweeps(1) // what is moved right after one is seen by the next
		w.kafka.MoveByHand("orders", 1, []int32{1, 2, 5})
		began := time.Now()
		w.eventually("the rack rule to hold", func() string { return w.locked("orders", false, 3, 2, 1) })
		best = min(best, time.Since(began))
		w.until("orders", "Ready=True", "Durable=True:FullyReplicated", "!Stalled")
		w.cleanedUp()
	}
	if best > interval+time.Second {
		t.Errorf("it took %v at best", best)
	}
	if w.everStalled("orders") {
		t.Errorf("it was called stalled: %v", w.path("orders"))
	}
	if n := len(moves(w.kafka)); n != 4 {
		t.Errorf("%d moves, want one each time: %v", n, moves(w.kafka))
	}
	w.silent(2)
}

// TestTakenAwayByHandIsMadeAnew: a replica that somebody takes away is made anew, and the operator's own steps on the way are
// no drift.
func TestTakenAwayByHandIsMadeAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{MoveTicks: 1})
	w.create(topic("orders", critical))
	w.until("orders", "Ready=True")
	left := w.kafka.Partition("orders", 0).Replicas[:1]
	w.kafka.MoveByHand("orders", 0, left)
	w.until("orders", "Ready=False:MovingReplicas", "Durable=False:ReplicationFactorViolation", "!Stalled")
	w.eventually("a move to run", func() string {
		if !w.kafka.Partition("orders", 0).Reassigning() {
			return "none does"
		}
		return ""
	})
	w.producersGoOn("orders", "1")
	w.tickUntilReady("orders")
	w.until("orders", "Durable=True:FullyReplicated", "!Drifted", "!Stalled")
	if trouble := w.locked("orders", false, 3, 2, 1); trouble != "" {
		t.Error(trouble)
	}
	if got := w.kafka.Partition("orders", 0).Replicas; !slices.Contains(got, left[0]) {
		t.Errorf("replicas are %v, the one that was left is %v", got, left)
	}
	if told := w.events("orders", "DriftCorrected"); len(told) > 0 {
		t.Errorf("the operator tells its own changes as somebody else's: %q", told)
	}
	w.cleanedUp()
	w.silent(2)
}

// TestOnlyTheOwnerMoves: a second object for a topic moves nothing, whatever it declares, until it is the owner.
func TestOnlyTheOwnerMoves(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.create(topic("orders", critical))
	w.until("orders", "Ready=True")
	w.create(topic("team-b/orders", critical))
	winner, loser := w.older("orders", "team-b/orders")
	w.until(winner, "Ready=True")
	w.until(loser, "Stalled=True:TopicOwnedByAnother")
	w.kafka.Reset()
	w.edit(loser, replicationFactor(5))
	w.until(loser, "Stalled=True:TopicOwnedByAnother", "Ready=False:TopicOwnedByAnother")
	w.silent(3)
	if n := w.kafka.Requests().WriteTotal(); n > 0 {
		t.Errorf("%d writes for an object that does not own its topic, moves %v", n, moves(w.kafka))
	}
	w.delete(winner)
	w.until(loser, "Ready=True", "!Stalled")
	if trouble := w.locked("orders", false, 5, 3, 2); trouble != "" {
		t.Error(trouble)
	}
}

// TestSuspendedMovesNothing, from the start or later, of the topic or of the KafkaCluster; nor does Observe, set later.
func TestSuspendedMovesNothing(t *testing.T) {
	t.Parallel()
	suspended, enforced := enforcement(v1alpha1.EnforcementSuspended), enforcement(v1alpha1.EnforcementEnforce)
	w := emptyWorld(t, kafkatest.Options{})
	single := [][]int32{{1}, {2}, {3}}
	w.kafka.CreateTopicByHand("never", single, map[string]string{minISR: "2"})
	w.create(topic("never", critical, suspended), topic("later", critical), topic("cluster", critical), topic("observed", critical))
	w.connect("default")
	w.readyTopics("later", "cluster", "observed")
	w.edit("later", suspended)
	w.until("later", "Stalled=True:Suspended")
	w.until("never", "Stalled=True:Suspended")
	w.edit("observed", enforcement(v1alpha1.EnforcementObserve))
	w.until("observed", "Ready=True")
	w.kafka.Reset()
	w.kafka.MoveByHand("observed", 0, []int32{1, 2, 5})
	w.until("observed", "Stalled=True:ObserveOnly")
	w.kafka.MoveByHand("later", 0, []int32{1, 2, 5})
	w.silent(3)
	w.editCluster("default", func(c *kafkaCluster) { c.Spec.Enforcement = v1alpha1.EnforcementSuspended })
	w.until("cluster", "Stalled=True:Suspended")
	w.kafka.MoveByHand("cluster", 0, []int32{1, 2, 5})
	time.Sleep(3 * time.Second) // nothing is swept that could be counted
	if n := w.kafka.Requests().WriteTotal(); n > 0 {
		t.Errorf("%d writes, moves %v", n, moves(w.kafka))
	}
	if diff := cmp.Diff(single, w.replicas("never")); diff != "" {
		t.Errorf("replicas (-want +got):\n%s", diff)
	}
	w.editCluster("default", func(c *kafkaCluster) { c.Spec.Enforcement = v1alpha1.EnforcementEnforce })
	w.until("cluster", "Ready=True")
	for _, name := range []string{"never", "later", "observed"} {
		w.edit(name, enforced)
		w.until(name, "Ready=True", "!Stalled")
	}
}

// TestMovesAreCounted in the KafkaCluster's status, at most once a minute, and not when there are none.
func TestMovesAreCounted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{MoveTicks: kafkatest.Never}, func(c *kafkaCluster) { c.Spec.Reassignment.MaxConcurrentPartitionMoves = 2 })
	w.create(topic("foreign", critical))
	w.until("foreign", "Ready=True")
	w.untilCluster("default", "Ready=True")
	if got := w.getCluster("default").Status.Moves; got != nil {
		t.Errorf("counts without moves: %+v", *got)
	}
	from := w.kafka.Partition("foreign", 0).Replicas
	to := make([]int32, len(from))
	for i, id := range from { // the other broker of each rack
		to[i] = id + 1 - 2*((id+1)%2)
	}
	w.kafka.MoveByHand("foreign", 0, to)
	w.kafka.CreateTopicByHand("orders", [][]int32{{1, 2, 3}, {3, 4, 5}, {5, 6, 1}, {1, 2, 4}}, nil)
	w.create(topic("orders", critical, partitions(4)))
	w.until("orders", "Ready=False:MovingReplicas")
	w.until("foreign", "Ready=False:MovingReplicas")
	w.eventually("two partitions to move", func() string { return cmp.Diff(2, len(moves(w.kafka))) })
	w.sweeps(1)
	if got := w.getCluster("default").Status.Moves; got != nil {
		t.Errorf("counts within the first minute: %+v", *got)
	}
	w.aMinuteLater()
	w.eventually("the counts", func() string {
		return cmp.Diff(&v1alpha1.MoveCounts{Running: 2, Waiting: 2, Foreign: 1}, w.getCluster("default").Status.Moves)
	})
	w.eventually("topics to be ready", func() string {
		w.kafka.CatchUp("orders")
		w.kafka.CatchUp("foreign")
		for _, name := range []string{"orders", "foreign"} {
			if got := w.get(name); !has(got.Status.Conditions, got.Generation, "Ready=True") {
				return conditions(got.Generation, got.Status.Conditions)
			}
		}
		return ""
	})
	w.cleanedUp()
	w.sweeps(1)
	if got := w.getCluster("default").Status.Moves; got == nil || got.Running != 2 {
		t.Errorf("counts were written again within a minute: %+v", got)
	}
	if got := w.metric("durabletopic_moves", "cluster="+w.clusterName("default")); got != 0 {
		t.Errorf("metric counts %v moves", got)
	}
	w.aMinuteLater()
	w.eventually("the counts to go", func() string {
		if got := w.getCluster("default").Status.Moves; got != nil {
			return cmp.Diff(v1alpha1.MoveCounts{}, *got)
		}
		return ""
	})
	if diff := cmp.Diff(to, w.kafka.Partition("foreign", 0).Replicas); diff != "" {
		t.Errorf("somebody else's move (-want +got):\n%s", diff)
	}
}

// aMinuteLater is a minute on by the operator's clock, and has it look at KafkaCluster default.
func (w *world) aMinuteLater() {
	w.t.Helper()
	w.clock.Add(int64(time.Minute))
	w.editCluster("default", func(c *kafkaCluster) { c.Spec.CheckIntervalSeconds ^= 1 }) // 2, 3, 2
}
