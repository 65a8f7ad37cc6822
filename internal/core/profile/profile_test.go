package profile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/profile"
)

func TestDesire(t *testing.T) {
	five := v1alpha1.Profiles{
		Critical:  v1alpha1.ProfileSettings{ReplicationFactor: 5},
		Telemetry: v1alpha1.ProfileSettings{ReplicationFactor: 3},
	}
	three := placement.Rule{ReplicationFactor: 3, MinInSyncReplicas: 2}
	tests := map[string]struct {
		spec    v1alpha1.DurableTopicSpec
		cluster v1alpha1.KafkaClusterSpec
		want    profile.Desired
	}{
		"critical": {
			spec: v1alpha1.DurableTopicSpec{Profile: "critical"},
			want: profile.Desired{Topic: "orders", Profile: "critical", Rule: three, Mode: "Enforce"},
		},
		"telemetry": {
			spec: v1alpha1.DurableTopicSpec{Profile: "telemetry"},
			want: profile.Desired{Topic: "orders", Profile: "telemetry", Rule: three, Unclean: true, Mode: "Enforce"},
		},
		"the cluster gives critical five replicas": {
			spec: v1alpha1.DurableTopicSpec{Profile: "critical"}, cluster: v1alpha1.KafkaClusterSpec{Profiles: five},
			want: profile.Desired{Topic: "orders", Profile: "critical", Mode: "Enforce",
				Rule: placement.Rule{ReplicationFactor: 5, MinInSyncReplicas: 3}},
		},
		"and telemetry three": {
			spec: v1alpha1.DurableTopicSpec{Profile: "telemetry"}, cluster: v1alpha1.KafkaClusterSpec{Profiles: five},
			want: profile.Desired{Topic: "orders", Profile: "telemetry", Rule: three, Unclean: true, Mode: "Enforce"},
		},
		"the topic has the last word": {
			spec:    v1alpha1.DurableTopicSpec{Profile: "critical", ReplicationFactor: 3},
			cluster: v1alpha1.KafkaClusterSpec{Profiles: five},
			want:    profile.Desired{Topic: "orders", Profile: "critical", Rule: three, Mode: "Enforce"},
		},
		"all that can be said": {
			spec: v1alpha1.DurableTopicSpec{
				TopicName: "Orders_V2", Profile: "critical", Partitions: 12, Enforcement: "Enforce",
				Config: map[string]string{"retention.ms": "604800000"},
			},
			cluster: v1alpha1.KafkaClusterSpec{Enforcement: "Observe", Placement: "Broker", RackAwareness: "BestEffort"},
			want: profile.Desired{
				Topic: "Orders_V2", Profile: "critical", Partitions: 12, ByBroker: true, Mode: "Observe",
				Config: map[string]string{"retention.ms": "604800000"},
				Rule:   placement.Rule{ReplicationFactor: 3, MinInSyncReplicas: 2, BestEffort: true},
			},
		},
		"reserved keys that got past admission": {
			spec: v1alpha1.DurableTopicSpec{Profile: "critical", Config: map[string]string{
				"min.insync.replicas": "asd", "unclean.leader.election.enable": "true",
				"leader.replication.throttled.replicas": "*", "follower.replication.throttled.replicas": "*", "segment.ms": "1",
			}},
			want: profile.Desired{Topic: "orders", Profile: "critical", Rule: three, Mode: "Enforce",
				Config: map[string]string{"segment.ms": "1"}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := &v1alpha1.DurableTopic{ObjectMeta: metav1.ObjectMeta{Name: "orders"}, Spec: tt.spec}
			before := o.DeepCopy()
			got := profile.Desire(o, tt.cluster)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("desired (-want +got):\n%s", diff)
			}
			if got.Config != nil {
				got.Config["added"] = "later"
			}
			if diff := cmp.Diff(before, o); diff != "" {
				t.Errorf("the object was changed:\n%s", diff)
			}
		})
	}
}

// TestMinInSyncReplicas: never all replicas, never one.
func TestMinInSyncReplicas(t *testing.T) {
	for rf, want := range map[int32]int32{3: 2, 5: 3} {
		if got := profile.MinInSyncReplicas(rf); got != want {
			t.Errorf("replication factor %d gives min.insync.replicas %d, want %d", rf, got, want)
		}
	}
}

func TestStricter(t *testing.T) {
	tests := []struct{ topic, cluster, want v1alpha1.Enforcement }{
		{"", "", "Enforce"}, {"Enforce", "Enforce", "Enforce"}, {"Enforce", "Observe", "Observe"},
		{"Observe", "Enforce", "Observe"}, {"Observe", "Suspended", "Suspended"}, {"Suspended", "Observe", "Suspended"},
		{"", "Suspended", "Suspended"}, {"Observe", "", "Observe"}, {"Observe", "Observe", "Observe"},
	}
	for _, tt := range tests {
		if got := profile.Stricter(tt.topic, tt.cluster); got != tt.want {
			t.Errorf("topic %q under cluster %q is %q, want %q", tt.topic, tt.cluster, got, tt.want)
		}
	}
}

func TestValue(t *testing.T) {
	d := profile.Desired{
		Rule: placement.Rule{ReplicationFactor: 5, MinInSyncReplicas: 3}, Unclean: true,
		Config: map[string]string{"retention.ms": "1", "cleanup.policy": ""},
	}
	want := map[string]string{"min.insync.replicas": "3", "unclean.leader.election.enable": "true"}
	if diff := cmp.Diff(want, d.Locks()); diff != "" {
		t.Errorf("locks (-want +got):\n%s", diff)
	}
	for key, want := range map[string]struct {
		value string
		owned bool
	}{
		"min.insync.replicas": {"3", true}, "unclean.leader.election.enable": {"true", true}, "retention.ms": {"1", true},
		"cleanup.policy": {"", true}, "segment.ms": {"", false},
	} {
		if value, owned := d.Value(key); value != want.value || owned != want.owned {
			t.Errorf("%s is %q, owned %v", key, value, owned)
		}
	}
}
