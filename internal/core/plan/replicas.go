package plan

import (
	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/durability"
	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

// replicasWaitForTheMover says what becomes of replica lists that break the rule: the mover of the Kafka cluster takes them
// in turn, unless there is no room for right ones, or somebody else must move them. Without room a broker that has left is
// named first: to bring it back cures more than room elsewhere.
func replicasWaitForTheMover(in Input, d durability.Difference) *Held {
	reason := ViolationReason(d.Violations)
	s := placement.Feasible(in.View.Cluster.Brokers, in.Desired.Rule)
	left := reason == v1alpha1.ReasonReplicaOnMissingBroker
	switch {
	case s != nil && s.Kind == placement.WaitingForBrokers:
		return because(fault.Waiting, string(s.Kind), "%s. They are moved when there is room for right replicas: %s", d.From, s)
	case s != nil && left:
		return because(fault.Blocked, reason, "%s. Bring the missing brokers back, or make room for the replicas: %s", d.From, s)
	case s != nil:
		return because(fault.Blocked, string(s.Kind), "%s. There is no room for right replicas: %s", d.From, s)
	case in.Desired.ByBroker && left:
		return because(fault.Blocked, reason, "%s. Bring the missing brokers back, or reassign the replicas with "+
			"kafka-reassign-partitions.sh: with placement Broker the operator moves none", d.From)
	case in.Desired.ByBroker:
		return because(fault.Blocked, reason, "%s. Reassign the replicas with kafka-reassign-partitions.sh: with placement "+
			"Broker the operator moves none", d.From)
	}
	if in.Desired.Mode == v1alpha1.EnforcementObserve {
		return because(fault.Waiting, reason, "%s; with enforcement Enforce they are moved", d.From)
	}
	return because(fault.Waiting, v1alpha1.ReasonMovingReplicas, "%s; they are moved in turn%s", d.From, in.keptBy())
}

// keptBy says what keeps moves, as the end of a text.
func (in Input) keptBy() string {
	if in.Moves == "" {
		return ""
	}
	return ": " + in.Moves
}

// ViolationReason names the gravest kind of violation: a replica that cannot come back, then one that is not there, then a
// rack that holds too many.
func ViolationReason(violations []placement.Violation) string {
	reasons := map[placement.ViolationKind]string{
		placement.MissingBroker:   v1alpha1.ReasonReplicaOnMissingBroker,
		placement.TooFewReplicas:  v1alpha1.ReasonReplicationFactorViolation,
		placement.TooManyReplicas: v1alpha1.ReasonReplicationFactorViolation,
	}
	for _, kind := range []placement.ViolationKind{
		placement.MissingBroker, placement.TooFewReplicas, placement.RackRule, placement.BrokerWithoutRack,
		placement.DuplicateBroker, placement.TooManyReplicas,
	} {
		for _, v := range violations {
			if v.Kind != kind {
				continue
			}
			if reason, ok := reasons[kind]; ok {
				return reason
			}
			return v1alpha1.ReasonPlacementViolation
		}
	}
	return v1alpha1.ReasonPlacementViolation
}

// Spread tells how the replicas of a topic lie over racks.
func Spread(c *topic.Cluster, t *topic.Topic, rule placement.Rule) placement.Spread {
	return placement.RackSpread(c.Brokers, placement.Targets(t), rule)
}
