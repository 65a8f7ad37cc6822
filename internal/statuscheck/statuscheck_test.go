package statuscheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"durabletopic.io/operator/api/v1alpha1"
)

// TestReasonsAreTheVocabulary reads the constants of the API, so that none is forgotten here.
func TestReasonsAreTheVocabulary(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../api/v1alpha1/conditions.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		if want = append(want, value); spec.Names[0].Name != "Reason"+value {
			t.Errorf("constant %s has the value %q", spec.Names[0].Name, value)
		}
		return true
	})
	got := slices.Clone(reasons)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the vocabulary differs (-API +here):\n%s", diff)
	}
}

func condition(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: "as it should be", ObservedGeneration: 2,
		LastTransitionTime: metav1.NewTime(time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)),
	}
}

// ready is a DurableTopic with nothing to complain of.
func ready() *v1alpha1.DurableTopic {
	t := &v1alpha1.DurableTopic{ObjectMeta: metav1.ObjectMeta{Name: "orders", Namespace: "shop", Generation: 2}}
	t.Status.ObservedGeneration = 2
	t.Status.Conditions = []metav1.Condition{
		condition("Ready", "True", "Compliant"), condition("Durable", "True", "FullyReplicated"),
	}
	return t
}

// stalled is a DurableTopic that says properly what is wrong.
func stalled() *v1alpha1.DurableTopic {
	t := ready()
	t.Status.Conditions = []metav1.Condition{
		condition("Ready", "False", "InsufficientRacks"), condition("Durable", "False", "TopicNotFound"),
		condition("Stalled", "True", "InsufficientRacks"),
	}
	return t
}

func TestCheckTopic(t *testing.T) {
	tests := map[string]struct {
		of      func() *v1alpha1.DurableTopic
		spoil   func(*v1alpha1.DurableTopic)
		wantErr string // part of the only error; empty: none
	}{
		"ready":   {of: ready},
		"stalled": {of: stalled},
		"not judged yet": {of: ready, spoil: func(o *v1alpha1.DurableTopic) {
			o.Status = v1alpha1.DurableTopicStatus{ObservedGeneration: -1}
		}},
		"judged without conditions": {of: ready, spoil: func(o *v1alpha1.DurableTopic) {
			o.Status = v1alpha1.DurableTopicStatus{ObservedGeneration: 1}
		}, wantErr: "no conditions, but observedGeneration is 1"},
		"older generation": {of: ready, spoil: func(o *v1alpha1.DurableTopic) { o.Generation = 3 }},
		"being deleted": {of: ready, spoil: func(o *v1alpha1.DurableTopic) {
			o.DeletionTimestamp = &metav1.Time{Time: time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)}
		}},
		"Ready missing": {of: stalled, spoil: func(o *v1alpha1.DurableTopic) {
			o.Status.Conditions = o.Status.Conditions[1:]
		}, wantErr: "Ready is missing"},
		"Durable missing": {of: ready, spoil: func(o *v1alpha1.DurableTopic) {
			o.Status.Conditions = o.Status.Conditions[:1]
		}, wantErr: "Durable is missing"},
		"Ready twice": {of: ready, spoil: func(o *v1alpha1.DurableTopic) {
			o.Status.Conditions = append(o.Status.Conditions, o.Status.Conditions[0])
		}, wantErr: "Ready is there twice"},
		"not Ready for no known cause": {of: stalled, spoil: func(o *v1alpha1.DurableTopic) {
			o.Status.Conditions = o.Status.Conditions[:2]
		}, wantErr: "neither Reconciling nor Stalled"},
		"False Drifted": {of: ready, spoil: func(o *v1alpha1.DurableTopic) {
			o.Status.Conditions = append(o.Status.Conditions, condition("Drifted", "False", "NoDrift"))
		}, wantErr: "Drifted is False"},
		"unknown type": {of: ready, spoil: func(o *v1alpha1.DurableTopic) {
			o.Status.Conditions = append(o.Status.Conditions, condition("Healthy", "True", "Compliant"))
		}, wantErr: "Healthy is not of the vocabulary"},
		"unknown status": {of: ready, spoil: func(o *v1alpha1.DurableTopic) {
			o.Status.Conditions[1].Status = "Perhaps"
		}, wantErr: `the status "Perhaps"`},
		"unknown reason": {of: ready, spoil: func(o *v1alpha1.DurableTopic) {
			o.Status.Conditions[1].Reason = "Nice"
		}, wantErr: `reason "Nice"`},
		"ready for a bad reason": {of: ready, spoil: func(o *v1alpha1.DurableTopic) {
			o.Status.Conditions[0].Reason = "Updating"
		}, wantErr: "Ready is True with the reason Updating"},
		"not ready for a good reason": {of: stalled, spoil: func(o *v1alpha1.DurableTopic) {
			o.Status.Conditions[0].Reason = "Compliant"
		}, wantErr: "Ready is False with the reason Compliant"},
		"no transition time": {of: ready, spoil: func(o *v1alpha1.DurableTopic) {
			o.Status.Conditions[0].LastTransitionTime = metav1.Time{}
		}, wantErr: "no lastTransitionTime"},
		"plan too long": {of: ready, spoil: func(o *v1alpha1.DurableTopic) {
			o.Status.Plan = slices.Repeat([]string{"step"}, 11)
		}, wantErr: "plan has 11 steps"},
		"step too long": {of: ready, spoil: func(o *v1alpha1.DurableTopic) {
			o.Status.Plan = []string{strings.Repeat("é", 257)}
		}, wantErr: "a step of the plan"},
		"too many owned keys": {of: ready, spoil: func(o *v1alpha1.DurableTopic) {
			o.Status.OwnedConfig = slices.Repeat([]string{"a"}, 101)
		}, wantErr: "ownedConfig"},
		"empty drift": {of: ready, spoil: func(o *v1alpha1.DurableTopic) {
			o.Status.LastDrift = &v1alpha1.DriftRecord{Time: metav1.Now()}
		}, wantErr: "lastDrift has 0 changes"},
		"long drift": {of: ready, spoil: func(o *v1alpha1.DurableTopic) {
			o.Status.LastDrift = &v1alpha1.DriftRecord{Time: metav1.Now(), Changes: []v1alpha1.DriftChange{
				{Key: "a", From: strings.Repeat("x", 257)}}}
		}, wantErr: "out of bounds"},
		"large": {of: ready, spoil: func(o *v1alpha1.DurableTopic) {
			o.Labels = map[string]string{"a": strings.Repeat("x", 20<<10)}
		}, wantErr: "bytes of JSON"},
		"large spec": {of: ready, spoil: func(o *v1alpha1.DurableTopic) {
			o.Spec.Config = map[string]string{"a": strings.Repeat("x", 20<<10)}
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := tt.of()
			if tt.spoil != nil {
				tt.spoil(o)
			}
			before := o.DeepCopy()
			wantOnly(t, Check(o), tt.wantErr)
			if diff := cmp.Diff(before, o); diff != "" {
				t.Errorf("the object was changed:\n%s", diff)
			}
		})
	}
}

