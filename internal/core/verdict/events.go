package verdict

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/durability"
	"durabletopic.io/operator/internal/fault"
)

// Event is something a user must know, told once when it happens.
type Event struct {
	Warning bool
	Reason  string // what happened
	Action  string // what the operator did
	Note    string
}

// Reasons of events.
const (
	EventCreated        = "TopicCreated"
	EventAdopted        = "TopicAdopted"
	EventRecreated      = "TopicRecreated"
	EventReplaced       = "TopicReplaced"
	EventDriftCorrected = "DriftCorrected"
	EventDriftFight     = "DriftFight"
	EventConfigured     = "TopicConfigured"
	EventConfigReleased = "ConfigReleased"
	EventGuaranteesLost = "GuaranteesLost"
	EventGuaranteesBack = "GuaranteesRestored"
)

func (v *builder) tell(warning bool, reason, action, format string, args ...any) {
	note := fault.Cut(fmt.Sprintf(format, args...), maxMessage)
	v.events = append(v.events, Event{Warning: warning, Reason: reason, Action: action, Note: note})
}

// transitions tells what changed between the previous status and this one, each thing once.
func (v *builder) transitions() {
	v.topicEvents()
	v.changeEvents()
	v.conditionEvents()
}

func (v *builder) topicEvents() {
	switch name := v.Desired.Topic; {
	case v.Did.Recreated:
		v.tell(true, EventRecreated, "Create", "topic %q had vanished from Kafka with all its records and was created again, "+
			"empty; its old ID was %s", name, v.Previous.TopicID)
	case v.Did.Created:
		v.tell(false, EventCreated, "Create", "created topic %q: profile %s, replication factor %d, min.insync.replicas %d",
			name, v.Desired.Profile, v.Desired.Rule.ReplicationFactor, v.Desired.Rule.MinInSyncReplicas)
	case v.Did.Replaced:
		v.tell(true, EventReplaced, "Adopt", "topic %q was deleted and created again by somebody else, and the records of the "+
			"old one are lost; its ID was %s and is %s%s", name, v.Previous.TopicID, v.status.TopicID, and(v.allChanges()))
	case v.adopted():
		v.tell(false, EventAdopted, "Adopt", "adopted the existing topic %q with ID %s%s", name, v.status.TopicID,
			and(v.allChanges()))
	}
}

// adopted: a topic that was there before is seen for the first time.
func (v *builder) adopted() bool {
	return v.Previous.TopicID == "" && v.status.TopicID != "" && v.status.Origin == v1alpha1.TopicOriginAdopted
}

// allChanges are the corrections and the changes made for the first time.
func (v *builder) allChanges() []v1alpha1.DriftChange {
	return slices.Concat(v.Did.Drift, v.Did.Applied)
}

func and(changes []v1alpha1.DriftChange) string {
	if len(changes) == 0 {
		return ""
	}
	return "; set right: " + changeText(changes)
}

// changeEvents: what belongs to a topic that is new here was told with it, and what belongs to a fight is told when the
// fight begins.
func (v *builder) changeEvents() {
	isNew := v.Did.Created || v.Did.Recreated || v.Did.Replaced || v.adopted()
	if len(v.Did.Drift) > 0 && !isNew && len(v.Fights) == 0 {
		v.tell(true, EventDriftCorrected, "Correct", "topic %q was changed by somebody else and set right: %s", v.Desired.Topic,
			changeText(v.Did.Drift))
	}
	if len(v.Did.Applied) > 0 && !isNew {
		v.tell(false, EventConfigured, "Configure", "changed topic %q as declared: %s", v.Desired.Topic, changeText(v.Did.Applied))
	}
	if len(v.Did.Released) > 0 {
		v.tell(false, EventConfigReleased, "Release", "no longer declared on topic %q, and left as it stands, since the default "+
			"could delete records or nobody may change it: %s", v.Desired.Topic, strings.Join(v.Did.Released, ", "))
	}
}

func (v *builder) conditionEvents() {
	before, now := reasonIf(v.Previous.Conditions, v1alpha1.ConditionStalled), reasonIf(v.status.Conditions, v1alpha1.ConditionStalled)
	fight := reasonIf(v.status.Conditions, v1alpha1.ConditionDrifted) == v1alpha1.ReasonDriftFight
	wasFight := reasonIf(v.Previous.Conditions, v1alpha1.ConditionDrifted) == v1alpha1.ReasonDriftFight
	if fight && !wasFight {
		v.tell(true, EventDriftFight, "Damp", "%s", find(v.status.Conditions, v1alpha1.ConditionDrifted).Message)
	}
	lost := v.durabilityEvents()
	if now != "" && now != before && now != v1alpha1.ReasonDriftFight && now != lost {
		chosen := now == v1alpha1.ReasonSuspended || now == v1alpha1.ReasonObserveOnly
		v.tell(!chosen, now, "Wait", "%s", find(v.status.Conditions, v1alpha1.ConditionStalled).Message)
	}
}

func reasonIf(conditions []metav1.Condition, kind string) string {
	if c := find(conditions, kind); c != nil && c.Status == metav1.ConditionTrue {
		return c.Reason
	}
	return ""
}

// durabilityEvents tells when the guarantees are lost, and gives the reason, or restored. The reasons of a first visit are
// told by other events.
func (v *builder) durabilityEvents() (lost string) {
	before, now := find(v.Previous.Conditions, v1alpha1.ConditionDurable), find(v.status.Conditions, v1alpha1.ConditionDurable)
	if before == nil || now == nil || before.Status == now.Status {
		return ""
	}
	held := before.Status == metav1.ConditionTrue || before.Reason == v1alpha1.ReasonKafkaUnreachable
	switch {
	case now.Status == metav1.ConditionFalse && held:
		v.tell(true, EventGuaranteesLost, "Report", "%s: %s", now.Reason, now.Message)
		return now.Reason
	case now.Status == metav1.ConditionTrue && before.Status == metav1.ConditionFalse && before.Reason != v1alpha1.ReasonTopicNotFound:
		v.tell(false, EventGuaranteesBack, "Report", "the guarantees of profile %s hold again: %s", v.Desired.Profile, now.Message)
	}
	return ""
}

func changeText(changes []v1alpha1.DriftChange) string {
	words := make([]string, 0, len(changes))
	for _, c := range changes {
		from, to := "unset", "its default"
		if c.From != "" {
			from = durability.Words(c.From)
		}
		if c.To != "" {
			to = durability.Words(c.To)
		}
		words = append(words, fmt.Sprintf("%s %s -> %s", c.Key, from, to))
	}
	return list(words)
}
