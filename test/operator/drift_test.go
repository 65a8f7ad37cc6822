package operator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

const (
	minISR  = "min.insync.replicas"
	unclean = "unclean.leader.election.enable"
)

// TestDriftIsSetRight: what was as declared and is changed by somebody else is corrected within the pass, told once in
// status, event and metric, and Ready does not flap.
func TestDriftIsSetRight(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		declared *durableTopic
		damage   func(k *kafkatest.Cluster, topic string)
		want     []v1alpha1.DriftChange
	}{
		"min-isr-lowered": {
			damage: func(k *kafkatest.Cluster, topic string) { k.SetTopicConfig(topic, minISR, "1") },
			want:   []v1alpha1.DriftChange{{Key: minISR, From: "1", To: "2"}},
		},
		"min-isr-raised": {
			damage: func(k *kafkatest.Cluster, topic string) { k.SetTopicConfig(topic, minISR, "3") },
			want:   []v1alpha1.DriftChange{{Key: minISR, From: "3", To: "2"}},
		},
		"unclean-on": {
			damage: func(k *kafkatest.Cluster, topic string) { k.SetTopicConfig(topic, unclean, "true") },
			want:   []v1alpha1.DriftChange{{Key: unclean, From: "true", To: "false"}},
		},
		"telemetry-unclean-off": {
			declared: topic("telemetry-unclean-off", telemetry),
			damage:   func(k *kafkatest.Cluster, topic string) { k.SetTopicConfig(topic, unclean, "false") },
			want:     []v1alpha1.DriftChange{{Key: unclean, From: "false", To: "true"}},
		},
		"a-lock-removed-whose-inherited-value-is-the-same": {
			damage: func(k *kafkatest.Cluster, topic string) { k.DeleteTopicConfig(topic, unclean) },
			want:   []v1alpha1.DriftChange{{Key: unclean, From: "false", To: "false"}},
		},
		"both-locks-and-a-config": {
			declared: topic("both-locks-and-a-config", critical, declare("retention.ms", "86400000")),
			damage: func(k *kafkatest.Cluster, topic string) {
				k.SetTopicConfig(topic, "retention.ms", "1000")
				k.SetTopicConfig(topic, minISR, "1")
				k.DeleteTopicConfig(topic, unclean)
			},
		},
		"a-config-changed": {
			declared: topic("a-config-changed", critical, declare("segment.ms", "3600000")),
			damage:   func(k *kafkatest.Cluster, topic string) { k.SetTopicConfig(topic, "segment.ms", "7200000") },
			want:     []v1alpha1.DriftChange{{Key: "segment.ms", From: "7200000", To: "3600000"}},
		},
		"a-config-removed": {
			declared: topic("a-config-removed", critical, declare("segment.ms", "3600000")),
			damage:   func(k *kafkatest.Cluster, topic string) { k.DeleteTopicConfig(topic, "segment.ms") },
			want:     []v1alpha1.DriftChange{{Key: "segment.ms", From: "604800000", To: "3600000"}},
		},
		"replication-factor-5": {
			declared: topic("replication-factor-5", critical, replicationFactor(5)),
			damage:   func(k *kafkatest.Cluster, topic string) { k.SetTopicConfig(topic, minISR, "2") },
			want:     []v1alpha1.DriftChange{{Key: minISR, From: "2", To: "3"}},
		},
	}
	w := newWorld(t, kafkatest.Options{ELR: true, MinInSyncReplicas: "1"})
	before := map[string]map[string]string{}
	for name, test := range tests {
		if test.declared == nil {
			test.declared = topic(name, critical)
		}
		w.create(test.declared)
	}
	for name, test := range tests {
		w.until(name, "Ready=True")
		made, _ := w.kafka.Topic(name)
		before[name] = map[string]string{}
		for key, c := range made.Configs {
			before[name][key] = c.Value
		}
		test.damage(w.kafka, name)
	}
	for name, test := range tests {
		for key, value := range before[name] {
			w.config(name, key, value)
		}
		var got *durableTopic
		w.eventually("lastDrift of "+name, func() string {
			if got = w.get(name); got.Status.LastDrift == nil {
				return conditions(got.Generation, got.Status.Conditions)
			}
			return ""
		})
		if test.want != nil {
			if diff := cmp.Diff(test.want, got.Status.LastDrift.Changes); diff != "" {
				t.Errorf("lastDrift of %s (-want +got):\n%s", name, diff)
			}
		}
		if path := strings.Join(w.path(name), " "); path != "True" {
			t.Errorf("%s was not ready all the time: %s", name, path)
		}
		for _, change := range test.want {
			w.mentions(w.event(name, "DriftCorrected"), change.Key, change.To)
		}
	}
	found, corrected := w.metric("durabletopic_drift_detected_total"), w.metric("durabletopic_drift_corrected_total")
	if want := float64(len(tests) + 2); found != want || corrected != want {
		t.Errorf("metrics count %v differences found and %v corrected, want %v", found, corrected, want)
	}
	w.silent(2)
}

