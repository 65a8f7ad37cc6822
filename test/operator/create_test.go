package operator_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/api/v1alpha1"
	coretopic "durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

// freshCart are nine topics of a shop.
var freshCart = map[string]v1alpha1.Profile{
	"orders": critical, "payments": critical, "stock-levels": critical, "account-permissions": critical, "invoice-ledger": critical,
	"delivery-van-locations": telemetry, "page-views": telemetry, "app-clickstream": telemetry, "freezer-temperatures": telemetry,
}

func TestCreateNineTopicsInOneBatch(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kafkatest.Options{ELR: true, MinInSyncReplicas: "2"})
	for name, profile := range freshCart {
		w.create(topic(name, profile))
	}
	w.connect("default")
	for name, profile := range freshCart {
		got := w.until(name, "Ready=True", "Durable=True:FullyReplicated", "!Drifted")
		if want := w.locked(name, profile == telemetry, 3, 2, 1); want != "" {
			t.Errorf("%s: %s", name, want)
		}
		made, _ := w.kafka.Topic(name)
		want := v1alpha1.DurableTopicStatus{
			Conditions: got.Status.Conditions, ObservedGeneration: 1, TopicName: name, TopicID: made.ID.String(),
			Origin: v1alpha1.TopicOriginCreated, Partitions: 3, ReplicationFactor: 3, MinInSyncReplicas: 2, Racks: 3,
			UncleanLeaderElection: v1alpha1.UncleanLeaderElectionDisabled,
			OwnedConfig:           []string{coretopic.MinInSyncReplicas, coretopic.UncleanLeaderElection},
		}
		if profile == telemetry {
			want.UncleanLeaderElection = v1alpha1.UncleanLeaderElectionEnabled
		}
		if diff := cmp.Diff(want, got.Status); diff != "" {
			t.Errorf("status of %s (-want +got):\n%s", name, diff)
		}
		w.event(name, "TopicCreated")
	}
	if uneven := w.unevenLeaders(); uneven != "" {
		t.Error(uneven)
	}
	w.silent(2)
}

// locked tells what is wrong with a topic in Kafka, judged by what Kafka shows and by nothing of the operator's.
func (w *world) locked(name string, unclean bool, replicas, minISR, perRack int) string {
	made, ok := w.kafka.Topic(name)
	if !ok {
		return "there is no such topic"
	}
	own := map[string]string{}
	for _, key := range []string{coretopic.MinInSyncReplicas, coretopic.UncleanLeaderElection} {
		own[key], _ = w.kafka.TopicConfig(name, key)
	}
	want := map[string]string{coretopic.MinInSyncReplicas: fmt.Sprint(minISR), coretopic.UncleanLeaderElection: fmt.Sprint(unclean)}
	if diff := cmp.Diff(want, own); diff != "" {
		return "locks on the topic (-want +got):\n" + diff
	}
	racks := map[int32]string{}
	for _, b := range w.kafka.Brokers() {
		racks[b.ID] = b.Rack
	}
	for _, p := range made.Partitions {
		distinct := slices.Compact(slices.Sorted(slices.Values(p.Replicas)))
		inRack := map[string]int{}
		for _, id := range distinct {
			inRack[racks[id]]++
		}
		for rack, n := range inRack {
			if n > perRack || rack == "" {
				return fmt.Sprintf("partition %d has %d replicas in rack %q: %v", p.Index, n, rack, p.Replicas)
			}
		}
		if len(distinct) != replicas || len(p.Replicas) != replicas {
			return fmt.Sprintf("partition %d has replicas %v", p.Index, p.Replicas)
		}
	}
	return ""
}

// unevenLeaders tells if brokers lead numbers of partitions that differ by more than one.
func (w *world) unevenLeaders() string {
	leads := map[int32]int{}
	for _, b := range w.kafka.Brokers() {
		leads[b.ID] = 0
	}
	for _, name := range w.kafka.TopicNames() {
		made, _ := w.kafka.Topic(name)
		for _, p := range made.Partitions {
			leads[p.Leader]++
		}
	}
	fewest, most := len(leads)*1000, 0
	for _, n := range leads {
		fewest, most = min(fewest, n), max(most, n)
	}
	if most-fewest > 1 {
		return fmt.Sprintf("leaders are uneven: %v", leads)
	}
	return ""
}

