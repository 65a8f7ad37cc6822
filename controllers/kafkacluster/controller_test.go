package kafkacluster

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

func TestConnect(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		k := b.kafka("a", kafkatest.Options{})
		k.HangAll()
		b.create(object())
		b.pass()
		k.ResumeAll()
		synctest.Wait() // Kafka was read, and nobody has looked at it
		if err := b.write("default", "early"); reasonOf(err) != v1alpha1.ReasonConnecting {
			t.Errorf("a write before the identity is recorded: %v", err)
		}
		c := b.becomes("default", v1alpha1.ReasonConnected)
		if c.Status.ClusterID != "id-a" || c.Status.Brokers.Registered != 6 || len(c.Status.Racks) != 3 {
			t.Errorf("status %+v", c.Status)
		}
		if b.writes > 2 {
			t.Errorf("%d status writes to connect", b.writes)
		}
		if err := b.write("default", "orders"); err != nil {
			t.Errorf("a write after the identity is recorded: %v", err)
		}
		if diff := cmp.Diff([]string{"Normal Connecting", "Normal Connected"}, b.happened()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}

		b.writes = 0
		k.Reset()
		for range 30 {
			b.pass()
			time.Sleep(7 * time.Second)
		}
		if b.writes != 0 || k.Requests().WriteTotal() != 0 || len(b.happened()) != 0 {
			t.Errorf("while nothing changed: %d status writes, %d writes to Kafka", b.writes, k.Requests().WriteTotal())
		}

		k.Fence(3)
		time.Sleep(20 * time.Second)
		b.pass()
		if c := b.get("default"); c.Status.Brokers.Available != 5 || b.writes != 1 {
			t.Errorf("after a broker was fenced: %d available, %d writes", c.Status.Brokers.Available, b.writes)
		}
	})
}

func TestIdentityIsRecordedOnlyOverWhatWasRead(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		k := b.kafka("a", kafkatest.Options{})
		b.kafka("b", kafkatest.Options{})
		k.HangAll()
		b.create(object())
		b.pass()
		k.ResumeAll()
		b.meanwhile = func() {
			b.edit("default", func(c *v1alpha1.KafkaCluster) { c.Spec.BootstrapServers = []string{"b:9092"} })
		}
		b.pass()
		if c := b.get("default"); c.Status.ClusterID != "" {
			t.Fatalf("%q was recorded for an object that was repointed meanwhile", c.Status.ClusterID)
		}
		if err := b.write("default", "orders"); reasonOf(err) != v1alpha1.ReasonConnecting {
			t.Errorf("a write although nothing is recorded: %v", err)
		}
		if c := b.becomes("default", v1alpha1.ReasonConnected); c.Status.ClusterID != "id-b" {
			t.Errorf("recorded %q", c.Status.ClusterID)
		}
	})
}

func TestRepointedToAnotherKafka(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		b.kafka("a", kafkatest.Options{})
		other := b.kafka("b", kafkatest.Options{})
		b.create(object())
		b.becomes("default", v1alpha1.ReasonConnected)

		b.edit("default", func(c *v1alpha1.KafkaCluster) { c.Spec.BootstrapServers = []string{"b:9092"} })
		c := b.becomes("default", v1alpha1.ReasonClusterIDChanged)
		if !meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionStalled) || c.Status.ClusterID != "id-a" {
			t.Errorf("status %+v", c.Status)
		}
		if err := b.write("default", "orders"); err == nil {
			t.Error("a write to the other Kafka went through")
		}
		if n := other.Requests().WriteTotal(); n != 0 {
			t.Errorf("%d writes reached the other Kafka", n)
		}

		b.edit("default", func(c *v1alpha1.KafkaCluster) { c.Spec.ClusterID = "id-b" })
		if c := b.becomes("default", v1alpha1.ReasonConnected); c.Status.ClusterID != "id-b" {
			t.Errorf("recorded %q", c.Status.ClusterID)
		}
		if err := b.write("default", "orders"); err != nil {
			t.Errorf("a write to the Kafka that is now pinned: %v", err)
		}
	})
}

