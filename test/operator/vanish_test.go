package operator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/api/v1alpha1"
	coretopic "durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

// creates counts the requests that would make a topic.
func creates(k *kafkatest.Cluster, topic string) int {
	n := 0
	for _, write := range k.Writes() {
		if create, ok := write.Request.(*kmsg.CreateTopicsRequest); ok {
			for _, c := range create.Topics {
				if c.Topic == topic {
					n++
				}
			}
		}
	}
	return n
}

// alters gives the keys that were sent in changes of a topic's configs, in order, like "min.insync.replicas=2".
func alters(k *kafkatest.Cluster, topic string) []string {
	var sent []string
	for _, write := range k.Writes() {
		alter, ok := write.Request.(*kmsg.IncrementalAlterConfigsRequest)
		if !ok {
			continue
		}
		for _, r := range alter.Resources {
			for _, c := range r.Configs {
				if r.ResourceName == topic && c.Value != nil {
					sent = append(sent, c.Name+"="+*c.Value)
				}
			}
		}
	}
	return sent
}

func TestDeletedTopicIsCreatedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.create(topic("stock-levels", critical, declare("retention.ms", "1000")), topic("orders", critical))
	old := w.until("stock-levels", "Ready=True").Status.TopicID
	w.until("orders", "Ready=True")
	w.kafka.Reset()
	w.kafka.DeleteTopicByHand("stock-levels")
	w.mentions(w.event("stock-levels", "TopicRecreated"), "vanished", "records", old)
	got := w.until("stock-levels", "Ready=True")
	made, _ := w.kafka.Topic("stock-levels")
	if got.Status.TopicID == old || got.Status.TopicID != made.ID.String() {
		t.Errorf("status has the ID %s, the new topic has %s", got.Status.TopicID, made.ID)
	}
	want := []v1alpha1.DriftChange{{Key: "topic", From: "missing", To: "created again"}}
	if got.Status.LastDrift == nil || !cmp.Equal(want, got.Status.LastDrift.Changes) {
		t.Errorf("lastDrift is %v", got.Status.LastDrift)
	}
	if trouble := w.locked("stock-levels", false, 3, 2, 1); trouble != "" {
		t.Error(trouble)
	}
	if n := w.metric("durabletopic_topics_recreated_total"); n != 1 {
		t.Errorf("durabletopic_topics_recreated_total is %v", n)
	}
	w.silent(2)
	if n := creates(w.kafka, "stock-levels"); n != 1 {
		t.Errorf("%d creates", n)
	}
}

func TestReplacedTopicIsBroughtToTheDeclaration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.create(topic("orders", critical, declare("retention.ms", "1000")))
	old := w.until("orders", "Ready=True").Status.TopicID
	w.kafka.DeleteTopicByHand("orders")
	id := w.kafka.CreateTopicByHand("orders", [][]int32{{1, 3, 5}}, nil)
	w.mentions(w.event("orders", "TopicReplaced"), old, id.String(), "lost")
	got := w.until("orders", "Ready=True")
	if got.Status.TopicID != id.String() || got.Status.Origin != v1alpha1.TopicOriginAdopted || got.Status.Partitions != 3 {
		t.Errorf("status is %+v", got.Status)
	}
	if trouble := w.locked("orders", false, 3, 2, 1); trouble != "" {
		t.Error(trouble)
	}
	w.config("orders", "retention.ms", "1000")
	w.silent(2)
	if n := creates(w.kafka, "orders"); n != 1 {
		t.Errorf("%d creates, the first was the only one due", n)
	}
}

// TestReplacedByABadTopic: made again by hand with one replica, it is reported as it is, held where it must be, and repaired.
func TestReplacedByABadTopic(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{MoveTicks: 1})
	w.create(topic("orders", critical))
	w.until("orders", "Ready=True")
	letGo := w.brake()
	w.kafka.DeleteTopicByHand("orders")
	id := w.kafka.CreateTopicByHand("orders", [][]int32{{1}, {2}, {3}}, map[string]string{unclean: "true"})
	got := w.until("orders", "Reconciling=True:MovingReplicas", "Ready=False:MovingReplicas", "Durable=False:ReplicationFactorViolation", "!Stalled")
	if got.Status.TopicID != id.String() {
		t.Errorf("status has the ID %s, want %s", got.Status.TopicID, id)
	}
	w.event("orders", "TopicReplaced")
	w.config("orders", unclean, "false")
	w.sweeps(1)
	w.config("orders", minISR, "") // inherited, 1
	letGo()
	w.tickUntilReady("orders")
	w.until("orders", "Durable=True:FullyReplicated", "!Drifted")
	if trouble := w.locked("orders", false, 3, 2, 1); trouble != "" || w.topicID("orders") != id {
		t.Errorf("topic %s: %s", w.topicID("orders"), trouble)
	}
}

