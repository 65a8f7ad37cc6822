// Package statuscheck judges the status of a DurableTopic or a KafkaCluster by the rules that hold for every status at any
// time, whatever the situation. Tests call Check on every object after every step; it is no part of the operator. It never
// changes the object.
package statuscheck

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"durabletopic.io/operator/api/v1alpha1"
)

const (
	// MaxObject bounds an object in bytes of JSON, without managedFields, last applied annotation and spec.config, which
	// are not the operator's.
	MaxObject = 20 << 10
	// MaxMessage bounds the message of a condition, in bytes: a person reads no more.
	MaxMessage = 1024
)

// Object is a DurableTopic or a KafkaCluster.
type Object interface {
	metav1.Object
	runtime.Object
	GetConditions() []metav1.Condition
}

// Check gives every rule that the status of the object breaks; none if all is well. An object without conditions is one
// that was not judged yet, and must look so.
func Check(obj Object) []error {
	c := &checker{obj: obj, generation: obj.GetGeneration()}
	switch o := obj.(type) {
	case *v1alpha1.DurableTopic:
		c.observed, c.topic = o.Status.ObservedGeneration, true
		c.bounds(o.Status)
	case *v1alpha1.KafkaCluster:
		c.observed = o.Status.ObservedGeneration
	default:
		return []error{fmt.Errorf("%T has no status that is known here", obj)}
	}
	if len(obj.GetConditions()) == 0 {
		if c.observed != -1 {
			c.fail("no conditions, but observedGeneration is %d instead of -1", c.observed)
		}
	} else {
		c.conditions()
		c.together()
	}
	c.size()
	c.kstatus()
	return c.errs
}

type checker struct {
	obj                  Object
	topic                bool // a DurableTopic
	generation, observed int64
	errs                 []error
}

func (c *checker) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

// status gives the status of a condition, empty if it is not there.
func (c *checker) status(kind string) metav1.ConditionStatus {
	for _, cond := range c.obj.GetConditions() {
		if cond.Type == kind {
			return cond.Status
		}
	}
	return ""
}

// conditions checks each condition for itself.
func (c *checker) conditions() {
	seen := map[string]bool{}
	for _, cond := range c.obj.GetConditions() {
		if seen[cond.Type] {
			c.fail("condition %s is there twice", cond.Type)
		}
		seen[cond.Type] = true
		switch cond.Type {
		case v1alpha1.ConditionReady:
		case v1alpha1.ConditionDurable:
			if !c.topic {
				c.fail("a KafkaCluster has a condition Durable")
			}
		case v1alpha1.ConditionDrifted, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled:
			if cond.Status != metav1.ConditionTrue {
				c.fail("condition %s is %s, but may be there only when True", cond.Type, cond.Status)
			}
		default:
			c.fail("condition %s is not of the vocabulary", cond.Type)
		}
		c.condition(cond)
	}
}

func (c *checker) condition(cond metav1.Condition) {
	switch cond.Status {
	case metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown:
	default:
		c.fail("condition %s has the status %q", cond.Type, cond.Status)
	}
	if !slices.Contains(reasons, cond.Reason) {
		c.fail("condition %s has the reason %q, which is not of the vocabulary", cond.Type, cond.Reason)
	}
	well := cond.Reason == v1alpha1.ReasonCompliant || cond.Reason == v1alpha1.ReasonConnected
	if cond.Type == v1alpha1.ConditionReady && (cond.Status == metav1.ConditionTrue) != well {
		c.fail("Ready is %s with the reason %s", cond.Status, cond.Reason)
	}
	if cond.ObservedGeneration < 1 || cond.ObservedGeneration > c.generation {
		c.fail("condition %s speaks about generation %d of %d", cond.Type, cond.ObservedGeneration, c.generation)
	}
	if cond.LastTransitionTime.IsZero() {
		c.fail("condition %s has no lastTransitionTime", cond.Type)
	}
	for _, trouble := range Message(cond.Message) {
		c.fail("condition %s: %w", cond.Type, trouble)
	}
}

// broken are traces of formatting gone wrong, in messages that are built from many parts.
var broken = regexp.MustCompile(`%!|<nil>|\n|\r|\t|  | [,;:.)]|\(\)|\( |\[\]|[,;:] ?[,;:.]|\(rack \)|\bmap\[|0x[0-9a-f]{6}|\bTODO\b`)

// quoted are values of users and of Kafka in messages, which may look as they like.
var quoted = regexp.MustCompile(`"[^"]*"`)

// Message tells what is wrong with words that people read: the message of a condition or the note of an event.
func Message(words string) []error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch {
	case strings.TrimSpace(words) == "":
		return []error{fmt.Errorf("the message is empty")}
	case words != strings.TrimSpace(words):
		fail("the message has blanks around it: %q", words)
	}
	if len(words) > MaxMessage {
		fail("the message has %d bytes, more than %d", len(words), MaxMessage)
	}
	if !utf8.ValidString(words) {
		fail("the message is not valid UTF-8: %q", words)
	}
	if strings.Contains(words, "%!") || strings.Contains(words, "<nil>") {
		fail("the message was formatted wrongly: %q", words)
	} else if m := broken.FindString(quoted.ReplaceAllString(words, `"..."`)); m != "" {
		fail("the message has %q in it: %q", m, words)
	}
	if strings.ContainsAny(words[len(words)-1:], ",;:(-") {
		fail("the message breaks off: %q", words)
	}
	return errs
}

