package operator_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

func repoint(name string) func(*kafkaCluster) {
	return func(c *kafkaCluster) { c.Spec.BootstrapServers = []string{bootstrap(name)} }
}

// TestClusterUnknown: a topic waits for its KafkaCluster and follows by itself.
func TestClusterUnknown(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kafkatest.Options{})
	w.create(topic("orders", critical), topic("payments", critical, of("elsewhere")))
	got := w.until("orders", "Stalled=True:KafkaClusterNotFound", "Ready=False:KafkaClusterNotFound", "Durable=Unknown")
	w.mentions(message(got, "Stalled"), w.clusterName("default"), "create it")
	w.connect("default")
	w.until("orders", "Ready=True")
	w.until("payments", "Stalled=True:KafkaClusterNotFound")
}

// TestClusterUnreachableAtStart: nothing is said to be ready, and it heals.
func TestClusterUnreachableAtStart(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kafkatest.Options{})
	w.kafka.DownAll()
	w.create(topic("orders", critical))
	w.until("orders", "Stalled=True:KafkaClusterNotFound")
	w.connect("default")
	w.connect("nowhere", repoint("no-kafka-here"))
	w.create(topic("payments", critical, of("nowhere")))
	for _, name := range []string{"default", "nowhere"} {
		w.untilCluster(name, "Ready=Unknown:ConnectionRefused", "Reconciling=True:ConnectionRefused")
	}
	w.until("orders", "Ready=Unknown:KafkaUnreachable", "Reconciling=True", "Durable=Unknown", "!Stalled")
	w.until("payments", "Ready=Unknown:KafkaUnreachable")
	w.kafka.ResumeAll()
	w.until("orders", "Ready=True", "!Reconciling")
	if diff := cmp.Diff([]string{"False:KafkaClusterNotFound", "Unknown:KafkaUnreachable", "True"}, w.path("orders")); diff != "" {
		t.Errorf("the condition Ready went another way (-want +got):\n%s", diff)
	}
	w.join("third", kafkatest.New(kafkatest.Options{ClusterID: "dGhpcmR0aGlyZHRoaXJkdGg"}))
	w.editCluster("nowhere", repoint("third"))
	w.until("payments", "Ready=True")
}

// TestClusterEdited: other addresses of the same Kafka, another interval, other settings of a profile.
func TestClusterEdited(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{MoveTicks: 1})
	w.create(topic("orders", critical), topic("pinned", critical, replicationFactor(3)))
	w.readyTopics("orders", "pinned")
	w.join("other-address", w.kafka)
	w.kafka.Reset()
	w.editCluster("default", func(c *kafkaCluster) {
		c.Spec.BootstrapServers = append(c.Spec.BootstrapServers, bootstrap("other-address"))
		slices.Reverse(c.Spec.BootstrapServers)
		c.Spec.CheckIntervalSeconds = 3
	})
	w.untilCluster("default", "Ready=True")
	w.sweeps(2)
	w.readyTopics("orders", "pinned")
	if n := w.kafka.Requests().WriteTotal(); n > 0 {
		t.Errorf("%d writes", n)
	}
	w.editCluster("default", func(c *kafkaCluster) { c.Spec.Profiles.Critical.ReplicationFactor = 5 })
	w.until("orders", "Ready=False:MovingReplicas", "Reconciling=True:MovingReplicas", "!Stalled")
	w.sweeps(1)
	w.config("orders", minISR, "2") // replicas first
	w.tickUntil("orders to have 5 replicas", func() string { return w.locked("orders", false, 5, 3, 2) })
	w.until("orders", "Ready=True", "Durable=True:FullyReplicated", "!Drifted")
	w.editCluster("default", func(c *kafkaCluster) { c.Spec.Profiles.Critical.ReplicationFactor = 3 })
	w.tickUntil("orders to have 3 replicas", func() string { return w.locked("orders", false, 3, 2, 1) })
	w.until("orders", "Ready=True", "Durable=True:FullyReplicated", "!Drifted")
	w.kafka.SetTopicConfig("orders", minISR, "1")
	w.config("orders", minISR, "2")
	w.until("pinned", "Ready=True")
	if n := written(w.kafka, "pinned"); n > 0 {
		t.Errorf("%d writes to the topic that has its own replication factor", n)
	}
}

