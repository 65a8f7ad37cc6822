package verdict

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"durabletopic.io/operator/api/v1alpha1"
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
	v.events = append(v.events, Event{Warning: warning, Reason: reason, Action: action, Note: fmt.Sprintf(format, args...)})
}

// transitions tells what changed between the previous status and this one.
func (v *builder) transitions() {
	v.topicEvents()
	v.changeEvents()
	v.conditionEvents()
}

func (v *builder) topicEvents() {
	switch name := v.Desired.Topic; {
	case v.Did.Recreated:
		v.tell(true, EventRecreated, "Create", "topic %q had vanished from Kafka with all its records and was created again; "+
			"its old ID was %s", name, v.Previous.TopicID)
	case v.Did.Created:
		v.tell(false, EventCreated, "Create", "created topic %q: profile %s, replication factor %d, min.insync.replicas %d",
			name, v.Desired.Profile, v.Desired.Rule.ReplicationFactor, v.Desired.Rule.MinInSyncReplicas)
	case v.Did.Replaced:
		v.tell(true, EventReplaced, "Adopt", "topic %q was deleted and created by somebody else, the records of the old one are "+
			"lost; its ID was %s and is %s", name, v.Previous.TopicID, v.status.TopicID)
	case v.Previous.TopicID == "" && v.status.TopicID != "" && v.status.Origin == v1alpha1.TopicOriginAdopted:
		v.tell(false, EventAdopted, "Adopt", "adopted the existing topic %q with ID %s%s", name, v.status.TopicID,
			and(v.Did.Applied))
	}
}

func and(changes []v1alpha1.DriftChange) string {
	if len(changes) == 0 {
		return ""
	}
	return "; " + changeText(changes)
}

func (v *builder) changeEvents() {
	if len(v.Did.Drift) > 0 && len(v.Fights) == 0 {
		v.tell(true, EventDriftCorrected, "Correct", "topic %q was changed by somebody else and set right: %s", v.Desired.Topic,
			changeText(v.Did.Drift))
	}
	adopted := v.Previous.TopicID == "" && v.status.TopicID != ""
	if len(v.Did.Applied) > 0 && !v.Did.Created && !adopted {
		v.tell(false, EventConfigured, "Configure", "changed topic %q as declared: %s", v.Desired.Topic, changeText(v.Did.Applied))
	}
	if len(v.Did.Released) > 0 {
		v.tell(false, EventConfigReleased, "Release", "%s is no longer declared and stays as it is on topic %q, since its "+
			"default could delete records", strings.Join(v.Did.Released, ", "), v.Desired.Topic)
	}
}

func (v *builder) conditionEvents() {
	before, now := reasonIf(v.Previous.Conditions, v1alpha1.ConditionStalled), reasonIf(v.status.Conditions, v1alpha1.ConditionStalled)
	fight := reasonIf(v.status.Conditions, v1alpha1.ConditionDrifted) == v1alpha1.ReasonDriftFight
	wasFight := reasonIf(v.Previous.Conditions, v1alpha1.ConditionDrifted) == v1alpha1.ReasonDriftFight
	if fight && !wasFight {
		v.tell(true, EventDriftFight, "Damp", "%s", find(v.status.Conditions, v1alpha1.ConditionDrifted).Message)
	}
	if now != "" && now != before && now != v1alpha1.ReasonDriftFight {
		v.tell(true, now, "Wait", "%s", find(v.status.Conditions, v1alpha1.ConditionStalled).Message)
	}
	v.durabilityEvents()
}

func reasonIf(conditions []metav1.Condition, kind string) string {
	if c := find(conditions, kind); c != nil && c.Status == metav1.ConditionTrue {
		return c.Reason
	}
	return ""
}

// durabilityEvents: the reasons of a first visit are told by other events.
func (v *builder) durabilityEvents() {
	before, now := find(v.Previous.Conditions, v1alpha1.ConditionDurable), find(v.status.Conditions, v1alpha1.ConditionDurable)
	if before == nil || now == nil || before.Status == now.Status && before.Reason == now.Reason {
		return
	}
	switch {
	case now.Status == metav1.ConditionFalse && before.Status == metav1.ConditionTrue:
		v.tell(true, EventGuaranteesLost, "Report", "%s: %s", now.Reason, now.Message)
	case now.Status == metav1.ConditionTrue && before.Status == metav1.ConditionFalse && before.Reason != v1alpha1.ReasonTopicNotFound:
		v.tell(false, EventGuaranteesBack, "Report", "the guarantees of profile %s hold again: %s", v.Desired.Profile, now.Message)
	}
}

func changeText(changes []v1alpha1.DriftChange) string {
	words := make([]string, 0, len(changes))
	for _, c := range changes {
		from, to := c.From, c.To
		if from == "" {
			from = "unset"
		}
		if to == "" {
			to = "its default"
		}
		words = append(words, fmt.Sprintf("%s %s -> %s", c.Key, from, to))
	}
	return list(words)
}
