package verdict

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/durability"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

// outOfTouch: the cluster does not answer.
func (v *builder) outOfTouch() {
	contact := v.View.Contact
	f := fault.As(contact.Fault)
	if f == nil || f.Reason == "" {
		f = fault.New(fault.Transient, v1alpha1.ReasonKafkaUnreachable, "Kafka does not answer")
	}
	v.withoutFacts(contact.Since, f, v1alpha1.ReasonKafkaUnreachable)
}

// unreadable: the cluster answers, but not about this topic. Its last facts go out of date.
func (v *builder) unreadable() {
	f := fault.As(v.View.Problem)
	reason := f.Reason
	if reason == "" {
		reason = v1alpha1.ReasonNotObservedYet
	}
	v.withoutFacts(v.goodUntil().Add(-v.View.Contact.Grace), f, reason)
}

// goodUntil is how long the last facts about the topic may be shown as the present although newer ones cannot be had.
func (v *builder) goodUntil() time.Time {
	since := v.View.ReadAt
	if since.Before(v.View.Contact.Since) {
		since = v.View.Contact.Since
	}
	return since.Add(v.View.Contact.Grace)
}

// withoutFacts: there have been no facts since a time. Inside the grace nothing moves, except that a new generation cannot
// be called Ready; after it nothing is known.
func (v *builder) withoutFacts(since time.Time, f *fault.Fault, reason string) {
	out, grace := v.Now.Sub(since), v.View.Contact.Grace
	lost := out > grace
	switch {
	case !lost && v.judgedBefore():
		v.quiet = true
		v.after(grace - out + time.Second)
		return
	case out < settleTime:
		v.quiet = true
		v.after(settleTime - out)
		return
	case !lost:
		v.after(grace - out + time.Second)
	}
	words := "the topic cannot be judged: " + f.Message
	if durable := find(v.status.Conditions, v1alpha1.ConditionDurable); lost || durable == nil || ofNoFacts(durable.Reason) {
		v.status.Plan = nil
		v.notDrifted()
		v.set(v1alpha1.ConditionDurable, metav1.ConditionUnknown, reason, words, f.Detail)
	}
	v.set(v1alpha1.ConditionReady, metav1.ConditionUnknown, reason, words, f.Detail)
	words = find(v.status.Conditions, v1alpha1.ConditionReady).Message
	if f.Class == fault.Blocked || f.Class == fault.Invalid {
		v.progress(v1alpha1.ConditionStalled, cmp.Or(f.Reason, reason), words)
		return
	}
	v.progress(v1alpha1.ConditionReconciling, reason, words)
}

// judgedBefore tells whether the previous status speaks about this generation, by what Kafka showed.
func (v *builder) judgedBefore() bool {
	ready := find(v.Previous.Conditions, v1alpha1.ConditionReady)
	return ready != nil && ready.ObservedGeneration == v.Generation && !ofNoFacts(ready.Reason)
}

// ofNoFacts tells whether a condition was set without a look at Kafka, so that it is out of date as soon as there is one.
func ofNoFacts(reason string) bool {
	switch reason {
	case v1alpha1.ReasonKafkaClusterNotFound, v1alpha1.ReasonTopicOwnedByAnother, v1alpha1.ReasonKafkaOwnedByAnother,
		v1alpha1.ReasonSuspended:
		return true
	}
	return false
}

// aboutToBeRead: a new object or a new config key is read at once; a status before that would only flap.
func (v *builder) aboutToBeRead() bool {
	unread := v.View.Presence == topic.NotRead || v.View.Presence == topic.Present && !v.View.Shown()
	for _, h := range v.Remaining.Held {
		unread = unread || h.Difference.Unread
	}
	if unread {
		v.after(waitingTime)
	}
	return unread
}

// aboutToShow: all that remains has been confirmed by Kafka a moment ago. Brokers show it within milliseconds to seconds;
// a status in between would only flap.
func (v *builder) aboutToShow() bool {
	wait := v.DoneAt.Add(settleTime).Sub(v.Now)
	if v.DoneAt.IsZero() || wait <= 0 || len(v.Failures) > 0 || len(v.Remaining.Steps) > 0 || len(v.Remaining.Held) == 0 {
		return false
	}
	for _, h := range v.Remaining.Held {
		if !h.Difference.Expected {
			return false
		}
	}
	v.after(wait)
	return true
}

// aboutToBeConfirmed: one broker no longer knows the topic. That it is gone is no fact before a second one says so, which
// takes a second unless brokers are down; and what is no fact does not move a status inside the grace.
func (v *builder) aboutToBeConfirmed() bool {
	wait := v.goodUntil().Sub(v.Now)
	if v.vanishing() == nil || !v.judgedBefore() || wait < 0 {
		return false
	}
	v.after(wait + time.Second)
	return true
}

// vanishing finds what is said of a topic that seems to be gone and is not proven to be.
func (v *builder) vanishing() *plan.Held {
	for i, h := range v.Remaining.Held {
		if h.Difference.Kind == durability.TopicMissing && h.Why.Reason == v1alpha1.ReasonTopicVanished {
			return &v.Remaining.Held[i]
		}
	}
	return nil
}