// TestClusterDeletedAndCreatedAgain: the topics stay, say so, and come back without a write.
func TestClusterDeletedAndCreatedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.create(topic("orders", critical))
	w.until("orders", "Ready=True")
	w.kafka.Reset()
	w.deleteCluster("default")
	w.until("orders", "Stalled=True:KafkaClusterNotFound", "Ready=False:KafkaClusterNotFound", "Durable=Unknown")
	reads := w.kafka.Requests().ReadTotal()
	w.kafka.SetTopicConfig("orders", minISR, "1")
	w.connect("default")
	w.config("orders", minISR, "2")
	w.until("orders", "Ready=True")
	w.silent(1)
	if n := written(w.kafka, "orders"); n != 1 {
		t.Errorf("%d writes, want the correction; %d reads without a KafkaCluster", n, reads)
	}
	w.deleteCluster("default")
	w.until("orders", "Stalled=True:KafkaClusterNotFound")
}

// TestAnotherKafka: whatever leads a KafkaCluster to another Kafka than its own, nothing is written there.
func TestAnotherKafka(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		lead func(w *world)
		back func(w *world)
	}{
		"edited to other addresses": {
			lead: func(w *world) { w.editCluster("default", repoint("other")) },
			back: func(w *world) { w.editCluster("default", repoint("default")) },
		},
		"the address leads elsewhere": {
			lead: func(w *world) { w.kafka.ReplaceClusterID("b3RoZXJrYWZrYWNsdXN0ZXI") },
			back: func(w *world) { w.kafka.ReplaceClusterID(kafkatest.DefaultClusterID) },
		},
		"another one is pinned": {
			lead: func(w *world) {
				w.editCluster("default", func(c *kafkaCluster) { c.Spec.ClusterID = "b3RoZXJrYWZrYWNsdXN0ZXI" })
			},
			back: func(w *world) { w.editCluster("default", func(c *kafkaCluster) { c.Spec.ClusterID = "" }) },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kafkatest.Options{})
			other := kafkatest.New(kafkatest.Options{ClusterID: "b3RoZXJrYWZrYWNsdXN0ZXI"})
			other.CreateTopicByHand("orders", [][]int32{{1}}, map[string]string{unclean: "true"})
			w.join("other", other)
			w.create(topic("orders", critical))
			w.until("orders", "Ready=True")
			w.kafka.Reset()
			test.lead(w)
			got := w.untilCluster("default", "Ready=False:ClusterIDChanged", "Stalled=True:ClusterIDChanged")
			if got.Status.ClusterID != kafkatest.DefaultClusterID {
				t.Errorf("status.clusterID is %q", got.Status.ClusterID)
			}
			w.mentions(conditions(1, got.Status.Conditions), kafkatest.DefaultClusterID, "b3RoZXJrYWZrYWNsdXN0ZXI")
			w.edit("orders", declare("retention.ms", "1000"))
			w.create(topic("payments", critical))
			w.until("payments", "Stalled=True:ClusterIDChanged")
			w.until("orders", "Stalled=True:ClusterIDChanged")
			if n := w.kafka.Requests().WriteTotal() + other.Requests().WriteTotal(); n > 0 || w.everReady("payments") {
				t.Errorf("%d writes to a Kafka that is not the recorded one", n)
			}
			test.back(w)
			w.readyTopics("orders", "payments")
			w.config("orders", "retention.ms", "1000")
			if n := other.Requests().WriteTotal(); n > 0 {
				t.Errorf("%d writes to the other Kafka", n)
			}
		})
	}
}

// TestTwoClustersOneKafka: the oldest acts alone, and the other takes over when it goes.
func TestTwoClustersOneKafka(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.untilCluster("default", "Ready=True")
	w.create(topic("orders", critical))
	w.until("orders", "Ready=True")
	w.join("second", w.kafka)
	w.waitForAnotherSecond("default")
	w.connect("second")
	got := w.untilCluster("second", "Ready=False:KafkaOwnedByAnother", "Stalled=True:KafkaOwnedByAnother")
	w.mentions(conditions(1, got.Status.Conditions), w.clusterName("default"))
	w.kafka.Reset()
	w.create(topic("team-b/orders", telemetry, of("second"), partitions(9), declare("retention.ms", "1")),
		topic("team-b/payments", critical, of("second")))
	topicGot := w.until("team-b/orders", "Stalled=True:TopicOwnedByAnother", "Ready=False")
	w.mentions(message(topicGot, "Stalled"), w.key("orders").String())
	topicGot = w.until("team-b/payments", "Stalled=True:KafkaOwnedByAnother", "Ready=False")
	w.mentions(message(topicGot, "Stalled"), w.clusterName("default"))
	w.edit("team-b/orders", declare("segment.ms", "60000"))
	w.until("team-b/orders", "Stalled=True:TopicOwnedByAnother")
	w.silent(2)
	w.delete("team-b/orders")
	w.silent(1)
	if n := w.kafka.Requests().WriteTotal(); n > 0 {
		t.Errorf("%d writes through the second KafkaCluster", n)
	}
	id := w.topicID("orders")
	w.create(topic("team-b/orders", critical, of("second")))
	w.until("team-b/orders", "Stalled=True")
	w.deleteCluster("default")
	w.untilCluster("second", "Ready=True", "!Stalled")
	w.readyTopics("team-b/payments", "team-b/orders")
	w.until("orders", "Stalled=True:KafkaClusterNotFound")
	if w.topicID("orders") != id || written(w.kafka, "orders") > 0 {
		t.Errorf("the topic was %s and is %s, after %d writes", id, w.topicID("orders"), written(w.kafka, "orders"))
	}
}

