package contract

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/api/v1alpha1"
)

// Three brokers go one after the other and come back in this order: the first to leave returns when it lacks records,
// the second is only paused and has them all, the third was killed as the last one in sync.
const (
	stale  int32 = 3
	clean  int32 = 4
	killed int32 = 2
)

var (
	trio = []int32{killed, clean, stale}
	duo  = []int32{killed, clean}
	loss = []int32{killed, stale}
)

// badNight looks at everything that depends on brokers that are not there. Each topic shows one thing.
func badNight(b *bench) {
	min2, min1 := map[string]string{"min.insync.replicas": "2"}, map[string]string{"min.insync.replicas": "1"}
	lossy := map[string]string{"min.insync.replicas": "2", "unclean.leader.election.enable": "true"}
	b.create(
		assigned("bn-led-by-stale", min2, []int32{stale, killed, asked}), assigned("bn-move", nil, []int32{1, 2}), assigned("bn-cancel", nil, []int32{1, 2}),
		assigned("bn-equal", min2, trio), assigned("bn-inherited", nil, trio), assigned("bn-dropped", min2, trio),
		assigned("bn-other-key", min2, trio), assigned("bn-changed", min2, trio), assigned("bn-dry", nil, trio),
		assigned("bn-wait", min2, duo), assigned("bn-forgotten", min2, duo), assigned("bn-power", min2, loss),
		assigned("bn-lossy", lossy, trio), assigned("bn-flip", min2, trio), assigned("bn-elect", min2, trio), assigned("bn-min1", min1, trio),
		assigned("bn-mover", nil, []int32{1, 2}), assigned("bn-revert", nil, []int32{1}), assigned("bn-no-revert", nil, []int32{killed}),
	)
	b.do(kill, stale)
	nightOneDown(b)
	nightStalledMoves(b)
	nightMover(b)
	b.do(pause, clean)
	nightTwoDown(b)
	nightRevert(b)
	b.do(kill, killed)
	nightLeaderless(b)
	b.do(start, stale)
	nightStaleBack(b)
	b.do(resume, clean)
	nightCleanBack(b)
	b.do(start, killed)
	nightAllBack(b)
	b.do(pause, clean)
	clusterForgets(b)
	b.do(resume, clean)
}

func nightOneDown(b *bench) {
	equal(b, "with fenced brokers", brokerState{Rack: "c", Fenced: true}, b.brokers(true)[stale])
	if _, ok := b.brokers(false)[stale]; ok {
		b.Errorf("a fenced broker is listed without being asked for")
	}
	b.becomes("bn-led-by-stale", state{Leader: killed, Epoch: 1, Replicas: []int32{stale, killed, asked}, ISR: []int32{1, 2}})
	b.becomes("bn-wait", state{Leader: killed, Replicas: duo, ISR: duo})
	b.becomes("bn-equal", state{Leader: killed, Replicas: trio, ISR: duo}) // a lost follower costs no epoch
	b.becomes("bn-power", state{Leader: killed, Replicas: loss, ISR: []int32{killed}, ELR: []int32{stale}})
	equal(b, "preferred leader is fenced", "PREFERRED_LEADER_NOT_AVAILABLE", b.elects(preferredElection, "bn-led-by-stale"))
	equal(b, "offline replicas", []int32{stale}, b.describe("bn-equal").Partitions[0].OfflineReplicas)

	equal(b, "create on fenced brokers only", map[string]string{"bn-on-fenced": "INVALID_REPLICA_ASSIGNMENT"}, b.createCodes(createRequest(assigned("bn-on-fenced", nil, []int32{stale}))))
	b.create(assigned("bn-on-both", nil, []int32{stale, asked}))
	equal(b, "create on fenced brokers too", state{Leader: asked, Replicas: []int32{stale, asked}, ISR: []int32{asked}}, b.state("bn-on-both"))
	equal(b, "add a partition on fenced brokers only", "INVALID_REPLICA_ASSIGNMENT", b.addCode(addRequest("bn-move", 2, []int32{stale})))
}

