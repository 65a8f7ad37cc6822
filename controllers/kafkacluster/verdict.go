package kafkacluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

// Input is everything that is known about one KafkaCluster at the end of a pass.
type Input struct {
	Now time.Time
	// Object as it was last written; its status is the former one.
	Object *v1alpha1.KafkaCluster
	// ClusterID to be recorded with this status; empty: none was read yet.
	ClusterID string
	// Acting is the KafkaCluster that acts for this cluster ID, by name.
	Acting string
	// Facts and Contact are what Kafka shows; Facts is nil before the first read.
	Facts   *topic.Cluster
	Contact topic.Contact
	// MissingPermissions are rights that the operator was refused.
	MissingPermissions []string
	// Topics are the counts to show.
	Topics []v1alpha1.TopicCount
	Moves  *v1alpha1.MoveCounts
}

// Judge gives the status. Time is only in the transition times of conditions that change.
func Judge(in Input) v1alpha1.KafkaClusterStatus {
	v := &judgement{Input: in, status: *in.Object.Status.DeepCopy()}
	v.status.ClusterID = in.ClusterID
	v.status.Topics, v.status.Moves = in.Topics, in.Moves
	if in.Object.Spec.Enforcement == v1alpha1.EnforcementSuspended {
		v.forgetFacts()
		v.report(suspended())
		return v.status
	}
	v.showFacts()
	f := v.trouble()
	switch {
	case f == nil:
		v.connected()
	case f.Reason == v1alpha1.ReasonConnecting && v.judged():
		// Nothing was tried yet, after a start for example: the former status stays.
	default:
		v.report(f)
	}
	return v.status
}

// judgement gathers the status.
type judgement struct {
	Input
	status v1alpha1.KafkaClusterStatus
}

// judged tells whether the former status speaks about this generation.
func (v *judgement) judged() bool {
	return v.status.ObservedGeneration == v.Object.Generation &&
		meta.FindStatusCondition(v.status.Conditions, v1alpha1.ConditionReady) != nil
}

// trouble is why the cluster cannot be worked with; nil if it can.
func (v *judgement) trouble() *fault.Fault {
	switch {
	case !v.Contact.InTouch:
		return v.outOfTouch()
	case v.Facts != nil && len(v.Facts.Missing) > 0:
		return fault.New(fault.Blocked, v1alpha1.ReasonUnsupportedBrokers,
			"the brokers lack requests that the operator needs: %s; nothing is written; upgrade them to Apache Kafka 4.0 or newer",
			strings.Join(v.Facts.Missing, ", "))
	case v.ClusterID == "" || v.ClusterID != v.wanted():
		return fault.New(fault.Waiting, v1alpha1.ReasonConnecting, "the identity of the Kafka cluster is being recorded")
	case v.Acting != "" && v.Acting != v.Object.Name:
		c := v.Object.DeepCopy()
		c.Status.ClusterID = v.ClusterID
		return ownedBy(c, v.Acting)
	}
	return nil
}

// wanted is the cluster ID that the spec pins, else the recorded one.
func (v *judgement) wanted() string {
	if v.Object.Spec.ClusterID != "" {
		return v.Object.Spec.ClusterID
	}
	return v.ClusterID
}

func (v *judgement) outOfTouch() *fault.Fault {
	f := fault.As(v.Contact.Fault)
	switch {
	case f == nil:
		return fault.New(fault.Waiting, v1alpha1.ReasonConnecting, "the first contact with Kafka is being made")
	case f.Reason == v1alpha1.ReasonClusterIDChanged:
		told := *f
		told.Message += "; nothing is written there; correct spec.bootstrapServers or spec.clusterID, or create another " +
			"KafkaCluster for it"
		return &told
	case f.Reason == "":
		told := fault.Wrap(f, f.Class, v1alpha1.ReasonKafkaUnreachable,
			"no Kafka broker answers; check the brokers and the network between them and the operator")
		return told.WithDetail(f.Message)
	}
	return f
}

func suspended() *fault.Fault {
	return fault.New(fault.Blocked, v1alpha1.ReasonSuspended,
		"enforcement is Suspended: the operator is not connected, and no topic of this cluster is judged or changed; set "+
			"enforcement to Enforce or Observe to go on")
}

func (v *judgement) connected() {
	words := fmt.Sprintf("connected to Kafka cluster %q", v.ClusterID)
	if v.Object.Spec.Enforcement == v1alpha1.EnforcementObserve {
		words += "; enforcement is Observe, so nothing is written to it"
	}
	v.remove(v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled)
	v.set(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonConnected, words, "")
	v.status.ObservedGeneration = v.Object.Generation
}

// report tells a fault: Stalled with Ready False if a person is needed, else Reconciling with Ready Unknown. Suspended is
// a person's wish, so nothing is known.
func (v *judgement) report(f *fault.Fault) {
	ready, kind, other := metav1.ConditionUnknown, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled
	if f.Class == fault.Blocked || f.Class == fault.Invalid {
		ready, kind, other = metav1.ConditionFalse, other, kind
	}
	if f.Reason == v1alpha1.ReasonSuspended {
		ready = metav1.ConditionUnknown
	}
	v.remove(other)
	v.set(v1alpha1.ConditionReady, ready, f.Reason, f.Message, f.Detail)
	v.set(kind, metav1.ConditionTrue, f.Reason, f.Message, f.Detail)
	v.status.ObservedGeneration = v.Object.Generation
}

// maxMessage bounds a condition's message, in bytes.
const maxMessage = 1024

// set writes a condition. If only the detail, a broker's varying words, is new, the former message stays.
func (v *judgement) set(kind string, status metav1.ConditionStatus, reason, words, detail string) {
	message := words
	if detail != "" {
		message += ": " + detail
	}
	message = fault.Cut(message, maxMessage)
	old := meta.FindStatusCondition(v.status.Conditions, kind)
	if detail != "" && old != nil && old.Status == status && old.Reason == reason && strings.HasPrefix(old.Message, words) {
		message = old.Message
	}
	meta.SetStatusCondition(&v.status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: v.Object.Generation,
		LastTransitionTime: metav1.NewTime(v.Now).Rfc3339Copy(),
	})
	order := []string{v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled}
	slices.SortStableFunc(v.status.Conditions, func(a, b metav1.Condition) int {
		return slices.Index(order, a.Type) - slices.Index(order, b.Type)
	})
}

func (v *judgement) remove(kinds ...string) {
	for _, kind := range kinds {
		meta.RemoveStatusCondition(&v.status.Conditions, kind)
	}
}
