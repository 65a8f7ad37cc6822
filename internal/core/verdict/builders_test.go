package verdict_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/durability"
	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/core/profile"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/core/topictest"
	"durabletopic.io/operator/internal/core/verdict"
	"durabletopic.io/operator/internal/fault"
	"durabletopic.io/operator/internal/statuscheck"
)

const (
	minISR  = topic.MinInSyncReplicas
	unclean = topic.UncleanLeaderElection
)

var now = topictest.Now

// scene is one topic at the end of a pass. The rest of an Input follows from it as in the operator.
type scene struct {
	verdict.Input
	refused map[string]*fault.Fault
	damped  map[string]plan.Fight
}

// orders is topic orders of FreshCart, critical, as declared and healthy, and never judged.
func orders(changes ...func(*scene)) *scene {
	s := &scene{Input: verdict.Input{
		Now: now, Generation: 1, Previous: v1alpha1.DurableTopicStatus{ObservedGeneration: -1},
		Desired: profile.Desired{
			Topic: "orders", Profile: "critical", Mode: "Enforce", Partitions: 3,
			Rule: placement.Rule{ReplicationFactor: 3, MinInSyncReplicas: 2},
		},
		View:  topictest.View(topictest.Cluster("a a b b c c"), topictest.Topic("1 3 5", "3 5 1", "5 1 3")),
		Owned: []string{minISR, unclean},
	}}
	for _, change := range changes {
		change(s)
	}
	return s
}

// input completes the scene: the plan is what the facts ask for.
func (s *scene) input() verdict.Input {
	in := s.Input
	if in.Refusal != nil || in.Desired.Mode == v1alpha1.EnforcementSuspended || !in.View.Contact.InTouch ||
		in.View.Presence == topic.NotRead {
		return in
	}
	d := durability.Input{Desired: in.Desired, View: in.View, Owned: in.Owned}
	in.Remaining = plan.Make(plan.Input{
		Input: d, Differences: durability.Differences(d), Known: in.Previous.TopicID != "", Fights: s.damped,
		Refused: s.refused, Now: in.Now,
	})
	return in
}

func (s *scene) set(key string, kind topic.ConfigType, value string) {
	topictest.Config(s.View.Topic, key, kind, value)
}

// partitions replaces the partitions and leaves the configs.
func (s *scene) partitions(words ...string) {
	configs := s.View.Topic.Configs
	s.View.Topic = topictest.Topic(words...)
	s.View.Topic.Configs = configs
	s.Desired.Partitions = int32(len(words))
}

// unreadable: the cluster does not answer since so long.
func (s *scene) outOfTouch(since time.Duration) {
	s.View.Contact.InTouch, s.View.Contact.Since = false, now.Add(-since)
	s.View.Contact.Fault = fault.New(fault.Transient, "KafkaUnreachable", "no broker answers; check the brokers")
}

// wasWell: the scene was judged before, an hour ago, when all was well.
func wasWell(s *scene) {
	before := orders()
	before.Desired, before.Now = s.Desired, now.Add(-time.Hour)
	before.Desired.Mode = "Enforce"
	if s.Desired.Unclean {
		before.set(unclean, topic.TypeBoolean, "true")
	}
	before.Desired.Partitions = 3
	before.Desired.Config = nil
	s.Previous = verdict.Judge(before.input()).Status
}

// object is the DurableTopic with a status.
func (s *scene) object(st v1alpha1.DurableTopicStatus) *v1alpha1.DurableTopic {
	return &v1alpha1.DurableTopic{
		ObjectMeta: metav1.ObjectMeta{Name: "orders", Namespace: "shop", Generation: s.Generation}, Status: st,
	}
}

// judge gives the verdict and checks what must hold of every verdict.
func (s *scene) judge(t testing.TB) verdict.Verdict {
	t.Helper()
	return judge(t, s, s.input())
}

type fataler interface {
	Helper()
	Errorf(format string, args ...any)
}

func judge(t fataler, s *scene, in verdict.Input) verdict.Verdict {
	t.Helper()
	before := fmt.Sprintf("%#v", in)
	previous := *in.Previous.DeepCopy()
	v := verdict.Judge(in)
	if after := fmt.Sprintf("%#v", in); before != after {
		t.Errorf("the input was changed:\n%s", cmp.Diff(before, after))
	}
	if diff := cmp.Diff(previous, in.Previous); diff != "" {
		t.Errorf("the previous status was changed:\n%s", diff)
	}
	if diff := cmp.Diff(v, verdict.Judge(in)); diff != "" {
		t.Errorf("the same input gives another verdict:\n%s", diff)
	}
	for _, err := range statuscheck.Check(s.object(v.Status)) {
		t.Errorf("status: %v", err)
	}
	seen := map[string]bool{}
	for _, e := range v.Events {
		for _, err := range statuscheck.Message(e.Note) {
			t.Errorf("event %s: %v", e.Reason, err)
		}
		if seen[e.Reason] || e.Action == "" {
			t.Errorf("event %s is there twice or has no action", e.Reason)
		}
		seen[e.Reason] = true
	}
	if v.Quiet && (len(v.Events) > 0 || v.RequeueAfter <= 0 || !cmp.Equal(v.Status, in.Previous)) {
		t.Errorf("a quiet verdict tells something, or does not come back: %+v", v)
	}
	if v.RequeueAfter < 0 {
		t.Errorf("come back after %v", v.RequeueAfter)
	}
	if !v.Quiet {
		quiescent(t, in, v)
	}
	return v
}

// quiescent: judging the same facts on top of the status that was just written changes and tells nothing.
func quiescent(t fataler, in verdict.Input, v verdict.Verdict) {
	t.Helper()
	in.Previous, in.Did, in.DoneAt = v.Status, verdict.Deeds{}, time.Time{}
	again := verdict.Judge(in)
	if diff := cmp.Diff(v.Status, again.Status); diff != "" {
		t.Errorf("the same facts rewrite the status:\n%s", diff)
	}
	if len(again.Events) > 0 {
		t.Errorf("the same facts are told again: %v", again.Events)
	}
}

// shown is a status as the table of the design has it.
type shown struct {
	Ready, Durable string // status and reason
	Progress       string // Reconciling or Stalled, and reason; empty: neither
	Drifted        string // reason; empty: not there
	KStatus        status.Status
}

func show(t testing.TB, o *v1alpha1.DurableTopic) shown {
	t.Helper()
	got := shown{}
	for _, c := range o.Status.Conditions {
		text := string(c.Status) + " " + c.Reason
		switch c.Type {
		case v1alpha1.ConditionReady:
			got.Ready = text
		case v1alpha1.ConditionDurable:
			got.Durable = text
		case v1alpha1.ConditionDrifted:
			got.Drifted = c.Reason
		default:
			got.Progress = c.Type + " " + c.Reason
		}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil {
		t.Fatal(err)
	}
	got.KStatus = result.Status
	return got
}

func message(s v1alpha1.DurableTopicStatus, kind string) string {
	for _, c := range s.Conditions {
		if c.Type == kind {
			return c.Message
		}
	}
	return ""
}

func reasons(events []verdict.Event) []string {
	var list []string
	for _, e := range events {
		kind := "Normal "
		if e.Warning {
			kind = "Warning "
		}
		list = append(list, kind+e.Reason)
	}
	return list
}