// TestUndeclaredKeys: a key that leaves spec.config goes back to its default, unless its default may delete records.
func TestUndeclaredKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.create(topic("orders", critical, declare("segment.ms", "3600000", "retention.ms", "9000000000", "cleanup.policy", "compact")))
	w.until("orders", "Ready=True")
	w.kafka.SetTopicConfig("orders", "compression.type", "lz4")
	w.edit("orders", func(t *durableTopic) { t.Spec.Config = nil })
	got := w.until("orders", "Ready=True", "!Drifted")
	w.config("orders", "segment.ms", "")
	w.config("orders", "retention.ms", "9000000000")
	w.config("orders", "cleanup.policy", "compact")
	w.config("orders", "compression.type", "lz4")
	w.mentions(w.event("orders", "ConfigReleased"), "retention.ms", "cleanup.policy")
	if diff := cmp.Diff([]string{minISR, unclean}, got.Status.OwnedConfig); diff != "" {
		t.Errorf("ownedConfig (-want +got):\n%s", diff)
	}
	w.kafka.SetTopicConfig("orders", "retention.ms", "5000")
	w.kafka.SetTopicConfig("orders", "segment.ms", "70000")
	w.silent(2)
}

// TestRemovalWithoutEffect: a broker confirms the removal of a key and goes on to show it. That is not removed for ever.
func TestRemovalWithoutEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.create(topic("orders", critical, declare("segment.ms", "604800000")))
	w.until("orders", "Ready=True")
	w.kafka.Reset()
	confirmed := w.kafka.Fail(kafkatest.Fault{APIKey: kmsg.IncrementalAlterConfigs, Count: kafkatest.Always})
	w.edit("orders", func(t *durableTopic) { t.Spec.Config = nil })
	w.until("orders", "Ready=True", "!Drifted")
	w.restart()
	w.silent(2)
	w.config("orders", "segment.ms", "604800000")
	if n := written(w.kafka, "orders"); n != 1 || confirmed.Hits() != 1 {
		t.Errorf("%d writes, %d of them confirmed without effect", n, confirmed.Hits())
	}
}

// TestSpellingsAreNotFoughtOver: values that mean the same to Kafka are left as they are, from the first pass on.
func TestSpellingsAreNotFoughtOver(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kafkatest.Options{})
	w.kafka.CreateTopicByHand("orders", [][]int32{{1, 3, 5}, {2, 4, 6}, {3, 5, 1}}, map[string]string{
		minISR: "2", unclean: "FALSE", "min.cleanable.dirty.ratio": "0.50", "cleanup.policy": "delete, compact",
		"preallocate": "True", "retention.ms": "0604800000", "max.message.bytes": " 1000000 ",
	})
	w.create(topic("orders", critical, declare("min.cleanable.dirty.ratio", "0.5", "cleanup.policy", "compact,delete",
		"preallocate", "true", "retention.ms", "604800000", "max.message.bytes", "1000000")))
	w.connect("default")
	w.until("orders", "Ready=True", "!Drifted")
	w.edit("orders", declare("cleanup.policy", "compact, delete", "min.cleanable.dirty.ratio", ".5", "preallocate", "TRUE"))
	w.until("orders", "Ready=True", "!Drifted")
	w.silent(2)
	if n := w.kafka.Requests().WriteTotal(); n > 0 {
		t.Errorf("%d writes for values that are the same", n)
	}
}

