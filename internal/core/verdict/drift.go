package verdict

import (
	"cmp"
	"fmt"
	"slices"
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

// tellPlan shows in words what would be done while enforcement keeps it from being done.
func (v *builder) tellPlan() {
	v.status.Plan = nil
	if v.Desired.Mode != v1alpha1.EnforcementObserve {
		return
	}
	for _, step := range v.Remaining.Steps {
		v.status.Plan = append(v.status.Plan, step.String())
	}
	v.status.Plan = append(v.status.Plan, v.Remaining.Moves...)
	for _, h := range v.Remaining.Held {
		if h.Difference.Kind == durability.ReplicasViolate && len(v.Remaining.Moves) > 0 {
			continue // told by them
		}
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

// drifted tells the differences that remain. A change that Kafka has confirmed, a topic that cannot be looked at, and one
// that is not proven to be gone, are none.
func (v *builder) drifted() {
	if v.View.Presence == topic.Hidden || v.vanishing() != nil {
		v.notDrifted()
		return
	}
	var words []string
	reason, detail := "", ""
	for _, h := range v.Remaining.Held {
		if h.Difference.Expected {
			continue
		}
		words = append(words, heldText(h))
		if reason == "" {
			reason, detail = h.Why.Reason, h.Why.Detail
		}
	}
	for _, d := range v.Remaining.Due {
		words = append(words, d.String())
		if reason == "" {
			reason = differenceReason(d.Kind)
		}
	}
	words = append(words, v.unheldFights()...)
	switch {
	case len(words) == 0:
		v.notDrifted()
		return
	case len(v.Fights) > 0:
		reason, detail = v1alpha1.ReasonDriftFight, ""
	case v.observed() != nil:
		reason, detail = v1alpha1.ReasonObserveOnly, ""
	}
	reason = cmp.Or(reason, v1alpha1.ReasonUpdating)
	v.set(v1alpha1.ConditionDrifted, metav1.ConditionTrue, reason, v.onTheMove(v1alpha1.ConditionDrifted, reason, list(words)), detail)
}

// heldText says what differs and why it is held; what says both is not told twice.
func heldText(h plan.Held) string {
	what := h.Difference.String()
	if h.Why.Reason == v1alpha1.ReasonDriftFight || strings.Contains(h.Why.Message, what) {
		return h.Why.Message
	}
	return what + " (" + h.Why.Message + ")"
}

// unheldFights are the keys fought over that are right for the moment.
func (v *builder) unheldFights() []string {
	var words []string
	for _, text := range v.Fights {
		if !slices.ContainsFunc(v.Remaining.Held, func(h plan.Held) bool { return h.Why.Message == text }) {
			words = append(words, text)
		}
	}
	return words
}

// differenceReason names what is about to be corrected in the public vocabulary.
func differenceReason(kind durability.Kind) string {
	switch kind {
	case durability.TopicMissing:
		return v1alpha1.ReasonTopicNotFound
	case durability.MinInSyncReplicasDiffers:
		return v1alpha1.ReasonMinInSyncReplicasViolation
	case durability.UncleanElectionDiffers:
		return v1alpha1.ReasonUncleanElectionViolation
	case durability.PartitionsDiffer:
		return v1alpha1.ReasonPartitionCountViolation
	default:
		return v1alpha1.ReasonConfigViolation
	}
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
	if f := v.observed(); f != nil {
		return f
	}
	var all []*fault.Fault
	for _, h := range v.Remaining.Held {
		all = append(all, h.Why)
	}
	all = append(all, v.Failures...)
	if len(all) == 0 {
		return v.unfinished()
	}
	worst := all[0]
	for _, f := range all {
		personNeeded := f.Class > fault.Waiting && worst.Class <= fault.Waiting
		cause := worst.Reason == v1alpha1.ReasonMinInSyncReplicasHeld &&
			(f.Reason == v1alpha1.ReasonMovingReplicas || f.Reason == v1alpha1.ReasonWaitingForBrokers)
		if personNeeded || cause {
			worst = f
		}
	}
	if worst.Reason == "" {
		named := *worst
		named.Reason = v1alpha1.ReasonUpdating
		worst = &named
	}
	return worst
}

// unfinished: there is more to do, and nothing speaks against it.
func (v *builder) unfinished() *fault.Fault {
	if len(v.Remaining.Steps) == 0 {
		return nil
	}
	reason := v1alpha1.ReasonUpdating
	switch v.Remaining.Steps[0].(type) {
	case plan.CreateTopic:
		reason = v1alpha1.ReasonCreating
	case plan.AddPartitions:
		reason = v1alpha1.ReasonAddingPartitions
	}
	words := make([]string, 0, len(v.Remaining.Steps))
	for _, s := range v.Remaining.Steps {
		words = append(words, s.String())
	}
	return fault.New(fault.Transient, reason, "about to %s", list(words))
}

// observed: with enforcement Observe a difference needs a person, since the operator will not act; not so one that comes
// right by itself, or a topic of which nothing is known.
func (v *builder) observed() *fault.Fault {
	if v.Desired.Mode != v1alpha1.EnforcementObserve || v.View.Presence == topic.Hidden || v.vanishing() != nil {
		return nil
	}
	var words []string
	moving := true
	for _, h := range v.Remaining.Held {
		words = append(words, h.Difference.String())
		moving = moving && (h.Difference.Kind == durability.ReplicasMoving || h.Difference.Expected)
	}
	for _, d := range v.Remaining.Due {
		words = append(words, d.String())
		moving = false
	}
	if len(words) == 0 || moving {
		return nil
	}
	return fault.New(fault.Blocked, v1alpha1.ReasonObserveOnly,
		"Kafka differs from the declaration, and enforcement Observe changes nothing: %s. Set enforcement to Enforce to have "+
			"done what status.plan says", list(words))
}
