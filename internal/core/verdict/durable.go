package verdict

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/durability"
	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

// durable says whether the guarantees hold now: first what is lost to users, then what the settings no longer promise,
// then what one more failure would do.
func (v *builder) durable() {
	if !v.View.Shown() {
		v.durableWithoutTopic()
		return
	}
	minISR := v.Desired.Rule.MinInSyncReplicas
	if !v.confirmed(topic.MinInSyncReplicas) { // whoever has raised it makes acks=all producers wait earlier
		minISR = max(minISR, minInSyncReplicas(v.View.Topic))
	}
	h := durability.Examine(v.View.Topic, minISR)
	switch {
	case len(h.Offline) > 0:
		v.notDurable(v1alpha1.ReasonOffline, v.weak("without a leader", h.Offline, v.offlineMeans(h.Offline)))
	case v.settingsFail():
	case len(h.UnderMinISR) > 0:
		v.notDurable(v1alpha1.ReasonUnderMinISR, v.weak(
			fmt.Sprintf("with fewer than %d replicas in sync", minISR), h.UnderMinISR,
			"until then acks=all producers wait, and consumers see no newer records"))
	case v.reduced(h.Reduced):
	case !plan.Spread(v.View.Cluster, v.View.Topic, v.Desired.Rule).Covered:
		v.set(v1alpha1.ConditionDurable, metav1.ConditionTrue, v1alpha1.ReasonRackLossNotCovered, fmt.Sprintf(
			"all replicas are in sync, but the loss of one rack can leave fewer than %d of a partition, which stops acks=all "+
				"producers; rackAwareness BestEffort allows that. Add brokers in further racks to be covered",
			v.Desired.Rule.MinInSyncReplicas), "")
	default:
		v.set(v1alpha1.ConditionDurable, metav1.ConditionTrue, v1alpha1.ReasonFullyReplicated,
			"every partition has a leader, no replica has been out of sync for five minutes, and replicas are spread over racks", "")
	}
}

func (v *builder) durableWithoutTopic() {
	if v.View.Presence == topic.Hidden {
		f := fault.As(v.View.Problem)
		if f == nil || f.Reason == "" {
			f = fault.New(fault.Blocked, v1alpha1.ReasonNotAuthorized, "the operator may not read the topic")
		}
		v.set(v1alpha1.ConditionDurable, metav1.ConditionUnknown, f.Reason, "not judged: "+f.Message, f.Detail)
		return
	}
	if h := v.vanishing(); h != nil {
		v.unknown(v1alpha1.ConditionDurable, h.Why.Reason, h.Why.Message)
		return
	}
	v.notDurable(v1alpha1.ReasonTopicNotFound, "the topic does not exist")
}

func (v *builder) notDurable(reason, words string) {
	v.set(v1alpha1.ConditionDurable, metav1.ConditionFalse, reason, v.onTheMove(v1alpha1.ConditionDurable, reason, words), "")
}

// offlineMeans says what becomes of confirmed records of partitions without a leader.
func (v *builder) offlineMeans(offline []durability.Weak) string {
	if uncleanElection(v.View.Topic) == v1alpha1.UncleanLeaderElectionEnabled {
		return "nobody can read or write these partitions; the first replica to return becomes leader, and records that it " +
			"lacks are lost"
	}
	for _, w := range offline {
		if !w.Safe {
			return fmt.Sprintf("nobody can read or write these partitions, and Kafka does not show who holds every confirmed "+
				"record of partition %d: bring all of these brokers back before you think of an unclean election", w.Partition)
		}
	}
	return "nobody can read or write these partitions; no confirmed record is lost once the brokers are back, but an unclean " +
		"election could lose some"
}

// settingsFail tells a setting of the topic that is weaker than the profile promises.
func (v *builder) settingsFail() bool {
	t, rule := v.View.Topic, v.Desired.Rule
	replicas, violations := v.violations()
	covered := rule.BestEffort || plan.Spread(v.View.Cluster, t, rule).Covered
	switch {
	case t.MinReplicas() < rule.ReplicationFactor:
		v.notDurable(v1alpha1.ReasonReplicationFactorViolation,
			replicas+". There are fewer copies of confirmed records than the profile promises")
	case minInSyncReplicas(t) < rule.MinInSyncReplicas && !v.confirmed(topic.MinInSyncReplicas):
		have := durability.Words(t.Configs[topic.MinInSyncReplicas].Value)
		v.notDurable(v1alpha1.ReasonMinInSyncReplicasViolation, fmt.Sprintf(
			"min.insync.replicas is %s, the profile needs %d: a record can be confirmed with too few copies", have,
			rule.MinInSyncReplicas))
	case !v.Desired.Unclean && uncleanElection(t) != v1alpha1.UncleanLeaderElectionDisabled &&
		!v.confirmed(topic.UncleanLeaderElection):
		v.notDurable(v1alpha1.ReasonUncleanElectionViolation,
			"unclean.leader.election.enable is not false: a failure can elect a leader that lacks confirmed records")
	case !covered:
		v.notDurable(plan.ViolationReason(violations), fmt.Sprintf(
			"%s. The loss of one rack can leave fewer than %d replicas of a partition, which stops acks=all producers",
			replicas, rule.MinInSyncReplicas))
	default:
		return false
	}
	return true
}

// confirmed tells whether Kafka has confirmed the wanted value of a key already, so that what is shown is out of date.
func (v *builder) confirmed(key string) bool {
	want, _ := v.Desired.Value(key)
	return v.View.Expected.Config(key, want)
}

// violations are the replica lists that break the rule, in words too.
func (v *builder) violations() (string, []placement.Violation) {
	for _, h := range v.Remaining.Held {
		if h.Difference.Kind == durability.ReplicasViolate {
			return h.Difference.From, h.Difference.Violations
		}
	}
	return "", nil
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
		v.weak("with replicas out of sync", weak, "writes go on, but one more failure may stop them"), "")
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
	slices.Sort(waits)
	text := strings.Join(numbers, ", ")
	if more := len(weak) - partitionsNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%d of %d partitions %s (%s); waits for %s; %s", len(weak), len(v.View.Topic.Partitions), how, text,
		v.brokers(waits), meaning)
}

func (v *builder) brokers(ids []int32) string {
	words := make([]string, 0, len(ids))
	for _, id := range ids {
		b, registered := v.View.Cluster.Broker(id)
		var traits []string
		switch {
		case !registered:
			traits = append(traits, "no longer registered")
		case b.Rack == "":
			traits = append(traits, "no rack")
		default:
			traits = append(traits, "rack "+b.Rack)
		}
		if b.Fenced {
			traits = append(traits, "out of service")
		}
		words = append(words, fmt.Sprintf("broker %d (%s)", id, strings.Join(traits, ", ")))
	}
	if len(words) > named {
		words = append(words[:named], fmt.Sprintf("%d more", len(words)-named))
	}
	return strings.Join(words, ", ")
}
