package operator_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	coretopic "durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

// inDanger makes partition 0 one whose last in-sync replica leads, while another is an eligible leader (KIP-966).
func inDanger(k *kafkatest.Cluster, topic string) coretopic.Partition {
	p := k.Partition(topic, 0)
	p.Leader, p.ISR, p.ELR, p.LastKnownELR = p.Replicas[0], p.Replicas[:1], p.Replicas[1:2], nil
	k.SetPartition(topic, p)
	return p
}

// TestEligibleLeadersAreKept: any write of min.insync.replicas erases Kafka's record of safe leaders.
func TestEligibleLeadersAreKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{ELR: true, MinInSyncReplicas: "2"})
	w.create(topic("orders", critical), topic("page-views", telemetry), topic("payments", critical, declare("retention.ms", "1000")))
	w.readyTopics("orders", "page-views", "payments")

	t.Run("nothing is written that is as it should be", func(t *testing.T) {
		p := inDanger(w.kafka, "orders")
		w.until("orders", "Ready=True", "Durable=False:UnderMinISR")
		before := written(w.kafka, "orders")
		w.sweeps(3)
		if n := written(w.kafka, "orders"); n != before {
			t.Errorf("%d writes", n-before)
		}
		if diff := cmp.Diff(p.ELR, w.kafka.Partition("orders", 0).ELR); diff != "" {
			t.Errorf("eligible leaders (-want +got):\n%s", diff)
		}
		w.kafka.CatchUp("orders")
		w.until("orders", "Ready=True", "Durable=True")
	})

	t.Run("a change of profile sends only the key that changes", func(t *testing.T) {
		p := inDanger(w.kafka, "page-views")
		w.kafka.Reset()
		w.edit("page-views", func(t *durableTopic) { t.Spec.Profile = critical })
		w.until("page-views", "Ready=True", "Durable=False:UnderMinISR")
		if diff := cmp.Diff([]string{unclean + "=false"}, alters(w.kafka, "page-views")); diff != "" {
			t.Errorf("changes that were sent (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(p.ELR, w.kafka.Partition("page-views", 0).ELR); diff != "" {
			t.Errorf("eligible leaders (-want +got):\n%s", diff)
		}
	})

	t.Run("a correction is held, and holds back nothing else", func(t *testing.T) {
		w.stop()
		w.kafka.SetTopicConfig("payments", minISR, "1")
		w.kafka.SetTopicConfig("payments", unclean, "true")
		w.kafka.SetTopicConfig("payments", "retention.ms", "2000")
		p := inDanger(w.kafka, "payments")
		w.start()
		got := w.until("payments", "Drifted=True:MinInSyncReplicasHeld", "Ready=False:MinInSyncReplicasHeld", "Reconciling=True", "Durable=False")
		w.mentions(message(got, "Drifted"), "min.insync.replicas is 1, declared 2", "partition 0", "in sync", "Bring back")
		w.config("payments", unclean, "false")
		w.config("payments", "retention.ms", "1000")
		w.config("payments", minISR, "1")
		w.kafka.SetISR("payments", 0, p.Replicas[0], p.Replicas[1])
		w.config("payments", minISR, "2")
		w.until("payments", "Ready=True", "!Drifted")
	})
}

// TestMinISRIsRestoredWithoutEligibleLeaders: with no record to erase, the promise of the profile is restored although
// producers then wait.
func TestMinISRIsRestoredWithoutEligibleLeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.create(topic("orders", critical))
	w.until("orders", "Ready=True")
	w.stop()
	w.kafka.SetTopicConfig("orders", minISR, "1")
	w.kafka.SetISR("orders", 0, w.kafka.Partition("orders", 0).Leader)
	w.start()
	w.config("orders", minISR, "2")
	w.until("orders", "Ready=True", "Durable=False:UnderMinISR", "!Drifted")
	w.kafka.CatchUp("orders")
	w.until("orders", "Durable=True")
}

