package operator_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/api/v1alpha1"
	coretopic "durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

// TestAdopt: a topic in any state is taken over, reported exactly, set right as far as that endangers nothing, and none of
// its replicas is moved.
func TestAdopt(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		replicas      [][]int32
		configs       map[string]string
		wants         []string
		words         []string // of Ready
		rf, most      int32    // in the status
		wantMinISR    string   // on the topic; empty: held
		keepsItsState bool     // no write is due
	}{
		"rf-1": {
			replicas: [][]int32{{1}, {5}, {7}}, configs: map[string]string{minISR: "1", unclean: "true"},
			wants: []string{"Stalled=True:ReplicationFactorViolation", "Ready=False:ReplicationFactorViolation", "Durable=False:ReplicationFactorViolation"},
			words: []string{"3 of 3 partitions", "partition 0 has 1 replica instead of 3", "kafka-reassign-partitions.sh"}, rf: 1, wantMinISR: "1",
		},
		"rf-2": {
			replicas: [][]int32{{1, 5}, {5, 7}, {7, 1}}, configs: map[string]string{minISR: "1"},
			wants: []string{"Stalled=True:ReplicationFactorViolation", "Durable=False:ReplicationFactorViolation"},
			words: []string{"3 of 3 partitions", "partition 2 has 2 replicas instead of 3"}, rf: 2, wantMinISR: "1",
		},
		"rf-2-already-with-2-in-sync": {
			replicas: [][]int32{{1, 5}, {5, 7}, {7, 1}}, configs: map[string]string{minISR: "2", unclean: "false"},
			wants: []string{"Stalled=True:ReplicationFactorViolation", "Durable=False:ReplicationFactorViolation"},
			rf:    2, wantMinISR: "2", keepsItsState: true,
		},
		"mixed": {
			replicas: [][]int32{{1, 5, 7}, {1, 5, 7, 2}, {1}},
			wants:    []string{"Stalled=True:ReplicationFactorViolation", "Durable=False:ReplicationFactorViolation"},
			words:    []string{"2 of 3 partitions", "partition 1 has 4 replicas instead of 3", "partition 2 has 1 replica instead of 3"}, rf: 1, most: 4,
		},
		"more-replicas-than-declared": {
			replicas: [][]int32{{1, 5, 7, 2}, {5, 7, 1, 6}, {7, 1, 5, 8}}, configs: map[string]string{minISR: "3", unclean: "true"},
			wants: []string{"Stalled=True:ReplicationFactorViolation", "Ready=False", "Durable=True"},
			words: []string{"3 of 3 partitions"}, rf: 4, wantMinISR: "2",
		},
		"one-rack": {
			replicas: [][]int32{{1, 2, 3}, {2, 3, 4}, {3, 4, 1}}, configs: map[string]string{minISR: "1", unclean: "true"},
			wants: []string{"Stalled=True:PlacementViolation", "Ready=False:PlacementViolation", "Durable=False:PlacementViolation"},
			words: []string{"3 of 3 partitions", "rack a"}, rf: 3, wantMinISR: "2",
		},
		"two-in-one-rack": {
			replicas: [][]int32{{1, 5, 7}, {5, 6, 1}, {7, 1, 5}},
			wants:    []string{"Stalled=True:PlacementViolation", "Durable=False:PlacementViolation"},
			words:    []string{"1 of 3 partitions", "partition 1", "rack b"}, rf: 3, wantMinISR: "2",
		},
		"gone-broker": {
			replicas: [][]int32{{1, 5, 9}, {5, 7, 1}, {7, 1, 5}}, configs: map[string]string{minISR: "2", unclean: "true"},
			wants: []string{"Stalled=True:ReplicaOnMissingBroker", "Ready=False:ReplicaOnMissingBroker"},
			words: []string{"1 of 3 partitions", "partition 0 has a replica on broker 9, not registered"}, rf: 3, wantMinISR: "2",
		},
		"wrong-locks-only": {
			replicas: [][]int32{{1, 5, 7}, {5, 7, 1}, {7, 1, 5}}, configs: map[string]string{minISR: "3", unclean: "true"},
			wants: []string{"Ready=True", "Durable=True:FullyReplicated", "!Drifted"}, rf: 3, wantMinISR: "2",
		},
	}
	w := emptyWorld(t, kafkatest.Options{Racks: []string{"a", "a", "a", "a", "b", "b", "c", "c", "c"}})
	for name, test := range tests {
		w.kafka.CreateTopicByHand(name, test.replicas, test.configs)
		w.create(topic(name, critical))
	}
	w.kafka.Unregister(9)
	w.connect("default")
	for name, test := range tests {
		got := w.until(name, test.wants...)
		w.mentions(message(got, "Ready"), test.words...)
		if s := got.Status; s.Origin != v1alpha1.TopicOriginAdopted || s.ReplicationFactor != test.rf || s.MaxReplicationFactor != test.most {
			t.Errorf("status of %s: origin %s, replication factor %d to %d", name, s.Origin, s.ReplicationFactor, s.MaxReplicationFactor)
		}
		w.config(name, unclean, "false")
		w.config(name, minISR, test.wantMinISR)
		w.event(name, "TopicAdopted")
	}
	w.silent(2)
	for name, test := range tests {
		made, _ := w.kafka.Topic(name)
		var replicas [][]int32
		for _, p := range made.Partitions {
			replicas = append(replicas, p.Replicas)
		}
		if diff := cmp.Diff(test.replicas, replicas); diff != "" {
			t.Errorf("replicas of %s were moved (-want +got):\n%s", name, diff)
		}
		if n := written(w.kafka, name); test.keepsItsState && n > 0 || n > 2 {
			t.Errorf("%d writes to %s", n, name)
		}
	}
	for _, write := range w.kafka.Writes() {
		if write.Key != kmsg.IncrementalAlterConfigs {
			t.Errorf("sent %s", write.Key.Name())
		}
	}
}

