package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/internal/core/durability"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/core/topictest"
	"durabletopic.io/operator/internal/fault"
)

// verdict is what the table says about one difference.
type ruling struct {
	Reason string // empty: it is corrected
	Class  fault.Class
}

var passes = ruling{}

func waiting(reason string) ruling { return ruling{reason, fault.Waiting} }
func blocked(reason string) ruling { return ruling{reason, fault.Blocked} }

// TestGuards: each safety rule has a situation that it holds back and a neighbour that it lets pass.
func TestGuards(t *testing.T) {
	denied := fault.New(fault.Blocked, "NotAuthorized", "describe topic \"orders\": not allowed")
	busy := fault.New(fault.Transient, "KafkaUnreachable", "describe topic \"orders\": no answer")
	refused := fault.New(fault.Invalid, "ConfigRejected", "alter topic \"orders\": INVALID_CONFIG")
	tests := map[string]struct {
		change func(*situation)
		want   map[string]ruling // by key; keys that do not differ are not there
		says   []string          // parts of the message of what is held, whatever the key
	}{
		// A topic that is missing.
		"created": {
			change: func(s *situation) { s.missing() },
			want:   map[string]ruling{"topic": passes},
		},
		"not read": {
			change: func(s *situation) { s.missing(); s.View.Presence = topic.NotRead },
			want:   map[string]ruling{"topic": waiting("NotObservedYet")},
			says:   []string{`topic "orders" has not been read yet`},
		},
		"read without partitions": {
			change: func(s *situation) { s.View.Topic = topictest.Topic() },
			want:   map[string]ruling{"topic": waiting("NotObservedYet")},
		},
		"hidden by ACLs is not missing": {
			change: func(s *situation) { s.View.Presence, s.View.Problem = topic.Hidden, denied },
			want:   map[string]ruling{"topic": blocked("NotAuthorized")},
			says:   []string{"not allowed"},
		},
		"hidden without a word": {
			change: func(s *situation) { s.View.Presence = topic.Hidden },
			want:   map[string]ruling{"topic": waiting("NotObservedYet")},
		},
		"missing, and unreadable since": {
			change: func(s *situation) { s.missing(); s.View.Problem = busy },
			want:   map[string]ruling{"topic": {"KafkaUnreachable", fault.Transient}},
		},
		"created a moment ago": {
			change: func(s *situation) { s.missing(); s.View.Expected.Created = true },
			want:   map[string]ruling{"topic": waiting("Creating")},
			says:   []string{`has created topic "orders"`},
		},
		"known topic missing at one broker": {
			change: func(s *situation) { s.missing(); s.Known = true },
			want:   map[string]ruling{"topic": waiting("TopicVanished")},
			says:   []string{"a broker no longer knows", "a second broker confirms"},
		},
		"known topic missing at two brokers": {
			change: func(s *situation) { s.missing(); s.Known, s.View.Presence = true, topic.Absent },
			want:   map[string]ruling{"topic": passes},
		},
		"internal topic": {
			change: func(s *situation) { s.missing(); s.Desired.Topic = "__consumer_offsets" },
			want:   map[string]ruling{"topic": blocked("InternalTopic")},
		},
		"name like another's": {
			change: func(s *situation) { s.missing(); s.Desired.Topic, s.View.Collision = "shop.orders", "shop_orders" },
			want:   map[string]ruling{"topic": blocked("TopicNameCollision")},
			says:   []string{`"shop.orders"`, `"shop_orders"`, "choose another"},
		},
		"somebody keeps deleting the topic": {
			change: func(s *situation) {
				s.missing()
				s.Known, s.View.Presence = true, topic.Absent
				s.fought("topic")
			},
			want: map[string]ruling{"topic": blocked("DriftFight")},
			says: []string{`keeps deleting topic "orders"`, "growing delay"},
		},
		"create was refused": {
			change: func(s *situation) { s.missing(); s.Refused = map[string]*fault.Fault{"topic": refused} },
			want:   map[string]ruling{"topic": {"ConfigRejected", fault.Invalid}},
		},
		"too few racks": {
			change: func(s *situation) { s.missing(); s.View.Cluster = topictest.Cluster("a a b b") },
			want:   map[string]ruling{"topic": blocked("InsufficientRacks")},
			says:   []string{"the topic is not created: replication factor 3", "needs 3 racks", "BestEffort"},
		},
		"too few racks for five replicas": {
			change: func(s *situation) {
				s.missing()
				s.Desired.Rule.ReplicationFactor, s.Desired.Rule.MinInSyncReplicas = 5, 3
				s.View.Cluster = topictest.Cluster("a a a b b b")
			},
			want: map[string]ruling{"topic": blocked("InsufficientRacks")},
		},
		"too few brokers": {
			change: func(s *situation) { s.missing(); s.View.Cluster = topictest.Cluster("a") },
			want:   map[string]ruling{"topic": blocked("InsufficientBrokers")},
			says:   []string{"the topic is not created: replication factor 3 needs 3 brokers, registered: 1"},
		},
		"a needed rack is down": {
			change: func(s *situation) { s.missing(); s.View.Cluster = topictest.Cluster("a a b b c! c!") },
			want:   map[string]ruling{"topic": waiting("WaitingForBrokers")},
			says:   []string{"the topic is not created: waits for 1 fenced broker to return, of rack c"},
		},
		"brokers without a rack": {
			change: func(s *situation) { s.missing(); s.View.Cluster = topictest.Cluster("- - -") },
			want:   map[string]ruling{"topic": blocked("InsufficientRacks")},
			says:   []string{"set broker.rack on brokers 1, 2, 3"},
		},
		"too few racks, best effort": {
			change: func(s *situation) {
				s.missing()
				s.Desired.Rule.BestEffort, s.View.Cluster = true, topictest.Cluster("a a b")
			},
			want: map[string]ruling{"topic": passes},
		},
		"number of partitions unknown": {
			change: func(s *situation) { s.missing(); s.Desired.Partitions, s.View.Cluster.DefaultPartitions = 0, 0 },
			want:   map[string]ruling{"topic": blocked("NotAuthorized")},
			says:   []string{"num.partitions", "set spec.partitions"},
		},
		"number of partitions left to the brokers": {
			change: func(s *situation) {
				s.missing()
				s.Desired.Partitions, s.View.Cluster.DefaultPartitions, s.Desired.ByBroker = 0, 0, true
			},
			want: map[string]ruling{"topic": passes},
		},

		// min.insync.replicas.
		"min.insync.replicas restored": {
			change: func(s *situation) { s.set(minISR, topic.TypeInt, "1") },
			want:   map[string]ruling{minISR: passes},
		},
		"min.insync.replicas restored although it pauses writes": {
			change: func(s *situation) { s.set(minISR, topic.TypeInt, "1"); s.partitions("1 3 5 isr 1") },
			want:   map[string]ruling{minISR: passes},
		},
		"min.insync.replicas written a moment ago": {
			change: func(s *situation) {
				two := "2"
				s.set(minISR, topic.TypeInt, "1")
				s.View.Expected.Configs = map[string]*string{minISR: &two}
			},
			want: map[string]ruling{minISR: waiting("Updating")},
			says: []string{"has accepted min.insync.replicas"},
		},
		"min.insync.replicas of a topic that cannot be read now": {
			change: func(s *situation) { s.set(minISR, topic.TypeInt, "1"); s.View.Problem = busy },
			want:   map[string]ruling{minISR: {"KafkaUnreachable", fault.Transient}},
		},
		"min.insync.replicas not read yet": {
			change: func(s *situation) { delete(s.View.Topic.Configs, minISR); s.View.Incomplete = true },
			want:   map[string]ruling{minISR: waiting("NotObservedYet")},
		},
		"min.insync.replicas read-only": {
			change: func(s *situation) {
				s.View.Topic.Configs[minISR] = topic.Config{Value: "1", Type: topic.TypeInt, ReadOnly: true}
			},
			want: map[string]ruling{minISR: blocked("ReadOnlyConfig")},
			says: []string{"min.insync.replicas is read-only", "it is 1, declared 2"},
		},
		"replicas come before min.insync.replicas": {
			change: func(s *situation) { s.set(minISR, topic.TypeInt, "1"); s.partitions("1 3 5", "1") },
			want:   map[string]ruling{minISR: waiting("MinInSyncReplicasHeld"), "replicas": waiting("MovingReplicas")},
			says:   []string{"min.insync.replicas is 1, declared 2", "partition 1 has 1, in sync: 1", "could stop acks=all producers"},
		},
		"new replicas are in sync before min.insync.replicas": {
			change: func(s *situation) { s.set(minISR, topic.TypeInt, "1"); s.partitions("1 3 5 isr 1 adding 3 5") },
			want:   map[string]ruling{minISR: waiting("MinInSyncReplicasHeld"), "replicas": waiting("MovingReplicas")},
		},
		"min.insync.replicas does not wait for a replica that only goes": {
			change: func(s *situation) { s.set(minISR, topic.TypeInt, "1"); s.partitions("1 3 5 6 removing 6") },
			want:   map[string]ruling{minISR: passes, "replicas": waiting("MovingReplicas")},
		},
		"min.insync.replicas is lowered before replicas": {
			change: func(s *situation) { s.set(minISR, topic.TypeInt, "3"); s.partitions("1 3") },
			want:   map[string]ruling{minISR: passes, "replicas": waiting("MovingReplicas")},
		},
		"min.insync.replicas that counts already is pinned at once": {
			change: func(s *situation) { s.inherit(minISR, topic.TypeInt, "2"); s.partitions("1") },
			want:   map[string]ruling{minISR: passes, "replicas": waiting("MovingReplicas")},
		},
		"a lower min.insync.replicas that is inherited waits for replicas": {
			change: func(s *situation) { s.inherit(minISR, topic.TypeInt, "1"); s.partitions("1") },
			want:   map[string]ruling{minISR: waiting("MinInSyncReplicasHeld"), "replicas": waiting("MovingReplicas")},
		},
		"eligible leaders are kept": {
			change: func(s *situation) {
				topictest.WithELR(s.View.Cluster)
				s.set(minISR, topic.TypeInt, "1")
				s.partitions("1 3 5", "1 3 5 isr 1 elr 3")
			},
			want: map[string]ruling{minISR: waiting("MinInSyncReplicasHeld")},
			says: []string{"min.insync.replicas is 1, declared 2", "partition 1 has 2 replicas in sync (now 1)",
				"who else can lead it: broker 3", "Bring back brokers 3, 5"},
		},
		"the last known leader is kept": {
			change: func(s *situation) {
				topictest.WithELR(s.View.Cluster)
				s.set(minISR, topic.TypeInt, "1")
				s.partitions("1 3 5 isr known 5")
			},
			want: map[string]ruling{minISR: waiting("MinInSyncReplicasHeld")},
			says: []string{"who else can lead it: broker 5", "Bring back brokers 1, 3, 5"},
		},
		"eligible leaders are kept when lowering and when pinning": {
			change: func(s *situation) {
				topictest.WithELR(s.View.Cluster)
				s.inherit(minISR, topic.TypeInt, "2")
				s.partitions("1 3 5 isr 1 elr 3 5")
			},
			want: map[string]ruling{minISR: waiting("MinInSyncReplicasHeld")},
		},
		"eligible leaders do not matter with enough replicas in sync": {
			change: func(s *situation) {
				topictest.WithELR(s.View.Cluster)
				s.set(minISR, topic.TypeInt, "3")
				s.partitions("1 3 5 isr 1 3 elr 5")
			},
			want: map[string]ruling{minISR: passes},
		},
		"too few in sync and nobody eligible": {
			change: func(s *situation) {
				topictest.WithELR(s.View.Cluster)
				s.set(minISR, topic.TypeInt, "1")
				s.partitions("1 3 5 isr 1")
			},
			want: map[string]ruling{minISR: passes},
		},
		"eligible leaders without the feature": {
			change: func(s *situation) {
				s.set(minISR, topic.TypeInt, "1")
				s.partitions("1 3 5 isr 1 elr 3")
			},
			want: map[string]ruling{minISR: passes},
		},
		"what holds min.insync.replicas holds nothing else": {
			change: func(s *situation) {
				topictest.WithELR(s.View.Cluster)
				s.set(minISR, topic.TypeInt, "1")
				s.set(unclean, topic.TypeBoolean, "true")
				s.declare("segment.ms", "2")
				s.set("segment.ms", topic.TypeLong, "1")
				s.partitions("1 3 5 isr elr 3")
				s.Desired.Partitions = 2
			},
			want: map[string]ruling{minISR: waiting("MinInSyncReplicasHeld"), unclean: passes, "segment.ms": passes,
				"partitions": passes},
		},
		"min.insync.replicas fought over": {
			change: func(s *situation) { s.set(minISR, topic.TypeInt, "1"); s.fought(minISR) },
			want:   map[string]ruling{minISR: blocked("DriftFight")},
			says:   []string{"somebody keeps setting min.insync.replicas to 1, declared is 2"},
		},
		"min.insync.replicas refused": {
			change: func(s *situation) {
				s.set(minISR, topic.TypeInt, "1")
				s.Refused = map[string]*fault.Fault{minISR: refused}
			},
			want: map[string]ruling{minISR: {"ConfigRejected", fault.Invalid}},
		},

		// unclean.leader.election.enable.
		"unclean election off on a leaderless partition": {
			change: func(s *situation) { s.set(unclean, topic.TypeBoolean, "true"); s.partitions("1 3 5 isr elr 3") },
			want:   map[string]ruling{unclean: passes},
		},
		"unclean election on": {
			change: func(s *situation) { s.Desired.Unclean = true },
			want:   map[string]ruling{unclean: passes},
		},
		"unclean election on while a partition has no leader": {
			change: func(s *situation) { s.Desired.Unclean = true; s.partitions("1 3 5", "1 3 5 isr elr 3") },
			want:   map[string]ruling{unclean: waiting("UncleanElectionHeld")},
			says: []string{"unclean.leader.election.enable is false, declared true", "on partition 1", "lack confirmed records",
				"Bring back brokers 1, 3, 5"},
		},
		"unclean election on for a topic to be created": {
			change: func(s *situation) { s.missing(); s.Desired.Unclean = true },
			want:   map[string]ruling{"topic": passes},
		},
		"unclean election written a moment ago": {
			change: func(s *situation) {
				off := "false"
				s.set(unclean, topic.TypeBoolean, "true")
				s.View.Expected.Configs = map[string]*string{unclean: &off}
			},
			want: map[string]ruling{unclean: waiting("Updating")},
		},
		"unclean election not read yet": {
			change: func(s *situation) { delete(s.View.Topic.Configs, unclean); s.View.Incomplete = true },
			want:   map[string]ruling{unclean: waiting("NotObservedYet")},
		},
		"unclean election of a topic that cannot be read now": {
			change: func(s *situation) { s.set(unclean, topic.TypeBoolean, "true"); s.View.Problem = busy },
			want:   map[string]ruling{unclean: {"KafkaUnreachable", fault.Transient}},
		},
		"unclean election read-only": {
			change: func(s *situation) {
				s.View.Topic.Configs[unclean] = topic.Config{Value: "true", Type: topic.TypeBoolean, ReadOnly: true}
			},
			want: map[string]ruling{unclean: blocked("ReadOnlyConfig")},
		},
		"unclean election fought over": {
			change: func(s *situation) { s.set(unclean, topic.TypeBoolean, "true"); s.fought(unclean) },
			want:   map[string]ruling{unclean: blocked("DriftFight")},
		},
		"unclean election fought over by removal": {
			change: func(s *situation) { s.inherit(unclean, topic.TypeBoolean, "false"); s.fought(unclean) },
			want:   map[string]ruling{unclean: blocked("DriftFight")},
			says:   []string{"somebody keeps removing unclean.leader.election.enable from the topic, declared is false"},
		},
		"unclean election refused": {
			change: func(s *situation) {
				s.set(unclean, topic.TypeBoolean, "true")
				s.Refused = map[string]*fault.Fault{unclean: refused}
			},
			want: map[string]ruling{unclean: {"ConfigRejected", fault.Invalid}},
		},

		// spec.config.
		"config set": {
			change: func(s *situation) { s.declare("segment.ms", "2"); s.set("segment.ms", topic.TypeLong, "1") },
			want:   map[string]ruling{"segment.ms": passes},
		},
		"config written a moment ago": {
			change: func(s *situation) {
				two := "2"
				s.declare("segment.ms", "2")
				s.set("segment.ms", topic.TypeLong, "1")
				s.View.Expected.Configs = map[string]*string{"segment.ms": &two}
			},
			want: map[string]ruling{"segment.ms": waiting("Updating")},
		},
		"config not read yet": {
			change: func(s *situation) { s.declare("segment.ms", "2"); s.View.Incomplete = true },
			want:   map[string]ruling{"segment.ms": waiting("NotObservedYet")},
			says:   []string{"segment.ms has not been read from Kafka yet"},
		},
		"config unknown to Kafka": {
			change: func(s *situation) { s.declare("segment.msec", "2") },
			want:   map[string]ruling{"segment.msec": passes}, // Kafka says what is wrong with it
		},
		"config of a topic that cannot be read now": {
			change: func(s *situation) {
				s.declare("segment.ms", "2")
				s.set("segment.ms", topic.TypeLong, "1")
				s.View.Problem = busy
			},
			want: map[string]ruling{"segment.ms": {"KafkaUnreachable", fault.Transient}},
		},
		"config read-only": {
			change: func(s *situation) {
				s.declare("segment.ms", "2")
				s.View.Topic.Configs["segment.ms"] = topic.Config{Value: "1", Type: topic.TypeLong, ReadOnly: true}
			},
			want: map[string]ruling{"segment.ms": blocked("ReadOnlyConfig")},
		},
		"config fought over": {
			change: func(s *situation) {
				s.declare("segment.ms", "2")
				s.set("segment.ms", topic.TypeLong, "1")
				s.fought("segment.ms")
			},
			want: map[string]ruling{"segment.ms": blocked("DriftFight")},
		},
		"config refused": {
			change: func(s *situation) {
				s.declare("segment.ms", "2")
				s.declare("segment.bytes", "3")
				s.set("segment.ms", topic.TypeLong, "1")
				s.set("segment.bytes", topic.TypeInt, "1")
				s.Refused = map[string]*fault.Fault{"segment.ms": refused}
			},
			want: map[string]ruling{"segment.ms": {"ConfigRejected", fault.Invalid}, "segment.bytes": passes},
		},
		"config no longer declared": {
			change: func(s *situation) {
				s.Owned = append(s.Owned, "segment.ms")
				s.set("segment.ms", topic.TypeLong, "1")
			},
			want: map[string]ruling{"segment.ms": passes},
		},
		"config no longer declared and fought over": {
			change: func(s *situation) {
				s.Owned = append(s.Owned, "segment.ms")
				s.set("segment.ms", topic.TypeLong, "1")
				s.fought("segment.ms")
			},
			want: map[string]ruling{"segment.ms": blocked("DriftFight")},
			says: []string{"somebody keeps setting segment.ms to 1, which is no longer declared"},
		},

		// Partitions and replicas.
		"partitions added": {
			change: func(s *situation) { s.Desired.Partitions = 6 },
			want:   map[string]ruling{"partitions": passes},
		},
		"partitions cannot be taken away": {
			change: func(s *situation) { s.Desired.Partitions = 2 },
			want:   map[string]ruling{"partitions": {"PartitionDecreaseUnsupported", fault.Invalid}},
			says:   []string{"the partition count is 3, declared 2", "set spec.partitions to 3 or more"},
		},
		"partitions added a moment ago": {
			change: func(s *situation) { s.Desired.Partitions, s.View.Expected.Partitions = 6, 6 },
			want:   map[string]ruling{"partitions": waiting("AddingPartitions")},
		},
		"partitions of a topic that cannot be read now": {
			change: func(s *situation) { s.Desired.Partitions, s.View.Problem = 6, busy },
			want:   map[string]ruling{"partitions": {"KafkaUnreachable", fault.Transient}},
		},
		"partitions added after a move": {
			change: func(s *situation) {
				s.partitions("1 3 5", "1 3 5 6 adding 6 removing 5")
				s.Desired.Partitions = 6
			},
			want: map[string]ruling{"partitions": waiting("AddingPartitions"), "replicas": waiting("MovingReplicas")},
			says: []string{"reassignment of partition 1"},
		},
		"partitions refused": {
			change: func(s *situation) {
				s.Desired.Partitions = 6
				s.Refused = map[string]*fault.Fault{"partitions": refused}
			},
			want: map[string]ruling{"partitions": {"ConfigRejected", fault.Invalid}},
		},
		"no room for more partitions": {
			change: func(s *situation) { s.Desired.Partitions, s.View.Cluster = 6, topictest.Cluster("a! a! b b c c") },
			want:   map[string]ruling{"partitions": waiting("WaitingForBrokers")},
			says:   []string{"the partition count is 3, declared 6: waits for 1 fenced broker"},
		},
		"eligible leaders of a partition that has no further replica": {
			change: func(s *situation) {
				topictest.WithELR(s.View.Cluster)
				s.inherit(minISR, topic.TypeInt, "2")
				s.partitions("1 isr 1 elr 1")
			},
			want: map[string]ruling{minISR: waiting("MinInSyncReplicasHeld"), "replicas": waiting("MovingReplicas")},
			says: []string{"Bring back more brokers"},
		},
		"a replica list that names a broker twice": {
			change: func(s *situation) { s.partitions("1 3 5 5") },
			want:   map[string]ruling{"replicas": waiting("MovingReplicas")},
		},
		"replicas moved by somebody": {
			change: func(s *situation) { s.partitions("1 3 5 6 adding 6 removing 5") },
			want:   map[string]ruling{"replicas": waiting("MovingReplicas")},
			says:   []string{"replicas of 1 of 1 partitions are moving"},
		},
		"replicas crowd a rack": {
			change: func(s *situation) { s.partitions("1 2 5") },
			want:   map[string]ruling{"replicas": waiting("MovingReplicas")},
			says:   []string{"partition 0 has 2 in rack a (brokers 1, 2), at most 1 allowed", "moved in turn"},
		},
		"replicas crowd a rack, and brokers place": {
			change: func(s *situation) { s.Desired.ByBroker = true; s.partitions("1 2 5") },
			want:   map[string]ruling{"replicas": blocked("PlacementViolation")},
			says:   []string{"partition 0 has 2 in rack a (brokers 1, 2), at most 1 allowed", "kafka-reassign-partitions.sh"},
		},
		"replicas are too many": {
			change: func(s *situation) { s.partitions("1 3 5 2") },
			want:   map[string]ruling{"replicas": waiting("MovingReplicas")},
		},
		"replicas crowd a rack, and there are too few": {
			change: func(s *situation) { s.partitions("1 2 3"); s.View.Cluster = topictest.Cluster("a a b b") },
			want:   map[string]ruling{"replicas": blocked("InsufficientRacks")},
			says:   []string{"partition 0 has 2 in rack a", "no room for right replicas", "needs 3 racks"},
		},
		"replicas crowd a rack, and a needed one is down": {
			change: func(s *situation) { s.partitions("1 2 3"); s.View.Cluster = topictest.Cluster("a a b b c!") },
			want:   map[string]ruling{"replicas": waiting("WaitingForBrokers")},
			says:   []string{"They are moved when there is room", "waits for 1 fenced broker"},
		},
		"a replica on a broker that has left": {
			change: func(s *situation) { s.partitions("1 3 5"); s.View.Cluster = topictest.Cluster("a a b b x c") },
			want:   map[string]ruling{"replicas": waiting("MovingReplicas")},
			says:   []string{"broker 5, not registered", "moved in turn"},
		},
		"a replica on a broker that has left, and brokers place": {
			change: func(s *situation) {
				s.Desired.ByBroker = true
				s.partitions("1 3 5")
				s.View.Cluster = topictest.Cluster("a a b b x c")
			},
			want: map[string]ruling{"replicas": blocked("ReplicaOnMissingBroker")},
			says: []string{"broker 5, not registered", "Bring the missing brokers back", "kafka-reassign-partitions.sh"},
		},
		"a replica on a broker that has left, and no other one": {
			change: func(s *situation) { s.partitions("1 2 3"); s.View.Cluster = topictest.Cluster("a b") },
			want:   map[string]ruling{"replicas": blocked("ReplicaOnMissingBroker")},
			says:   []string{"broker 3, not registered", "Bring the missing brokers back", "needs 3 brokers, registered: 2"},
		},
		"a replica on a broker without a rack": {
			change: func(s *situation) { s.partitions("1 3 5"); s.View.Cluster = topictest.Cluster("a a b b - c") },
			want:   map[string]ruling{"replicas": waiting("MovingReplicas")},
			says:   []string{"broker 5, without broker.rack"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := given(tt.change)
			p := plan.Make(in)
			if diff := cmp.Diff(given(tt.change), in, cmp.AllowUnexported(plan.Fight{})); diff != "" {
				t.Errorf("the input was changed:\n%s", diff)
			}
			got := map[string]ruling{}
			var said strings.Builder
			for _, h := range p.Held {
				got[h.Difference.Key] = ruling{h.Why.Reason, h.Why.Class}
				said.WriteString(h.Why.Message + "\n")
			}
			for _, d := range p.Due {
				got[d.Key] = passes
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("rulings (-want +got):\n%s", diff)
			}
			if done := touched(p.Steps); !cmp.Equal(done, due(p.Due)) {
				t.Errorf("steps touch %v, due are %v", done, due(p.Due))
			}
			for _, part := range tt.says {
				if !strings.Contains(said.String(), part) {
					t.Errorf("the messages lack %q: %s", part, said.String())
				}
			}
		})
	}
}

