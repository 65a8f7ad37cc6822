package kafkacluster

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
	"durabletopic.io/operator/internal/mover"
)

var epoch = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// object is a KafkaCluster of generation 2, born at epoch.
func object(edits ...func(*v1alpha1.KafkaCluster)) *v1alpha1.KafkaCluster {
	c := &v1alpha1.KafkaCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "uid-default", Generation: 2, CreationTimestamp: metav1.NewTime(epoch)},
		Spec:       v1alpha1.KafkaClusterSpec{BootstrapServers: []string{"a:9092"}, Enforcement: v1alpha1.EnforcementEnforce},
		Status:     v1alpha1.KafkaClusterStatus{ObservedGeneration: -1},
	}
	for _, edit := range edits {
		edit(c)
	}
	return c
}

func named(name string, uid types.UID, age time.Duration) func(*v1alpha1.KafkaCluster) {
	return func(c *v1alpha1.KafkaCluster) {
		c.Name, c.UID, c.CreationTimestamp = name, uid, metav1.NewTime(epoch.Add(-age))
	}
}

func recorded(id string) func(*v1alpha1.KafkaCluster) {
	return func(c *v1alpha1.KafkaCluster) { c.Status.ClusterID = id }
}

func pinned(id string) func(*v1alpha1.KafkaCluster) {
	return func(c *v1alpha1.KafkaCluster) { c.Spec.ClusterID = id }
}

func enforcement(e v1alpha1.Enforcement) func(*v1alpha1.KafkaCluster) {
	return func(c *v1alpha1.KafkaCluster) { c.Spec.Enforcement = e }
}

func deleted(c *v1alpha1.KafkaCluster) { c.DeletionTimestamp = new(metav1.NewTime(epoch)) }

// wasReady has the status of an earlier generation-2 pass.
func wasReady(c *v1alpha1.KafkaCluster) {
	c.Status.ObservedGeneration = 2
	c.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonConnected,
		Message: `connected to Kafka cluster "id"`, ObservedGeneration: 2, LastTransitionTime: metav1.NewTime(epoch),
	}}
}

func facts(id string) *topic.Cluster {
	return &topic.Cluster{
		ID:       id,
		Brokers:  []topic.Broker{{ID: 1, Rack: "a"}, {ID: 2, Rack: "a", Fenced: true}, {ID: 3, Rack: "b"}, {ID: 4}},
		Features: map[string]int16{"metadata.version": 29, "group.version": 1, topic.FeatureELR: 1},
	}
}

func inTouch() topic.Contact { return topic.Contact{InTouch: true} }

func lost(class fault.Class, reason string) topic.Contact {
	return topic.Contact{Fault: fault.New(class, reason, "what is wrong").WithDetail("dial tcp")}
}