// TestCreateByDeclaration has one world for declarations that do not touch each other.
func TestCreateByDeclaration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{ELR: true, MinInSyncReplicas: "2", DefaultPartitions: 4})
	long := strings.Repeat("a", 249)
	tests := map[string]struct {
		declared          *durableTopic
		wantTopic         string
		wantPartitions    int32
		wantUnclean       bool
		replicas, minISR  int
		wantMostInOneRack int
	}{
		"replication factor 5 gives min.insync.replicas 3": {
			declared:  topic("ledger", critical, replicationFactor(5)),
			wantTopic: "ledger", wantPartitions: 3, replicas: 5, minISR: 3, wantMostInOneRack: 2,
		},
		"telemetry with replication factor 5": {
			declared:  topic("vans", telemetry, replicationFactor(5)),
			wantTopic: "vans", wantPartitions: 3, wantUnclean: true, replicas: 5, minISR: 3, wantMostInOneRack: 2,
		},
		"partitions unset are the brokers' num.partitions": {
			declared:  topic("unset", critical, partitions(0)),
			wantTopic: "unset", wantPartitions: 4, replicas: 3, minISR: 2, wantMostInOneRack: 1,
		},
		"a name that Kubernetes does not allow": {
			declared:  topic("schemas", critical, topicName("_schemas")),
			wantTopic: "_schemas", wantPartitions: 3, replicas: 3, minISR: 2, wantMostInOneRack: 1,
		},
		"a name with upper case": {
			declared:  topic("orders-v2", critical, topicName("Orders_V2")),
			wantTopic: "Orders_V2", wantPartitions: 3, replicas: 3, minISR: 2, wantMostInOneRack: 1,
		},
		"the longest name": {
			declared:  topic("long", telemetry, topicName(long)),
			wantTopic: long, wantPartitions: 3, wantUnclean: true, replicas: 3, minISR: 2, wantMostInOneRack: 1,
		},
	}
	for _, test := range tests {
		w.create(test.declared)
	}
	for name, test := range tests {
		got := w.until(test.declared.Name, "Ready=True", "Durable=True")
		if trouble := w.locked(test.wantTopic, test.wantUnclean, test.replicas, test.minISR, test.wantMostInOneRack); trouble != "" {
			t.Errorf("%s: %s", name, trouble)
		}
		if s := got.Status; s.TopicName != test.wantTopic || s.Partitions != test.wantPartitions || s.MinInSyncReplicas != int32(test.minISR) {
			t.Errorf("%s: status is %+v", name, s)
		}
		if note := w.event(test.declared.Name, "TopicCreated"); !strings.Contains(note, test.wantTopic) {
			t.Errorf("%s: event is %q", name, note)
		}
	}
	t.Run("unset partitions are whatever the topic has afterwards", func(t *testing.T) {
		w.kafka.AddPartitionsByHand("unset", []int32{1, 3, 5}, []int32{2, 4, 6})
		w.eventually("status to show six partitions", func() string {
			if n := w.get("unset").Status.Partitions; n != 6 {
				return fmt.Sprint(n)
			}
			return ""
		})
		w.until("unset", "Ready=True", "!Drifted")
	})
}

func TestCreateWithoutTheRightToReadNumPartitions(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kafkatest.Options{DefaultPartitions: 4})
	w.kafka.Deny(kafkatest.Denial{Operation: kmsg.ACLOperationDescribeConfigs, Resource: kmsg.ACLResourceTypeCluster})
	w.connect("default")
	w.create(topic("unset", critical, partitions(0)), topic("set", critical))
	w.until("set", "Ready=True")
	got := w.until("unset", "Stalled=True:NotAuthorized", "Ready=False:NotAuthorized")
	w.mentions(message(got, "Stalled"), "num.partitions", "DESCRIBE_CONFIGS", "spec.partitions")
	w.eventually("the KafkaCluster to name the missing right", func() string {
		missing := w.getCluster("default").Status.MissingPermissions
		if len(missing) != 1 || !strings.HasPrefix(missing[0], "DESCRIBE_CONFIGS on the Cluster") {
			return fmt.Sprint(missing)
		}
		return ""
	})
	w.edit("unset", partitions(2))
	w.until("unset", "Ready=True")
}

