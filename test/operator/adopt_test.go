package operator_test

import (
	"maps"
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

// wrongTopic is a topic that somebody else has made, and what is due.
type wrongTopic struct {
	replicas [][]int32
	configs  map[string]string
	reason   string   // of the violation; empty: the replicas are right
	durable  string   // condition
	words    []string // of Ready
	rf, most int32    // in the status
	minISR   string   // set on the topic while the replicas are as they are
	fewest   int      // new replicas that set all right
}

// wrongTopics are in need of everything, on brokers 1-4 in rack a, 5-6 in b, 7-9 in c, of which 9 has left.
var wrongTopics = map[string]wrongTopic{
	"rf-1": {
		replicas: [][]int32{{1}, {5}, {7}}, configs: map[string]string{minISR: "1", unclean: "true"},
		reason: "ReplicationFactorViolation", durable: "Durable=False:ReplicationFactorViolation",
		words: []string{"3 of 3 partitions", "partition 0 has 1 replica instead of 3"}, rf: 1, minISR: "1", fewest: 6,
	},
	"rf-2": {
		replicas: [][]int32{{1, 5}, {5, 7}, {7, 1}}, configs: map[string]string{minISR: "1"},
		reason: "ReplicationFactorViolation", durable: "Durable=False:ReplicationFactorViolation",
		words: []string{"3 of 3 partitions", "partition 2 has 2 replicas instead of 3"}, rf: 2, minISR: "1", fewest: 3,
	},
	"rf-2-already-with-2-in-sync": {
		replicas: [][]int32{{1, 5}, {5, 7}, {7, 1}}, configs: map[string]string{minISR: "2", unclean: "false"},
		reason: "ReplicationFactorViolation", durable: "Durable=False:ReplicationFactorViolation", rf: 2, minISR: "2", fewest: 3,
	},
	"mixed": {
		replicas: [][]int32{{1, 5, 7}, {1, 5, 7, 2}, {1}},
		reason:   "ReplicationFactorViolation", durable: "Durable=False:ReplicationFactorViolation",
		words: []string{"2 of 3 partitions", "partition 1 has 4 replicas instead of 3", "partition 2 has 1 replica instead of 3"},
		rf:    1, most: 4, fewest: 2,
	},
	"more-replicas-than-declared": {
		replicas: [][]int32{{1, 5, 7, 2}, {5, 7, 1, 6}, {7, 1, 5, 8}}, configs: map[string]string{minISR: "3", unclean: "true"},
		reason: "ReplicationFactorViolation", durable: "Durable=True", words: []string{"3 of 3 partitions"}, rf: 4, minISR: "2",
	},
	"one-rack": {
		replicas: [][]int32{{1, 2, 3}, {2, 3, 4}, {3, 4, 1}}, configs: map[string]string{minISR: "1", unclean: "true"},
		reason: "PlacementViolation", durable: "Durable=False:PlacementViolation", words: []string{"3 of 3 partitions", "rack a"},
		rf: 3, minISR: "2", fewest: 6,
	},
	"two-in-one-rack": {
		replicas: [][]int32{{1, 5, 7}, {5, 6, 1}, {7, 1, 5}},
		reason:   "PlacementViolation", durable: "Durable=False:PlacementViolation",
		words: []string{"1 of 3 partitions", "partition 1", "rack b"}, rf: 3, minISR: "2", fewest: 1,
	},
	"gone-broker": {
		replicas: [][]int32{{1, 5, 9}, {5, 7, 1}, {7, 1, 5}}, configs: map[string]string{minISR: "2", unclean: "true"},
		reason: "ReplicaOnMissingBroker", durable: "Durable=False:ReplicaOnMissingBroker",
		words: []string{"1 of 3 partitions", "partition 0 has a replica on broker 9, not registered"}, rf: 3, minISR: "2", fewest: 1,
	},
	"wrong-locks-only": {
		replicas: [][]int32{{1, 5, 7}, {5, 7, 1}, {7, 1, 5}}, configs: map[string]string{minISR: "3", unclean: "true"},
		durable: "Durable=True:FullyReplicated", rf: 3, minISR: "2",
	},
}

// adoption is a world with an operator, the wrong topics, objects for them, and no KafkaCluster yet.
func adoption(t *testing.T, o kafkatest.Options) *world {
	t.Helper()
	o.Racks = []string{"a", "a", "a", "a", "b", "b", "c", "c", "c"}
	w := emptyWorld(t, o)
	for name, wrong := range wrongTopics {
		w.kafka.CreateTopicByHand(name, wrong.replicas, wrong.configs)
		w.create(topic(name, critical))
	}
	w.kafka.Unregister(9)
	return w
}

// reported checks what is told and done before any replica moves. Wants are the conditions of topics with wrong replicas,
// in which %s stands for the reason.
func (w *world) reported(words []string, wants ...string) {
	w.t.Helper()
	for name, wrong := range wrongTopics {
		expect := []string{wrong.durable, "Ready=True", "!Drifted"}
		if wrong.reason != "" {
			expect = []string{wrong.durable, "Drifted=True"}
			for _, want := range wants {
				expect = append(expect, strings.ReplaceAll(want, "%s", wrong.reason))
			}
		}
		got := w.until(name, expect...)
		if wrong.reason != "" {
			w.mentions(message(got, "Ready"), append(words, wrong.words...)...)
		}
		if s := got.Status; s.Origin != v1alpha1.TopicOriginAdopted || s.ReplicationFactor != wrong.rf || s.MaxReplicationFactor != wrong.most {
			w.t.Errorf("status of %s: origin %s, replication factor %d to %d", name, s.Origin, s.ReplicationFactor, s.MaxReplicationFactor)
		}
		w.config(name, unclean, "false")
		w.config(name, minISR, wrong.minISR)
		w.event(name, "TopicAdopted")
		if diff := cmp.Diff(wrong.replicas, w.replicas(name)); diff != "" {
			w.t.Errorf("replicas of %s were moved (-want +got):\n%s", name, diff)
		}
	}
}

// TestAdopt: a topic in any state is taken over, reported exactly, locked as far as that endangers nothing, and then gets
// exactly its replicas where the rack rule wants them, with as few new ones as can be, and is never called stalled.
func TestAdopt(t *testing.T) {
	t.Parallel()
	w := adoption(t, kafkatest.Options{MoveTicks: 1})
	letGo := w.brake()
	w.connect("default")
	w.reported([]string{"they are moved in turn"}, "Ready=False:MovingReplicas", "Reconciling=True:MovingReplicas", "!Stalled")
	if all := moves(w.kafka); len(all) > 0 {
		t.Errorf("moves began although nobody knows the throttle rates: %v", all)
	}
	letGo()
	w.eventually("a move to run", func() string {
		if len(moves(w.kafka)) == 0 {
			return "none does"
		}
		return ""
	})
	w.sweeps(1)
	for name, wrong := range wrongTopics {
		if wrong.reason != "" {
			w.until(name, "Ready=False:MovingReplicas", "Reconciling=True:MovingReplicas", "!Stalled")
		}
	}
	for name := range wrongTopics {
		w.tickUntilReady(name)
	}
	w.cleanedUp()
	w.silent(2)
	for name, wrong := range wrongTopics {
		w.adopted(name, wrong)
	}
}

// adopted checks what has become of a wrong topic, and how.
func (w *world) adopted(name string, wrong wrongTopic) {
	w.t.Helper()
	if trouble := w.locked(name, false, 3, 2, 1); trouble != "" {
		w.t.Errorf("%s: %s", name, trouble)
	}
	got := w.until(name, "Ready=True", "Durable=True:FullyReplicated", "!Drifted", "!Stalled", "!Reconciling")
	if s := got.Status; s.ReplicationFactor != 3 || s.MaxReplicationFactor != 0 {
		w.t.Errorf("status of %s: replication factor %d to %d", name, s.ReplicationFactor, s.MaxReplicationFactor)
	}
	anew := 0
	for i, now := range w.replicas(name) {
		anew += len(except(now, wrong.replicas[i]))
		w.movedStraight(name, int32(i), wrong.replicas[i], now)
	}
	if anew != wrong.fewest {
		w.t.Errorf("%s got %d new replicas, want %d: %v from %v", name, anew, wrong.fewest, w.replicas(name), wrong.replicas)
	}
	if diff := cmp.Diff([]string{"False:MovingReplicas", "True"}, connectedPath(w.path(name))); diff != "" && wrong.reason != "" {
		w.t.Errorf("Ready of %s went another way (-want +got):\n%s", name, diff)
	}
	if told := w.events(name, "DriftCorrected"); len(told) > 0 {
		w.t.Errorf("what the operator does itself is told as drift of %s: %q", name, told)
	}
}

// movedStraight: the reassignments of a partition lead to the list that is there now, and copy nothing twice and nothing
// that does not stay. A list that is right was never touched.
func (w *world) movedStraight(name string, partition int32, before, now []int32) {
	w.t.Helper()
	have, copied := before, []int32{}
	for _, m := range moves(w.kafka) {
		if m.Topic == name && m.Partition == partition {
			copied = append(copied, except(m.To, have)...)
			have = m.To
		}
	}
	byID := cmpopts.SortSlices(func(a, b int32) bool { return a < b })
	if !slices.Equal(have, now) || !cmp.Equal(except(now, before), copied, byID, cmpopts.EquateEmpty()) {
		w.t.Errorf("%s-%d went from %v to %v by %v, which copy to %v", name, partition, before, now, moves(w.kafka), copied)
	}
}

// except gives the IDs of a list that another one has not.
func except(all, some []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(all), func(id int32) bool { return slices.Contains(some, id) })
}