// touched are the keys that steps change.
func touched(steps []plan.Step) map[string]bool {
	keys := map[string]bool{}
	for _, step := range steps {
		switch s := step.(type) {
		case plan.CreateTopic:
			keys["topic"] = true
		case plan.AddPartitions:
			keys["partitions"] = true
		case plan.AlterConfigs:
			for _, c := range s.Changes {
				keys[c.Key] = true
			}
		}
	}
	return keys
}

func due(differences []durability.Difference) map[string]bool {
	keys := map[string]bool{}
	for _, d := range differences {
		keys[d.Key] = true
	}
	return keys
}

// TestHeldUntil: what is fought over is looked at again when its delay is over, and then passes.
func TestHeldUntil(t *testing.T) {
	in := given(func(s *situation) { s.set(minISR, topic.TypeInt, "1"); s.fought(minISR) })
	p := plan.Make(in)
	if want := now.Add(10 * time.Second); len(p.Held) != 1 || !p.Held[0].Until.Equal(want) {
		t.Fatalf("held is %+v, want until %v", p.Held, want)
	}
	in.Now = p.Held[0].Until
	if p := plan.Make(in); len(p.Held) > 0 || len(p.Steps) != 1 {
		t.Errorf("after the delay: held %v, steps %v", p.Held, p.Steps)
	}
}

// TestReleased: keys whose default may delete data, and those that nobody may change, are left as they stand.
func TestReleased(t *testing.T) {
	in := given(func(s *situation) {
		s.Owned = append(s.Owned, "retention.ms", "cleanup.policy", "segment.ms", "segment.bytes")
		s.set("retention.ms", topic.TypeLong, "1")
		s.set("cleanup.policy", topic.TypeList, "compact")
		s.set("segment.ms", topic.TypeLong, "1")
		s.View.Topic.Configs["segment.bytes"] = topic.Config{Value: "1", OnTopic: true, ReadOnly: true}
	})
	p := plan.Make(in)
	if diff := cmp.Diff([]string{"cleanup.policy", "retention.ms", "segment.bytes"}, p.Released); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"segment.ms": true}, touched(p.Steps)); diff != "" {
		t.Errorf("touched (-want +got):\n%s", diff)
	}
}
