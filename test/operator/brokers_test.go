package operator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/internal/kafka/kafkatest"
)

// TestOneBrokerPaused, the first bootstrap server: everything else goes on.
func TestOneBrokerPaused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{ELR: true, MinInSyncReplicas: "2"})
	names := w.someTopics(10)
	w.kafka.Pause(1)
	w.kafka.SetTopicConfig("topic-3", minISR, "1")
	w.kafka.DeleteTopicConfig("topic-4", unclean)
	w.edit("topic-5", declare("retention.ms", "1000"))
	w.edit("topic-6", partitions(6))
	w.create(topic("new", critical), topic("new-5", critical, replicationFactor(5)))
	w.config("topic-3", minISR, "2")
	w.config("topic-4", unclean, "false")
	w.config("topic-5", "retention.ms", "1000")
	w.readyTopics("topic-5", "topic-6", "new", "new-5")
	for _, name := range append(names, "new") {
		if path := strings.Join(w.path(name), " "); strings.Contains(path, "Unknown") {
			t.Errorf("%s was called unknown: %s", name, path)
		}
	}
	made, _ := w.kafka.Topic("new")
	for _, p := range made.Partitions {
		for _, id := range p.Replicas {
			if id == 1 {
				t.Errorf("a new replica is on the broker that is out of service: %v", p.Replicas)
			}
		}
	}
	w.untilCluster("default", "Ready=True")
	w.until("topic-0", "Ready=True", "Durable=True:FullyReplicated") // a rolling restart is no news
	w.kafka.Start(1)
	for _, name := range names {
		w.kafka.CatchUp(name)
	}
	w.readyTopics(names...)
	w.silent(1)
}

// TestRollingRestart: each broker in turn, and no status is written.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{ELR: true, MinInSyncReplicas: "2"})
	names := w.someTopics(10)
	w.silent(1)
	versions := w.resourceVersions()
	w.kafka.Reset()
	for broker := int32(1); broker <= 6; broker++ {
		w.kafka.Stop(broker)
		w.sweeps(1)
		w.kafka.Start(broker)
		for _, name := range names {
			w.kafka.CatchUp(name)
		}
	}
	w.sweeps(2)
	if diff := cmp.Diff(versions, w.resourceVersions()); diff != "" {
		t.Errorf("statuses were written:\n%s", diff)
	}
	if n := w.kafka.Requests().WriteTotal(); n > 0 {
		t.Errorf("%d writes", n)
	}
}

// TestRackLost: every partition keeps two replicas in sync; nothing moves, and after five minutes it is said.
func TestRackLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{ELR: true, MinInSyncReplicas: "2"})
	names := w.someTopics(6)
	w.kafka.Reset()
	w.kafka.Kill(5)
	w.kafka.Kill(6)
	w.sweeps(2)
	w.until("topic-0", "Ready=True", "Durable=True:FullyReplicated")
	w.later(6*time.Minute, names...)
	got := w.until("topic-0", "Ready=True", "Durable=True:ReducedRedundancy", "!Stalled", "!Reconciling")
	w.mentions(message(got, "Durable"), "3 of 3 partitions", "rack c", "out of service")
	w.kafka.Pause(3) // the bad night: a rack is lost and a broker of another one hangs
	w.eventually("some topics to be under their minimum", func() string {
		for _, name := range names {
			if got := w.get(name); has(got.Status.Conditions, 1, "Durable=False:UnderMinISR") {
				return ""
			}
		}
		return "none is"
	})
	for _, broker := range []int32{3, 5, 6} {
		w.kafka.Start(broker)
	}
	for _, name := range names {
		w.kafka.CatchUp(name)
	}
	for _, name := range names {
		w.until(name, "Ready=True", "Durable=True:FullyReplicated")
	}
	if n := w.kafka.Requests().WriteTotal(); n > 0 {
		t.Errorf("%d writes", n)
	}
}