// connectedPath leaves out what was said before there was a connection.
func connectedPath(path []string) []string {
	return slices.Compact(slices.DeleteFunc(slices.Clone(path), func(step string) bool {
		return strings.HasPrefix(step, "Unknown") || step == "False:KafkaClusterNotFound"
	}))
}

// TestAdoptWithPlacementBroker: what the brokers place is reported and not moved, until the operator may.
func TestAdoptWithPlacementBroker(t *testing.T) {
	t.Parallel()
	w := adoption(t, kafkatest.Options{})
	w.connect("default", func(c *kafkaCluster) { c.Spec.Placement = v1alpha1.PlacementBroker })
	w.reported([]string{"kafka-reassign-partitions.sh"}, "Ready=False:%s", "Stalled=True:%s", "!Reconciling")
	w.silent(2)
	w.reported(nil, "Stalled=True:%s")
	for _, write := range w.kafka.Writes() {
		if write.Key != kmsg.IncrementalAlterConfigs {
			t.Errorf("sent %s", write.Key.Name())
		}
	}
	for name, wrong := range wrongTopics {
		if n := written(w.kafka, name); n > 2 || n > 0 && wrong.configs[minISR] == wrong.minISR && wrong.configs[unclean] == "false" {
			t.Errorf("%d writes to %s", n, name)
		}
	}
	w.editCluster("default", func(c *kafkaCluster) { c.Spec.Placement = v1alpha1.PlacementOperator })
	w.readyTopics(slices.Collect(maps.Keys(wrongTopics))...)
}