// nightStalledMoves: reassignments to a fenced broker.
func nightStalledMoves(b *bench) {
	stalled := state{Leader: 1, Replicas: []int32{1, stale, 2}, ISR: []int32{1, 2}}
	for _, name := range []string{"bn-move", "bn-cancel"} {
		equal(b, "move to a fenced broker", "NONE", b.move(name, 1, stale))
		b.becomes(name, stalled)
	}
	b.stays("bn-move", stalled)
	add, remove := []int32{stale}, []int32{2}
	equal(b, "running moves", []moving{{"bn-cancel", stalled.Replicas, add, remove}, {"bn-move", stalled.Replicas, add, remove}}, b.moves())
	equal(b, "running moves by name", []moving{{"bn-move", stalled.Replicas, add, remove}}, b.moves("bn-move", "bn-none", "bn-equal"))
	equal(b, "add a partition of the target's size", "INVALID_REPLICA_ASSIGNMENT", b.addCode(addRequest("bn-move", 2, []int32{1, 2})))
	equal(b, "add a partition of the present size", "NONE", b.addCode(addRequest("bn-move", 2, []int32{1, 2, clean})))

	equal(b, "another target", "NONE", b.move("bn-move", 1, clean))
	b.becomes("bn-move", state{Leader: 1, Epoch: 1, Replicas: []int32{1, clean}, ISR: []int32{1, clean}})
	equal(b, "cancel", "NONE", b.move("bn-cancel"))
	b.becomes("bn-cancel", state{Leader: 1, Epoch: 1, Replicas: []int32{1, 2}, ISR: []int32{1, 2}})
	equal(b, "cancel again", "NO_REASSIGNMENT_IN_PROGRESS", b.move("bn-cancel"))

	// To name the old list is not to cancel: the new replica is then both added and removed, and never done with.
	equal(b, "move to a fenced broker", "NONE", b.move("bn-cancel", 1, stale))
	equal(b, "name the old list", "NONE", b.move("bn-cancel", 1, 2))
	stuck := state{Leader: 1, Epoch: 1, Replicas: []int32{1, 2, stale}, ISR: []int32{1, 2}}
	b.becomes("bn-cancel", stuck)
	equal(b, "stuck move", []moving{{"bn-cancel", stuck.Replicas, add, add}}, b.moves())
	equal(b, "move a lone replica", "NONE", b.move("bn-no-revert", 1, stale))
	b.becomes("bn-no-revert", state{Leader: killed, Replicas: []int32{1, stale, killed}, ISR: []int32{1, killed}})
	equal(b, "cancel the stuck move", "NONE", b.move("bn-cancel"))
	b.becomes("bn-cancel", state{Leader: 1, Epoch: 2, Replicas: []int32{1, 2}, ISR: []int32{1, 2}})
	equal(b, "nothing else runs", 1, len(b.moves()))
}

// nightTwoDown: one replica is in sync and the minimum is two.
func nightTwoDown(b *bench) {
	below := state{Leader: killed, Replicas: trio, ISR: []int32{killed}, ELR: []int32{clean}}
	cleared := state{Leader: killed, Replicas: trio, ISR: []int32{killed}}
	for _, name := range []string{"bn-equal", "bn-inherited", "bn-dropped", "bn-other-key", "bn-changed", "bn-dry"} {
		b.becomes(name, below)
	}
	b.becomes("bn-min1", cleared)

	equal(b, "set equal to the topic's own value", "NONE", b.alterTopic("bn-equal", set("min.insync.replicas", "2")))
	equal(b, "another key", "NONE", b.alterTopic("bn-other-key", set("unclean.leader.election.enable", "false"), set("retention.ms", "1")))
	dry := alterRequest(kmsg.ConfigResourceTypeTopic, "bn-dry", set("min.insync.replicas", "1"))
	dry.ValidateOnly = true
	equal(b, "validate only", map[string]string{"bn-dry": "NONE"}, b.alterCodes(asked, dry))
	equal(b, "set equal to the inherited value", "NONE", b.alterTopic("bn-inherited", set("min.insync.replicas", "2")))
	equal(b, "delete what equals the inherited value", "NONE", b.alterTopic("bn-dropped", drop("min.insync.replicas")))
	equal(b, "set another value", "NONE", b.alterTopic("bn-changed", set("min.insync.replicas", "3")))
	for _, name := range []string{"bn-inherited", "bn-dropped", "bn-changed"} {
		b.becomes(name, cleared)
	}
	for _, name := range []string{"bn-equal", "bn-other-key", "bn-dry"} {
		b.stays(name, below)
	}
	equal(b, "another key of the cluster", "NONE", b.alterBroker(asked, "", set("unclean.leader.election.enable", "false")))
	b.stays("bn-equal", below)
}