// TestInheritedValuesArePinned: the locks are set on the topic although the brokers' defaults are the same, once, and
// nothing else is.
func TestInheritedValuesArePinned(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kafkatest.Options{MinInSyncReplicas: "2"})
	w.kafka.CreateTopicByHand("orders", [][]int32{{1, 3, 5}, {2, 4, 6}, {3, 5, 1}}, map[string]string{"retention.ms": "1000"})
	w.create(topic("orders", critical))
	w.connect("default")
	w.until("orders", "Ready=True")
	w.config("orders", minISR, "2")
	w.config("orders", unclean, "false")
	w.silent(2)
	made, _ := w.kafka.Topic("orders")
	if n := written(w.kafka, "orders"); n != 1 || len(made.Configs) != 3 {
		t.Errorf("%d writes, configs %v", n, made.Configs)
	}
	w.event("orders", "TopicAdopted")
}

func TestPartitionsGrow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.create(topic("orders", critical))
	w.until("orders", "Ready=True")
	w.edit("orders", partitions(8))
	got := w.until("orders", "Ready=True")
	if got.Status.Partitions != 8 {
		t.Errorf("status shows %d partitions", got.Status.Partitions)
	}
	if trouble := w.locked("orders", false, 3, 2, 1); trouble != "" {
		t.Error(trouble)
	}
	if uneven := w.unevenLeaders(); uneven != "" {
		t.Error(uneven)
	}
	smaller := w.get("orders")
	smaller.Spec.Partitions = 4
	if err := w.kube.Update(w.ctx, smaller); err == nil || !strings.Contains(err.Error(), "cannot take partitions away") {
		t.Errorf("an edit to fewer partitions ended with %v", err)
	}
	w.silent(2)
	if n := written(w.kafka, "orders"); n != 2 {
		t.Errorf("%d writes, want a create and one more", n)
	}
}

func TestMorePartitionsThanDeclared(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.kafka.CreateTopicByHand("orders", [][]int32{{1, 3, 5}, {2, 4, 6}, {3, 5, 1}, {4, 6, 2}}, map[string]string{unclean: "true"})
	w.create(topic("orders", critical, declare("retention.ms", "1000")), topic("payments", critical))
	got := w.until("orders", "Stalled=True:PartitionDecreaseUnsupported", "Ready=False:PartitionDecreaseUnsupported", "Drifted=True:PartitionDecreaseUnsupported", "Durable=True")
	w.mentions(message(got, "Stalled"), "partition count is 4, declared 3", "spec.partitions")
	for key, want := range map[string]string{minISR: "2", unclean: "false", "retention.ms": "1000"} {
		w.config("orders", key, want)
	}
	w.until("payments", "Ready=True")
	w.kafka.AddPartitionsByHand("payments", []int32{1, 3, 5})
	w.until("payments", "Stalled=True:PartitionDecreaseUnsupported")
	w.kafka.SetTopicConfig("payments", minISR, "1")
	w.config("payments", minISR, "2")
	w.silent(2)
	for _, name := range []string{"orders", "payments"} {
		w.edit(name, partitions(4))
		w.until(name, "Ready=True", "!Stalled", "!Drifted")
	}
}