// leaderless takes the leader of a partition away, and whoever could follow it.
func leaderless(k *kafkatest.Cluster, topic string) {
	p := k.Partition(topic, 0)
	p.ISR, p.ELR, p.Leader = []int32{p.Replicas[0]}, nil, coretopic.NoLeader
	k.SetPartition(topic, p)
}

// TestUncleanElectionIsNobodysSideEffect: to false at once, to true only when every partition has a leader.
func TestUncleanElectionIsNobodysSideEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.create(topic("page-views", telemetry), topic("orders", critical))
	w.readyTopics("page-views", "orders")

	w.stop()
	w.kafka.SetTopicConfig("page-views", unclean, "false")
	w.kafka.SetTopicConfig("page-views", minISR, "1")
	leaderless(w.kafka, "page-views")
	w.kafka.SetTopicConfig("orders", unclean, "true")
	leaderless(w.kafka, "orders")
	w.start()
	got := w.until("page-views", "Drifted=True:UncleanElectionHeld", "Ready=False:UncleanElectionHeld", "Reconciling=True", "Durable=False:Offline")
	w.mentions(message(got, "Drifted"), "partition 0", "confirmed records", "kafka-leader-election.sh")
	w.config("page-views", minISR, "2")
	w.config("orders", unclean, "false")
	got = w.until("orders", "Durable=False:Offline")
	w.mentions(message(got, "Durable"), "without a leader", "no confirmed record is lost")
	w.edit("orders", func(t *durableTopic) { t.Spec.Profile = telemetry })
	w.until("orders", "Drifted=True:UncleanElectionHeld")
	w.sweeps(2)
	for _, name := range []string{"page-views", "orders"} {
		w.config(name, unclean, "false")
		p := w.kafka.Partition(name, 0)
		p.Leader, p.ISR = p.Replicas[0], p.Replicas
		w.kafka.SetPartition(name, p)
		w.config(name, unclean, "true")
		w.until(name, "Ready=True", "Durable=True", "!Drifted")
	}
}

// TestReplicasComeBeforeMinISR: while replicas are added, acks=all producers wait for none of them.
func TestReplicasComeBeforeMinISR(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		replicas [][]int32
		configs  map[string]string
		held     string   // set on the topic while replicas are added
		sent     []string // values of min.insync.replicas
	}{
		"explicit":  {[][]int32{{1}, {2}}, map[string]string{minISR: "2"}, "1", []string{"1", "2"}},
		"inherited": {[][]int32{{3}, {4}}, nil, "1", []string{"1", "2"}},
		"low":       {[][]int32{{5}, {6}}, map[string]string{minISR: "1"}, "1", []string{"2"}},
		"three":     {[][]int32{{1, 3}, {3, 1}}, map[string]string{minISR: "3"}, "2", []string{"2"}},
		"one-short": {[][]int32{{1, 3, 5}, {2}}, map[string]string{minISR: "2"}, "1", []string{"1", "2"}},
		"pairs":     {[][]int32{{1, 3}, {3, 1}}, map[string]string{minISR: "2"}, "2", nil},
	}
	w := emptyWorld(t, kafkatest.Options{MoveTicks: kafkatest.Never, MinInSyncReplicas: "2"})
	for name, test := range tests {
		w.kafka.CreateTopicByHand(name, test.replicas, test.configs)
		w.create(topic(name, critical, partitions(2), declare("retention.ms", "1000")))
	}
	w.connect("default", func(c *kafkaCluster) { c.Spec.Reassignment.MaxConcurrentPartitionMoves = 200 })
	for name, test := range tests {
		w.eventually("all moves of "+name, func() string {
			for _, p := range w.partitions(name) {
				if len(test.replicas[p.Index]) < 3 && !p.Reassigning() {
					return fmt.Sprintf("partition %d does not move", p.Index)
				}
			}
			return ""
		})
		w.producersGoOn(name, test.held)
		w.config(name, unclean, "false") // the rest does not wait
		w.config(name, "retention.ms", "1000")
		got := w.until(name, "Ready=False:MovingReplicas", "Reconciling=True:MovingReplicas", "!Stalled")
		if test.held == "1" {
			w.mentions(message(got, "Drifted"), "min.insync.replicas is 1, declared 2")
		}
	}
	for name := range tests { // all of partition 0, and one of the new ones of partition 1
		w.catchUp(name, 0, 2)
		w.catchUp(name, 1, 1)
	}
	w.sweeps(2)
	for name, test := range tests {
		if p := w.kafka.Partition(name, 1); p.Reassigning() {
			w.producersGoOn(name, test.held)
		} else if name != "three" && name != "pairs" {
			t.Errorf("partition 1 of %s is %v", name, p)
		}
	}
	for name, test := range tests {
		w.kafka.CatchUp(name)
		w.until(name, "Ready=True", "Durable=True", "!Drifted")
		w.config(name, minISR, "2")
		at, sent := minISRWrites(w.kafka, name)
		if diff := cmp.Diff(test.sent, sent); diff != "" {
			t.Errorf("min.insync.replicas sent to %s (-want +got):\n%s", name, diff)
		}
		if lowered := len(sent) > 0 && (len(sent) == 2 || sent[0] != "2" || name == "three"); lowered && at[0] > firstMove(w.kafka, name) {
			t.Errorf("%s was moved before min.insync.replicas was held down", name)
		}
		if told := w.events(name, "DriftCorrected"); len(told) > 0 || w.get(name).Status.LastDrift != nil {
			t.Errorf("the operator tells its own changes as drift of %s: %q", name, told)
		}
	}
	w.cleanedUp()
	w.silent(2)
}