// waitForAnotherSecond makes what is created next younger by the API server's clock, which counts seconds.
func (w *world) waitForAnotherSecond(cluster string) {
	w.t.Helper()
	born := w.getCluster(cluster).CreationTimestamp
	w.eventually("another second", func() string {
		probe := topic("clock", critical, enforcement(v1alpha1.EnforcementSuspended))
		w.create(probe)
		w.delete("clock")
		if probe.CreationTimestamp.After(born.Time) {
			return ""
		}
		return "it is still the same"
	})
}

// TestOldBrokers: brokers that lack what is needed are named with it, nothing is written, nothing is called ready.
func TestOldBrokers(t *testing.T) {
	t.Parallel()
	for _, missing := range []kmsg.Key{
		kmsg.DescribeConfigs, kmsg.IncrementalAlterConfigs, kmsg.DescribeTopicPartitions, kmsg.ListPartitionReassignments, kmsg.CreatePartitions,
	} {
		t.Run(missing.Name(), func(t *testing.T) {
			t.Parallel()
			w := emptyWorld(t, kafkatest.Options{MaxVersions: map[int16]int16{missing.Int16(): -1}})
			w.kafka.CreateTopicByHand("orders", [][]int32{{1, 3, 5}, {2, 4, 6}, {3, 5, 1}}, map[string]string{"retention.ms": "1"})
			w.create(topic("orders", critical), topic("payments", critical))
			w.connect("default")
			got := w.untilCluster("default", "Ready=False:UnsupportedBrokers", "Stalled=True:UnsupportedBrokers")
			w.mentions(conditions(1, got.Status.Conditions), missing.Name(), "4.0")
			for _, name := range []string{"orders", "payments"} {
				topicGot := w.until(name, "Stalled=True:UnsupportedBrokers")
				w.mentions(message(topicGot, "Stalled"), missing.Name())
				if w.everReady(name) {
					t.Errorf("%s was called ready", name)
				}
			}
			if n := w.kafka.Requests().WriteTotal(); n > 0 {
				t.Errorf("%d writes", n)
			}
		})
	}
}

// TestAHungClusterSlowsNoOther: more topics wait for it than the operator has workers for it.
func TestAHungClusterSlowsNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	hung := kafkatest.New(kafkatest.Options{ClusterID: "aHVuZ2h1bmdodW5naHVuZ2g"})
	hung.Fail(kafkatest.Fault{APIKey: kmsg.CreateTopics, Hang: true, Count: kafkatest.Always})
	w.join("hung", hung)
	w.connect("hung")
	w.untilCluster("hung", "Ready=True")
	w.untilCluster("default", "Ready=True")
	var declared []*durableTopic
	for i := range workers / 2 * 3 / 2 {
		declared = append(declared, topic(fmt.Sprintf("hung-%03d", i), critical, of("hung"), partitions(1)))
	}
	w.applyAll(declared)
	w.eventually("a create to hang", func() string {
		if hung.Requests().WriteTotal() == 0 {
			return "none does"
		}
		return ""
	})
	for i := range 5 { // one after the other, each at once
		name := fmt.Sprintf("quick-%d", i)
		w.create(topic(name, critical))
		w.until(name, "Ready=True")
	}
	w.kafka.SetTopicConfig("quick-0", minISR, "1")
	w.config("quick-0", minISR, "2")
	if w.everReady("hung-000") || len(hung.TopicNames()) > 0 {
		t.Error("the other cluster did not hang")
	}
	hung.ClearFaults()
	w.allReady()
}
