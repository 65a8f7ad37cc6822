package verdict_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/core/topictest"
	"durabletopic.io/operator/internal/fault"
)

func drift(key, from, to string) []v1alpha1.DriftChange {
	return []v1alpha1.DriftChange{{Key: key, From: from, To: to}}
}

// TestEvidence: the status shows what Kafka shows.
func TestEvidence(t *testing.T) {
	id := topictest.ID.String()
	asDeclared := v1alpha1.DurableTopicStatus{
		ObservedGeneration: 1, TopicName: "orders", TopicID: id, Origin: "Adopted", Partitions: 3, ReplicationFactor: 3,
		MinInSyncReplicas: 2, UncleanLeaderElection: "Disabled", Racks: 3, OwnedConfig: []string{minISR, unclean},
	}
	with := func(change func(*v1alpha1.DurableTopicStatus)) v1alpha1.DurableTopicStatus {
		s := *asDeclared.DeepCopy()
		change(&s)
		return s
	}
	tests := map[string]struct {
		scene func(*scene)
		first bool // never judged before
		want  v1alpha1.DurableTopicStatus
	}{
		"adopted": {func(*scene) {}, true, asDeclared},
		"created": {func(s *scene) { s.Did.Created, s.DoneAt = true, now }, true,
			with(func(st *v1alpha1.DurableTopicStatus) { st.Origin = "Created" })},
		"created, not shown yet": {func(s *scene) {
			s.Did.Created, s.DoneAt, s.Owned = true, now.Add(-time.Minute), nil
			s.View.Presence, s.View.Topic, s.View.Expected.Created = topic.Missing, nil, true
		}, true, v1alpha1.DurableTopicStatus{ObservedGeneration: 1, TopicName: "orders", Origin: "Created"}},
		"mixed replication factors": {func(s *scene) { s.partitions("1 3 5", "1 3 5 6", "1") }, false,
			with(func(st *v1alpha1.DurableTopicStatus) {
				st.ReplicationFactor, st.MaxReplicationFactor, st.Racks = 1, 4, 1
			})},
		"locks that Kafka does not show": {func(s *scene) { clear(s.View.Topic.Configs); s.Owned = nil }, false,
			with(func(st *v1alpha1.DurableTopicStatus) {
				st.MinInSyncReplicas, st.UncleanLeaderElection, st.OwnedConfig = 0, "", nil
			})},
		"unclean election on": {func(s *scene) { s.set(unclean, topic.TypeBoolean, "TRUE") }, false,
			with(func(st *v1alpha1.DurableTopicStatus) { st.UncleanLeaderElection = "Enabled" })},
		"replaced by somebody": {func(s *scene) {
			s.Did.Replaced, s.View.Topic.ID = true, topic.ID{9}
			s.Previous.Origin = "Created"
		}, false, with(func(st *v1alpha1.DurableTopicStatus) { st.TopicID = topic.ID{9}.String() })},
		"created again": {func(s *scene) {
			s.Did.Created, s.Did.Recreated, s.View.Topic.ID, s.DoneAt = true, true, topic.ID{9}, now
		}, false, with(func(st *v1alpha1.DurableTopicStatus) { st.TopicID, st.Origin = topic.ID{9}.String(), "Created" })},
		"gone: only the ID stays": {func(s *scene) {
			s.View.Presence, s.View.Topic, s.Desired.Mode = topic.Absent, nil, "Observe"
		}, false, with(func(st *v1alpha1.DurableTopicStatus) {
			st.Partitions, st.ReplicationFactor, st.Racks, st.MinInSyncReplicas, st.UncleanLeaderElection = 0, 0, 0, 0, ""
		})},
		"hidden: the last facts stay": {func(s *scene) { s.View.Presence = topic.Hidden }, false, asDeclared},
		"owned by another: nothing of it is shown": {func(s *scene) {
			s.Refusal = fault.New(fault.Blocked, "TopicOwnedByAnother", "the topic belongs to shop/orders")
		}, false, v1alpha1.DurableTopicStatus{ObservedGeneration: 1, TopicName: "orders"}},
		"owned keys beyond the bound": {func(s *scene) {
			s.Desired.Config = map[string]string{"z": "1"}
			s.set("z", topic.TypeString, "1")
			s.Owned = append(s.Owned, "z")
			for i := range v1alpha1.MaxOwnedConfig {
				s.Owned = append(s.Owned, fmt.Sprintf("left.%03d", i))
			}
		}, false, with(func(st *v1alpha1.DurableTopicStatus) {
			st.OwnedConfig = nil
			for i := range v1alpha1.MaxOwnedConfig - 3 {
				st.OwnedConfig = append(st.OwnedConfig, fmt.Sprintf("left.%03d", i))
			}
			st.OwnedConfig = append(st.OwnedConfig, minISR, unclean, "z")
		})},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := orders()
			if !tt.first {
				wasWell(s)
			}
			tt.scene(s)
			got := s.judge(t).Status
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(v1alpha1.DurableTopicStatus{}, "Conditions", "Plan", "LastDrift")); diff != "" {
				t.Errorf("evidence (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLastDrift: a correction is recorded once, with the time at which it was made, and kept.
func TestLastDrift(t *testing.T) {
	tests := map[string]struct {
		scene func(*scene)
		want  *v1alpha1.DriftRecord
	}{
		"nothing corrected": {func(*scene) {}, nil},
		"corrected": {func(s *scene) { s.Did.Drift, s.DoneAt = drift(minISR, "1", "2"), now.Add(-2*time.Second) },
			&v1alpha1.DriftRecord{Time: metav1.NewTime(now.Add(-2 * time.Second)), Changes: drift(minISR, "1", "2")}},
		"corrected at an unknown time": {func(s *scene) { s.Did.Drift = drift(minISR, "1", "2") },
			&v1alpha1.DriftRecord{Time: metav1.NewTime(now), Changes: drift(minISR, "1", "2")}},
		"created again and not shown yet": {func(s *scene) {
			s.Did.Drift, s.Did.Recreated, s.DoneAt = drift("topic", "missing", "created again"), true, now.Add(-4*time.Second)
			s.View.Presence, s.View.Topic, s.View.Expected.Created = topic.Missing, nil, true
		}, &v1alpha1.DriftRecord{Time: metav1.NewTime(now.Add(-4 * time.Second)), Changes: drift("topic", "missing", "created again")}},
		"the same key twice": {func(s *scene) {
			s.Did.Drift, s.DoneAt = slices.Concat(drift(minISR, "1", "2"), drift(unclean, "true", "false"), drift(minISR, "3", "2")), now
		}, &v1alpha1.DriftRecord{Time: metav1.NewTime(now), Changes: slices.Concat(drift(minISR, "1", "2"), drift(unclean, "true", "false"))}},
		"what was recorded stays": {func(s *scene) {
			s.Previous.LastDrift = &v1alpha1.DriftRecord{Time: metav1.NewTime(now.Add(-time.Hour)), Changes: drift(minISR, "1", "2")}
		}, &v1alpha1.DriftRecord{Time: metav1.NewTime(now.Add(-time.Hour)), Changes: drift(minISR, "1", "2")}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := orders(wasWell, tt.scene)
			if diff := cmp.Diff(tt.want, s.judge(t).Status.LastDrift); diff != "" {
				t.Errorf("last drift (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHugeTopic: 5 000 partitions, 37 of them in crowded racks and 2 with too few in sync, only observed. The object stays
// small, counts all, names the first, and the plan is in words.
func TestHugeTopic(t *testing.T) {
	s := orders(func(s *scene) {
		words := make([]string, 5000)
		for i := range words {
			words[i] = "1 3 5"
			switch {
			case i%100 == 7 && i < 3700:
				words[i] = "1 2 5"
			case i == 1234 || i == 4321:
				words[i] = "1 3 5 isr 1"
			}
		}
		s.partitions(words...)
		s.Desired.Mode = "Observe"
		s.Desired.Config = map[string]string{}
		for i := range v1alpha1.MaxConfigEntries {
			key := strings.Repeat("k", v1alpha1.MaxConfigKeyLength-2) + fmt.Sprintf("%02d", i)
			s.Desired.Config[key] = strings.Repeat("ü", 512)
			s.set(key, topic.TypeString, strings.Repeat("x", 3000))
			s.Owned = append(s.Owned, key)
			s.Did.Drift = append(s.Did.Drift, drift(key, strings.Repeat("x", 3000), strings.Repeat("ü", 512))...)
		}
		s.DoneAt = now
	}, wasWell)
	v := s.judge(t) // with the bounds of package statuscheck
	raw, err := json.Marshal(s.object(v.Status))
	if err != nil || len(raw) > 20<<10 {
		t.Errorf("the object has %d bytes, %v", len(raw), err)
	}
	if said := message(v.Status, "Ready"); !strings.Contains(said, "replicas of 37 of 5000 partitions: partition 7 has 2 in rack a") ||
		!strings.Contains(said, "and 34 more") {
		t.Errorf("Ready says %q", said)
	}
	if said := message(v.Status, "Durable"); !strings.Contains(said, "replicas of 37 of 5000 partitions") {
		t.Errorf("Durable says %q", said)
	}
	if n := len(v.Status.Plan); n != v1alpha1.MaxPlanSteps && n > 2 || !strings.HasPrefix(v.Status.Plan[0], `alter topic "orders": set `) {
		t.Errorf("the plan is %q", v.Status.Plan)
	}
}

// TestManyWeakPartitions counts all and names the first and every broker once.
func TestManyWeakPartitions(t *testing.T) {
	s := orders(func(s *scene) { s.partitions(slices.Repeat([]string{"1 3 5 isr 1", "3 5 1"}, 500)...) }, wasWell)
	want := "500 of 1000 partitions with fewer than 2 replicas in sync (0, 2, 4, 6, 8 and 495 more); waits for broker 3 (rack b), " +
		"broker 5 (rack c); until then acks=all producers wait, and consumers see no newer records"
	if diff := cmp.Diff(want, message(s.judge(t).Status, "Durable")); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}

// TestPlanInWords: with Observe the plan tells what would be done and what not yet; otherwise there is none.
func TestPlanInWords(t *testing.T) {
	differs := func(s *scene) {
		topictest.WithELR(s.View.Cluster)
		s.set(minISR, topic.TypeInt, "1")
		s.set(unclean, topic.TypeBoolean, "true")
		s.partitions("1 3 5 isr 1 elr 3")
		s.Desired.Partitions = 2
	}
	s := orders(differs, wasWell)
	s.Desired.Mode = "Observe"
	got := s.judge(t).Status.Plan
	want := []string{
		`alter topic "orders": set unclean.leader.election.enable=false (now true)`,
		`add partitions to topic "orders": 1 -> 2`,
	}
	if diff := cmp.Diff(want, got[:2]); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	if len(got) != 3 || !strings.HasPrefix(got[2], "not now: min.insync.replicas is 1, declared 2; it is changed when") {
		t.Errorf("what is held is told as %q", got[2:])
	}
	s.Desired.Config = map[string]string{}
	for i := range 12 {
		key := fmt.Sprintf("key.%02d", i)
		s.Desired.Config[key] = "2"
		s.View.Topic.Configs[key] = topic.Config{Value: "1", OnTopic: true, ReadOnly: true}
	}
	if got := s.judge(t).Status.Plan; len(got) != v1alpha1.MaxPlanSteps || got[len(got)-1] != "and 6 more" {
		t.Errorf("a long plan is %q", got)
	}
	enforced := orders(differs, wasWell)
	enforced.Previous.Plan = []string{"of another time"}
	if got := enforced.judge(t).Status.Plan; len(got) > 0 {
		t.Errorf("with Enforce the plan is %q", got)
	}
}

// TestMessageStability: words of a broker that vary rewrite nothing; a new reason or a new fact does.
func TestMessageStability(t *testing.T) {
	refused := func(message, detail string) *scene {
		s := orders(func(s *scene) {
			s.Desired.Config = map[string]string{"segment.ms": "2"}
			s.set("segment.ms", topic.TypeLong, "1")
			s.refused = map[string]*fault.Fault{
				"segment.ms": fault.New(fault.Invalid, "ConfigRejected", "%s", message).WithDetail(detail)}
		}, wasWell)
		return s
	}
	first := refused("alter topic: INVALID_CONFIG", "java.lang.Object@1f2e").judge(t)
	for name, tt := range map[string]struct {
		message, detail string
		wantSame        bool
	}{
		"the same words":                        {"alter topic: INVALID_CONFIG", "java.lang.Object@1f2e", true},
		"other words of the broker":             {"alter topic: INVALID_CONFIG", "java.lang.Object@77aa", true},
		"another fact":                          {"alter topic: POLICY_VIOLATION", "java.lang.Object@1f2e", false},
		"a fact whose words begin like the old": {"alter topic: INVALID", "java.lang.Object@77aa", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := refused(tt.message, tt.detail)
			s.Previous, s.Now = first.Status, now.Add(time.Minute)
			v := s.judge(t)
			if same := cmp.Equal(first.Status, v.Status); same != tt.wantSame {
				t.Errorf("status is the same: %v, want %v\n%s", same, tt.wantSame, cmp.Diff(first.Status, v.Status))
			}
			if said := message(v.Status, "Ready"); !strings.HasPrefix(said, tt.message+": ") {
				t.Errorf("Ready says %q", said)
			}
			if len(v.Events) > 0 {
				t.Errorf("events %v", reasons(v.Events))
			}
		})
	}
}

// TestUnclassifiedErrorIsStable: an error that nobody classified has words that may vary too.
func TestUnclassifiedErrorIsStable(t *testing.T) {
	failing := func(words string) *scene {
		return orders(func(s *scene) {
			s.set(minISR, topic.TypeInt, "1")
			s.Failures = []*fault.Fault{fault.As(fmt.Errorf("read tcp 10.0.0.1:%s: reset", words))}
		}, wasWell)
	}
	first := failing("41234").judge(t)
	s := failing("41235")
	s.Previous = first.Status
	if diff := cmp.Diff(first.Status, s.judge(t).Status); diff != "" {
		t.Errorf("another port rewrites the status:\n%s", diff)
	}
}

// TestTransitionTimes: the time of a condition moves with its status alone.
func TestTransitionTimes(t *testing.T) {
	s := orders(func(s *scene) { s.partitions("1 2 5") }, wasWell)
	first := s.judge(t).Status
	s.partitions("1 2 5", "1 2 5")
	s.Previous, s.Now = first, now.Add(time.Minute)
	second := s.judge(t).Status
	for i, c := range second.Conditions {
		if !c.LastTransitionTime.Equal(&first.Conditions[i].LastTransitionTime) {
			t.Errorf("%s moved at %v though it is %s as before", c.Type, c.LastTransitionTime, c.Status)
		}
		if c.Message == first.Conditions[i].Message {
			t.Errorf("%s still says %q", c.Type, c.Message)
		}
	}
	s.partitions("1 3 5")
	s.Previous, s.Now = second, now.Add(2*time.Minute)
	third := s.judge(t).Status
	if got := third.Conditions[0].LastTransitionTime; !got.Time.Equal(s.Now) {
		t.Errorf("Ready became True at %v, want %v", got, s.Now)
	}
	if len(third.Conditions) != 2 {
		t.Errorf("conditions %+v, want Ready and Durable alone", third.Conditions)
	}
}

// TestReducedRedundancyIsPatient follows a rolling restart and a broker that stays away.
func TestReducedRedundancyIsPatient(t *testing.T) {
	s := orders(wasWell)
	begin := now
	s.View.ReducedSince = begin
	s.partitions("1 3 5 isr 1 3", "3 5 1 isr 3 1", "5 1 3 isr 1 3")
	want := s.Previous
	for _, after := range []time.Duration{0, time.Minute, 5*time.Minute - 1} {
		s.Now = begin.Add(after)
		v := s.judge(t)
		if diff := cmp.Diff(want, v.Status); diff != "" {
			t.Errorf("after %v the status moves:\n%s", after, diff)
		}
		if v.RequeueAfter != 5*time.Minute-after+1 {
			t.Errorf("after %v it comes back after %v", after, v.RequeueAfter)
		}
		s.Previous = v.Status
	}
	s.Now = begin.Add(5 * time.Minute)
	v := s.judge(t)
	if got := show(t, s.object(v.Status)); got.Durable != "True ReducedRedundancy" || len(v.Events) > 0 {
		t.Errorf("after 5 minutes: %+v, events %v", got, reasons(v.Events))
	}
	s.partitions("1 3 5", "3 5 1", "5 1 3")
	s.View.ReducedSince, s.Previous = time.Time{}, v.Status
	v = s.judge(t)
	if got := show(t, s.object(v.Status)); got != well || len(v.Events) > 0 {
		t.Errorf("afterwards: %+v, events %v", got, reasons(v.Events))
	}
}