func TestActing(t *testing.T) {
	tests := map[string]struct {
		clusters []*v1alpha1.KafkaCluster
		want     map[string]string
	}{
		"alone":            {clusters: []*v1alpha1.KafkaCluster{object(recorded("x"))}, want: map[string]string{"default": "default"}},
		"nothing recorded": {clusters: []*v1alpha1.KafkaCluster{object()}, want: map[string]string{}},
		"another Kafka": {
			clusters: []*v1alpha1.KafkaCluster{object(recorded("x")), object(named("b", "2", 0), recorded("y"))},
			want:     map[string]string{"default": "default", "b": "b"},
		},
		"the older one": {
			clusters: []*v1alpha1.KafkaCluster{object(recorded("x")), object(named("b", "z", time.Second), recorded("x"))},
			want:     map[string]string{"default": "b", "b": "b"},
		},
		"born together: by UID": {
			clusters: []*v1alpha1.KafkaCluster{object(named("a", "2", 0), recorded("x")), object(named("b", "1", 0), recorded("x"))},
			want:     map[string]string{"a": "b", "b": "b"},
		},
		"the older one is going": {
			clusters: []*v1alpha1.KafkaCluster{object(recorded("x")), object(named("b", "z", time.Second), recorded("x"), deleted)},
			want:     map[string]string{"default": "default", "b": "default"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var list []v1alpha1.KafkaCluster
			for _, c := range tc.clusters {
				list = append(list, *c)
			}
			if diff := cmp.Diff(tc.want, Acting(list)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestIdentify(t *testing.T) {
	tests := map[string]struct {
		object  *v1alpha1.KafkaCluster
		facts   *topic.Cluster
		contact topic.Contact
		want    string
	}{
		"nothing read":             {object: object(), contact: inTouch()},
		"first one read":           {object: object(), facts: facts("x"), contact: inTouch(), want: "x"},
		"out of touch":             {object: object(), facts: facts("x")},
		"another one":              {object: object(recorded("x")), facts: facts("y"), contact: inTouch(), want: "x"},
		"pinned":                   {object: object(pinned("x")), facts: facts("x"), contact: inTouch(), want: "x"},
		"pinned to another":        {object: object(pinned("x")), facts: facts("y"), contact: inTouch()},
		"pinned anew":              {object: object(recorded("x"), pinned("y")), facts: facts("y"), contact: inTouch(), want: "y"},
		"pinned anew, not reached": {object: object(recorded("x"), pinned("y")), facts: facts("x"), contact: inTouch(), want: "x"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := identify(tc.object, tc.facts, tc.contact); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestRefusal(t *testing.T) {
	tests := map[string]struct {
		object *v1alpha1.KafkaCluster
		acting string
		want   string // reason; empty: writes are allowed
	}{
		"recorded and acting":  {object: object(recorded("x")), acting: "default"},
		"pinned and recorded":  {object: object(recorded("x"), pinned("x")), acting: "default"},
		"not recorded":         {object: object(), want: v1alpha1.ReasonConnecting},
		"pinned, not recorded": {object: object(pinned("x")), want: v1alpha1.ReasonConnecting},
		"pinned to another":    {object: object(recorded("x"), pinned("y")), acting: "default", want: v1alpha1.ReasonConnecting},
		"another acts":         {object: object(recorded("x")), acting: "older", want: v1alpha1.ReasonKafkaOwnedByAnother},
		"observe": {object: object(recorded("x"), enforcement(v1alpha1.EnforcementObserve)), acting: "default",
			want: v1alpha1.ReasonObserveOnly},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if f := refusal(tc.object, tc.acting); f != nil {
				got = f.Reason
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	type conditions struct{ Ready, Reconciling, Stalled string } // status and reason
	id := recorded("id")
	tests := map[string]struct {
		in         Input
		want       conditions
		wantWords  []string
		generation int64 // observed; default 2
	}{
		"all well": {
			in:        Input{Object: object(id), ClusterID: "id", Acting: "default", Facts: facts("id"), Contact: inTouch()},
			want:      conditions{Ready: "True Connected"},
			wantWords: []string{`"id"`},
		},
		"all well again": {
			in:   Input{Object: object(id, wasReady), ClusterID: "id", Acting: "default", Facts: facts("id"), Contact: inTouch()},
			want: conditions{Ready: "True Connected"},
		},
		"observe": {
			in: Input{Object: object(id, enforcement(v1alpha1.EnforcementObserve)), ClusterID: "id", Acting: "default",
				Facts: facts("id"), Contact: inTouch()},
			want:      conditions{Ready: "True Connected"},
			wantWords: []string{"Observe"},
		},
		"not tried yet": {
			in:   Input{Object: object(), Contact: lost(fault.Waiting, v1alpha1.ReasonConnecting)},
			want: conditions{Ready: "Unknown Connecting", Reconciling: "True Connecting"},
		},
		"not tried yet after a restart": {
			in:   Input{Object: object(id, wasReady), ClusterID: "id", Contact: lost(fault.Waiting, v1alpha1.ReasonConnecting)},
			want: conditions{Ready: "True Connected"},
		},
		"not tried yet with a new spec": {
			in: Input{Object: object(id, wasReady, func(c *v1alpha1.KafkaCluster) { c.Generation = 3 }), ClusterID: "id",
				Contact: lost(fault.Waiting, v1alpha1.ReasonConnecting)},
			want:       conditions{Ready: "Unknown Connecting", Reconciling: "True Connecting"},
			generation: 3,
		},
		"refused": {
			in:        Input{Object: object(id, wasReady), ClusterID: "id", Contact: lost(fault.Transient, v1alpha1.ReasonConnectionRefused)},
			want:      conditions{Ready: "Unknown ConnectionRefused", Reconciling: "True ConnectionRefused"},
			wantWords: []string{"what is wrong: dial tcp"},
		},
		"an error that nobody classified": {
			in:   Input{Object: object(id, wasReady), ClusterID: "id", Contact: topic.Contact{Fault: errors.New("EOF")}},
			want: conditions{Ready: "Unknown KafkaUnreachable", Reconciling: "True KafkaUnreachable"},
		},
		"sasl needed": {
			in:   Input{Object: object(), Contact: lost(fault.Blocked, v1alpha1.ReasonAuthenticationRequired)},
			want: conditions{Ready: "False AuthenticationRequired", Stalled: "True AuthenticationRequired"},
		},
		"another Kafka": {
			in:        Input{Object: object(id, wasReady), ClusterID: "id", Contact: lost(fault.Blocked, v1alpha1.ReasonClusterIDChanged)},
			want:      conditions{Ready: "False ClusterIDChanged", Stalled: "True ClusterIDChanged"},
			wantWords: []string{"nothing is written", "spec.clusterID"},
		},
		"old brokers": {
			in: Input{Object: object(id), ClusterID: "id", Acting: "default", Contact: inTouch(),
				Facts: &topic.Cluster{ID: "id", Missing: []string{"DescribeTopicPartitions"}}},
			want:      conditions{Ready: "False UnsupportedBrokers", Stalled: "True UnsupportedBrokers"},
			wantWords: []string{"DescribeTopicPartitions", "4.0"},
		},
		"the pin was moved and is not recorded": {
			in:   Input{Object: object(id, pinned("new")), ClusterID: "id", Acting: "default", Facts: facts("new"), Contact: inTouch()},
			want: conditions{Ready: "Unknown Connecting", Reconciling: "True Connecting"},
		},
		"an older one acts": {
			in:        Input{Object: object(), ClusterID: "id", Acting: "older", Facts: facts("id"), Contact: inTouch()},
			want:      conditions{Ready: "False KafkaOwnedByAnother", Stalled: "True KafkaOwnedByAnother"},
			wantWords: []string{`"older"`, `"id"`},
		},
		"suspended": {
			in:   Input{Object: object(id, wasReady, enforcement(v1alpha1.EnforcementSuspended)), ClusterID: "id"},
			want: conditions{Ready: "Unknown Suspended", Stalled: "True Suspended"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.in.Now = epoch.Add(time.Hour)
			given := tc.in.Object.DeepCopy()
			got := Judge(tc.in)
			if diff := cmp.Diff(given, tc.in.Object); diff != "" {
				t.Errorf("the input was changed:\n%s", diff)
			}
			show := func(kind string) string {
				if c := meta.FindStatusCondition(got.Conditions, kind); c != nil {
					return string(c.Status) + " " + c.Reason
				}
				return ""
			}
			have := conditions{show(v1alpha1.ConditionReady), show(v1alpha1.ConditionReconciling), show(v1alpha1.ConditionStalled)}
			if diff := cmp.Diff(tc.want, have); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			message := meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionReady).Message
			for _, words := range tc.wantWords {
				if !strings.Contains(message, words) {
					t.Errorf("%q lacks %q", message, words)
				}
			}
			if want := max(tc.generation, 2); got.ObservedGeneration != want {
				t.Errorf("observed generation %d, want %d", got.ObservedGeneration, want)
			}
			again := tc.in
			again.Object = tc.in.Object.DeepCopy()
			again.Object.Status = got
			again.Now = again.Now.Add(time.Hour)
			if diff := cmp.Diff(got, Judge(again)); diff != "" {
				t.Errorf("the same facts give another status an hour later:\n%s", diff)
			}
		})
	}
}

func TestJudgeShowsFacts(t *testing.T) {
	in := Input{
		Object: object(), ClusterID: "id", Acting: "default", Facts: facts("id"), Contact: inTouch(),
		MissingPermissions: []string{"b", strings.Repeat("x", 1000), "a", "b"},
		Topics:             []v1alpha1.TopicCount{{Profile: v1alpha1.ProfileCritical, Total: 3}},
	}
	got := Judge(in)
	want := v1alpha1.KafkaClusterStatus{
		ObservedGeneration: 2, ClusterID: "id",
		Features:           []v1alpha1.Feature{{Name: topic.FeatureELR, Level: 1}, {Name: "metadata.version", Level: 29}},
		Brokers:            &v1alpha1.BrokerCounts{Registered: 4, Available: 3, WithoutRack: 1, Racks: 2},
		Racks:              []v1alpha1.RackStatus{{Name: "a", Registered: 2, Available: 1}, {Name: "b", Registered: 1, Available: 1}},
		Topics:             in.Topics,
		MissingPermissions: []string{"a", "b", fault.Cut(strings.Repeat("x", 1000), v1alpha1.MaxMissingPermissionLength)},
	}
	got.Conditions = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	in.Object.Status = want
	in.Contact, in.Facts = lost(fault.Transient, v1alpha1.ReasonConnectionRefused), nil
	got = Judge(in)
	got.Conditions = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("without contact the last known facts are not kept (-want +got):\n%s", diff)
	}

	in.Object.Spec.Enforcement = v1alpha1.EnforcementSuspended
	got = Judge(in)
	if got.Brokers != nil || got.Racks != nil || got.Features != nil || got.ClusterID != "id" {
		t.Errorf("a suspended cluster shows %+v", got)
	}
}

// Many racks, and racks with long names, must not make a status that the API server refuses.
func TestJudgeKeepsTheBoundsOfTheAPI(t *testing.T) {
	many := &topic.Cluster{ID: "id"}
	for i := range 200 {
		many.Brokers = append(many.Brokers, topic.Broker{ID: int32(i), Rack: strings.Repeat("r", i+100)})
	}
	permissions := make([]string, 100)
	for i := range permissions {
		permissions[i] = strings.Repeat("p", i+1)
	}
	got := Judge(Input{Object: object(), ClusterID: "id", Acting: "default", Facts: many, Contact: inTouch(), MissingPermissions: permissions})
	if len(got.Racks) > v1alpha1.MaxRacks || len(got.MissingPermissions) > v1alpha1.MaxMissingPermissions {
		t.Errorf("%d racks, %d permissions", len(got.Racks), len(got.MissingPermissions))
	}
	for _, r := range got.Racks {
		if len(r.Name) > v1alpha1.MaxRackNameLength {
			t.Errorf("a rack name of %d characters", len(r.Name))
		}
	}
	if got.Brokers.Racks != 200 {
		t.Errorf("%d racks counted", got.Brokers.Racks)
	}
}

// A broker's words differ from one attempt to the next; that alone rewrites nothing.
func TestJudgeIgnoresOtherWords(t *testing.T) {
	contact := func(words string) topic.Contact {
		return topic.Contact{Fault: fault.New(fault.Transient, v1alpha1.ReasonConnectionRefused, "nothing listens").WithDetail(words)}
	}
	first := Judge(Input{Object: object(), Contact: contact("dial tcp 10.0.0.1")})
	second := Judge(Input{Object: object(func(c *v1alpha1.KafkaCluster) { c.Status = first }), Contact: contact("dial tcp 10.0.0.2")})
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("(-first +second):\n%s", diff)
	}
}

func TestCountsAreWrittenAtMostOnceAMinute(t *testing.T) {
	c := counts{at: map[string]time.Time{}}
	of := func(n int32) numbers {
		return numbers{
			topics: []v1alpha1.TopicCount{{Profile: v1alpha1.ProfileCritical, Total: 1}},
			moves:  &v1alpha1.MoveCounts{Running: n},
		}
	}
	o := object()
	steps := []struct {
		at      time.Duration
		present int32
		want    numbers
	}{
		{at: 0, present: 1}, // not all topics were looked at yet
		{at: 59 * time.Second, present: 2},
		{at: 60 * time.Second, present: 3, want: of(3)},
		{at: 61 * time.Second, present: 4, want: of(3)},
		{at: 119 * time.Second, present: 5, want: of(3)},
		{at: 120 * time.Second, present: 6, want: of(6)},
		{at: time.Hour, present: 6, want: of(6)},
		{at: time.Hour + time.Second, present: 7, want: of(7)},
	}
	for _, s := range steps {
		now := epoch.Add(s.at)
		got := c.due(o, of(s.present), now)
		if diff := cmp.Diff(s.want, got, cmp.AllowUnexported(numbers{})); diff != "" {
			t.Fatalf("after %v (-want +got):\n%s", s.at, diff)
		}
		c.wrote(o.Name, numbersOf(o.Status), got, now)
		o.Status.Topics, o.Status.Moves = got.topics, got.moves
	}
	if moveCounts(mover.Counts{}) != nil {
		t.Error("no moves are counted")
	}
}