// nightRevert: to cancel what was given another target does not lead back to the list from before.
func nightRevert(b *bench) {
	equal(b, "move to a fenced broker", "NONE", b.move("bn-revert", 1, stale))
	equal(b, "another target, fenced too", "NONE", b.move("bn-revert", 1, clean))
	b.becomes("bn-revert", state{Leader: 1, Replicas: []int32{1, clean, stale}, ISR: []int32{1}})
	equal(b, "running", []moving{{"bn-revert", []int32{1, clean, stale}, []int32{clean}, []int32{stale}}}, b.moves("bn-revert"))
	equal(b, "cancel", "NONE", b.move("bn-revert"))
	first := state{Leader: 1, Epoch: 1, Replicas: []int32{1, stale}, ISR: []int32{1}} // the first target has become a replica
	b.becomes("bn-revert", first)
	equal(b, "cancel again", "NO_REASSIGNMENT_IN_PROGRESS", b.move("bn-revert"))
	equal(b, "drop it", "NONE", b.move("bn-revert", 1))
	b.becomes("bn-revert", state{Leader: 1, Epoch: 2, Replicas: []int32{1}, ISR: []int32{1}})
}

// nightLeaderless: the last one in sync was killed.
func nightLeaderless(b *bench) {
	waiting := func(replicas, elr []int32) state {
		return state{Leader: -1, Epoch: 1, Replicas: replicas, ELR: elr, Known: []int32{killed}}
	}
	b.becomes("bn-wait", waiting(duo, duo))
	// Only what the reassignment adds is in sync: to cancel it would be an unclean election.
	added := state{Leader: 1, Epoch: 1, Replicas: []int32{1, stale, killed}, ISR: []int32{1}, ELR: []int32{killed}}
	b.becomes("bn-no-revert", added)
	equal(b, "cancel", map[string]string{"bn-no-revert": "waiting " + v1alpha1.ReasonCatchingUp}, b.reassigns(b.client(), map[string][]int32{"bn-no-revert": nil}))
	b.stays("bn-no-revert", added)
	b.becomes("bn-power", waiting(loss, loss))
	for _, name := range []string{"bn-lossy", "bn-flip", "bn-elect", "bn-equal"} {
		b.becomes(name, waiting(trio, duo))
	}
	b.becomes("bn-min1", waiting(trio, []int32{killed}))
	b.becomes("bn-inherited", waiting(trio, []int32{killed}))

	meta := ask[*kmsg.MetadataResponse](b, metadataRequest("bn-wait")).Topics[0]
	equal(b, "Metadata", "NONE", code(meta.ErrorCode))
	equal(b, "Metadata of the partition", "LEADER_NOT_AVAILABLE", code(meta.Partitions[0].ErrorCode))
	equal(b, "preferred election", "PREFERRED_LEADER_NOT_AVAILABLE", b.elects(preferredElection, "bn-wait"))
	equal(b, "unclean election without a live replica", "ELIGIBLE_LEADERS_NOT_AVAILABLE", b.elects(uncleanElection, "bn-wait"))
	equal(b, "reorder without a leader", "NONE", b.move("bn-elect", stale, clean, killed))
	b.becomes("bn-elect", waiting([]int32{stale, clean, killed}, duo))
	equal(b, "forget the eligible leaders", "NONE", b.alterTopic("bn-forgotten", set("min.insync.replicas", "1")))
	b.becomes("bn-forgotten", state{Leader: -1, Epoch: 1, Replicas: duo})
}

