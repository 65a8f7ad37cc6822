package verdict_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/core/topictest"
	"durabletopic.io/operator/internal/fault"
)

// well is the first row of the table.
var well = shown{Ready: "True Compliant", Durable: "True FullyReplicated", KStatus: status.CurrentStatus}

func current(durable string) shown {
	return shown{Ready: "True Compliant", Durable: durable, KStatus: status.CurrentStatus}
}

func stalled(reason, durable, drifted string) shown {
	return shown{"False " + reason, durable, "Stalled " + reason, drifted, status.FailedStatus}
}

func reconciling(reason, durable, drifted string) shown {
	return shown{"False " + reason, durable, "Reconciling " + reason, drifted, status.InProgressStatus}
}

func unknown(reason string) shown {
	return shown{"Unknown " + reason, "Unknown " + reason, "Reconciling " + reason, "", status.InProgressStatus}
}

// TestSituations is the table of situations: what users see in each, the events on the way there from a topic that was
// well, and what the messages say.
func TestSituations(t *testing.T) {
	refusedConfig := fault.New(fault.Invalid, "ConfigRejected", `alter topic "orders": INVALID_CONFIG, correct spec.config`).
		WithDetail("Invalid value asd for configuration segment.ms")
	tests := map[string]struct {
		scene      func(*scene)
		want       shown
		wantEvents []string
		says       map[string][]string // parts of the message, by condition
		wantAfter  time.Duration
	}{
		"all as declared": {
			scene: func(*scene) {}, want: well,
			says: map[string][]string{"Ready": {`"orders" is as declared: partitions 3, replication factor 3 over racks: 3, ` +
				`min.insync.replicas 2, unclean leader election disabled`}},
		},
		"difference corrected within the pass": {
			scene: func(s *scene) {
				s.DoneAt = now
				s.Did.Drift = drift(minISR, "1", "2")
			},
			want: well, wantEvents: []string{"Warning DriftCorrected"},
		},
		"replicas moving": {
			scene:     func(s *scene) { s.partitions("1 3 5", "1 3 5 6 isr 1 3 5 adding 6 removing 5", "5 1 3") },
			want:      reconciling("MovingReplicas", "True FullyReplicated", "MovingReplicas"),
			wantAfter: 5 * time.Second,
			says:      map[string][]string{"Ready": {"replicas of 1 of 3 partitions are moving"}},
		},
		"replicas moving to a wrong place": {
			scene:      func(s *scene) { s.partitions("1 3 5 2 isr 1 3 5 adding 2 removing 5") },
			want:       reconciling("MovingReplicas", "False PlacementViolation", "MovingReplicas"),
			wantEvents: []string{"Warning GuaranteesLost"}, wantAfter: 5 * time.Second,
		},
		"placement wrong": {
			scene:      func(s *scene) { s.partitions("1 3 5", "1 2 5") },
			want:       reconciling("MovingReplicas", "False PlacementViolation", "MovingReplicas"),
			wantEvents: []string{"Warning GuaranteesLost"}, wantAfter: 5 * time.Second,
			says: map[string][]string{
				"Ready":   {"partition 1 has 2 in rack a (brokers 1, 2)", "they are moved in turn"},
				"Durable": {"partition 1 has 2 in rack a", "The loss of one rack can leave fewer than 2"},
			},
		},
		"placement wrong and too few racks": {
			scene: func(s *scene) {
				s.View.Cluster = topictest.Cluster("a a b b")
				s.partitions("1 2 3")
			},
			want:       stalled("InsufficientRacks", "False PlacementViolation", "InsufficientRacks"),
			wantEvents: []string{"Warning GuaranteesLost", "Warning InsufficientRacks"}, wantAfter: 5 * time.Minute,
		},
		"too many replicas weaken nothing": {
			scene:     func(s *scene) { s.partitions("1 3 5 2") },
			want:      reconciling("MovingReplicas", "True FullyReplicated", "MovingReplicas"),
			wantAfter: 5 * time.Second,
		},
		"too few replicas": {
			scene:      func(s *scene) { s.partitions("1 3", "1 3 5"); s.set(minISR, topic.TypeInt, "1") },
			want:       reconciling("MovingReplicas", "False ReplicationFactorViolation", "MinInSyncReplicasHeld"),
			wantEvents: []string{"Warning GuaranteesLost"}, wantAfter: 5 * time.Second,
			says: map[string][]string{
				"Durable": {"partition 0 has 2 replicas instead of 3", "fewer copies"},
				"Drifted": {"min.insync.replicas is 1, declared 2", "partition 0 has 2, in sync: 2", "partition 0 has 2 replicas instead of 3"},
			},
		},
		"out of sync for less than five minutes": {
			scene: func(s *scene) { s.partitions("1 3 5 isr 1 3"); s.reduced(5*time.Minute - time.Second) },
			want:  well, wantAfter: time.Second + 1,
		},
		"out of sync for longer": {
			scene: func(s *scene) {
				s.View.Cluster = topictest.Cluster("a a b b c! c")
				s.partitions("1 3 5 isr 1 3", "1 3 6", "6 3 2 isr 3 2")
				s.reduced(5 * time.Minute)
			},
			want: current("True ReducedRedundancy"),
			says: map[string][]string{"Durable": {"2 of 3 partitions with replicas out of sync (0, 2)",
				"waits for broker 5 (rack c, out of service), broker 6 (rack c)", "writes go on"}},
		},
		"fewer in sync than min.insync.replicas": {
			scene: func(s *scene) {
				s.View.Cluster = topictest.Cluster("a a b! b! c! c!")
				s.partitions("1 3 5 isr 1", "1 3 5")
				s.reduced(time.Second)
			},
			want: current("False UnderMinISR"), wantEvents: []string{"Warning GuaranteesLost"},
			says: map[string][]string{"Durable": {"1 of 2 partitions with fewer than 2 replicas in sync (0)",
				"broker 3 (rack b, out of service), broker 5 (rack c, out of service)", "acks=all producers wait"}},
		},
		"no leader": {
			scene: func(s *scene) {
				topictest.WithELR(s.View.Cluster)
				s.partitions("1 3 5", "1 3 5 isr elr 5")
			},
			want: current("False Offline"), wantEvents: []string{"Warning GuaranteesLost"},
			says: map[string][]string{"Durable": {"1 of 2 partitions without a leader (1)", "broker 5 (rack c)",
				"no confirmed record is lost once the brokers are back", "unclean election could lose some"}},
		},
		"no leader, and nobody knows who is complete": {
			scene: func(s *scene) { s.partitions("1 3 5 isr known 5") },
			want:  current("False Offline"), wantEvents: []string{"Warning GuaranteesLost"},
			says: map[string][]string{"Durable": {"does not show who holds every confirmed record of partition 0"}},
		},
		"no leader on telemetry": {
			scene: func(s *scene) {
				s.Desired.Unclean = true
				s.set(unclean, topic.TypeBoolean, "true")
				s.partitions("1 3 5 isr elr 5")
			},
			want: current("False Offline"), wantEvents: []string{"Warning GuaranteesLost"},
			says: map[string][]string{"Durable": {"the first replica to return becomes leader, and records that it lacks are lost"}},
		},
		"replica on a broker that has left": {
			scene:      func(s *scene) { s.View.Cluster = topictest.Cluster("a a b b x c"); s.partitions("1 3 5 isr 1 3") },
			want:       reconciling("MovingReplicas", "False ReplicaOnMissingBroker", "MovingReplicas"),
			wantEvents: []string{"Warning GuaranteesLost"}, wantAfter: 5 * time.Second,
			says: map[string][]string{"Ready": {"broker 5, not registered", "not registered; they are moved in turn"}},
		},
		"replica on a fenced broker": {
			scene: func(s *scene) { s.View.Cluster = topictest.Cluster("a a b b c! c"); s.partitions("1 3 5") },
			want:  well,
		},
		"best effort with too few racks": {
			scene: func(s *scene) {
				s.Desired.Rule.BestEffort = true
				s.View.Cluster = topictest.Cluster("a a b b")
				s.partitions("1 2 3", "3 4 1")
			},
			want: current("True RackLossNotCovered"),
			says: map[string][]string{
				"Durable": {"loss of one rack can leave fewer than 2", "rackAwareness BestEffort", "Add brokers in further racks"},
				"Ready":   {"over racks: 2"},
			},
		},
		"best effort without racks": {
			scene: func(s *scene) {
				s.Desired.Rule.BestEffort = true
				s.View.Cluster = topictest.Cluster("- - -")
				s.partitions("1 2 3")
			},
			want: current("True RackLossNotCovered"),
			says: map[string][]string{"Ready": {"replication factor 3 without racks"}},
		},
		"best effort with enough racks": {
			scene: func(s *scene) { s.Desired.Rule.BestEffort = true },
			want:  well,
		},
		"best effort, and a rack is crowded without need": {
			scene:     func(s *scene) { s.Desired.Rule.BestEffort = true; s.partitions("1 2 5") },
			want:      reconciling("MovingReplicas", "True RackLossNotCovered", "MovingReplicas"),
			wantAfter: 5 * time.Second,
		},
		"best effort, under min.insync.replicas": {
			scene: func(s *scene) {
				s.Desired.Rule.BestEffort = true
				s.View.Cluster = topictest.Cluster("a a b b")
				s.partitions("1 2 3 isr 3")
			},
			want: current("False UnderMinISR"), wantEvents: []string{"Warning GuaranteesLost"},
		},
		"Observe with nothing to complain of": {
			scene: func(s *scene) { s.Desired.Mode = "Observe" }, want: well,
		},
		"Observe with differences": {
			scene: func(s *scene) {
				s.Desired.Mode = "Observe"
				s.set(minISR, topic.TypeInt, "1")
				s.Desired.Partitions = 6
			},
			want:       stalled("ObserveOnly", "False MinInSyncReplicasViolation", "ObserveOnly"),
			wantEvents: []string{"Warning GuaranteesLost", "Normal ObserveOnly"}, wantAfter: 5 * time.Minute,
			says: map[string][]string{
				"Ready": {"min.insync.replicas is 1, declared 2", "the partition count is 3, declared 6", "status.plan"},
			},
		},
		"Observe while replicas move": {
			scene:     func(s *scene) { s.Desired.Mode = "Observe"; s.partitions("1 3 5 6 isr 1 3 5 adding 6 removing 5") },
			want:      reconciling("MovingReplicas", "True FullyReplicated", "MovingReplicas"),
			wantAfter: 5 * time.Second,
		},
		"Observe of a topic that may not be read": {
			scene: func(s *scene) {
				s.Desired.Mode = "Observe"
				s.View.Presence = topic.Hidden
				s.View.Problem = fault.New(fault.Blocked, "NotAuthorized", "describe topic: grant DESCRIBE on Topic orders")
			},
			want:       stalled("NotAuthorized", "Unknown NotAuthorized", ""),
			wantEvents: []string{"Warning NotAuthorized"}, wantAfter: 5 * time.Minute,
		},
		"Suspended": {
			scene:      func(s *scene) { s.Desired.Mode = "Suspended"; s.set(minISR, topic.TypeInt, "1") },
			want:       shown{"Unknown Suspended", "Unknown Suspended", "Stalled Suspended", "", status.FailedStatus},
			wantEvents: []string{"Normal Suspended"},
		},
		"out of reach after the grace": {
			scene: func(s *scene) { s.outOfTouch(topictest.Grace + 1) },
			want:  unknown("KafkaUnreachable"),
			says:  map[string][]string{"Ready": {"the topic cannot be judged: no broker answers"}},
		},
		"out of reach for a cause that needs a person": {
			scene: func(s *scene) {
				s.outOfTouch(topictest.Grace + 1)
				s.View.Contact.Fault = fault.New(fault.Blocked, "ClusterIDChanged", "the brokers belong to another Kafka cluster")
			},
			want:       shown{"Unknown KafkaUnreachable", "Unknown KafkaUnreachable", "Stalled ClusterIDChanged", "", status.FailedStatus},
			wantEvents: []string{"Warning ClusterIDChanged"},
		},
		"this topic alone cannot be read for longer than the grace": {
			scene: func(s *scene) {
				s.View.ReadAt = now.Add(-topictest.Grace - 1)
				s.View.Problem = fault.New(fault.Transient, "KafkaUnreachable", "describe topic: no answer")
			},
			want: unknown("KafkaUnreachable"),
		},
		"this topic alone cannot be read for a nameless cause": {
			scene: func(s *scene) {
				s.View.ReadAt = now.Add(-topictest.Grace - 1)
				s.View.Problem = &fault.Fault{Message: "something went wrong"}
			},
			want: unknown("NotObservedYet"),
		},
		"may not be read": {
			scene: func(s *scene) {
				s.View.Presence = topic.Hidden
				s.View.Problem = fault.New(fault.Blocked, "NotAuthorized", "describe topic: grant DESCRIBE on Topic orders")
			},
			want:       stalled("NotAuthorized", "Unknown NotAuthorized", ""),
			wantEvents: []string{"Warning NotAuthorized"}, wantAfter: 5 * time.Minute,
			says: map[string][]string{"Ready": {"grant DESCRIBE"}, "Durable": {"grant DESCRIBE"}},
		},
		"hidden without a word": {
			scene:     func(s *scene) { s.View.Presence = topic.Hidden },
			want:      reconciling("NotObservedYet", "Unknown NotAuthorized", ""),
			wantAfter: 5 * time.Second,
		},
		"vanished, proven, Observe": {
			scene:      func(s *scene) { s.Desired.Mode = "Observe"; s.View.Presence, s.View.Topic = topic.Absent, nil },
			want:       stalled("ObserveOnly", "False TopicNotFound", "ObserveOnly"),
			wantEvents: []string{"Warning GuaranteesLost", "Normal ObserveOnly"}, wantAfter: 5 * time.Minute,
			says: map[string][]string{"Ready": {"the topic does not exist"}},
		},
		"vanished and cannot be created": {
			scene: func(s *scene) {
				s.View.Presence, s.View.Topic, s.View.Cluster = topic.Absent, nil, topictest.Cluster("a a b b")
			},
			want:       stalled("InsufficientRacks", "False TopicNotFound", "InsufficientRacks"),
			wantEvents: []string{"Warning GuaranteesLost", "Warning InsufficientRacks"}, wantAfter: 5 * time.Minute,
			says: map[string][]string{"Ready": {"the topic is not created"}, "Drifted": {"the topic does not exist (the topic is not"}},
		},
		"vanished at one broker for longer than the grace": {
			scene: func(s *scene) {
				s.View.Presence, s.View.ReadAt = topic.Missing, now.Add(-topictest.Grace-1)
			},
			want:      reconciling("TopicVanished", "Unknown TopicVanished", ""),
			wantAfter: 5 * time.Second,
			says:      map[string][]string{"Ready": {"a broker no longer knows", "a second broker confirms"}},
		},
		"a lock is held": {
			scene: func(s *scene) {
				topictest.WithELR(s.View.Cluster)
				s.set(minISR, topic.TypeInt, "1")
				s.partitions("1 3 5 isr 1 elr 3")
			},
			want:       reconciling("MinInSyncReplicasHeld", "False MinInSyncReplicasViolation", "MinInSyncReplicasHeld"),
			wantEvents: []string{"Warning GuaranteesLost"}, wantAfter: 5 * time.Second,
			says: map[string][]string{"Drifted": {"min.insync.replicas is 1, declared 2", "Bring back brokers 3, 5"}},
		},
		"min.insync.replicas higher than declared, in Observe, makes producers wait": {
			scene: func(s *scene) {
				s.Desired.Mode = "Observe"
				s.set(minISR, topic.TypeInt, "3")
				s.partitions("1 3 5 isr 1 3")
				s.reduced(time.Second)
			},
			want:       stalled("ObserveOnly", "False UnderMinISR", "ObserveOnly"),
			wantEvents: []string{"Warning GuaranteesLost", "Normal ObserveOnly"}, wantAfter: 5 * time.Minute,
			says: map[string][]string{"Durable": {"fewer than 3 replicas in sync"}},
		},
		"locks confirmed by Kafka and not shown yet": {
			scene: func(s *scene) {
				two, off := "2", "false"
				s.set(minISR, topic.TypeInt, "1")
				s.set(unclean, topic.TypeBoolean, "true")
				s.View.Expected.Configs = map[string]*string{minISR: &two, unclean: &off}
				s.DoneAt, s.Did.Drift = now.Add(-3*time.Second), drift(minISR, "1", "2")
			},
			want:       reconciling("Updating", "True FullyReplicated", ""),
			wantEvents: []string{"Warning DriftCorrected"}, wantAfter: 5 * time.Second,
		},
		"min.insync.replicas lowered to what is declared, and not shown yet": {
			scene: func(s *scene) {
				two := "2"
				s.set(minISR, topic.TypeInt, "3")
				s.partitions("1 3 5 isr 1 3")
				s.reduced(time.Second)
				s.View.Expected.Configs = map[string]*string{minISR: &two}
				s.DoneAt, s.Did.Drift = now.Add(-3*time.Second), drift(minISR, "3", "2")
			},
			want:       reconciling("Updating", "True FullyReplicated", ""),
			wantEvents: []string{"Warning DriftCorrected"}, wantAfter: 5 * time.Second,
		},
		"unclean election of telemetry, confirmed by Kafka and not shown yet": {
			scene: func(s *scene) {
				on := "true"
				s.Desired.Unclean = true
				s.View.Expected.Configs = map[string]*string{unclean: &on}
			},
			want:      reconciling("Updating", "True FullyReplicated", ""),
			wantAfter: 5 * time.Second,
		},
		"unclean election on, and read-only": {
			scene: func(s *scene) {
				s.View.Topic.Configs[unclean] = topic.Config{Value: "true", Type: topic.TypeBoolean, ReadOnly: true}
			},
			want:       stalled("ReadOnlyConfig", "False UncleanElectionViolation", "ReadOnlyConfig"),
			wantEvents: []string{"Warning GuaranteesLost", "Warning ReadOnlyConfig"}, wantAfter: 5 * time.Minute,
		},
		"a config is refused": {
			scene: func(s *scene) {
				s.Desired.Config = map[string]string{"segment.ms": "asd"}
				s.set("segment.ms", topic.TypeLong, "1")
				s.refused = map[string]*fault.Fault{"segment.ms": refusedConfig}
			},
			want:       stalled("ConfigRejected", "True FullyReplicated", "ConfigRejected"),
			wantEvents: []string{"Warning ConfigRejected"}, wantAfter: 5 * time.Minute,
			says: map[string][]string{"Ready": {"correct spec.config: Invalid value asd for configuration segment.ms"},
				"Drifted": {"segment.ms is 1, declared asd (alter topic"}},
		},
		"too many partitions": {
			scene:      func(s *scene) { s.Desired.Partitions = 1 },
			want:       stalled("PartitionDecreaseUnsupported", "True FullyReplicated", "PartitionDecreaseUnsupported"),
			wantEvents: []string{"Warning PartitionDecreaseUnsupported"}, wantAfter: 5 * time.Minute,
		},
		"what needs a person is told before what comes by itself": {
			scene: func(s *scene) {
				topictest.WithELR(s.View.Cluster)
				s.set(minISR, topic.TypeInt, "1")
				s.partitions("1 3 5 isr 1 elr 3")
				s.Desired.Config = map[string]string{"segment.ms": "asd"}
				s.set("segment.ms", topic.TypeLong, "1")
				s.refused = map[string]*fault.Fault{"segment.ms": refusedConfig}
			},
			want: shown{"False ConfigRejected", "False MinInSyncReplicasViolation", "Stalled ConfigRejected",
				"MinInSyncReplicasHeld", status.FailedStatus},
			wantEvents: []string{"Warning GuaranteesLost", "Warning ConfigRejected"}, wantAfter: 5 * time.Minute,
			says: map[string][]string{"Drifted": {"min.insync.replicas is 1", "segment.ms is 1, declared asd"}},
		},
		"a correction failed": {
			scene: func(s *scene) {
				s.set(minISR, topic.TypeInt, "1")
				s.Failures = []*fault.Fault{fault.New(fault.Transient, "KafkaUnreachable", "alter topic: no answer in time")}
			},
			want:       reconciling("KafkaUnreachable", "False MinInSyncReplicasViolation", "MinInSyncReplicasViolation"),
			wantEvents: []string{"Warning GuaranteesLost"}, wantAfter: time.Second,
		},
		"a correction failed for a nameless cause": {
			scene: func(s *scene) {
				s.Desired.Config = map[string]string{"segment.ms": "2"}
				s.set("segment.ms", topic.TypeLong, "1")
				s.Failures = []*fault.Fault{{Message: "something went wrong"}}
			},
			want: reconciling("Updating", "True FullyReplicated", "ConfigViolation"), wantAfter: time.Second,
		},
		"about to act": {
			scene: func(s *scene) { s.Desired.Partitions = 6 },
			want:  reconciling("AddingPartitions", "True FullyReplicated", "PartitionCountViolation"), wantAfter: time.Second,
			says: map[string][]string{"Ready": {`about to add partitions to topic "orders": 3 -> 6`}},
		},
		"owned by another": {
			scene: func(s *scene) {
				s.Refusal = fault.New(fault.Blocked, "TopicOwnedByAnother", "the topic belongs to the older shop/orders")
			},
			want:       stalled("TopicOwnedByAnother", "Unknown TopicOwnedByAnother", ""),
			wantEvents: []string{"Warning TopicOwnedByAnother"}, wantAfter: 5 * time.Minute,
		},
		"cluster not there": {
			scene: func(s *scene) {
				s.Refusal = fault.New(fault.Blocked, "KafkaClusterNotFound", "there is no KafkaCluster default: create it")
			},
			want:       stalled("KafkaClusterNotFound", "Unknown KafkaClusterNotFound", ""),
			wantEvents: []string{"Warning KafkaClusterNotFound"}, wantAfter: 5 * time.Minute,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := orders(tt.scene, wasWell)
			v := s.judge(t)
			if v.Quiet {
				t.Fatal("nothing is told")
			}
			if diff := cmp.Diff(tt.want, show(t, s.object(v.Status))); diff != "" {
				t.Errorf("status (-want +got):\n%s\n%+v", diff, v.Status.Conditions)
			}
			if diff := cmp.Diff(tt.wantEvents, reasons(v.Events)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			if v.RequeueAfter != tt.wantAfter {
				t.Errorf("comes back after %v, want %v", v.RequeueAfter, tt.wantAfter)
			}
			for kind, parts := range tt.says {
				for _, part := range parts {
					if said := message(v.Status, kind); !strings.Contains(said, part) {
						t.Errorf("%s lacks %q: %s", kind, part, said)
					}
				}
			}
			if v.Status.ObservedGeneration != 1 || v.Status.TopicName != "orders" {
				t.Errorf("speaks about generation %d of topic %q", v.Status.ObservedGeneration, v.Status.TopicName)
			}
		})
	}
}

