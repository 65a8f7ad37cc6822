package plan

import (
	"fmt"
	"slices"
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
		return []guard{topicIsReadable, topicWasLookedFor, createIsNotUnderWay, absenceIsProven, nameIsFree, isFoughtOver,
			refusedBefore, replicasFindRoom, partitionCountIsKnown}
	case durability.MinInSyncReplicasDiffers:
		return []guard{topicIsReadable, isExpected, wasRead, isReadOnly, replicasComeFirst, eligibleLeadersAreKept,
			isFoughtOver, refusedBefore}
	case durability.UncleanElectionDiffers:
		return []guard{topicIsReadable, isExpected, wasRead, isReadOnly, everyPartitionHasALeader, isFoughtOver,
			refusedBefore}
	case durability.ConfigDiffers, durability.ConfigLeft:
		return []guard{topicIsReadable, isExpected, wasRead, isReadOnly, isFoughtOver, refusedBefore}
	case durability.PartitionsDiffer:
		return []guard{partitionsOnlyGrow, topicIsReadable, isExpected, nothingMoves, refusedBefore, newReplicasFindRoom}
	case durability.ReplicasMoving:
		return []guard{movesAreWaitedFor}
	case durability.ReplicasViolate:
		return []guard{replicasWaitForTheMover}
	}
	return nil
}

func because(class fault.Class, reason, format string, args ...any) *Held {
	return &Held{Why: fault.New(class, reason, format, args...)}
}

// topicIsReadable: what cannot be read now is not changed, for it may look otherwise than the last facts.
func topicIsReadable(in Input, _ durability.Difference) *Held {
	if in.View.Problem == nil {
		return nil
	}
	return &Held{Why: fault.As(in.View.Problem)}
}

func topicWasLookedFor(in Input, _ durability.Difference) *Held {
	if in.View.Presence == topic.Missing || in.View.Presence == topic.Absent {
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
		"a broker no longer knows topic %q; it counts as gone, and is created again, only when a second broker confirms it. "+
			"Bring back other brokers if only one is up", in.Desired.Topic)
}

func nameIsFree(in Input, _ durability.Difference) *Held {
	switch {
	case topic.IsInternal(in.Desired.Topic):
		return because(fault.Blocked, v1alpha1.ReasonInternalTopic,
			"topic %q belongs to Kafka itself and is created by the brokers only: delete this object", in.Desired.Topic)
	case in.View.Collision != "":
		return because(fault.Blocked, v1alpha1.ReasonTopicNameCollision,
			"topic %q cannot be created: to Kafka its name equals that of the existing topic %q ('.' and '_' are the same "+
				"in metric names); choose another topicName in a new object", in.Desired.Topic, in.View.Collision)
	}
	return nil
}

func replicasFindRoom(in Input, _ durability.Difference) *Held {
	return shortage("the topic is not created", placement.Feasible(in.View.Cluster.Brokers, in.Desired.Rule))
}

func newReplicasFindRoom(in Input, d durability.Difference) *Held {
	return shortage(d.String(), placement.Feasible(in.View.Cluster.Brokers, in.ruleForNewPartitions()))
}

// Shortage gives a shortage of brokers its class: too few registered needs a person, fenced ones come back.
func Shortage(s *placement.Shortage) *fault.Fault {
	class := fault.Blocked
	if s.Kind == placement.WaitingForBrokers {
		class = fault.Waiting
	}
	return fault.New(class, string(s.Kind), "%s", s)
}

func shortage(what string, s *placement.Shortage) *Held {
	if s == nil {
		return nil
	}
	f := Shortage(s)
	f.Message = what + ": " + f.Message
	return &Held{Why: f}
}

