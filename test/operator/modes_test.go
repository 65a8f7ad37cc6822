package operator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

// TestObserve tells everything and writes nothing, until enforcement is switched on.
func TestObserve(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.kafka.CreateTopicByHand("orders", [][]int32{{1, 3, 5}, {2, 4, 6}}, map[string]string{unclean: "true", "retention.ms": "1000"})
	w.kafka.CreateTopicByHand("payments", [][]int32{{1, 3, 5}, {2, 4, 6}, {3, 5, 1}}, map[string]string{minISR: "2", unclean: "false"})
	observe := enforcement(v1alpha1.EnforcementObserve)
	w.create(topic("orders", critical, observe, declare("retention.ms", "2000")), topic("missing", telemetry, observe),
		topic("payments", critical, observe))
	w.until("payments", "Ready=True", "!Stalled", "!Drifted")
	got := w.until("orders", "Stalled=True:ObserveOnly", "Ready=False:ObserveOnly", "Drifted=True:ObserveOnly", "Durable=False")
	wantPlan := []string{
		`alter topic "orders": set min.insync.replicas=2 (now 1), set unclean.leader.election.enable=false (now true)`,
		`add partitions to topic "orders": 2 -> 3`,
		`alter topic "orders": set retention.ms=2000 (now 1000)`,
	}
	if diff := cmp.Diff(wantPlan, got.Status.Plan); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	got = w.until("missing", "Stalled=True:ObserveOnly", "Ready=False:ObserveOnly", "Durable=False:TopicNotFound")
	wantPlan = []string{`create topic "missing": partitions 3, replication factor 3, min.insync.replicas=2, unclean.leader.election.enable=true`}
	if diff := cmp.Diff(wantPlan, got.Status.Plan); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	w.silent(2)
	if n := w.kafka.Requests().WriteTotal(); n > 0 {
		t.Errorf("%d writes to Kafka", n)
	}
	for _, name := range []string{"orders", "missing"} {
		w.edit(name, enforcement(v1alpha1.EnforcementEnforce))
		if got := w.until(name, "Ready=True", "!Stalled", "!Drifted"); len(got.Status.Plan) > 0 {
			t.Errorf("plan of %s is still there: %q", name, got.Status.Plan)
		}
	}
}

// TestObserveIsTheCeilingOfACluster: the KafkaCluster's word counts for topics that say Enforce.
func TestObserveIsTheCeilingOfACluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{}, func(c *kafkaCluster) { c.Spec.Enforcement = v1alpha1.EnforcementObserve })
	w.create(topic("orders", critical), topic("payments", critical, enforcement(v1alpha1.EnforcementSuspended)))
	w.untilCluster("default", "Ready=True:Connected")
	w.until("orders", "Stalled=True:ObserveOnly", "Ready=False:ObserveOnly")
	w.until("payments", "Stalled=True:Suspended", "Ready=Unknown:Suspended")
	w.silent(2)
	if n := w.kafka.Requests().WriteTotal(); n > 0 {
		t.Errorf("%d writes to Kafka", n)
	}
	w.editCluster("default", func(c *kafkaCluster) { c.Spec.Enforcement = v1alpha1.EnforcementEnforce })
	w.until("orders", "Ready=True")
	w.until("payments", "Stalled=True:Suspended")
}

// TestSuspended: one status write, hands off, and everything as before afterwards.
func TestSuspended(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.create(topic("orders", critical), topic("payments", critical), topic("never", critical, enforcement(v1alpha1.EnforcementSuspended)))
	w.readyTopics("orders", "payments")
	w.silent(1)
	versions := len(w.versions("orders"))
	w.edit("orders", func(t *durableTopic) {
		t.Spec.Enforcement = v1alpha1.EnforcementSuspended
		partitions(6)(t)
		declare("retention.ms", "1000")(t)
	})
	for _, name := range []string{"orders", "never"} {
		w.until(name, "Stalled=True:Suspended", "Ready=Unknown:Suspended", "Durable=Unknown:Suspended", "!Drifted", "!Reconciling")
	}
	w.kafka.Reset()
	w.kafka.SetTopicConfig("orders", minISR, "1")
	w.kafka.MoveByHand("orders", 0, []int32{1, 2})
	w.silent(3)
	if n := len(w.versions("orders")) - versions; n != 2 {
		t.Errorf("%d versions of the object since the edit, want the edit and one status", n)
	}
	if n := len(w.versions("never")); n != 2 {
		t.Errorf("%d versions of an object that is suspended from the start, want its creation and one status", n)
	}
	w.until("payments", "Ready=True")
	if got := w.kafka.TopicNames(); slices.Contains(got, "never") || w.kafka.Requests().WriteTotal() > 0 {
		t.Errorf("something was written for suspended topics: %v", got)
	}
	w.kafka.MoveByHand("orders", 0, []int32{1, 3, 5})
	w.edit("orders", enforcement(v1alpha1.EnforcementEnforce))
	got := w.until("orders", "Ready=True", "!Stalled")
	if got.Status.Partitions != 6 {
		t.Errorf("%d partitions", got.Status.Partitions)
	}
	w.config("orders", minISR, "2")
	w.config("orders", "retention.ms", "1000")
	w.edit("never", enforcement(v1alpha1.EnforcementEnforce))
	w.until("never", "Ready=True")
}

