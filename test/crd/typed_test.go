package crd

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"durabletopic.io/operator/api/v1alpha1"
)

// typedClient returns a client for the Go types, which refuses fields that the server does not know.
func typedClient(t *testing.T) client.Client {
	t.Helper()
	s := onServer(t)
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatalf("build scheme: %v", err)
	}
	c, err := client.New(s.bed.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatalf("build client: %v", err)
	}
	return client.WithFieldValidation(c, metav1.FieldValidationStrict)
}

func TestTypedTopicSendsOnlyWhatIsSet(t *testing.T) {
	raw, err := json.Marshal(&v1alpha1.DurableTopic{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "DurableTopic"},
		ObjectMeta: metav1.ObjectMeta{Name: "orders"},
		Spec:       v1alpha1.DurableTopicSpec{Profile: v1alpha1.ProfileCritical},
	})
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	want := `{"kind":"DurableTopic","apiVersion":"durabletopic.io/v1alpha1","metadata":{"name":"orders"},"spec":{"profile":"critical"}}`
	if diff := cmp.Diff(want, string(raw)); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

func TestTypedObjects(t *testing.T) {
	c := typedClient(t)

	cluster := &v1alpha1.KafkaCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "typed"},
		Spec:       v1alpha1.KafkaClusterSpec{BootstrapServers: []string{"a:9092"}},
	}
	if err := c.Create(t.Context(), cluster); err != nil {
		t.Fatalf("create cluster: %v", err)
	}
	t.Cleanup(func() { server.remove(t, clusters, "typed") })
	want := v1alpha1.KafkaClusterSpec{
		BootstrapServers:     []string{"a:9092"},
		SecurityProtocol:     v1alpha1.SecurityProtocolPlaintext,
		Enforcement:          v1alpha1.EnforcementEnforce,
		CheckIntervalSeconds: v1alpha1.DefaultCheckIntervalSeconds,
		Placement:            v1alpha1.PlacementOperator,
		RackAwareness:        v1alpha1.RackAwarenessRequired,
		Profiles: v1alpha1.Profiles{
			Critical:  v1alpha1.ProfileSettings{ReplicationFactor: v1alpha1.DefaultReplicationFactor},
			Telemetry: v1alpha1.ProfileSettings{ReplicationFactor: v1alpha1.DefaultReplicationFactor},
		},
		Reassignment: v1alpha1.Reassignment{
			MaxConcurrentPartitionMoves: v1alpha1.DefaultMaxConcurrentPartitionMoves,
			Throttle:                    v1alpha1.Throttle{Mode: v1alpha1.ThrottleLimited, BytesPerSecond: v1alpha1.DefaultThrottleBytesPerSecond},
			StallTimeoutSeconds:         v1alpha1.DefaultStallTimeoutSeconds,
		},
	}
	if diff := cmp.Diff(want, cluster.Spec); diff != "" {
		t.Errorf("cluster spec (-want +got):\n%s", diff)
	}

	empty := &v1alpha1.DurableTopic{ObjectMeta: metav1.ObjectMeta{Name: "empty", Namespace: "default"}}
	if err := c.Create(t.Context(), empty); !apierrors.IsInvalid(err) {
		t.Errorf("create topic without spec: got %v, want a refusal", err)
	}
}

// fullTopicStatus returns a status with everything at its bound.
func fullTopicStatus() v1alpha1.DurableTopicStatus {
	now := metav1.Now().Rfc3339Copy()
	status := v1alpha1.DurableTopicStatus{
		ObservedGeneration:    1,
		TopicName:             strings.Repeat("n", v1alpha1.MaxTopicNameLength),
		TopicID:               "hvXRWqRPQ8mHLQm8LmNWSw",
		Origin:                v1alpha1.TopicOriginAdopted,
		Partitions:            10000,
		ReplicationFactor:     1,
		MaxReplicationFactor:  5,
		MinInSyncReplicas:     1,
		UncleanLeaderElection: v1alpha1.UncleanLeaderElectionEnabled,
		Racks:                 1,
		LastDrift:             &v1alpha1.DriftRecord{Time: now},
	}
	for _, condition := range []string{
		v1alpha1.ConditionReady, v1alpha1.ConditionDurable, v1alpha1.ConditionDrifted,
		v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled,
	} {
		status.Conditions = append(status.Conditions, metav1.Condition{
			Type: condition, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPlacementViolation, ObservedGeneration: 1,
			LastTransitionTime: now, Message: strings.Repeat("m", 300),
		})
	}
	for i := range v1alpha1.MaxOwnedConfig {
		status.OwnedConfig = append(status.OwnedConfig, fmt.Sprintf("%s%03d", strings.Repeat("k", v1alpha1.MaxConfigKeyLength-3), i))
	}
	for i := range v1alpha1.MaxDriftChanges {
		status.LastDrift.Changes = append(status.LastDrift.Changes, v1alpha1.DriftChange{
			Key:  fmt.Sprintf("%s%03d", strings.Repeat("k", v1alpha1.MaxConfigKeyLength-3), i),
			From: strings.Repeat("f", v1alpha1.MaxDriftValueLength),
			To:   strings.Repeat("t", v1alpha1.MaxDriftValueLength),
		})
	}
	for range v1alpha1.MaxPlanSteps {
		status.Plan = append(status.Plan, strings.Repeat("p", v1alpha1.MaxPlanStepLength))
	}
	return status
}