func partitionCountIsKnown(in Input, _ durability.Difference) *Held {
	if in.Desired.Partitions > 0 || in.Desired.ByBroker || in.View.Cluster.DefaultPartitions > 0 {
		return nil
	}
	return because(fault.Blocked, v1alpha1.ReasonNotAuthorized,
		"the topic is not created: the brokers' num.partitions cannot be read, so the number of partitions is unknown; grant "+
			"the operator DESCRIBE_CONFIGS on the Cluster, or set spec.partitions")
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

// wasRead: what is not known is not overwritten.
func wasRead(_ Input, d durability.Difference) *Held {
	if !d.Unread {
		return nil
	}
	return because(fault.Waiting, v1alpha1.ReasonNotObservedYet, "%s has not been read from Kafka yet", d.Key)
}

func isReadOnly(_ Input, d durability.Difference) *Held {
	if !d.ReadOnly {
		return nil
	}
	return because(fault.Blocked, v1alpha1.ReasonReadOnlyConfig,
		"%s is read-only in this Kafka cluster: it is %s, declared %s; have it changed by whoever runs the cluster, or declare "+
			"what it allows", d.Key, d.Have(), durability.Words(d.To))
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
	held := because(fault.Blocked, v1alpha1.ReasonDriftFight, "%s", fightText(d))
	held.Until = f.Until()
	return held
}

// replicasComeFirst: while replicas are missing, min.insync.replicas is not raised, or acks=all producers would wait for
// replicas that do not exist yet. Lowering it to the declared value, and pinning what counts already, are always possible.
func replicasComeFirst(in Input, d durability.Difference) *Held {
	if d.Inherited || lowers(d) {
		return nil
	}
	t, rf := in.View.Topic, in.Desired.Rule.ReplicationFactor
	for _, p := range t.Partitions {
		if int32(len(p.Replicas)) < rf || len(p.Adding) > 0 {
			return because(fault.Waiting, v1alpha1.ReasonMinInSyncReplicasHeld,
				"min.insync.replicas is %s, declared %s; it is changed when every partition has its %d replicas (partition %d "+
					"has %d, in sync: %d), since before that it could stop acks=all producers",
				d.Have(), d.To, rf, p.Index, len(p.Replicas), len(p.ISR))
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
				"%s; it is changed when partition %d has %d replicas in sync (now %d), since any change now would erase Kafka's "+
					"record of who else can lead it: %s. Bring back %s",
				d, p.Index, in.Desired.Rule.MinInSyncReplicas, len(p.ISR), brokers(safeOthers(p)), brokers(outOfSync(p)))
		}
	}
	return nil
}

// safeOthers are the replicas that Kafka records as eligible leaders, else as the last known one.
func safeOthers(p topic.Partition) []int32 {
	if len(p.ELR) > 0 {
		return p.ELR
	}
	return p.LastKnownELR
}

func outOfSync(p topic.Partition) []int32 {
	return slices.DeleteFunc(slices.Sorted(slices.Values(p.Replicas)), func(id int32) bool { return slices.Contains(p.ISR, id) })
}

func brokers(ids []int32) string {
	words := make([]string, 0, len(ids))
	for _, id := range ids {
		words = append(words, fmt.Sprint(id))
	}
	switch len(ids) {
	case 0:
		return "more brokers"
	case 1:
		return "broker " + words[0]
	}
	return "brokers " + strings.Join(words, ", ")
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
				"%s; it is changed when every partition has a leader: on partition %d, which has none, it would at once elect a "+
					"replica that may lack confirmed records. Bring back %s, or decide for such an election yourself with "+
					"kafka-leader-election.sh", d, p.Index, brokers(p.Replicas))
		}
	}
	return nil
}

func partitionsOnlyGrow(in Input, d durability.Difference) *Held {
	if int(in.Desired.Partitions) > len(in.View.Topic.Partitions) {
		return nil
	}
	return because(fault.Invalid, v1alpha1.ReasonPartitionDecreaseUnsupported,
		"%s, and Kafka cannot take partitions away: set spec.partitions to %s or more", d, d.From)
}

func nothingMoves(in Input, d durability.Difference) *Held {
	for _, p := range in.View.Topic.Partitions {
		if p.Reassigning() {
			return because(fault.Waiting, v1alpha1.ReasonAddingPartitions,
				"%s; partitions are added when the running reassignment of partition %d is done", d, p.Index)
		}
	}
	return nil
}

func movesAreWaitedFor(in Input, d durability.Difference) *Held {
	return because(fault.Waiting, v1alpha1.ReasonMovingReplicas, "%s; wait until they are done%s", d.From, in.keptBy())
}