func TestAnotherKafkaBehindTheSameAddress(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		k := b.kafka("a", kafkatest.Options{})
		b.create(object())
		b.becomes("default", v1alpha1.ReasonConnected)
		k.ReplaceClusterID("id-new")
		k.Reset()
		if err := b.write("default", "orders"); reasonOf(err) != v1alpha1.ReasonClusterIDChanged {
			t.Errorf("a write before any sweep saw it: %v", err)
		}
		b.becomes("default", v1alpha1.ReasonClusterIDChanged)
		if n := k.Requests().WriteTotal(); n != 0 {
			t.Errorf("%d writes", n)
		}
		k.ReplaceClusterID("id-a")
		b.becomes("default", v1alpha1.ReasonConnected)
	})
}

func TestPinnedToAnotherKafka(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		k := b.kafka("a", kafkatest.Options{})
		b.create(object(pinned("id-z")))
		c := b.becomes("default", v1alpha1.ReasonClusterIDChanged)
		if c.Status.ClusterID != "" || k.Requests().WriteTotal() != 0 {
			t.Errorf("recorded %q, %d writes", c.Status.ClusterID, k.Requests().WriteTotal())
		}
		b.edit("default", func(c *v1alpha1.KafkaCluster) { c.Spec.ClusterID = "id-a" })
		b.becomes("default", v1alpha1.ReasonConnected)
	})
}

func TestOnlyTheOldestActs(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		k := b.kafka("a", kafkatest.Options{})
		b.kafkas["b"] = k // the same Kafka at another address
		second := object(named("a-second", "uid-second", 0))
		second.Spec.BootstrapServers = []string{"b:9092"}
		b.create(second)
		b.create(object(named("z-first", "uid-first", time.Hour)))
		b.becomes("z-first", v1alpha1.ReasonConnected)
		loser := b.becomes("a-second", v1alpha1.ReasonKafkaOwnedByAnother)
		stalled := meta.FindStatusCondition(loser.Status.Conditions, v1alpha1.ConditionStalled)
		if stalled == nil || !strings.Contains(stalled.Message, `"z-first"`) {
			t.Errorf("the winner is not named: %+v", stalled)
		}
		b.pass()
		if err := b.write("a-second", "orders"); reasonOf(err) != v1alpha1.ReasonKafkaOwnedByAnother {
			t.Errorf("a write through the one that does not act: %v", err)
		}
		if err := b.write("z-first", "orders"); err != nil {
			t.Errorf("a write through the one that acts: %v", err)
		}

		if err := b.client.Delete(t.Context(), b.get("z-first")); err != nil {
			t.Fatal(err)
		}
		b.reconcile("z-first")
		if diff := cmp.Diff([]string{"z-first"}, b.forgotten); diff != "" {
			t.Errorf("forgotten (-want +got):\n%s", diff)
		}
		if _, ok := b.fleet.Cluster("z-first"); ok {
			t.Error("a deleted KafkaCluster is still connected")
		}
		b.becomes("a-second", v1alpha1.ReasonConnected)
		if err := b.write("a-second", "payments"); err != nil {
			t.Errorf("a write through the heir: %v", err)
		}
	})
}

