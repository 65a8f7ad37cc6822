// Package verdict turns everything that is known about one DurableTopic into its status: conditions, reasons, evidence,
// events, and when to look again. It is the only place that knows what a condition means; time is an input.
package verdict

import (
	"time"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/core/profile"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

// Input is everything that is known at the end of a pass.
type Input struct {
	Now        time.Time
	Generation int64
	// Previous is the status as it was last written.
	Previous v1alpha1.DurableTopicStatus
	Desired  profile.Desired
	View     topic.View
	// Refusal says why the object is not acted on at all: no cluster, another owner. Nil if it is.
	Refusal *fault.Fault
	// Remaining is the plan made of the facts as they are now, after all that was done.
	Remaining plan.Plan
	// Failures are the steps of this pass that did not succeed and are tried again soon.
	Failures []*fault.Fault
	// Owned are the config keys this object has set and keeps.
	Owned []string
	// Did is what this pass, or one before it that was not yet told, has changed in Kafka.
	Did Deeds
	// DoneAt is when the oldest of Did was done; zero: nothing was.
	DoneAt time.Time
	// WroteAt is when the status was last written; zero: not by this process.
	WroteAt time.Time
	// Fights are texts about keys somebody else keeps changing back.
	Fights []string
}

// Deeds is what was done to the topic.
type Deeds struct {
	Created, Recreated, Replaced bool
	// Drift are corrections of what had been as declared before, Applied the other changes.
	Drift, Applied []v1alpha1.DriftChange
	Released       []string
}

// Verdict is what to tell and when to look again.
type Verdict struct {
	Status v1alpha1.DurableTopicStatus
	Events []Event
	// Quiet: the status stays as it was and nothing is told yet, since the brokers are about to show what was done.
	Quiet bool
	// RequeueAfter; zero: when something changes.
	RequeueAfter time.Duration
}

// Times after which a topic is looked at again although nothing was seen to change.
const (
	settleTime   = 3 * time.Second // for the first contact after a start
	waitingTime  = 5 * time.Second
	retryTime    = time.Second
	blockedTime  = 5 * time.Minute
	reducedAfter = 5 * time.Minute // ISR < RF shorter than this is a rolling restart
)

// Judge gives the verdict.
func Judge(in Input) Verdict {
	v := &builder{Input: in, status: *in.Previous.DeepCopy()}
	v.status.TopicName = in.Desired.Topic
	switch {
	case in.Refusal != nil:
		v.refused()
	case in.Desired.Mode == v1alpha1.EnforcementSuspended:
		v.suspended()
	case !in.View.Contact.InTouch:
		v.outOfTouch()
	case in.View.Problem != nil && in.View.Presence != topic.Hidden:
		v.unreadable()
	case v.aboutToBeRead(), v.aboutToShow(), v.aboutToBeConfirmed():
		v.quiet = true
	default:
		v.judged()
	}
	if v.quiet {
		return Verdict{Status: in.Previous, Quiet: true, RequeueAfter: v.requeue}
	}
	v.transitions()
	return Verdict{Status: v.status, Events: v.events, RequeueAfter: v.requeue}
}

// builder gathers the verdict.
type builder struct {
	Input
	status  v1alpha1.DurableTopicStatus
	events  []Event
	requeue time.Duration
	quiet   bool
}

// after asks for another look, the soonest wish counts.
func (v *builder) after(d time.Duration) {
	if d > 0 && (v.requeue == 0 || d < v.requeue) {
		v.requeue = d
	}
}

// lookAgain asks for another look after the time that suits the class of trouble.
func (v *builder) lookAgain(class fault.Class) {
	v.after(map[fault.Class]time.Duration{
		fault.Transient: retryTime, fault.Waiting: waitingTime, fault.Blocked: blockedTime, fault.Invalid: blockedTime,
	}[class])
}

func (v *builder) refused() {
	f := v.Refusal
	v.status.Plan = nil
	if f.Reason == v1alpha1.ReasonTopicOwnedByAnother || f.Reason == v1alpha1.ReasonKafkaOwnedByAnother {
		v.forgetTopic()
	}
	v.unknown(v1alpha1.ConditionDurable, f.Reason, "not judged: "+f.Message)
	v.notDrifted()
	v.notReady(f)
	v.lookAgain(f.Class)
}

// forgetTopic: an object that does not own a topic shows nothing of it.
func (v *builder) forgetTopic() {
	conditions := v.status.Conditions
	v.status = v1alpha1.DurableTopicStatus{Conditions: conditions, TopicName: v.Desired.Topic}
}

func (v *builder) suspended() {
	const words = "enforcement is Suspended: the topic is neither judged nor changed; set enforcement to Enforce or Observe to resume"
	v.status.Plan = nil
	v.unknown(v1alpha1.ConditionDurable, v1alpha1.ReasonSuspended, words)
	v.unknown(v1alpha1.ConditionReady, v1alpha1.ReasonSuspended, words)
	v.notDrifted()
	v.progress(v1alpha1.ConditionStalled, v1alpha1.ReasonSuspended, words)
}

func (v *builder) judged() {
	v.evidence()
	v.durable()
	v.tellPlan()
	v.drifted()
	f := v.gravest()
	if f == nil {
		v.ready()
		return
	}
	v.notReady(f)
	v.lookAgain(f.Class)
	for _, h := range v.Remaining.Held {
		if !h.Until.IsZero() {
			v.after(max(h.Until.Sub(v.Now), time.Millisecond))
		}
	}
}