// nightStaleBack: the broker is back that was the first to leave and may lack records.
func nightStaleBack(b *bench) {
	led := state{Leader: stale, Epoch: 2, Replicas: trio, ISR: []int32{stale}}
	b.becomes("bn-lossy", led) // at once, though eligible leaders may return
	b.stays("bn-flip", state{Leader: -1, Epoch: 1, Replicas: trio, ELR: duo, Known: []int32{killed}})
	b.stays("bn-power", state{Leader: -1, Epoch: 1, Replicas: loss, ELR: []int32{killed}, Known: []int32{killed}}) // it was killed: no longer eligible
	equal(b, "unclean.leader.election.enable", "NONE", b.alterTopic("bn-flip", set("unclean.leader.election.enable", "true")))
	b.becomes("bn-flip", led) // at the controller's next round
	equal(b, "unclean election by request, without the config", "NONE", b.elects(uncleanElection, "bn-elect"))
	b.becomes("bn-elect", state{Leader: stale, Epoch: 2, Replicas: []int32{stale, clean, killed}, ISR: []int32{stale}})
	equal(b, "again", "ELECTION_NOT_NEEDED", b.elects(uncleanElection, "bn-elect"))
}

// nightCleanBack: the broker is back that was paused and is eligible.
func nightCleanBack(b *bench) {
	b.becomes("bn-wait", state{Leader: clean, Epoch: 2, Replicas: duo, ISR: []int32{clean}, ELR: []int32{killed}})
	b.becomes("bn-equal", state{Leader: clean, Epoch: 2, Replicas: trio, ISR: []int32{stale, clean}})
	b.becomes("bn-lossy", state{Leader: stale, Epoch: 2, Replicas: trio, ISR: []int32{stale, clean}})
	// Without eligible leaders nothing but an election by request helps a topic whose in-sync replicas are gone.
	b.stays("bn-forgotten", state{Leader: -1, Epoch: 1, Replicas: duo})
	equal(b, "unclean election", "NONE", b.elects(uncleanElection, "bn-forgotten"))
	b.becomes("bn-forgotten", state{Leader: clean, Epoch: 2, Replicas: duo, ISR: []int32{clean}})
}

// nightAllBack: the broker is back that was killed as the last one in sync.
func nightAllBack(b *bench) {
	// Nobody is eligible now: the last known leader is taken, though unclean elections are not allowed.
	b.becomes("bn-power", state{Leader: killed, Epoch: 2, Replicas: loss, ISR: loss})
	for _, name := range []string{"bn-wait", "bn-lossy", "bn-flip", "bn-elect", "bn-forgotten", "bn-move", "bn-mover", "bn-equal", "bn-inherited", "bn-min1", "bn-led-by-stale"} {
		b.eventually(name+" is whole again", func() (any, bool) {
			s := b.state(name)
			return s, len(s.ISR) == len(s.Replicas) && s.Leader > 0 && s.ELR == nil && s.Known == nil
		})
	}
}

// clusterForgets: to set the cluster's minimum, even to what it is, makes every topic forget its eligible leaders.
func clusterForgets(b *bench) {
	s := b.state("bn-power")
	b.becomes("bn-wait", state{Leader: killed, Epoch: 3, Replicas: duo, ISR: []int32{killed}, ELR: []int32{clean}})
	equal(b, "minimum of the cluster", "NONE", b.alterBroker(asked, "", set("min.insync.replicas", minISR)))
	b.becomes("bn-wait", state{Leader: killed, Epoch: 3, Replicas: duo, ISR: []int32{killed}})
	b.stays("bn-power", s)
}