func (w *world) partitions(name string) []coretopic.Partition {
	made, _ := w.kafka.Topic(name)
	return made.Partitions
}

// catchUp gets so many of the replicas into sync that a partition adds.
func (w *world) catchUp(name string, partition int32, n int) {
	w.t.Helper()
	adding := w.kafka.Partition(name, partition).Adding
	for _, id := range adding[:min(n, len(adding))] {
		w.kafka.CatchUpReplica(name, partition, id)
	}
}

// producersGoOn checks that acks=all producers are served by the replicas in sync.
func (w *world) producersGoOn(name, held string) {
	w.t.Helper()
	if got, _ := w.kafka.TopicConfig(name, minISR); got != held {
		w.t.Errorf("min.insync.replicas of %s is %q while replicas are added, want %q", name, got, held)
	}
	for _, p := range w.partitions(name) {
		if need := w.kafka.EffectiveMinISR(name, p.Index); need > len(p.ISR) {
			w.t.Errorf("producers of %s-%d wait for %d replicas, in sync are %v", name, p.Index, need, p.ISR)
		}
	}
}

// TestMinISRComesBeforeFewerReplicas: on the way down min.insync.replicas is lowered first, or one broker's restart would
// stop producers.
func TestMinISRComesBeforeFewerReplicas(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.create(topic("orders", critical, replicationFactor(5)))
	w.until("orders", "Ready=True")
	w.config("orders", minISR, "3")
	refused := w.kafka.Fail(kafkatest.Fault{APIKey: kmsg.IncrementalAlterConfigs, Topic: "orders", Code: requestTimedOut, Count: kafkatest.Always,
		When: func(req kmsg.Request) bool { return len(setsOf(req, minISR)) > 0 }})
	w.edit("orders", replicationFactor(3))
	w.eventually("the change to be refused", func() string {
		if refused.Hits() == 0 {
			return "it was not sent"
		}
		return ""
	})
	w.sweeps(3)
	if all := moves(w.kafka); len(all) > 0 {
		t.Errorf("replicas were taken away with min.insync.replicas 3: %v", all)
	}
	refused.Remove()
	w.until("orders", "Ready=True")
	if trouble := w.locked("orders", false, 3, 2, 1); trouble != "" {
		t.Error(trouble)
	}
}

// requestTimedOut is REQUEST_TIMED_OUT.
const requestTimedOut = 7
