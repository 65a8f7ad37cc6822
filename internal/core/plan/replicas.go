package plan

import (
	"fmt"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/durability"
	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

// replicasAreNotMoved says why replica lists that break the rule stay as they are: the cluster has no room for right
// ones, or it has and a person must move them.
func replicasAreNotMoved(in Input, d durability.Difference) *Held {
	if s := placement.Feasible(in.View.Cluster.Brokers, in.Desired.Rule); s != nil && s.Kind != placement.WaitingForBrokers {
		f := Shortage(s)
		f.Message = fmt.Sprintf("%s. %s", d.From, f.Message)
		return &Held{Why: f}
	}
	return because(fault.Blocked, reasonOf(d.Violations),
		"%s. Replicas of an existing topic are not moved by the operator: move them with kafka-reassign-partitions.sh",
		d.From)
}

// reasonOf names the gravest kind of violation: a replica that cannot come back, then one that is not there, then a rack
// that holds too many.
func reasonOf(violations []placement.Violation) string {
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