// TestSuspendedObjectIsDeleted: the topic stays as it is, and nothing holds the object.
func TestSuspendedObjectIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.create(topic("orders", critical))
	w.until("orders", "Ready=True")
	w.edit("orders", enforcement(v1alpha1.EnforcementSuspended))
	w.until("orders", "Stalled=True:Suspended")
	before, _ := w.kafka.Topic("orders")
	w.delete("orders")
	w.sweeps(2)
	if after, _ := w.kafka.Topic("orders"); !cmp.Equal(before, after) {
		t.Errorf("the topic was %v and is %v", before, after)
	}
}

// TestSuspendedCluster: no connection, no word about any topic, and back again.
func TestSuspendedCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.create(topic("orders", critical))
	w.until("orders", "Ready=True")
	w.editCluster("default", func(c *kafkaCluster) { c.Spec.Enforcement = v1alpha1.EnforcementSuspended })
	w.until("orders", "Ready=Unknown:Suspended", "Stalled=True:Suspended")
	w.untilCluster("default", "Ready=Unknown:Suspended", "Stalled=True:Suspended")
	w.kafka.SetTopicConfig("orders", minISR, "1")
	w.kafka.DownAll()
	w.editCluster("default", func(c *kafkaCluster) { c.Spec.Enforcement = v1alpha1.EnforcementEnforce })
	w.until("orders", "Ready=Unknown:KafkaUnreachable", "Reconciling=True:KafkaUnreachable", "Durable=Unknown:KafkaUnreachable")
	w.kafka.ResumeAll()
	w.until("orders", "Ready=True")
	w.config("orders", minISR, "2")
}

// TestEvidenceIsBounded: a topic of five thousand partitions in trouble has a short status that counts and names.
func TestEvidenceIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	var replicas [][]int32
	for i := range 5000 {
		list := []int32{1, 3, 5}
		if i < 37 {
			list = []int32{1, 2, 5}
		}
		replicas = append(replicas, list)
	}
	w.kafka.CreateTopicByHand("huge", replicas, map[string]string{minISR: "2", unclean: "true"})
	w.kafka.SetISR("huge", 100, 1)
	w.kafka.SetISR("huge", 200, 3)
	w.create(topic("huge", critical, partitions(5000), enforcement(v1alpha1.EnforcementObserve)))
	got := w.until("huge", "Drifted=True:ObserveOnly", "Ready=False:ObserveOnly", "Durable=False")
	w.mentions(message(got, "Drifted"), "37 of 5000 partitions", "partition 0", "and 34 more", "unclean.leader.election.enable is true, declared false")
	w.kafka.SetTopicConfig("huge", unclean, "false")
	for i := range int32(37) {
		w.kafka.MoveByHand("huge", i, []int32{1, 3, 5})
	}
	got = w.until("huge", "Durable=False:UnderMinISR", "Ready=True", "!Drifted")
	w.mentions(message(got, "Durable"), "2 of 5000 partitions", "(100, 200)", "broker 1", "broker 5 (rack c)")
	if n := w.kafka.Requests().WriteTotal(); n > 0 {
		t.Errorf("%d writes", n)
	}
	if text := fmt.Sprint(got.Status); strings.Count(text, "") > 5000 {
		t.Errorf("the status has %d characters", strings.Count(text, ""))
	}
}