// TestAdoptATopicOfTheBrokers: a topic that Kafka flags as internal is left alone, whatever its name.
func TestAdoptATopicOfTheBrokers(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kafkatest.Options{})
	w.kafka.CreateTopicByHand("broker-state", [][]int32{{1, 3, 5}}, map[string]string{minISR: "1", unclean: "true"})
	w.kafka.FlagInternal("broker-state")
	w.create(topic("broker-state", critical))
	w.connect("default")
	got := w.until("broker-state", "Stalled=True:InternalTopic", "Ready=False:InternalTopic")
	w.mentions(message(got, "Ready"), "internal", "delete this object")
	w.silent(2)
	if n := written(w.kafka, "broker-state"); n > 0 {
		t.Errorf("%d writes to a topic that belongs to the brokers", n)
	}
}

// TestAdoptWhereThereIsNoRoom: too few brokers for the profile. min.insync.replicas is not raised to where one broker's
// restart stops producers; unclean election is switched off all the same.
func TestAdoptWhereThereIsNoRoom(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kafkatest.Options{Racks: []string{"a", "b"}})
	w.kafka.CreateTopicByHand("orders", [][]int32{{1, 2}, {2, 1}, {1, 2}}, map[string]string{minISR: "1", unclean: "true"})
	w.create(topic("orders", critical))
	w.connect("default")
	got := w.until("orders", "Stalled=True:InsufficientBrokers", "Ready=False:InsufficientBrokers", "Durable=False:ReplicationFactorViolation")
	w.mentions(message(got, "Ready"), "add 1 broker")
	w.config("orders", unclean, "false")
	w.silent(2)
	w.config("orders", minISR, "1")
	w.kafka.Register(coretopic.Broker{ID: 3, Rack: "c"})
	w.until("orders", "Stalled=True:ReplicationFactorViolation")
	for i := range int32(3) {
		w.kafka.MoveByHand("orders", i, []int32{1, 2, 3})
	}
	w.until("orders", "Ready=True", "Durable=True")
	w.config("orders", minISR, "2")
}