// TestFirstVisit: a new object is told at most one event, whatever is found.
func TestFirstVisit(t *testing.T) {
	tests := map[string]struct {
		scene      func(*scene)
		want       shown
		wantEvents []string
	}{
		"created": {
			func(s *scene) { s.Did.Created, s.DoneAt = true, now },
			well, []string{"Normal TopicCreated"},
		},
		"created and not shown for three seconds": {
			func(s *scene) {
				s.Did.Created, s.DoneAt = true, now.Add(-3*time.Second)
				s.View.Presence, s.View.Topic, s.View.Expected.Created = topic.Missing, nil, true
			},
			reconciling("Creating", "False TopicNotFound", ""), []string{"Normal TopicCreated"},
		},
		"create failed": {
			func(s *scene) {
				s.View.Presence, s.View.Topic = topic.Missing, nil
				s.Failures = []*fault.Fault{fault.New(fault.Transient, "KafkaUnreachable", "create topic: no answer in time")}
			},
			reconciling("KafkaUnreachable", "False TopicNotFound", "TopicNotFound"), nil,
		},
		"too few racks": {
			func(s *scene) {
				s.View.Presence, s.View.Topic, s.View.Cluster = topic.Missing, nil, topictest.Cluster("a a b b")
			},
			stalled("InsufficientRacks", "False TopicNotFound", "InsufficientRacks"), []string{"Warning InsufficientRacks"},
		},
		"a needed rack is down": {
			func(s *scene) {
				s.View.Presence, s.View.Topic, s.View.Cluster = topic.Missing, nil, topictest.Cluster("a a b b c! c!")
			},
			reconciling("WaitingForBrokers", "False TopicNotFound", "WaitingForBrokers"), nil,
		},
		"adopted as it is": {func(*scene) {}, well, []string{"Normal TopicAdopted"}},
		"adopted and set right": {
			func(s *scene) { s.Did.Applied, s.DoneAt = drift(minISR, "1", "2"), now },
			well, []string{"Normal TopicAdopted"},
		},
		"adopted under min.insync.replicas": {
			func(s *scene) { s.partitions("1 3 5 isr 1") },
			current("False UnderMinISR"), []string{"Normal TopicAdopted"},
		},
		"adopted with replicas out of sync": {
			func(s *scene) { s.partitions("1 3 5 isr 1 3"); s.reduced(time.Second) },
			current("True ReducedRedundancy"), []string{"Normal TopicAdopted"},
		},
		"Observe of a topic that does not exist": {
			func(s *scene) { s.Desired.Mode = "Observe"; s.View.Presence, s.View.Topic = topic.Missing, nil },
			stalled("ObserveOnly", "False TopicNotFound", "ObserveOnly"), []string{"Normal ObserveOnly"},
		},
		"no contact for three seconds": {
			func(s *scene) { s.outOfTouch(3 * time.Second) },
			unknown("KafkaUnreachable"), nil,
		},
		"never readable": {
			func(s *scene) {
				s.View.Presence, s.View.Topic, s.View.ReadAt = topic.NotRead, nil, time.Time{}
				s.View.Problem = fault.New(fault.Transient, "KafkaUnreachable", "describe topic: no answer")
			},
			unknown("KafkaUnreachable"), nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := orders(tt.scene)
			v := s.judge(t)
			if diff := cmp.Diff(tt.want, show(t, s.object(v.Status))); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.wantEvents, reasons(v.Events)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

// TestQuiet: what may be otherwise in a moment moves no status.
func TestQuiet(t *testing.T) {
	busy := fault.New(fault.Transient, "KafkaUnreachable", "describe topic: no answer")
	tests := map[string]struct {
		scene     func(*scene)
		first     bool // never judged before
		wantAfter time.Duration
	}{
		"inside the grace":               {func(s *scene) { s.outOfTouch(topictest.Grace) }, false, time.Second},
		"just out of touch":              {func(s *scene) { s.outOfTouch(0) }, false, topictest.Grace + time.Second},
		"first contact":                  {func(s *scene) { s.outOfTouch(time.Second) }, true, 2 * time.Second},
		"not read":                       {func(s *scene) { s.View.Presence, s.View.Topic = topic.NotRead, nil }, true, 5 * time.Second},
		"not read again since a restart": {func(s *scene) { s.View.Presence, s.View.Topic = topic.NotRead, nil }, false, 5 * time.Second},
		"read without partitions":        {func(s *scene) { s.View.Topic = topictest.Topic() }, false, 5 * time.Second},
		"a new key is not read yet": {func(s *scene) {
			s.Desired.Config, s.View.Incomplete = map[string]string{"segment.ms": "1"}, true
		}, false, 5 * time.Second},
		"unreadable inside the grace": {func(s *scene) { s.View.Problem, s.View.ReadAt = busy, now.Add(-topictest.Grace) }, false, time.Second},
		"unreadable since a restart": {func(s *scene) {
			s.View.Presence, s.View.Topic, s.View.ReadAt, s.View.Problem = topic.NotRead, nil, time.Time{}, busy
			s.View.Contact.Since = now.Add(-time.Minute)
		}, false, time.Minute + time.Second},
		"vanished at one broker": {func(s *scene) { s.View.Presence, s.View.ReadAt = topic.Missing, now.Add(-time.Second) },
			false, topictest.Grace},
		"written a moment ago": {func(s *scene) {
			two := "2"
			s.set(minISR, topic.TypeInt, "1")
			s.View.Expected.Configs = map[string]*string{minISR: &two}
			s.DoneAt, s.Did.Drift = now.Add(-time.Second), drift(minISR, "1", "2")
		}, false, 2 * time.Second},
		"created a moment ago": {func(s *scene) {
			s.View.Presence, s.View.Topic, s.View.Expected.Created = topic.Missing, nil, true
			s.DoneAt, s.Did.Created = now, true
		}, true, 3 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := orders(tt.scene)
			if !tt.first {
				wasWell(s)
			}
			v := s.judge(t)
			if !v.Quiet {
				t.Errorf("the status moves: %+v", v.Status.Conditions)
			}
			if v.RequeueAfter != tt.wantAfter {
				t.Errorf("comes back after %v, want %v", v.RequeueAfter, tt.wantAfter)
			}
		})
	}
}

// TestNewGeneration: inside the grace only Ready moves, since an edit cannot be called Ready.
func TestNewGeneration(t *testing.T) {
	for name, scene := range map[string]func(*scene){
		"out of touch": func(s *scene) { s.outOfTouch(time.Minute) },
		"unreadable": func(s *scene) {
			s.View.ReadAt = now.Add(-time.Minute)
			s.View.Problem = fault.New(fault.Transient, "KafkaUnreachable", "describe topic: no answer")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := orders(scene, wasWell)
			s.Generation = 2
			v := s.judge(t)
			want := shown{"Unknown KafkaUnreachable", "True FullyReplicated", "Reconciling KafkaUnreachable", "", status.InProgressStatus}
			if diff := cmp.Diff(want, show(t, s.object(v.Status))); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if want := time.Minute + time.Second; v.RequeueAfter != want {
				t.Errorf("comes back after %v, want %v", v.RequeueAfter, want)
			}
			s.Previous, s.Now = v.Status, now.Add(topictest.Grace)
			if diff := cmp.Diff(unknown("KafkaUnreachable"), show(t, s.object(s.judge(t).Status))); diff != "" {
				t.Errorf("after the grace (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnfinishedCreate(t *testing.T) {
	s := orders(func(s *scene) { s.View.Presence, s.View.Topic = topic.Missing, nil })
	v := s.judge(t)
	if diff := cmp.Diff(reconciling("Creating", "False TopicNotFound", "TopicNotFound"), show(t, s.object(v.Status))); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if len(v.Events) != 0 {
		t.Errorf("events %v", reasons(v.Events))
	}
}

// reduced: some partition has had replicas out of sync for so long.
func (s *scene) reduced(since time.Duration) { s.View.ReducedSince = s.Now.Add(-since) }

// TestNothingIsKnown: without facts the status no longer shows differences and a plan made of old ones.
func TestNothingIsKnown(t *testing.T) {
	s := orders(func(s *scene) { s.Desired.Mode = "Observe"; s.set(minISR, topic.TypeInt, "1") }, wasWell)
	s.Previous = s.judge(t).Status
	if show(t, s.object(s.Previous)).Drifted == "" || len(s.Previous.Plan) == 0 {
		t.Fatalf("no differences to begin with: %+v", s.Previous)
	}
	s.outOfTouch(topictest.Grace + 1)
	v := s.judge(t)
	if diff := cmp.Diff(unknown("KafkaUnreachable"), show(t, s.object(v.Status))); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if len(v.Status.Plan) > 0 {
		t.Errorf("the plan is %q", v.Status.Plan)
	}
}