func TestOutOfReach(t *testing.T) {
	tests := map[string]struct {
		harm func(k *kafkatest.Cluster)
		want string
	}{
		"down": {harm: (*kafkatest.Cluster).DownAll, want: v1alpha1.ReasonConnectionRefused},
		"hung": {harm: (*kafkatest.Cluster).HangAll, want: v1alpha1.ReasonConnectionTimedOut},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bed) {
				k := b.kafka("a", kafkatest.Options{})
				b.create(object())
				b.becomes("default", v1alpha1.ReasonConnected)
				tc.harm(k)
				since := time.Now()
				c := b.becomes("default", tc.want)
				if took := time.Since(since); took > 25*time.Second {
					t.Errorf("it took %v to tell", took)
				}
				ready := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady)
				if ready.Status != metav1.ConditionUnknown || !meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReconciling) {
					t.Errorf("conditions %+v", c.Status.Conditions)
				}
				b.writes = 0
				for range 30 {
					b.pass()
					time.Sleep(4 * time.Second)
				}
				if b.writes > 0 {
					t.Errorf("%d status writes while nothing changed", b.writes)
				}
				k.ResumeAll()
				b.becomes("default", v1alpha1.ReasonConnected)
			})
		})
	}
}

func TestUnsupportedBrokers(t *testing.T) {
	for name, key := range map[string]int16{"DescribeConfigs": 32, "IncrementalAlterConfigs": 44, "DescribeTopicPartitions": 75} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bed) {
				k := b.kafka("a", kafkatest.Options{MaxVersions: map[int16]int16{key: -1}})
				b.create(object())
				c := b.becomes("default", v1alpha1.ReasonUnsupportedBrokers)
				stalled := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionStalled)
				if stalled == nil || !strings.Contains(stalled.Message, name) {
					t.Errorf("what is missing is not named: %+v", stalled)
				}
				k.Reset()
				b.writes = 0
				time.Sleep(time.Minute)
				b.pass()
				if n := k.Requests().ReadTotal(); n > 100 || b.writes > 0 || k.Requests().WriteTotal() > 0 {
					t.Errorf("in a minute: %d reads, %d status writes", n, b.writes)
				}
			})
		})
	}
}

func TestEnforcement(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		k := b.kafka("a", kafkatest.Options{})
		b.create(object(enforcement(v1alpha1.EnforcementObserve)))
		b.becomes("default", v1alpha1.ReasonConnected)
		if err := b.write("default", "orders"); reasonOf(err) != v1alpha1.ReasonObserveOnly {
			t.Errorf("a write with Observe: %v", err)
		}

		b.edit("default", enforcement(v1alpha1.EnforcementSuspended))
		b.writes = 0
		b.becomes("default", v1alpha1.ReasonSuspended)
		synctest.Wait()
		k.Reset()
		for range 10 {
			b.pass()
			time.Sleep(time.Minute)
		}
		if b.writes != 1 || k.Requests().ReadTotal()+k.Requests().WriteTotal() != 0 {
			t.Errorf("suspended: %d status writes, %+v", b.writes, k.Requests())
		}

		b.edit("default", enforcement(v1alpha1.EnforcementEnforce))
		b.becomes("default", v1alpha1.ReasonConnected)
		if err := b.write("default", "orders"); err != nil {
			t.Errorf("a write with Enforce: %v", err)
		}
	})
}

func TestTopicCounts(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		b.kafka("a", kafkatest.Options{})
		b.create(object())
		b.becomes("default", v1alpha1.ReasonConnected)
		b.writes = 0
		start := time.Now()
		for n := int32(1); time.Since(start) < 10*time.Minute; n++ {
			b.counts = []v1alpha1.TopicCount{{Profile: v1alpha1.ProfileCritical, Total: n, Ready: n}}
			b.pass()
			time.Sleep(time.Second)
		}
		if b.writes == 0 || b.writes > 10 {
			t.Errorf("%d writes in ten minutes of changing counts", b.writes)
		}
		time.Sleep(time.Minute)
		b.pass()
		if diff := cmp.Diff(b.counts, b.get("default").Status.Topics); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
	})
}

func TestRivalsAreTold(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		b.create(object())
		b.create(object(named("b", "2", 0)))
		b.create(object(named("c", "3", 0)))
		var told []string
		for _, r := range b.rivals(t.Context(), b.get("b")) {
			told = append(told, r.Name)
		}
		slices.Sort(told)
		if diff := cmp.Diff([]string{"c", "default"}, told); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
