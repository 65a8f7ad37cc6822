package v1alpha1_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"durabletopic.io/operator/api/v1alpha1"
)

func TestSchemeKnowsEveryKind(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatalf("build scheme: %v", err)
	}
	for kind, object := range map[string]runtime.Object{
		"KafkaCluster":     &v1alpha1.KafkaCluster{},
		"KafkaClusterList": &v1alpha1.KafkaClusterList{},
		"DurableTopic":     &v1alpha1.DurableTopic{},
		"DurableTopicList": &v1alpha1.DurableTopicList{},
	} {
		kinds, _, err := scheme.ObjectKinds(object)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		want := []schema.GroupVersionKind{{Group: "durabletopic.io", Version: "v1alpha1", Kind: kind}}
		if diff := cmp.Diff(want, kinds); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	if got, want := v1alpha1.Resource("durabletopics").String(), "durabletopics.durabletopic.io"; got != want {
		t.Errorf("resource %q, want %q", got, want)
	}
}

func TestEffectiveNames(t *testing.T) {
	tests := map[string]struct {
		topic       v1alpha1.DurableTopic
		wantTopic   string
		wantCluster string
	}{
		"nothing given": {
			topic:       v1alpha1.DurableTopic{ObjectMeta: metav1.ObjectMeta{Name: "orders"}},
			wantTopic:   "orders",
			wantCluster: "default",
		},
		"both given": {
			topic: v1alpha1.DurableTopic{
				ObjectMeta: metav1.ObjectMeta{Name: "orders"},
				Spec:       v1alpha1.DurableTopicSpec{TopicName: "Orders_V2", ClusterRef: v1alpha1.ClusterReference{Name: "west"}},
			},
			wantTopic:   "Orders_V2",
			wantCluster: "west",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tc.topic.KafkaTopicName(); got != tc.wantTopic {
				t.Errorf("topic name %q, want %q", got, tc.wantTopic)
			}
			if got := tc.topic.ClusterName(); got != tc.wantCluster {
				t.Errorf("cluster name %q, want %q", got, tc.wantCluster)
			}
		})
	}
}

func TestReplicationFactorOfAProfile(t *testing.T) {
	profiles := v1alpha1.Profiles{Critical: v1alpha1.ProfileSettings{ReplicationFactor: 5}}
	tests := map[string]struct {
		profiles v1alpha1.Profiles
		profile  v1alpha1.Profile
		want     int32
	}{
		"critical, chosen":     {profiles, v1alpha1.ProfileCritical, 5},
		"telemetry, unset":     {profiles, v1alpha1.ProfileTelemetry, 3},
		"critical, none given": {v1alpha1.Profiles{}, v1alpha1.ProfileCritical, 3},
		"telemetry, chosen": {
			v1alpha1.Profiles{Telemetry: v1alpha1.ProfileSettings{ReplicationFactor: 5}}, v1alpha1.ProfileTelemetry, 5,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			cluster := v1alpha1.KafkaCluster{Spec: v1alpha1.KafkaClusterSpec{Profiles: tc.profiles}}
			if got := cluster.ReplicationFactor(tc.profile); got != tc.want {
				t.Errorf("replication factor %d, want %d", got, tc.want)
			}
		})
	}
}

func TestConditionsAccessors(t *testing.T) {
	want := []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	type conditioned interface {
		GetConditions() []metav1.Condition
		SetConditions([]metav1.Condition)
	}
	for name, object := range map[string]conditioned{"topic": &v1alpha1.DurableTopic{}, "cluster": &v1alpha1.KafkaCluster{}} {
		object.SetConditions(want)
		if diff := cmp.Diff(want, object.GetConditions()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A copy shares nothing with its original.
func TestDeepCopyOfTopic(t *testing.T) {
	original := &v1alpha1.DurableTopic{
		Spec: v1alpha1.DurableTopicSpec{Config: map[string]string{"retention.ms": "1"}},
		Status: v1alpha1.DurableTopicStatus{
			OwnedConfig: []string{"retention.ms"},
			LastDrift:   &v1alpha1.DriftRecord{Changes: []v1alpha1.DriftChange{{Key: "retention.ms", From: "2", To: "1"}}},
		},
	}
	duplicate := original.DeepCopy()
	duplicate.Spec.Config["retention.ms"] = "3"
	duplicate.Status.OwnedConfig[0] = "segment.ms"
	duplicate.Status.LastDrift.Changes[0].To = "3"

	if got := original.Spec.Config["retention.ms"] + original.Status.OwnedConfig[0] + original.Status.LastDrift.Changes[0].To; got != "1retention.ms1" {
		t.Errorf("the original changed with its copy: %s", got)
	}
}