// TestUnreadableIsNotGone: a topic that may not be read is never created, be it new here or known.
func TestUnreadableIsNotGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.create(topic("orders", critical))
	w.until("orders", "Ready=True")
	w.kafka.CreateTopicByHand("payments", [][]int32{{1, 3, 5}, {2, 4, 6}, {3, 5, 1}}, map[string]string{minISR: "2", unclean: "false"})
	w.kafka.Deny(kafkatest.Denial{Operation: kmsg.ACLOperationDescribe, Resource: kmsg.ACLResourceTypeTopic, Name: "*"})
	w.kafka.Reset()
	w.create(topic("payments", critical))
	for _, name := range []string{"orders", "payments"} {
		got := w.until(name, "Ready=False:NotAuthorized", "Stalled=True:NotAuthorized", "Durable=Unknown:NotAuthorized", "!Drifted")
		w.mentions(message(got, "Stalled"), "DESCRIBE on Topic "+name)
	}
	w.silent(3)
	w.kafka.AllowAll()
	w.readyTopics("orders", "payments")
	if n := w.kafka.Requests().WriteTotal(); n > 0 {
		t.Errorf("%d writes", n)
	}
	w.event("payments", "TopicAdopted")
	if n := len(w.events("orders", "TopicRecreated")); n > 0 {
		t.Error("a topic that could not be read was called vanished")
	}
}

// TestWithoutTheRightToCreate: an existing topic needs none.
func TestWithoutTheRightToCreate(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kafkatest.Options{})
	w.kafka.CreateTopicByHand("orders", [][]int32{{1, 3, 5}, {2, 4, 6}, {3, 5, 1}}, nil)
	w.kafka.Deny(kafkatest.Denial{Operation: kmsg.ACLOperationCreate, Resource: kmsg.ACLResourceTypeCluster},
		kafkatest.Denial{Operation: kmsg.ACLOperationCreate, Resource: kmsg.ACLResourceTypeTopic, Name: "*"})
	w.create(topic("orders", critical))
	w.connect("default")
	w.until("orders", "Ready=True")
	if n := creates(w.kafka, "orders"); n > 0 {
		t.Errorf("%d creates of a topic that exists", n)
	}
}

// TestOneBrokerThatDoesNotKnow: that one broker does not know a topic proves nothing.
func TestOneBrokerThatDoesNotKnow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.create(topic("orders", critical))
	w.until("orders", "Ready=True")
	w.silent(1)
	w.kafka.Reset()
	for broker := int32(1); broker <= 3; broker++ { // whichever of them is asked
		w.kafka.HideTopic(broker, "orders")
		w.sweeps(2)
		w.kafka.ReleaseMetadata(broker)
	}
	w.silent(1)
	if n := w.kafka.Requests().WriteTotal(); n > 0 {
		t.Errorf("%d writes", n)
	}
	if path := strings.Join(w.path("orders"), " "); path != "True" {
		t.Errorf("it was not ready all the time: %s", path)
	}
	if told := w.events("orders", ""); len(told) != 1 {
		t.Errorf("events: %q", told)
	}
}

// TestBrokersThatLag: a write that is confirmed and that no broker shows yet is not made again, and is no drift.
func TestBrokersThatLag(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.untilCluster("default", "Ready=True")
	hold := func(do func(int32)) {
		for broker := int32(1); broker <= 6; broker++ {
			do(broker)
		}
	}
	hold(w.kafka.HoldMetadata)
	w.create(topic("orders", critical))
	got := w.until("orders", "Reconciling=True:Creating", "Ready=False:Creating", "!Drifted")
	w.mentions(message(got, "Ready"), "do not show it yet")
	w.sweeps(2)
	if w.everReady("orders") {
		t.Error("was called ready before any broker showed it")
	}
	hold(w.kafka.ReleaseMetadata)
	w.until("orders", "Ready=True")

	hold(w.kafka.HoldMetadata)
	w.edit("orders", func(t *durableTopic) { declare("retention.ms", "1000")(t); partitions(6)(t) })
	w.eventually("the edit to reach Kafka", func() string {
		made, _ := w.kafka.Topic("orders")
		return cmp.Diff(6, len(made.Partitions))
	})
	w.config("orders", "retention.ms", "1000")
	w.sweeps(2)
	hold(w.kafka.ReleaseMetadata)
	w.until("orders", "Ready=True")

	for broker := int32(1); broker <= 3; broker++ { // one lags at a time, two commits behind
		w.kafka.LagMetadata(broker, 2)
		w.kafka.SetTopicConfig("orders", minISR, "1")
		w.kafka.SetTopicConfig("orders", "segment.ms", fmt.Sprint(100000+broker))
		w.kafka.SetTopicConfig("orders", "segment.bytes", fmt.Sprint(2000000+broker))
		w.config("orders", minISR, "2")
		w.kafka.ReleaseMetadata(broker)
		w.sweeps(1) // until what was written is seen, it cannot be told from what was before
		w.until("orders", "Ready=True", "!Drifted")
		w.later(peace, "orders")
	}
	w.silent(2)
	want := []string{"retention.ms=1000"}
	for range 3 {
		want = append(want, "min.insync.replicas=2")
	}
	if diff := cmp.Diff(want, alters(w.kafka, "orders")); diff != "" {
		t.Errorf("changes that were sent (-want +got):\n%s", diff)
	}
	if n := creates(w.kafka, "orders"); n != 1 || written(w.kafka, "orders") != len(want)+2 {
		t.Errorf("%d creates, %d writes", n, written(w.kafka, "orders"))
	}
}