func TestCreateBestEffortOverTwoRacks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{Racks: []string{"a", "a", "b", "b"}}, func(c *kafkaCluster) {
		c.Spec.RackAwareness = v1alpha1.RackAwarenessBestEffort
	})
	w.create(topic("orders", critical, partitions(6)))
	got := w.until("orders", "Ready=True", "Durable=True:RackLossNotCovered", "!Drifted", "!Stalled")
	if got.Status.Racks != 2 {
		t.Errorf("status.racks is %d", got.Status.Racks)
	}
	if trouble := w.locked("orders", false, 3, 2, 2); trouble != "" {
		t.Error(trouble)
	}
	w.mentions(message(got, "Durable"), "BestEffort", "Add brokers")
	w.silent(2)
}

func TestCreateWithThePlacementOfTheBrokers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{DefaultPartitions: 2}, func(c *kafkaCluster) {
		c.Spec.Placement = v1alpha1.PlacementBroker
	})
	w.create(topic("orders", critical), topic("unset", telemetry, partitions(0)))
	w.readyTopics("orders", "unset")
	for _, write := range w.kafka.Writes() {
		create, ok := write.Request.(*kmsg.CreateTopicsRequest)
		if !ok {
			continue
		}
		for _, c := range create.Topics {
			if len(c.ReplicaAssignment) > 0 || c.ReplicationFactor != 3 {
				t.Errorf("create %s asks for replicas %v and factor %d", c.Topic, c.ReplicaAssignment, c.ReplicationFactor)
			}
		}
	}
	if n := w.get("unset").Status.Partitions; n != 2 {
		t.Errorf("a topic without declared partitions has %d", n)
	}
}

// TestCreateWaitsForRoom: nothing is created while brokers are missing, and it heals when they come.
func TestCreateWaitsForRoom(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		racks    []string
		before   func(*kafkatest.Cluster)
		profile  *durableTopic
		want     []string
		words    []string
		heal     func(*kafkatest.Cluster)
		replicas int
	}{
		"too few racks": {
			racks: []string{"a", "a", "b", "b"}, want: []string{"Stalled=True:InsufficientRacks", "Ready=False:InsufficientRacks", "Durable=False:TopicNotFound"},
			words: []string{"3 racks", "a (2 brokers)", "b (2 brokers)", "add 1 broker", "BestEffort"},
			heal:  func(k *kafkatest.Cluster) { k.Register(coretopic.Broker{ID: 5, Rack: "c"}) },
		},
		"too few brokers": {
			racks: []string{"a", "b"}, want: []string{"Stalled=True:InsufficientBrokers", "Ready=False:InsufficientBrokers"},
			words: []string{"needs 3 brokers", "add 1 broker"},
			heal:  func(k *kafkatest.Cluster) { k.Register(coretopic.Broker{ID: 3, Rack: "c"}) },
		},
		"brokers without racks": {
			racks: []string{"a", "", ""}, want: []string{"Stalled=True:InsufficientRacks"},
			words: []string{"broker.rack on brokers 2, 3"},
			heal:  func(k *kafkatest.Cluster) { k.SetRack(2, "b"); k.SetRack(3, "c") },
		},
		"a needed rack restarts": {
			before: func(k *kafkatest.Cluster) { k.Fence(5, 6) },
			want:   []string{"Reconciling=True:WaitingForBrokers", "Ready=False:WaitingForBrokers"},
			words:  []string{"rack c (brokers 5, 6)", "waits for"},
			heal:   func(k *kafkatest.Cluster) { k.Unfence(5) },
		},
		"replication factor 5 while a rack restarts": {
			before: func(k *kafkatest.Cluster) { k.Fence(5, 6) }, profile: topic("orders", critical, replicationFactor(5)),
			want: []string{"Reconciling=True:WaitingForBrokers"}, words: []string{"rack c"},
			heal: func(k *kafkatest.Cluster) { k.Unfence(5, 6) },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := emptyWorld(t, kafkatest.Options{Racks: test.racks})
			if test.before != nil {
				test.before(w.kafka)
			}
			declared := test.profile
			if declared == nil {
				declared = topic("orders", critical)
			}
			w.create(declared)
			w.connect("default")
			got := w.until("orders", test.want...)
			w.mentions(message(got, "Ready"), test.words...)
			w.sweeps(2)
			if w.everReady("orders") || len(w.kafka.TopicNames()) > 0 {
				t.Errorf("a topic exists, or was called ready: %v, %v", w.kafka.TopicNames(), w.path("orders"))
			}
			test.heal(w.kafka)
			w.until("orders", "Ready=True", "Durable=True", "!Stalled", "!Reconciling")
		})
	}
}

