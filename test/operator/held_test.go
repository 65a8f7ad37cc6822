package operator_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

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

// TestReplicasComeBeforeMinISR: min.insync.replicas is not raised on replicas that do not exist, and the rest is set.
func TestReplicasComeBeforeMinISR(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.kafka.CreateTopicByHand("orders", [][]int32{{1}, {2, 4}, {3, 5, 1}}, map[string]string{minISR: "1", unclean: "true"})
	w.create(topic("orders", critical, declare("retention.ms", "1000")))
	got := w.until("orders", "Ready=False", "Stalled=True:ReplicationFactorViolation", "Drifted=True", "Durable=False:ReplicationFactorViolation")
	w.mentions(message(got, "Drifted"), "min.insync.replicas is 1, declared 2", "2 of 3 partitions")
	w.config("orders", unclean, "false")
	w.config("orders", "retention.ms", "1000")
	w.sweeps(1)
	w.config("orders", minISR, "1")
	w.kafka.MoveByHand("orders", 0, []int32{1, 3, 5})
	w.sweeps(1)
	w.config("orders", minISR, "1")
	w.kafka.MoveByHand("orders", 1, []int32{2, 4, 6})
	w.config("orders", minISR, "2")
	w.until("orders", "Ready=True", "Durable=True", "!Drifted")
	w.silent(2)
}