// However large the topic, its status stays small, and the bounds that writers cut to are those of the schema.
func TestTopicStatusAtItsBounds(t *testing.T) {
	c := typedClient(t)
	topic := &v1alpha1.DurableTopic{
		ObjectMeta: metav1.ObjectMeta{Name: "full", Namespace: "default"},
		Spec:       v1alpha1.DurableTopicSpec{Profile: v1alpha1.ProfileCritical},
	}
	if err := c.Create(t.Context(), topic); err != nil {
		t.Fatalf("create: %v", err)
	}
	t.Cleanup(func() { server.remove(t, topics, "full") })

	topic.Status = fullTopicStatus()
	want := topic.Status.DeepCopy()
	if err := c.Status().Update(t.Context(), topic); err != nil {
		t.Fatalf("write the fullest status: %v", err)
	}
	if diff := cmp.Diff(*want, topic.Status); diff != "" {
		t.Errorf("stored status (-want +got):\n%s", diff)
	}
	raw, err := json.Marshal(topic.Status)
	if err != nil {
		t.Fatalf("marshal status: %v", err)
	}
	if size := len(raw); size > 20_000 {
		t.Errorf("the fullest status has %d bytes, want at most 20000", size)
	}

	beyond := map[string]func(*v1alpha1.DurableTopicStatus){
		"ownedConfig": func(s *v1alpha1.DurableTopicStatus) { s.OwnedConfig = append(s.OwnedConfig, "one.more") },
		"lastDrift.changes": func(s *v1alpha1.DurableTopicStatus) {
			s.LastDrift.Changes = append(s.LastDrift.Changes, v1alpha1.DriftChange{Key: "more"})
		},
		"from":        func(s *v1alpha1.DurableTopicStatus) { s.LastDrift.Changes[0].From += "x" },
		"status.plan": func(s *v1alpha1.DurableTopicStatus) { s.Plan = append(s.Plan, "one more") },
		"plan[0]":     func(s *v1alpha1.DurableTopicStatus) { s.Plan[0] += "x" },
		"topicName":   func(s *v1alpha1.DurableTopicStatus) { s.TopicName += "x" },
	}
	for field, grow := range beyond {
		larger := topic.DeepCopy()
		grow(&larger.Status)
		err := c.Status().Update(t.Context(), larger)
		requireRefusal(t, err, field)
	}
}

func TestClusterStatusAtItsBounds(t *testing.T) {
	c := typedClient(t)
	cluster := &v1alpha1.KafkaCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "full"},
		Spec:       v1alpha1.KafkaClusterSpec{BootstrapServers: []string{"a:9092"}},
	}
	if err := c.Create(t.Context(), cluster); err != nil {
		t.Fatalf("create: %v", err)
	}
	t.Cleanup(func() { server.remove(t, clusters, "full") })

	cluster.Status = v1alpha1.KafkaClusterStatus{
		ObservedGeneration: 1,
		ClusterID:          "MkU3OEVBNTcwNTJENDM2Qg",
		Brokers:            &v1alpha1.BrokerCounts{}, // all zero, and written all the same
		Topics:             []v1alpha1.TopicCount{{Profile: v1alpha1.ProfileCritical}, {Profile: v1alpha1.ProfileTelemetry, Total: 1}},
		Features:           []v1alpha1.Feature{{Name: "eligible.leader.replicas.version", Level: 0}},
	}
	for i := range v1alpha1.MaxRacks {
		cluster.Status.Racks = append(cluster.Status.Racks, v1alpha1.RackStatus{Name: fmt.Sprintf("rack %d", i)})
	}
	for i := range v1alpha1.MaxMissingPermissions {
		cluster.Status.MissingPermissions = append(cluster.Status.MissingPermissions, fmt.Sprintf("Alter on Topic %d", i))
	}
	want := cluster.Status.DeepCopy()
	if err := c.Status().Update(t.Context(), cluster); err != nil {
		t.Fatalf("write the fullest status: %v", err)
	}
	if diff := cmp.Diff(*want, cluster.Status); diff != "" {
		t.Errorf("stored status (-want +got):\n%s", diff)
	}
}