func TestCreateRefusesNamesThatCollide(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kafkatest.Options{})
	w.kafka.CreateTopicByHand("shop.orders", [][]int32{{1, 3, 5}}, nil)
	w.create(topic("orders", critical, topicName("shop_orders")), topic("dotted", critical, topicName("x.y")),
		topic("scored", critical, topicName("x_y")), topic("bystander", critical, topicName("x-y")))
	w.connect("default")
	got := w.until("orders", "Stalled=True:TopicNameCollision", "Ready=False:TopicNameCollision")
	w.mentions(message(got, "Stalled"), `"shop.orders"`, `"shop_orders"`, "another topicName")
	w.until("bystander", "Ready=True")
	w.eventually("one of two that collide to be ready, the other refused", func() string {
		a, b := w.get("dotted"), w.get("scored")
		ready := func(t *durableTopic) bool { return has(t.Status.Conditions, 1, "Ready=True") }
		refused := func(t *durableTopic) bool { return has(t.Status.Conditions, 1, "Stalled=True:TopicNameCollision") }
		if ready(a) && refused(b) || refused(a) && ready(b) {
			return ""
		}
		return conditions(1, a.Status.Conditions) + conditions(1, b.Status.Conditions)
	})
	if w.everReady("orders") || w.kafka.TopicWrites()["shop.orders"] > 0 {
		t.Error("the topic with the colliding name was touched, or called ready")
	}
	w.silent(2)
}

func TestCreateIsRefusedByPolicyAndHeals(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kafkatest.Options{})
	w.kafka.SetPolicy(kafkatest.Policy{Create: func(name string, _ [][]int32, _ map[string]string) error {
		if name == "orders" {
			return errors.New("topics must be called shop.something")
		}
		return nil
	}})
	w.create(topic("orders", critical), topic("payments", critical))
	w.connect("default")
	got := w.until("orders", "Stalled=True:PolicyViolation", "Ready=False:PolicyViolation", "Durable=False:TopicNotFound")
	w.mentions(message(got, "Stalled"), "POLICY_VIOLATION", "topics must be called shop.something", "policy")
	w.until("payments", "Ready=True")
	tries := written(w.kafka, "orders")
	w.silent(3)
	if again := written(w.kafka, "orders"); again != tries || tries > 2 {
		t.Errorf("a create that a policy refuses was tried %d, later %d times", tries, again)
	}
	w.kafka.SetPolicy(kafkatest.Policy{})
	w.later(refusalOver, "orders")
	w.until("orders", "Ready=True")
}

func TestCreateIsNotAuthorizedAndHeals(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kafkatest.Options{})
	w.kafka.Deny(kafkatest.Denial{Operation: kmsg.ACLOperationCreate, Resource: kmsg.ACLResourceTypeCluster},
		kafkatest.Denial{Operation: kmsg.ACLOperationCreate, Resource: kmsg.ACLResourceTypeTopic, Name: "orders"})
	w.create(topic("orders", critical), topic("payments", critical))
	w.connect("default")
	got := w.until("orders", "Stalled=True:NotAuthorized", "Ready=False:NotAuthorized")
	w.mentions(message(got, "Stalled"), "TOPIC_AUTHORIZATION_FAILED", "CREATE on Topic orders")
	w.until("payments", "Ready=True")
	w.kafka.AllowAll()
	w.later(refusalOver, "orders")
	w.until("orders", "Ready=True")
}