// TestFightsAreDamped: a key that somebody keeps changing back is corrected ever more slowly, and it says so.
func TestFightsAreDamped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.create(topic("orders", critical), topic("payments", critical))
	w.readyTopics("orders", "payments")
	for range 3 {
		w.kafka.SetTopicConfig("orders", minISR, "1")
		w.config("orders", minISR, "2")
	}
	w.kafka.SetTopicConfig("orders", minISR, "1")
	got := w.until("orders", "Drifted=True:DriftFight", "Stalled=True:DriftFight", "Ready=False", "Durable=False:MinInSyncReplicasViolation")
	w.mentions(message(got, "Drifted"), minISR+" to 1, declared is 2", "other writer")
	w.kafka.SetTopicConfig("payments", minISR, "1")
	w.kafka.SetTopicConfig("orders", unclean, "true")
	w.config("payments", minISR, "2")
	w.config("orders", unclean, "false")
	for range 3 {
		before := written(w.kafka, "orders")
		w.later(fightOver, "orders")
		w.config("orders", minISR, "2")
		w.until("orders", "Ready=True", "Drifted=True:DriftFight", "Durable=True")
		if n := written(w.kafka, "orders"); n != before+1 {
			t.Errorf("%d writes instead of one", n-before)
		}
		w.kafka.SetTopicConfig("orders", minISR, "1")
		w.until("orders", "Ready=False:DriftFight", "Drifted=True:DriftFight")
		w.sweeps(2)
		if n := written(w.kafka, "orders"); n != before+1 {
			t.Error("it was corrected again without a delay")
		}
	}
	if notes := w.events("orders", "DriftFight"); len(notes) != 1 {
		t.Errorf("the fight is told by %d events: %q", len(notes), notes)
	}
	w.later(fightOver, "orders")
	w.until("orders", "Ready=True")
	w.later(peace, "orders")
	w.until("orders", "Ready=True", "!Drifted")
	w.silent(2)
}

// TestReadOnlyConfigs: a managed service keeps the locks for itself.
func TestReadOnlyConfigs(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kafkatest.Options{MinInSyncReplicas: "2"})
	for _, name := range []string{"orders", "page-views"} {
		w.kafka.CreateTopicByHand(name, [][]int32{{1, 3, 5}, {2, 4, 6}, {3, 5, 1}}, nil)
	}
	w.kafka.SetReadOnly(minISR, unclean)
	w.create(topic("orders", critical), topic("page-views", telemetry, declare("retention.ms", "1000")))
	w.connect("default")
	w.until("orders", "Ready=True", "!Drifted")
	got := w.until("page-views", "Stalled=True:ReadOnlyConfig", "Ready=False:ReadOnlyConfig", "Drifted=True:ReadOnlyConfig")
	w.mentions(message(got, "Stalled"), unclean, "read-only", "false", "true")
	w.config("page-views", "retention.ms", "1000")
	w.silent(3)
	if n := written(w.kafka, "orders"); n > 0 {
		t.Errorf("%d writes to a topic that is right and read-only", n)
	}
	if n := written(w.kafka, "page-views"); n != 1 {
		t.Errorf("%d writes, want the one that sets retention.ms", n)
	}
}

// TestForeignReassignmentIsWaitedFor: somebody else's move is reported and never cancelled; the locks do not wait for it.
func TestForeignReassignmentIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{MoveTicks: kafkatest.Never})
	w.create(topic("orders", critical))
	w.until("orders", "Ready=True")
	p := w.kafka.Partition("orders", 1)
	target := append([]int32{}, p.Replicas...)
	for i, id := range target { // the other broker of each rack
		target[i] = id + 1 - 2*((id+1)%2)
	}
	w.kafka.MoveByHand("orders", 1, target)
	got := w.until("orders", "Reconciling=True:MovingReplicas", "Ready=False:MovingReplicas", "Durable=True")
	w.mentions(message(got, "Ready"), "1 of 3 partitions")
	w.kafka.SetTopicConfig("orders", unclean, "true")
	w.config("orders", unclean, "false")
	w.edit("orders", partitions(5))
	w.sweeps(2)
	if !w.kafka.Partition("orders", 1).Reassigning() {
		t.Fatal("the move of somebody else is gone")
	}
	w.kafka.CatchUp("orders")
	if got := w.until("orders", "Ready=True", "!Reconciling"); got.Status.Partitions != 5 {
		t.Errorf("%d partitions", got.Status.Partitions)
	}
	if want := fmt.Sprint(target); fmt.Sprint(w.kafka.Partition("orders", 1).Replicas) != want {
		t.Errorf("replicas are %v, the move was to %s", w.kafka.Partition("orders", 1).Replicas, want)
	}
}
