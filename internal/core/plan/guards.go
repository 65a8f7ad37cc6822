package plan

import (
	"fmt"
	"strconv"
	"strings"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/durability"
	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

// hold asks the guards of a difference, in order, for a reason not to correct it now.
func (in Input) hold(d durability.Difference) *Held {
	for _, guard := range guards(d.Kind) {
		if held := guard(in, d); held != nil {
			held.Difference = d
			return held
		}
	}
	return nil
}

// Guard is a safety rule: nil lets the change pass.
type guard func(Input, durability.Difference) *Held

func guards(kind durability.Kind) []guard {
	switch kind {
	case durability.TopicMissing:
		return []guard{topicIsReadable, createIsNotUnderWay, absenceIsProven, nameIsFree, refusedBefore, replicasFindRoom,
			partitionCountIsKnown}
	case durability.MinInSyncReplicasDiffers:
		return []guard{isExpected, isReadOnly, replicasComeFirst, eligibleLeadersAreKept, isFoughtOver, refusedBefore}
	case durability.UncleanElectionDiffers:
		return []guard{isExpected, isReadOnly, everyPartitionHasALeader, isFoughtOver, refusedBefore}
	case durability.ConfigDiffers, durability.ConfigLeft:
		return []guard{isExpected, isReadOnly, isFoughtOver, refusedBefore}
	case durability.PartitionsDiffer:
		return []guard{partitionsOnlyGrow, isExpected, nothingMoves, refusedBefore, newReplicasFindRoom}
	case durability.ReplicasMoving:
		return []guard{movesAreWaitedFor}
	case durability.ReplicasViolate:
		return []guard{replicasAreNotMoved}
	}
	return nil
}

func because(class fault.Class, reason, format string, args ...any) *Held {
	return &Held{Why: fault.New(class, reason, format, args...)}
}

func topicIsReadable(in Input, _ durability.Difference) *Held {
	if in.View.Problem != nil {
		return &Held{Why: fault.As(in.View.Problem)}
	}
	switch in.View.Presence {
	case topic.Missing, topic.Absent:
		return nil
	}
	return because(fault.Waiting, v1alpha1.ReasonNotObservedYet, "topic %q has not been read yet", in.Desired.Topic)
}

func createIsNotUnderWay(in Input, d durability.Difference) *Held {
	if !d.Expected {
		return nil
	}
	return because(fault.Waiting, v1alpha1.ReasonCreating,
		"Kafka has created topic %q; the brokers do not show it yet", in.Desired.Topic)
}

func absenceIsProven(in Input, _ durability.Difference) *Held {
	if !in.Known || in.View.Presence == topic.Absent {
		return nil
	}
	return because(fault.Waiting, v1alpha1.ReasonTopicVanished,
		"a broker no longer knows topic %q; it is created again only when a second broker confirms that it is gone",
		in.Desired.Topic)
}

func nameIsFree(in Input, _ durability.Difference) *Held {
	switch {
	case topic.IsInternal(in.Desired.Topic):
		return because(fault.Blocked, v1alpha1.ReasonInternalTopic,
			"topic %q belongs to Kafka itself and is created by the brokers only", in.Desired.Topic)
	case in.View.Collision != "":
		return because(fault.Blocked, v1alpha1.ReasonTopicNameCollision,
			"topic %q cannot be created: to Kafka its name equals that of the existing topic %q ('.' and '_' are the same "+
				"in metric names); choose another topicName in a new object", in.Desired.Topic, in.View.Collision)
	}
	return nil
}

func replicasFindRoom(in Input, _ durability.Difference) *Held {
	return shortage(placement.Feasible(in.View.Cluster.Brokers, in.Desired.Rule))
}

func newReplicasFindRoom(in Input, _ durability.Difference) *Held {
	return shortage(placement.Feasible(in.View.Cluster.Brokers, in.ruleForNewPartitions()))
}

// Shortage gives a shortage of brokers its class: too few registered needs a person, fenced ones come back.
func Shortage(s *placement.Shortage) *fault.Fault {
	class := fault.Blocked
	if s.Kind == placement.WaitingForBrokers {
		class = fault.Waiting
	}
	return fault.New(class, string(s.Kind), "%s", s)
}

func shortage(s *placement.Shortage) *Held {
	if s == nil {
		return nil
	}
	return &Held{Why: Shortage(s)}
}

func partitionCountIsKnown(in Input, _ durability.Difference) *Held {
	if in.Desired.Partitions > 0 || in.Desired.ByBroker || in.View.Cluster.DefaultPartitions > 0 {
		return nil
	}
	return because(fault.Blocked, v1alpha1.ReasonNotAuthorized,
		"the brokers' num.partitions cannot be read, so the number of partitions is unknown: grant DESCRIBE_CONFIGS on "+
			"the Cluster or set spec.partitions")
}

func isExpected(_ Input, d durability.Difference) *Held {
	if !d.Expected {
		return nil
	}
	reason := v1alpha1.ReasonUpdating
	if d.Kind == durability.PartitionsDiffer {
		reason = v1alpha1.ReasonAddingPartitions
	}
	return because(fault.Waiting, reason, "Kafka has accepted %s; the brokers do not show it yet", d.Key)
}

func isReadOnly(_ Input, d durability.Difference) *Held {
	if !d.ReadOnly {
		return nil
	}
	return because(fault.Blocked, v1alpha1.ReasonReadOnlyConfig,
		"%s is %s and the brokers let nobody change it (read-only); declared is %s", d.Key, d.From, d.To)
}

func refusedBefore(in Input, d durability.Difference) *Held {
	if f, ok := in.Refused[d.Key]; ok {
		return &Held{Why: f}
	}
	return nil
}

func isFoughtOver(in Input, d durability.Difference) *Held {
	f := in.Fights[d.Key]
	if !f.Lasts(in.Now) || !f.Until().After(in.Now) {
		return nil
	}
	held := because(fault.Blocked, v1alpha1.ReasonDriftFight, "%s", FightText(d.Key, d.From, d.To))
	held.Until = f.Until()
	return held
}

// FightText names both values of a key that somebody else keeps changing back.
func FightText(key, theirs, ours string) string {
	if ours == "" {
		ours = "its default"
	}
	return fmt.Sprintf("somebody keeps setting %s to %s, declared is %s; it is corrected with growing delay: find the other "+
		"writer (broker audit log, other operators, scripts)", key, theirs, ours)
}

// replicasComeFirst: while replicas are missing, min.insync.replicas is not raised or pinned, or acks=all producers would
// wait for replicas that do not exist yet. Lowering it to the declared value is always possible.
func replicasComeFirst(in Input, d durability.Difference) *Held {
	if !d.Inherited && lowers(d) {
		return nil
	}
	t, rf := in.View.Topic, in.Desired.Rule.ReplicationFactor
	for _, p := range t.Partitions {
		if int32(len(p.Replicas)) < rf || len(p.Adding) > 0 {
			return because(fault.Waiting, v1alpha1.ReasonMinInSyncReplicasHeld,
				"min.insync.replicas stays %s until every partition has its %d replicas (partition %d has %d, %d in sync): "+
					"otherwise acks=all producers would be stopped", d.From, rf, p.Index, len(p.Replicas), len(p.ISR))
		}
	}
	return nil
}

func lowers(d durability.Difference) bool {
	from, errFrom := strconv.Atoi(strings.TrimSpace(d.From))
	to, errTo := strconv.Atoi(d.To)
	return errFrom == nil && errTo == nil && to < from
}

// eligibleLeadersAreKept: any change of min.insync.replicas erases the eligible leader replicas of the topic (KIP-966,
// ConfigurationControlManager), the only record of who may lead without loss.
func eligibleLeadersAreKept(in Input, d durability.Difference) *Held {
	if !in.View.Cluster.ELR() {
		return nil
	}
	for _, p := range in.View.Topic.Partitions {
		empty := len(p.ELR) == 0 && len(p.LastKnownELR) == 0
		if !empty && int32(len(p.ISR)) < in.Desired.Rule.MinInSyncReplicas {
			return because(fault.Waiting, v1alpha1.ReasonMinInSyncReplicasHeld,
				"min.insync.replicas stays %s: partition %d has %d in-sync replicas and a change would erase who else holds all "+
					"confirmed records (brokers %v); waiting for %d in-sync replicas", d.From, p.Index, len(p.ISR),
				safeOthers(p), in.Desired.Rule.MinInSyncReplicas)
		}
	}
	return nil
}

func safeOthers(p topic.Partition) []int32 {
	if len(p.ELR) > 0 {
		return p.ELR
	}
	return p.LastKnownELR
}

// everyPartitionHasALeader: on a leaderless partition, setting unclean.leader.election.enable to true elects at once a
// replica that may lack confirmed records. Setting it to false passes always.
func everyPartitionHasALeader(in Input, d durability.Difference) *Held {
	if !in.Desired.Unclean {
		return nil
	}
	for _, p := range in.View.Topic.Partitions {
		if p.Leader == topic.NoLeader {
			return because(fault.Waiting, v1alpha1.ReasonUncleanElectionHeld,
				"unclean.leader.election.enable stays %s: partition %d has no leader, and true would elect a replica that may lack "+
					"confirmed records; it is set when every partition has a leader. Bring the brokers back, or decide yourself "+
					"with kafka-leader-election.sh", d.From, p.Index)
		}
	}
	return nil
}

func partitionsOnlyGrow(in Input, d durability.Difference) *Held {
	if int(in.Desired.Partitions) > len(in.View.Topic.Partitions) {
		return nil
	}
	return because(fault.Invalid, v1alpha1.ReasonPartitionDecreaseUnsupported,
		"the topic has %s partitions, declared are %s, and Kafka cannot take partitions away: set spec.partitions to %s or more",
		d.From, d.To, d.From)
}

func nothingMoves(in Input, _ durability.Difference) *Held {
	for _, p := range in.View.Topic.Partitions {
		if p.Reassigning() {
			return because(fault.Waiting, v1alpha1.ReasonAddingPartitions,
				"partitions are added when the running reassignment of partition %d is done", p.Index)
		}
	}
	return nil
}

func movesAreWaitedFor(_ Input, d durability.Difference) *Held {
	return because(fault.Waiting, v1alpha1.ReasonMovingReplicas, "%s", d.From)
}