// TestTopicAppearsBeforeItsObject: somebody's auto-created topic is adopted and brought to the declaration: partitions, then
// replicas.
func TestTopicAppearsBeforeItsObject(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.kafka.CreateTopicByHand("orders", [][]int32{{1}}, nil)
	w.create(topic("orders", critical))
	got := w.until("orders", "Ready=True", "Durable=True:FullyReplicated", "!Drifted")
	w.event("orders", "TopicAdopted")
	if got.Status.Origin != v1alpha1.TopicOriginAdopted || got.Status.Partitions != 3 {
		t.Errorf("status is %+v", got.Status)
	}
	if trouble := w.locked("orders", false, 3, 2, 1); trouble != "" {
		t.Error(trouble)
	}
	if w.everStalled("orders") {
		t.Errorf("it was called stalled: %q", w.path("orders"))
	}
	w.cleanedUp()
	w.silent(2)
}

// TestRackOfABrokerChanges: the racks are judged anew, nothing is moved, and it heals when the rack is back.
func TestRackOfABrokerChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{Racks: []string{"a", "b", "c"}})
	w.create(topic("orders", critical))
	w.until("orders", "Ready=True")
	w.kafka.Reset()
	w.kafka.SetRack(3, "b")
	got := w.until("orders", "Ready=False", "Stalled=True:InsufficientRacks", "Durable=False:PlacementViolation")
	w.mentions(message(got, "Durable"), "rack")
	w.kafka.SetRack(3, "c")
	w.until("orders", "Ready=True", "Durable=True")
	w.silent(2)
	if n := w.kafka.Requests().WriteTotal(); n > 0 {
		t.Errorf("%d writes", n)
	}
}

// TestBrokerLeavesForGood: replicas on a broker that is no longer registered are made anew, in the same rack here; those on
// a fenced one are not.
func TestBrokerLeavesForGood(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{Racks: []string{"a", "b", "c", "c"}, MoveTicks: 1})
	w.create(topic("orders", critical, partitions(6)))
	w.until("orders", "Ready=True")
	before := w.replicas("orders")
	w.kafka.Reset()
	w.kafka.Fence(3)
	w.sweeps(2)
	w.until("orders", "Ready=True", "Durable=True:FullyReplicated")
	if n := w.kafka.Requests().WriteTotal(); n > 0 {
		t.Errorf("%d writes for a broker that is only fenced", n)
	}
	letGo := w.brake()
	w.kafka.Unregister(3)
	got := w.until("orders", "Ready=False:MovingReplicas", "Reconciling=True:MovingReplicas", "Durable=False:ReplicaOnMissingBroker", "!Stalled")
	w.mentions(message(got, "Ready"), "broker 3", "not registered", "they are moved in turn")
	letGo()
	w.tickUntilReady("orders")
	w.until("orders", "Durable=True:FullyReplicated")
	var want [][]int32
	for _, list := range before {
		want = append(want, slices.Clone(list))
		if i := slices.Index(list, 3); i >= 0 {
			want[len(want)-1][i] = 4
		}
	}
	byID := cmpopts.SortSlices(func(a, b int32) bool { return a < b })
	if diff := cmp.Diff(want, w.replicas("orders"), byID); diff != "" {
		t.Errorf("replicas (-want +got):\n%s", diff)
	}
	w.cleanedUp()
	w.kafka.Register(coretopic.Broker{ID: 3, Rack: "c"})
	w.silent(2)
}