func wantOnly(t *testing.T, errs []error, want string) {
	t.Helper()
	switch {
	case want == "" && len(errs) > 0:
		t.Errorf("errors %v, want none", errs)
	case want != "" && (len(errs) != 1 || !strings.Contains(errs[0].Error(), want)):
		t.Errorf("errors %v, want one with %q", errs, want)
	}
}

// TestCheckTellsAll: what breaks several rules is told for each.
func TestCheckTellsAll(t *testing.T) {
	tests := map[string]struct {
		spoil func(*v1alpha1.DurableTopic)
		want  []string
	}{
		"Ready beside Stalled": {func(o *v1alpha1.DurableTopic) { o.Status.Conditions[0] = condition("Ready", "True", "Compliant") },
			[]string{"Ready is True beside"}},
		"Reconciling beside Stalled": {func(o *v1alpha1.DurableTopic) {
			o.Status.Conditions = append(o.Status.Conditions, condition("Reconciling", "True", "Updating"))
		}, []string{"are there together"}},
		"Stalled without observedGeneration": {func(o *v1alpha1.DurableTopic) { o.Status.ObservedGeneration = 1 },
			[]string{"Stalled speaks about generation 2, and observedGeneration is 1", "condition Ready speaks about generation 2"}},
		"condition of the future": {func(o *v1alpha1.DurableTopic) { o.Generation = 1 },
			[]string{"condition Ready speaks about generation 2 of 1", "condition Durable speaks about generation 2 of 1"}},
		"observedGeneration of the future": {func(o *v1alpha1.DurableTopic) { o.Status.ObservedGeneration = 3 },
			[]string{"observedGeneration 3 is ahead"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := stalled()
			tt.spoil(o)
			errs := Check(o)
			for _, want := range tt.want {
				if !slices.ContainsFunc(errs, func(err error) bool { return strings.Contains(err.Error(), want) }) {
					t.Errorf("errors %v, want one with %q", errs, want)
				}
			}
		})
	}
}

func TestMessage(t *testing.T) {
	tests := map[string]struct {
		words string
		want  bool // well formed
	}{
		"plain":              {`topic "orders" is as declared: partitions 3, replication factor 3`, true},
		"ends with a dot":    {"Add brokers.", true},
		"strange but quoted": {`topic "a  b ()" is not there`, true},
		"version":            {"Apache Kafka 4.0 or newer is needed", true},
		"empty":              {"", false},
		"blank":              {" ", false},
		"blanks around":      {"not well ", false},
		"verb missing":       {"broker %!d(string=x)", false},
		"nil":                {"broker <nil>", false},
		"nil quoted":         {`"<nil>"`, false},
		"two lines":          {"a\nb", false},
		"double blank":       {"a  b", false},
		"empty list":         {"waits for ; writes go on", false},
		"empty brackets":     {"partition 1 ()", false},
		"empty slice":        {"brokers []", false},
		"no rack":            {"broker 1 (rack )", false},
		"breaks off":         {"Kafka says:", false},
		"double mark":        {"a;; b", false},
		"broken UTF-8":       {"a\xffb", false},
		"too long":           {strings.Repeat("x", 1025), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if errs := Message(tt.words); (len(errs) == 0) != tt.want {
				t.Errorf("Message(%q) = %v", tt.words, errs)
			}
		})
	}
}

func TestCheckCluster(t *testing.T) {
	well := &v1alpha1.KafkaCluster{ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 2}}
	well.Status.ObservedGeneration = 2
	well.Status.Conditions = []metav1.Condition{condition("Ready", "True", "Connected")}
	wantOnly(t, Check(well), "")
	durable := well.DeepCopy()
	durable.Status.Conditions = append(durable.Status.Conditions, condition("Durable", "True", "FullyReplicated"))
	wantOnly(t, Check(durable), "a KafkaCluster has a condition Durable")
	fresh := &v1alpha1.KafkaCluster{ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 1}}
	fresh.Status.ObservedGeneration = -1
	wantOnly(t, Check(fresh), "")
}

// stranger is an object of another kind.
type stranger struct{ v1alpha1.DurableTopic }

func (s *stranger) DeepCopyObject() runtime.Object { return s }

func TestCheckStranger(t *testing.T) {
	wantOnly(t, Check(&stranger{}), "has no status that is known here")
}