// together checks what conditions say about each other.
func (c *checker) together() {
	ready := c.status(v1alpha1.ConditionReady)
	reconciling := c.status(v1alpha1.ConditionReconciling) == metav1.ConditionTrue
	stalled := c.status(v1alpha1.ConditionStalled) == metav1.ConditionTrue
	abnormal := reconciling || stalled
	switch {
	case ready == "":
		c.fail("Ready is missing")
	case ready == metav1.ConditionTrue && abnormal:
		c.fail("Ready is True beside Reconciling or Stalled")
	case ready != metav1.ConditionTrue && !abnormal:
		c.fail("Ready is %s, and neither Reconciling nor Stalled says how it goes on", ready)
	}
	if c.topic && c.status(v1alpha1.ConditionDurable) == "" {
		c.fail("Durable is missing")
	}
	if reconciling && stalled {
		c.fail("Reconciling and Stalled are there together")
	}
	c.generations()
}

// generations checks what the status says it speaks about.
func (c *checker) generations() {
	if c.observed > c.generation {
		c.fail("observedGeneration %d is ahead of generation %d", c.observed, c.generation)
	}
	for _, cond := range c.obj.GetConditions() {
		if cond.Type == v1alpha1.ConditionStalled && c.observed != cond.ObservedGeneration {
			c.fail("Stalled speaks about generation %d, and observedGeneration is %d", cond.ObservedGeneration, c.observed)
		}
		if cond.ObservedGeneration > c.observed {
			c.fail("condition %s speaks about generation %d, observedGeneration is %d", cond.Type, cond.ObservedGeneration, c.observed)
		}
	}
}

// bounds checks the bounded parts of a DurableTopic's status, which the API server would refuse as a whole.
func (c *checker) bounds(s v1alpha1.DurableTopicStatus) {
	if len(s.OwnedConfig) > v1alpha1.MaxOwnedConfig || !slices.IsSorted(s.OwnedConfig) {
		c.fail("ownedConfig is not sorted or has more than %d keys: %v", v1alpha1.MaxOwnedConfig, s.OwnedConfig)
	}
	if len(s.Plan) > v1alpha1.MaxPlanSteps {
		c.fail("plan has %d steps", len(s.Plan))
	}
	for _, step := range s.Plan {
		if step == "" || utf8.RuneCountInString(step) > v1alpha1.MaxPlanStepLength {
			c.fail("a step of the plan is empty or too long: %q", step)
		}
	}
	if s.LastDrift != nil {
		c.drift(*s.LastDrift)
	}
}

func (c *checker) drift(d v1alpha1.DriftRecord) {
	if n := len(d.Changes); n == 0 || n > v1alpha1.MaxDriftChanges || d.Time.IsZero() {
		c.fail("lastDrift has %d changes, at %v", n, d.Time)
	}
	for _, change := range d.Changes {
		longest := max(utf8.RuneCountInString(change.From), utf8.RuneCountInString(change.To))
		if change.Key == "" || len(change.Key) > v1alpha1.MaxConfigKeyLength || longest > v1alpha1.MaxDriftValueLength {
			c.fail("a change in lastDrift is out of bounds: %+v", change)
		}
	}
}

func (c *checker) size() {
	obj := c.obj.DeepCopyObject().(Object)
	obj.SetManagedFields(nil)
	obj.SetAnnotations(nil)
	if t, ok := obj.(*v1alpha1.DurableTopic); ok {
		t.Spec.Config = nil
	}
	raw, err := json.Marshal(obj)
	if err != nil {
		c.fail("encode object: %w", err)
		return
	}
	if len(raw) >= MaxObject {
		c.fail("the object has %d bytes of JSON, not less than %d", len(raw), MaxObject)
	}
}

// kstatus checks that generic tools (kubectl wait, Argo CD, Flux) read the status as it is meant.
func (c *checker) kstatus() {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c.obj)
	if err != nil {
		c.fail("convert object: %w", err)
		return
	}
	got, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil {
		c.fail("kstatus: %w", err)
		return
	}
	want := status.InProgressStatus
	switch {
	case !c.obj.GetDeletionTimestamp().IsZero():
		want = status.TerminatingStatus
	case c.observed != c.generation:
	case c.status(v1alpha1.ConditionStalled) == metav1.ConditionTrue:
		want = status.FailedStatus
	case c.status(v1alpha1.ConditionReady) == metav1.ConditionTrue:
		want = status.CurrentStatus
	}
	if got.Status != want {
		c.fail("kstatus reads the object as %s, meant is %s: %s", got.Status, want, got.Message)
	}
}
