package operator_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/kafka/kafkatest"
)

const (
	// refusalOver is longer than a broker's refusal stands before the same is asked again.
	refusalOver = 6 * time.Minute
	// fightOver is longer than any delay of a correction that is fought over, and shorter than what ends a fight.
	fightOver = 5*time.Minute + time.Second
	// peace is longer than what ends a fight.
	peace = 11 * time.Minute
)

// TestRejectedConfigAtCreation: the locks do not wait for a value that Kafka refuses.
func TestRejectedConfigAtCreation(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kafkatest.Options{ELR: true, MinInSyncReplicas: "2"})
	w.create(topic("orders", critical, declare("retention.ms", "soon", "segment.ms", "600000")), topic("payments", critical))
	w.connect("default")
	got := w.until("orders", "Stalled=True:ConfigRejected", "Ready=False:ConfigRejected", "Durable=True:FullyReplicated")
	w.mentions(message(got, "Stalled"), "retention.ms", "INVALID_CONFIG", "Not a number of type LONG")
	w.until("payments", "Ready=True")
	if trouble := w.locked("orders", false, 3, 2, 1); trouble != "" {
		t.Error(trouble)
	}
	w.config("orders", "segment.ms", "600000")
	w.config("orders", "retention.ms", "")
	w.event("orders", "ConfigRejected")
	w.silent(3)
	if n := written(w.kafka, "orders"); n > 5 { // two creates, the configs together, then one by one
		t.Errorf("%d requests for a value that is refused each time", n)
	}
	w.later(refusalOver, "orders")
	w.eventually("the refused value to be tried again", func() string {
		if n := written(w.kafka, "orders"); n > 6 {
			t.Fatalf("%d requests", n)
		} else if n < 6 {
			return "not yet"
		}
		return ""
	})
	w.silent(1)
	w.event("orders", "ConfigRejected")
	if diff := cmp.Diff([]string{"False:ConfigRejected"}, w.path("orders")); diff != "" {
		t.Errorf("the condition Ready went another way (-want +got):\n%s", diff)
	}
	if w.everReady("orders") {
		t.Errorf("was called ready although a declared config is missing: %v", w.path("orders"))
	}
	w.edit("orders", declare("retention.ms", "604800000"))
	w.until("orders", "Ready=True", "!Stalled")
	w.config("orders", "retention.ms", "604800000")
}

// TestRejectedEdit: an edit to a refused value leaves what was there, and the next edit is tried at once.
func TestRejectedEdit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.create(topic("orders", critical, declare("retention.ms", "1000")))
	w.until("orders", "Ready=True")
	w.edit("orders", declare("retention.ms", "-7", "segment.ms", "70000"))
	got := w.until("orders", "Stalled=True:ConfigRejected", "Ready=False:ConfigRejected", "Drifted=True:ConfigRejected")
	w.mentions(message(got, "Drifted"), "retention.ms is 1000, declared -7")
	w.config("orders", "segment.ms", "70000")
	w.kafka.SetTopicConfig("orders", "min.insync.replicas", "1")
	w.config("orders", "min.insync.replicas", "2")
	w.until("orders", "Stalled=True:ConfigRejected")
	w.edit("orders", declare("retention.ms", "2000"))
	w.until("orders", "Ready=True", "!Drifted")
	w.config("orders", "retention.ms", "2000")
}

// TestRejectedForEver: a broker that refuses every change of configs is asked a few times, and no hot loop begins.
func TestRejectedForEver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.create(topic("orders", critical))
	w.until("orders", "Ready=True")
	w.kafka.Reset()
	w.kafka.Fail(kafkatest.Fault{APIKey: kmsg.IncrementalAlterConfigs, Code: kerr.InvalidConfig.Code, Message: "no change today", Count: kafkatest.Always})
	w.kafka.SetTopicConfig("orders", "min.insync.replicas", "1")
	got := w.until("orders", "Stalled=True:ConfigRejected", "Drifted=True:ConfigRejected", "Durable=False:MinInSyncReplicasViolation")
	w.mentions(message(got, "Stalled"), "no change today")
	w.silent(3)
	if n := written(w.kafka, "orders"); n != 1 {
		t.Errorf("asked %d times for a change that is refused each time", n)
	}
	w.kafka.ClearFaults()
	w.later(refusalOver, "orders")
	w.until("orders", "Ready=True", "Durable=True")
}

// TestRejectedPartitionCount: what exceeds the bound of a request harms no other topic, nor do big ones each other.
func TestRejectedPartitionCount(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kafkatest.Options{})
	w.create(topic("big-1", critical, partitions(4000)), topic("big-2", telemetry, partitions(4000)),
		topic("big-3", critical, partitions(4000)), topic("huge", critical, partitions(10000)), topic("small", critical))
	w.connect("default")
	w.readyTopics("big-1", "big-2", "big-3", "small")
	got := w.until("huge", "Stalled=True:TooManyPartitions", "Ready=False:TooManyPartitions")
	w.mentions(message(got, "Stalled"), "declare fewer")
}