// TestAdoptWithObserve: of a topic or of the KafkaCluster, it lets nothing be written.
func TestAdoptWithObserve(t *testing.T) {
	t.Parallel()
	for _, of := range []string{"topic", "KafkaCluster"} {
		t.Run(of, func(t *testing.T) {
			t.Parallel()
			w := adoption(t, kafkatest.Options{})
			observe := func(to v1alpha1.Enforcement) {
				for name := range wrongTopics {
					w.edit(name, enforcement(to))
				}
			}
			if of == "topic" {
				observe(v1alpha1.EnforcementObserve)
				w.connect("default")
			} else {
				w.connect("default", func(c *kafkaCluster) { c.Spec.Enforcement = v1alpha1.EnforcementObserve })
			}
			for name := range wrongTopics {
				if name != "rf-2-already-with-2-in-sync" {
					w.until(name, "Stalled=True:ObserveOnly", "Ready=False:ObserveOnly")
				}
			}
			w.silent(3)
			for name, wrong := range wrongTopics {
				if diff := cmp.Diff(wrong.replicas, w.replicas(name)); diff != "" {
					t.Errorf("replicas of %s were moved (-want +got):\n%s", name, diff)
				}
			}
			if n := w.kafka.Requests().WriteTotal(); n > 0 {
				t.Errorf("%d writes", n)
			}
			if of == "topic" {
				observe(v1alpha1.EnforcementEnforce)
			} else {
				w.editCluster("default", func(c *kafkaCluster) { c.Spec.Enforcement = v1alpha1.EnforcementEnforce })
			}
			w.readyTopics(slices.Collect(maps.Keys(wrongTopics))...)
		})
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

// TestAdoptWhereThereIsNoRoom: too few brokers or racks for the profile. No move is tried; min.insync.replicas is not raised
// to where one broker's restart stops producers; unclean election is switched off all the same. With room it heals.
func TestAdoptWhereThereIsNoRoom(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		racks  string
		away   []int32 // fenced
		gone   []int32 // not registered any more
		wants  []string
		words  []string
		relief func(w *world)
	}{
		"two brokers": {
			racks: "a b", wants: []string{"Stalled=True:InsufficientBrokers", "Ready=False:InsufficientBrokers"},
			words:  []string{"partition 0 has 2 replicas instead of 3", "add 1 broker"},
			relief: func(w *world) { w.kafka.Register(coretopic.Broker{ID: 9, Rack: "c"}) },
		},
		"two racks": {
			racks: "a b a b a", wants: []string{"Stalled=True:InsufficientRacks", "Ready=False:InsufficientRacks"},
			words:  []string{"partition 0 has 2 replicas instead of 3", "rack"},
			relief: func(w *world) { w.kafka.Register(coretopic.Broker{ID: 9, Rack: "c"}) },
		},
		"a broker has left and there is no other": {
			racks: "a b c", gone: []int32{2}, wants: []string{"Stalled=True:ReplicaOnMissingBroker", "Ready=False:ReplicaOnMissingBroker"},
			words:  []string{"broker 2", "not registered", "make room"},
			relief: func(w *world) { w.kafka.Register(coretopic.Broker{ID: 9, Rack: "d"}) },
		},
		"a rack restarts": {
			racks: "a b c c", away: []int32{3, 4}, wants: []string{"Reconciling=True:WaitingForBrokers", "Ready=False:WaitingForBrokers", "!Stalled"},
			words:  []string{"partition 0 has 2 replicas instead of 3", "rack c"},
			relief: func(w *world) { w.kafka.Unfence(3, 4) },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := emptyWorld(t, kafkatest.Options{Racks: strings.Fields(test.racks)})
			pairs := [][]int32{{1, 2}, {2, 1}, {1, 2}}
			w.kafka.CreateTopicByHand("orders", pairs, map[string]string{minISR: "1", unclean: "true", "retention.ms": "1000"})
			w.kafka.Fence(test.away...)
			w.kafka.Unregister(test.gone...)
			w.create(topic("orders", critical, declare("retention.ms", "2000")))
			w.connect("default")
			got := w.until("orders", append(test.wants, "Durable=False", "Drifted=True")...)
			w.mentions(message(got, "Ready"), test.words...)
			w.config("orders", unclean, "false")
			w.config("orders", "retention.ms", "2000")
			w.silent(2)
			w.config("orders", minISR, "1")
			if diff := cmp.Diff(pairs, w.replicas("orders")); diff != "" {
				t.Errorf("replicas (-want +got):\n%s", diff)
			}
			if n := written(w.kafka, "orders"); n > 2 || len(moves(w.kafka)) > 0 {
				t.Errorf("%d writes, moves %v", n, moves(w.kafka))
			}
			test.relief(w)
			w.until("orders", "Ready=True", "Durable=True:FullyReplicated", "!Stalled")
			if trouble := w.locked("orders", false, 3, 2, 1); trouble != "" {
				t.Error(trouble)
			}
		})
	}
}
