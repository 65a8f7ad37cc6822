package durability_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/durability"
	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/profile"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/core/topictest"
)

const (
	minISR  = topic.MinInSyncReplicas
	unclean = topic.UncleanLeaderElection
)

// critical is what orders of FreshCart declares.
func critical() profile.Desired {
	return profile.Desired{
		Topic: "orders", Profile: "critical", Mode: "Enforce",
		Rule: placement.Rule{ReplicationFactor: 3, MinInSyncReplicas: 2},
	}
}

// input is orders as declared on the standard cluster; change spoils it.
func input(change func(*durability.Input)) durability.Input {
	in := durability.Input{
		Desired: critical(), Owned: []string{minISR, unclean},
		View: topictest.View(topictest.Cluster("a a b b c c"), topictest.Topic("1 3 5", "3 5 1", "5 1 3")),
	}
	if change != nil {
		change(&in)
	}
	return in
}

func set(in *durability.Input, key string, kind topic.ConfigType, value string) {
	topictest.Config(in.View.Topic, key, kind, value)
}

func inherit(in *durability.Input, key string, kind topic.ConfigType, value string) {
	in.View.Topic.Configs[key] = topic.Config{Value: value, Type: kind}
}

func expect(in *durability.Input, key, value string) {
	in.View.Expected.Configs = map[string]*string{key: &value}
}

func declare(in *durability.Input, key, value string) {
	in.Desired.Config = map[string]string{key: value}
}

