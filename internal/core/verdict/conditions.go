package verdict

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/fault"
)

// maxMessage bounds a condition's message, in bytes; the API allows 32 KiB, a person reads less.
const maxMessage = 1024

func find(conditions []metav1.Condition, kind string) *metav1.Condition {
	return meta.FindStatusCondition(conditions, kind)
}

// set writes a condition that speaks about this generation. Words are the stable part of the message and may be
// followed by detail; if only the detail is new, the old message stays, so that a broker's varying words rewrite nothing.
func (v *builder) set(kind string, status metav1.ConditionStatus, reason, words, detail string) {
	message := words
	if detail != "" {
		message += ": " + detail
	}
	message = fault.Cut(message, maxMessage)
	old := find(v.status.Conditions, kind)
	if detail != "" && old != nil && old.Status == status && old.Reason == reason && strings.HasPrefix(old.Message, words+": ") {
		message = old.Message
	}
	meta.SetStatusCondition(&v.status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: v.Generation,
		LastTransitionTime: metav1.NewTime(v.Now).Rfc3339Copy(),
	})
	v.inOrder()
}

// inOrder keeps the conditions in one order, so that equal statuses are equal byte for byte.
func (v *builder) inOrder() {
	order := []string{
		v1alpha1.ConditionReady, v1alpha1.ConditionDurable, v1alpha1.ConditionDrifted,
		v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled,
	}
	slices.SortStableFunc(v.status.Conditions, func(a, b metav1.Condition) int {
		return slices.Index(order, a.Type) - slices.Index(order, b.Type)
	})
}

func (v *builder) remove(kinds ...string) {
	for _, kind := range kinds {
		meta.RemoveStatusCondition(&v.status.Conditions, kind)
	}
}

func (v *builder) unknown(kind, reason, words string) {
	v.set(kind, metav1.ConditionUnknown, reason, words, "")
}

// progress sets one of Reconciling and Stalled, which are never there together (kstatus).
func (v *builder) progress(kind, reason, words string) {
	v.remove(v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled)
	// kept from the previous status, so that the transition time stays when the condition does
	if old := find(v.Previous.Conditions, kind); old != nil {
		v.status.Conditions = append(v.status.Conditions, *old)
	}
	v.set(kind, metav1.ConditionTrue, reason, words, "")
	v.status.ObservedGeneration = v.Generation
}

// progressEvery is how often at most a status is rewritten because replicas have come further.
const progressEvery = time.Minute

// onTheMove keeps the words of a move that goes on, but for once a minute.
func (v *builder) onTheMove(kind, reason, words string) string {
	old := find(v.Previous.Conditions, kind)
	wait := v.WroteAt.Add(progressEvery).Sub(v.Now)
	if !v.moving() || old == nil || old.Reason != reason || old.Message == words ||
		old.ObservedGeneration != v.Generation || v.WroteAt.IsZero() || wait <= 0 {
		return words
	}
	v.after(wait)
	return old.Message
}

// moving tells whether replicas are on the way to where they should be.
func (v *builder) moving() bool {
	return slices.ContainsFunc(v.Remaining.Held, func(h plan.Held) bool { return h.Why.Reason == v1alpha1.ReasonMovingReplicas })
}

// notReady tells a fault: Stalled if a person is needed, else Reconciling.
func (v *builder) notReady(f *fault.Fault) {
	v.set(v1alpha1.ConditionReady, metav1.ConditionFalse, f.Reason, v.onTheMove(v1alpha1.ConditionReady, f.Reason, f.Message), f.Detail)
	kind := v1alpha1.ConditionReconciling
	if f.Class == fault.Blocked || f.Class == fault.Invalid {
		kind = v1alpha1.ConditionStalled
	}
	v.progress(kind, f.Reason, find(v.status.Conditions, v1alpha1.ConditionReady).Message)
}

func (v *builder) notDrifted() { v.remove(v1alpha1.ConditionDrifted) }
