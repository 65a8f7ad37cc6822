package verdict

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/durability"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/core/topic"
)

// durable says whether the guarantees hold now: first what is lost to users, then what the settings no longer promise,
// then what one more failure would do.
func (v *builder) durable() {
	if v.View.Presence != topic.Present {
		v.durableWithoutTopic()
		return
	}
	h := durability.Examine(v.View.Topic, v.Desired.Rule.MinInSyncReplicas)
	switch {
	case len(h.Offline) > 0:
		v.notDurable(v1alpha1.ReasonOffline, v.weak("without a leader", h.Offline, v.offlineCure()))
	case v.settingsFail():
	case len(h.UnderMinISR) > 0:
		v.notDurable(v1alpha1.ReasonUnderMinISR, v.weak(
			fmt.Sprintf("with fewer than %d in-sync replicas", v.Desired.Rule.MinInSyncReplicas), h.UnderMinISR,
			"acks=all producers wait, no confirmed record is lost"))
	case v.reduced(h.Reduced):
	case !plan.Spread(v.View.Cluster, v.View.Topic, v.Desired.Rule).Covered:
		v.set(v1alpha1.ConditionDurable, metav1.ConditionTrue, v1alpha1.ReasonRackLossNotCovered,
			"the loss of one rack can stop writes: the cluster has too few racks and rackAwareness is BestEffort", "")
	default:
		v.set(v1alpha1.ConditionDurable, metav1.ConditionTrue, v1alpha1.ReasonFullyReplicated,
			"every partition has a leader and all replicas, spread over racks", "")
	}
}

func (v *builder) durableWithoutTopic() {
	if v.View.Presence == topic.Hidden {
		v.unknown(v1alpha1.ConditionDurable, v1alpha1.ReasonNotAuthorized, "the topic may not be read")
		return
	}
	v.notDurable(v1alpha1.ReasonTopicNotFound, "the topic does not exist")
}

func (v *builder) notDurable(reason, words string) {
	v.set(v1alpha1.ConditionDurable, metav1.ConditionFalse, reason, words, "")
}

func (v *builder) offlineCure() string {
	if uncleanElection(v.View.Topic) == v1alpha1.UncleanLeaderElectionEnabled {
		return "the first replica to return becomes leader, its missing records are lost"
	}
	return "no confirmed record is lost when one of these brokers returns"
}

// settingsFail tells a setting of the topic that is weaker than the profile promises.
func (v *builder) settingsFail() bool {
	t := v.View.Topic
	var replicas string
	for _, h := range v.Remaining.Held {
		if h.Difference.Kind == durability.ReplicasViolate {
			replicas = h.Difference.From
		}
	}
	have, want := minInSyncReplicas(t), v.Desired.Rule.MinInSyncReplicas
	switch {
	case t.MinReplicas() < v.Desired.Rule.ReplicationFactor:
		v.notDurable(v1alpha1.ReasonReplicationFactorViolation, replicas)
	case have < want:
		v.notDurable(v1alpha1.ReasonMinInSyncReplicasViolation, fmt.Sprintf(
			"min.insync.replicas is %d, the profile needs %d: a record can be confirmed with too few copies", have, want))
	case !v.Desired.Unclean && uncleanElection(t) != v1alpha1.UncleanLeaderElectionDisabled:
		v.notDurable(v1alpha1.ReasonUncleanElectionViolation,
			"unclean.leader.election.enable is not false: a failure can elect a leader that lacks confirmed records")
	case replicas != "" && !v.Desired.Rule.BestEffort:
		v.notDurable(v1alpha1.ReasonPlacementViolation, replicas)
	default:
		return false
	}
	return true
}

// reduced tells out-of-sync replicas, but not those of a rolling restart.
func (v *builder) reduced(weak []durability.Weak) bool {
	if len(weak) == 0 {
		return false
	}
	old := find(v.Previous.Conditions, v1alpha1.ConditionDurable)
	wait := v.View.ReducedSince.Add(reducedAfter).Sub(v.Now)
	if old != nil && old.Status == metav1.ConditionTrue && wait > 0 {
		v.set(v1alpha1.ConditionDurable, old.Status, old.Reason, old.Message, "")
		v.after(wait + 1)
		return true
	}
	v.set(v1alpha1.ConditionDurable, metav1.ConditionTrue, v1alpha1.ReasonReducedRedundancy,
		v.weak("with replicas out of sync", weak, "writes go on, one more failure may stop them"), "")
	return true
}

// weak names partitions and the brokers they wait for.
func (v *builder) weak(how string, weak []durability.Weak, meaning string) string {
	const partitionsNamed = 5
	var numbers []string
	var waits []int32
	seen := map[int32]bool{}
	for i, w := range weak {
		if i < partitionsNamed {
			numbers = append(numbers, fmt.Sprint(w.Partition))
		}
		for _, id := range w.WaitsFor {
			if !seen[id] {
				seen[id] = true
				waits = append(waits, id)
			}
		}
	}
	text := strings.Join(numbers, ", ")
	if more := len(weak) - partitionsNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%d of %d partitions %s (%s); waits for %s; %s", len(weak), len(v.View.Topic.Partitions), how, text,
		v.brokers(waits), meaning)
}

func (v *builder) brokers(ids []int32) string {
	var words []string
	for _, id := range ids {
		b, known := v.View.Cluster.Broker(id)
		switch {
		case !known:
			words = append(words, fmt.Sprintf("broker %d (no longer registered)", id))
		case b.Fenced:
			words = append(words, fmt.Sprintf("broker %d (rack %s, out of service)", id, b.Rack))
		default:
			words = append(words, fmt.Sprintf("broker %d (rack %s)", id, b.Rack))
		}
	}
	return list(words)
}