// TestChain has at least one case for every check, and the text of each difference.
func TestChain(t *testing.T) {
	tests := map[string]struct {
		change func(*durability.Input)
		want   []durability.Difference
		text   []string
	}{
		"as declared": {},
		"topic missing": {
			change: func(in *durability.Input) { in.View.Presence = topic.Missing },
			want:   []durability.Difference{{Kind: durability.TopicMissing, Key: "topic", To: "orders"}},
			text:   []string{"the topic does not exist"},
		},
		"topic absent": {
			change: func(in *durability.Input) { in.View.Presence, in.View.Topic = topic.Absent, nil },
			want:   []durability.Difference{{Kind: durability.TopicMissing, Key: "topic", To: "orders"}},
			text:   []string{"the topic does not exist"},
		},
		"topic created a moment ago": {
			change: func(in *durability.Input) { in.View.Presence, in.View.Expected.Created = topic.Missing, true },
			want:   []durability.Difference{{Kind: durability.TopicMissing, Key: "topic", To: "orders", Expected: true}},
			text:   []string{"the topic does not exist"},
		},
		"topic read without partitions": {
			change: func(in *durability.Input) { in.View.Topic = topictest.Topic() },
			want:   []durability.Difference{{Kind: durability.TopicMissing, Key: "topic", To: "orders"}},
			text:   []string{"the topic does not exist"},
		},
		"min.insync.replicas lower": {
			change: func(in *durability.Input) { set(in, minISR, topic.TypeInt, "1") },
			want:   []durability.Difference{{Kind: durability.MinInSyncReplicasDiffers, Key: minISR, From: "1", To: "2"}},
			text:   []string{"min.insync.replicas is 1, declared 2"},
		},
		"min.insync.replicas higher": {
			change: func(in *durability.Input) { set(in, minISR, topic.TypeInt, "3") },
			want:   []durability.Difference{{Kind: durability.MinInSyncReplicasDiffers, Key: minISR, From: "3", To: "2"}},
			text:   []string{"min.insync.replicas is 3, declared 2"},
		},
		"min.insync.replicas spelt otherwise": {
			change: func(in *durability.Input) { set(in, minISR, topic.TypeInt, "02") },
		},
		"min.insync.replicas inherited": {
			change: func(in *durability.Input) { inherit(in, minISR, topic.TypeInt, "2") },
			want: []durability.Difference{{
				Kind: durability.MinInSyncReplicasDiffers, Key: minISR, From: "2", To: "2", Inherited: true}},
			text: []string{"min.insync.replicas is 2 by inheritance, not set on the topic"},
		},
		"min.insync.replicas read-only with the right value": {
			change: func(in *durability.Input) {
				in.View.Topic.Configs[minISR] = topic.Config{Value: "2", Type: topic.TypeInt, ReadOnly: true}
			},
		},
		"min.insync.replicas read-only with another value": {
			change: func(in *durability.Input) {
				in.View.Topic.Configs[minISR] = topic.Config{Value: "1", Type: topic.TypeInt, ReadOnly: true}
			},
			want: []durability.Difference{{
				Kind: durability.MinInSyncReplicasDiffers, Key: minISR, From: "1", To: "2", ReadOnly: true}},
			text: []string{"min.insync.replicas is 1, declared 2"},
		},
		"min.insync.replicas written a moment ago": {
			change: func(in *durability.Input) { set(in, minISR, topic.TypeInt, "1"); expect(in, minISR, "2") },
			want: []durability.Difference{{
				Kind: durability.MinInSyncReplicasDiffers, Key: minISR, From: "1", To: "2", Expected: true}},
			text: []string{"min.insync.replicas is 1, declared 2"},
		},
		"another min.insync.replicas written a moment ago": {
			change: func(in *durability.Input) { set(in, minISR, topic.TypeInt, "1"); expect(in, minISR, "3") },
			want:   []durability.Difference{{Kind: durability.MinInSyncReplicasDiffers, Key: minISR, From: "1", To: "2"}},
			text:   []string{"min.insync.replicas is 1, declared 2"},
		},
		"min.insync.replicas unknown to Kafka": {
			change: func(in *durability.Input) { delete(in.View.Topic.Configs, minISR) },
			want:   []durability.Difference{{Kind: durability.MinInSyncReplicasDiffers, Key: minISR, To: "2", Unshown: true}},
			text:   []string{"min.insync.replicas is not shown by Kafka, declared 2"},
		},
		"unclean.leader.election.enable on": {
			change: func(in *durability.Input) { set(in, unclean, topic.TypeBoolean, "true") },
			want:   []durability.Difference{{Kind: durability.UncleanElectionDiffers, Key: unclean, From: "true", To: "false"}},
			text:   []string{"unclean.leader.election.enable is true, declared false"},
		},
		"unclean.leader.election.enable inherited": {
			change: func(in *durability.Input) { inherit(in, unclean, topic.TypeBoolean, "false") },
			want: []durability.Difference{{
				Kind: durability.UncleanElectionDiffers, Key: unclean, From: "false", To: "false", Inherited: true}},
			text: []string{"unclean.leader.election.enable is false by inheritance, not set on the topic"},
		},
		"telemetry wants it on": {
			change: func(in *durability.Input) { in.Desired.Unclean = true },
			want:   []durability.Difference{{Kind: durability.UncleanElectionDiffers, Key: unclean, From: "false", To: "true"}},
			text:   []string{"unclean.leader.election.enable is false, declared true"},
		},
		"fewer partitions": {
			change: func(in *durability.Input) { in.Desired.Partitions = 6 },
			want:   []durability.Difference{{Kind: durability.PartitionsDiffer, Key: "partitions", From: "3", To: "6"}},
			text:   []string{"the partition count is 3, declared 6"},
		},
		"partitions added a moment ago": {
			change: func(in *durability.Input) { in.Desired.Partitions, in.View.Expected.Partitions = 6, 6 },
			want: []durability.Difference{{
				Kind: durability.PartitionsDiffer, Key: "partitions", From: "3", To: "6", Expected: true}},
			text: []string{"the partition count is 3, declared 6"},
		},
		"not enough partitions added a moment ago": {
			change: func(in *durability.Input) { in.Desired.Partitions, in.View.Expected.Partitions = 6, 4 },
			want:   []durability.Difference{{Kind: durability.PartitionsDiffer, Key: "partitions", From: "3", To: "6"}},
			text:   []string{"the partition count is 3, declared 6"},
		},
		"more partitions": {
			change: func(in *durability.Input) { in.Desired.Partitions, in.View.Expected.Partitions = 1, 3 },
			want:   []durability.Difference{{Kind: durability.PartitionsDiffer, Key: "partitions", From: "3", To: "1"}},
			text:   []string{"the partition count is 3, declared 1"},
		},
		"as many partitions as declared": {change: func(in *durability.Input) { in.Desired.Partitions = 3 }},
		"a reassignment to a right list": {
			change: func(in *durability.Input) { in.View.Topic = topictest.Topic("1 3 5", "3 5 1 6 adding 6 removing 5") },
			want: []durability.Difference{{Kind: durability.ReplicasMoving, Key: "replicas",
				From: "replicas of 1 of 2 partitions are moving", To: "at rest"}},
			text: []string{"replicas of 1 of 2 partitions are moving"},
		},
		"a reassignment to a wrong list": {
			change: func(in *durability.Input) { in.View.Topic = topictest.Topic("1 3 5 2 adding 2 removing 5") },
			want: []durability.Difference{
				{Kind: durability.ReplicasMoving, Key: "replicas", From: "replicas of 1 of 1 partitions are moving", To: "at rest"},
				{Kind: durability.ReplicasViolate, Key: "replicas",
					From: "replicas of 1 of 1 partitions: partition 0 has 2 in rack a (brokers 1, 2), at most 1 allowed"},
			},
			text: []string{"replicas of 1 of 1 partitions are moving",
				"replicas of 1 of 1 partitions: partition 0 has 2 in rack a (brokers 1, 2), at most 1 allowed"},
		},
		"mixed replication factors": {
			change: func(in *durability.Input) { in.View.Topic = topictest.Topic("1 3 5", "1 3 5 6", "1") },
			want: []durability.Difference{
				{Kind: durability.MinInSyncReplicasDiffers, Key: "min.insync.replicas", From: "2", To: "1", HeldDown: true},
				{Kind: durability.ReplicasViolate, Key: "replicas",
					From: "replicas of 2 of 3 partitions: partition 1 has 4 replicas instead of 3; partition 2 has 1 replica instead of 3"}},
			text: []string{
				"min.insync.replicas is 2, and 1 until every partition has its replicas",
				"replicas of 2 of 3 partitions: partition 1 has 4 replicas instead of 3; partition 2 has 1 replica instead of 3"},
		},
		"min.insync.replicas 2 while the first of three replicas is not alone any more": {
			change: func(in *durability.Input) { in.View.Topic = topictest.Topic("1 3 5 isr 1 adding 3 5") },
			want: []durability.Difference{
				{Kind: durability.MinInSyncReplicasDiffers, Key: "min.insync.replicas", From: "2", To: "1", HeldDown: true},
				{Kind: durability.ReplicasMoving, Key: "replicas", From: "replicas of 1 of 1 partitions are moving", To: "at rest"}},
			text: []string{"min.insync.replicas is 2, and 1 until every partition has its replicas", "replicas of 1 of 1 partitions are moving"},
		},
		"min.insync.replicas 2 with two replicas stays": {
			change: func(in *durability.Input) { in.View.Topic = topictest.Topic("1 3 isr 1") },
			want: []durability.Difference{{Kind: durability.ReplicasViolate, Key: "replicas",
				From: "replicas of 1 of 1 partitions: partition 0 has 2 replicas instead of 3"}},
			text: []string{"replicas of 1 of 1 partitions: partition 0 has 2 replicas instead of 3"},
		},
		"min.insync.replicas is not held down where no replica can be added": {
			change: func(in *durability.Input) {
				in.View.Cluster, in.View.Topic = topictest.Cluster("a a b b"), topictest.Topic("1")
			},
			want: []durability.Difference{{Kind: durability.ReplicasViolate, Key: "replicas",
				From: "replicas of 1 of 1 partitions: partition 0 has 1 replica instead of 3"}},
			text: []string{"replicas of 1 of 1 partitions: partition 0 has 1 replica instead of 3"},
		},
		"min.insync.replicas is not held down where the brokers place": {
			change: func(in *durability.Input) { in.Desired.ByBroker, in.View.Topic = true, topictest.Topic("1") },
			want: []durability.Difference{{Kind: durability.ReplicasViolate, Key: "replicas",
				From: "replicas of 1 of 1 partitions: partition 0 has 1 replica instead of 3"}},
			text: []string{"replicas of 1 of 1 partitions: partition 0 has 1 replica instead of 3"},
		},
		"min.insync.replicas is not held down in Observe": {
			change: func(in *durability.Input) {
				in.Desired.Mode, in.View.Topic = v1alpha1.EnforcementObserve, topictest.Topic("1")
			},
			want: []durability.Difference{{Kind: durability.ReplicasViolate, Key: "replicas",
				From: "replicas of 1 of 1 partitions: partition 0 has 1 replica instead of 3"}},
			text: []string{"replicas of 1 of 1 partitions: partition 0 has 1 replica instead of 3"},
		},
		"a replica on a broker that has left": {
			change: func(in *durability.Input) {
				in.View.Cluster, in.View.Topic = topictest.Cluster("a b c x"), topictest.Topic("1 2 4", "1 2 3")
			},
			want: []durability.Difference{{Kind: durability.ReplicasViolate, Key: "replicas",
				From: "replicas of 1 of 2 partitions: partition 0 has a replica on broker 4, not registered"}},
			text: []string{"replicas of 1 of 2 partitions: partition 0 has a replica on broker 4, not registered"},
		},
		"a fenced broker is no violation": {
			change: func(in *durability.Input) { in.View.Cluster = topictest.Cluster("a a b b c! c!") },
		},
		"more violations than anybody reads": {
			change: func(in *durability.Input) {
				in.View.Topic = topictest.Topic("1 2 5", "1 2 5", "1 2 5", "1 2 5", "1 2 5", "1 3 5")
			},
			want: []durability.Difference{{Kind: durability.ReplicasViolate, Key: "replicas",
				From: "replicas of 5 of 6 partitions: partition 0 has 2 in rack a (brokers 1, 2), at most 1 allowed; " +
					"partition 1 has 2 in rack a (brokers 1, 2), at most 1 allowed; " +
					"partition 2 has 2 in rack a (brokers 1, 2), at most 1 allowed; and 2 more"}},
			text: []string{"replicas of 5 of 6 partitions: partition 0 has 2 in rack a (brokers 1, 2), at most 1 allowed; " +
				"partition 1 has 2 in rack a (brokers 1, 2), at most 1 allowed; " +
				"partition 2 has 2 in rack a (brokers 1, 2), at most 1 allowed; and 2 more"},
		},
		"best effort on two racks": {
			change: func(in *durability.Input) {
				in.Desired.Rule.BestEffort = true
				in.View.Cluster, in.View.Topic = topictest.Cluster("a a b b"), topictest.Topic("1 2 3")
			},
		},
		"spec.config differs": {
			change: func(in *durability.Input) {
				declare(in, "retention.ms", "604800000")
				set(in, "retention.ms", topic.TypeLong, "1000")
			},
			want: []durability.Difference{{Kind: durability.ConfigDiffers, Key: "retention.ms", From: "1000", To: "604800000"}},
			text: []string{"retention.ms is 1000, declared 604800000"},
		},
		"spec.config inherited": {
			change: func(in *durability.Input) {
				declare(in, "retention.ms", "604800000")
				inherit(in, "retention.ms", topic.TypeLong, "604800000")
			},
			want: []durability.Difference{{Kind: durability.ConfigDiffers, Key: "retention.ms", From: "604800000",
				To: "604800000", Inherited: true}},
			text: []string{"retention.ms is 604800000 by inheritance, not set on the topic"},
		},
		"spec.config is a list in another order": {
			change: func(in *durability.Input) {
				declare(in, "cleanup.policy", "compact, delete")
				set(in, "cleanup.policy", topic.TypeList, "delete,compact")
			},
		},
		"spec.config declared empty": {
			change: func(in *durability.Input) {
				declare(in, "cleanup.policy", "")
				set(in, "cleanup.policy", topic.TypeList, "delete")
			},
			want: []durability.Difference{{Kind: durability.ConfigDiffers, Key: "cleanup.policy", From: "delete"}},
			text: []string{`cleanup.policy is delete, declared ""`},
		},
		"spec.config unknown to Kafka": {
			change: func(in *durability.Input) { declare(in, "retention.msec", "1") },
			want:   []durability.Difference{{Kind: durability.ConfigDiffers, Key: "retention.msec", To: "1", Unshown: true}},
			text:   []string{"retention.msec is not shown by Kafka, declared 1"},
		},
		"spec.config not asked for yet": {
			change: func(in *durability.Input) { declare(in, "segment.ms", "1"); in.View.Incomplete = true },
			want:   []durability.Difference{{Kind: durability.ConfigDiffers, Key: "segment.ms", To: "1", Unread: true}},
			text:   []string{"segment.ms is not read yet, declared 1"},
		},
		"a value that nobody could read": {
			change: func(in *durability.Input) {
				declare(in, "segment.ms", "1")
				set(in, "segment.ms", topic.TypeString, "a\n"+string(slices.Repeat([]byte("x"), 100)))
			},
			want: []durability.Difference{{Kind: durability.ConfigDiffers, Key: "segment.ms",
				From: "a\n" + string(slices.Repeat([]byte("x"), 100)), To: "1"}},
			text: []string{"segment.ms is a " + string(slices.Repeat([]byte("x"), 75)) + "..., declared 1"},
		},
		"a key that is no longer declared": {
			change: func(in *durability.Input) {
				in.Owned = append(in.Owned, "segment.ms")
				set(in, "segment.ms", topic.TypeLong, "1000")
			},
			want: []durability.Difference{{Kind: durability.ConfigLeft, Key: "segment.ms", From: "1000"}},
			text: []string{"segment.ms is 1000, no longer declared"},
		},
		"a key that is no longer declared and was deleted a moment ago": {
			change: func(in *durability.Input) {
				in.Owned = append(in.Owned, "segment.ms")
				set(in, "segment.ms", topic.TypeLong, "1000")
				in.View.Expected.Configs = map[string]*string{"segment.ms": nil}
			},
			want: []durability.Difference{{Kind: durability.ConfigLeft, Key: "segment.ms", From: "1000", Expected: true}},
			text: []string{"segment.ms is 1000, no longer declared"},
		},
		"a key that is no longer declared and is at its default": {
			change: func(in *durability.Input) {
				in.Owned = append(in.Owned, "segment.ms")
				inherit(in, "segment.ms", topic.TypeLong, "604800000")
			},
		},
		"somebody else's key": {
			change: func(in *durability.Input) { set(in, "segment.ms", topic.TypeLong, "1000") },
		},
		"differences come in the order of the chain": {
			change: func(in *durability.Input) {
				in.Desired.Config = map[string]string{"segment.ms": "2", "retention.ms": "2"}
				in.Desired.Partitions = 2
				in.Owned = append(in.Owned, "segment.bytes")
				in.View.Topic = topictest.Topic("1")
				set(in, "segment.bytes", topic.TypeInt, "1")
				set(in, "segment.ms", topic.TypeLong, "1")
				set(in, "retention.ms", topic.TypeLong, "1")
				set(in, minISR, topic.TypeInt, "1")
				set(in, unclean, topic.TypeBoolean, "true")
			},
			want: []durability.Difference{
				{Kind: durability.MinInSyncReplicasDiffers, Key: minISR, From: "1", To: "2"},
				{Kind: durability.UncleanElectionDiffers, Key: unclean, From: "true", To: "false"},
				{Kind: durability.PartitionsDiffer, Key: "partitions", From: "1", To: "2"},
				{Kind: durability.ReplicasViolate, Key: "replicas",
					From: "replicas of 1 of 1 partitions: partition 0 has 1 replica instead of 3"},
				{Kind: durability.ConfigDiffers, Key: "retention.ms", From: "1", To: "2"},
				{Kind: durability.ConfigDiffers, Key: "segment.ms", From: "1", To: "2"},
				{Kind: durability.ConfigLeft, Key: "segment.bytes", From: "1"},
			},
			text: []string{"min.insync.replicas is 1, declared 2", "unclean.leader.election.enable is true, declared false",
				"the partition count is 1, declared 2", "replicas of 1 of 1 partitions: partition 0 has 1 replica instead of 3",
				"retention.ms is 1, declared 2", "segment.ms is 1, declared 2", "segment.bytes is 1, no longer declared"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := input(tt.change)
			got := durability.Differences(in)
			if diff := cmp.Diff(input(tt.change), in); diff != "" {
				t.Errorf("the input was changed:\n%s", diff)
			}
			var text []string
			for i, d := range got {
				text = append(text, d.String())
				if d.Kind == durability.ReplicasViolate {
					if len(d.Violations) == 0 || d.To != "replication factor 3, min.insync.replicas 2 without any one rack" {
						t.Errorf("%v has violations %v, to %q", d, d.Violations, d.To)
					}
					got[i].Violations, got[i].To = nil, ""
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.text, text); diff != "" {
				t.Errorf("texts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEveryCheckFinds: of a topic with everything wrong each check finds something, and of a right one none does.
func TestEveryCheckFinds(t *testing.T) {
	wrong := input(func(in *durability.Input) {
		in.Desired.Config = map[string]string{"segment.ms": "2"}
		in.Desired.Partitions = 9
		in.Owned = append(in.Owned, "segment.bytes")
		in.View.Topic = topictest.Topic("1 2 adding 2")
		set(in, "segment.bytes", topic.TypeInt, "1")
		set(in, "segment.ms", topic.TypeLong, "1")
		set(in, minISR, topic.TypeInt, "1")
		set(in, unclean, topic.TypeBoolean, "true")
	})
	names := map[string]bool{}
	for i, check := range durability.Chain {
		if names[check.Name] || check.Name == "" {
			t.Errorf("check %d has no name of its own: %q", i, check.Name)
		}
		names[check.Name] = true
		if found := check.Find(input(nil)); len(found) > 0 {
			t.Errorf("%q finds %v in a topic as declared", check.Name, found)
		}
		bad := wrong
		if i == 0 {
			bad = input(func(in *durability.Input) { in.View.Presence = topic.Absent })
		}
		if found := check.Find(bad); len(found) == 0 {
			t.Errorf("%q finds nothing", check.Name)
		}
	}
}
