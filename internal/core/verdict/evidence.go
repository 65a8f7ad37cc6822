package verdict

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/durability"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

// named is how many differences a message spells out; the others are counted.
const named = 4

// evidence records what Kafka shows, never what was asked for. Of a topic that is gone the last ID stays, so that its
// return as another one is noticed.
func (v *builder) evidence() {
	s := &v.status
	s.TopicName = v.Desired.Topic
	s.OwnedConfig = nil
	if len(v.Owned) > 0 {
		s.OwnedConfig = slices.Sorted(slices.Values(v.Owned))
	}
	if v.Did.Created {
		s.Origin = v1alpha1.TopicOriginCreated
	}
	if v.View.Presence != topic.Present {
		return
	}
	t := v.View.Topic
	switch {
	case v.Did.Replaced:
		s.Origin = v1alpha1.TopicOriginAdopted
	case s.Origin == "":
		s.Origin = v1alpha1.TopicOriginAdopted
	}
	s.TopicID = t.ID.String()
	s.Partitions = int32(len(t.Partitions))
	s.ReplicationFactor, s.MaxReplicationFactor = t.MinReplicas(), t.MaxReplicas()
	if s.MaxReplicationFactor == s.ReplicationFactor {
		s.MaxReplicationFactor = 0
	}
	s.MinInSyncReplicas = minInSyncReplicas(t)
	s.UncleanLeaderElection = uncleanElection(t)
	s.Racks = plan.Spread(v.View.Cluster, t, v.Desired.Rule).FewestRacks
	if len(v.Did.Drift) > 0 {
		s.LastDrift = &v1alpha1.DriftRecord{Time: metav1.NewTime(v.Now).Rfc3339Copy(), Changes: bounded(v.Did.Drift)}
	}
}

func minInSyncReplicas(t *topic.Topic) int32 {
	n, err := strconv.ParseInt(strings.TrimSpace(t.Configs[topic.MinInSyncReplicas].Value), 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

func uncleanElection(t *topic.Topic) v1alpha1.UncleanLeaderElection {
	switch strings.ToLower(t.Configs[topic.UncleanLeaderElection].Value) {
	case "true":
		return v1alpha1.UncleanLeaderElectionEnabled
	case "false":
		return v1alpha1.UncleanLeaderElectionDisabled
	}
	return ""
}

// bounded cuts a record of drift to the bounds of the API.
func bounded(changes []v1alpha1.DriftChange) []v1alpha1.DriftChange {
	var kept []v1alpha1.DriftChange
	for _, c := range changes {
		if len(kept) == v1alpha1.MaxDriftChanges {
			break
		}
		if slices.ContainsFunc(kept, func(k v1alpha1.DriftChange) bool { return k.Key == c.Key }) {
			continue
		}
		c.From = fault.Cut(c.From, v1alpha1.MaxDriftValueLength)
		c.To = fault.Cut(c.To, v1alpha1.MaxDriftValueLength)
		kept = append(kept, c)
	}
	return kept
}

// tellPlan shows in words what would be done while enforcement keeps it from being done.
func (v *builder) tellPlan() {
	v.status.Plan = nil
	if v.Desired.Mode != v1alpha1.EnforcementObserve {
		return
	}
	for _, step := range v.Remaining.Steps {
		v.status.Plan = append(v.status.Plan, step.String())
	}
	for _, h := range v.Remaining.Held {
		v.status.Plan = append(v.status.Plan, "not now: "+h.Why.Message)
	}
	for i, words := range v.status.Plan {
		v.status.Plan[i] = fault.Cut(words, v1alpha1.MaxPlanStepLength)
	}
	if steps := len(v.status.Plan); steps > v1alpha1.MaxPlanSteps {
		v.status.Plan = append(v.status.Plan[:v1alpha1.MaxPlanSteps-1],
			fmt.Sprintf("and %d more", steps-v1alpha1.MaxPlanSteps+1))
	}
}

// drifted tells the differences that remain. A change that Kafka has confirmed, and a topic that cannot be looked at,
// are none.
func (v *builder) drifted() {
	if v.View.Presence == topic.Hidden {
		v.notDrifted()
		return
	}
	var words []string
	reason, detail := "", ""
	for _, h := range v.Remaining.Held {
		if h.Difference.Expected {
			continue
		}
		words = append(words, h.Difference.String())
		if reason == "" {
			reason, detail = h.Why.Reason, h.Why.Detail
			if h.Why.Message != "" && h.Difference.Kind != durability.ReplicasViolate {
				words[len(words)-1] += " (" + h.Why.Message + ")"
			}
		}
	}
	words = append(words, stepWords(v.Remaining.Steps)...)
	words = append(words, v.Fights...)
	switch {
	case len(words) == 0:
		v.notDrifted()
		return
	case len(v.Fights) > 0:
		reason, detail = v1alpha1.ReasonDriftFight, ""
	case v.Desired.Mode == v1alpha1.EnforcementObserve:
		reason, detail = v1alpha1.ReasonObserveOnly, ""
	case reason == "":
		reason = v1alpha1.ReasonUpdating
	}
	v.set(v1alpha1.ConditionDrifted, metav1.ConditionTrue, reason, list(words), detail)
}

func stepWords(steps []plan.Step) []string {
	words := make([]string, 0, len(steps))
	for _, s := range steps {
		words = append(words, s.String())
	}
	return words
}

func list(words []string) string {
	text := strings.Join(words[:min(named, len(words))], "; ")
	if more := len(words) - named; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// gravest picks what Ready says: what needs a person before what comes by itself, each in the order of the checks.
func (v *builder) gravest() *fault.Fault {
	if v.Desired.Mode == v1alpha1.EnforcementObserve && v.View.Presence != topic.Hidden {
		return v.observed()
	}
	var worst *fault.Fault
	for _, h := range v.Remaining.Held {
		if worst == nil || h.Why.Class > fault.Waiting && worst.Class <= fault.Waiting {
			worst = h.Why
		}
	}
	for _, f := range v.Failures {
		if worst == nil || f.Class > fault.Waiting && worst.Class <= fault.Waiting {
			worst = f
		}
	}
	if worst == nil && len(v.Remaining.Steps) > 0 {
		worst = fault.New(fault.Transient, v1alpha1.ReasonUpdating, "about to %s", list(stepWords(v.Remaining.Steps)))
	}
	if worst != nil && worst.Reason == "" {
		named := *worst
		named.Reason = v1alpha1.ReasonUpdating
		worst = &named
	}
	return worst
}

// observed: with enforcement Observe every difference needs a person, since the operator will not act.
func (v *builder) observed() *fault.Fault {
	differs := v.Remaining.Held
	n := len(differs) + len(v.Remaining.Steps)
	if n == 0 {
		return nil
	}
	var words []string
	for _, h := range differs {
		words = append(words, h.Difference.String())
	}
	words = append(words, stepWords(v.Remaining.Steps)...)
	return fault.New(fault.Blocked, v1alpha1.ReasonObserveOnly,
		"Kafka differs from the declaration and enforcement is Observe, so nothing is changed: %s", list(words))
}

func (v *builder) ready() {
	s := v.status
	v.remove(v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled)
	v.set(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonCompliant, fmt.Sprintf(
		"topic %q is as declared: %d partitions, replication factor %d over %d racks, min.insync.replicas %d, unclean leader "+
			"election %s", s.TopicName, s.Partitions, s.ReplicationFactor, s.Racks, s.MinInSyncReplicas,
		strings.ToLower(string(s.UncleanLeaderElection))), "")
	v.status.ObservedGeneration = v.Generation
}
