package operator_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/kafka/kafkatest"
)

// TestVaryingWordsRewriteNothing: brokers put times and connections into their sentences.
func TestVaryingWordsRewriteNothing(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kafkatest.Options{})
	var asked atomic.Int32
	w.kafka.SetPolicy(kafkatest.Policy{Create: func(string, [][]int32, map[string]string) error {
		return fmt.Errorf("policy says no, for the %dth time\n\tat com.example.Policy.validate(Policy.java:42)", asked.Add(1))
	}})
	w.create(topic("orders", critical))
	w.connect("default")
	got := w.until("orders", "Stalled=True:PolicyViolation")
	w.mentions(message(got, "Stalled"), "policy says no, for the 1th time")
	w.silent(1)
	versions := w.resourceVersions()
	for again := int32(2); again <= 4; again++ {
		w.eventually("the create to be tried again", func() string {
			if got := asked.Load(); got < again {
				w.later(refusalOver, "orders") // once more if the refusal before was not noted yet
				return fmt.Sprintf("asked %d times, want %d", got, again)
			}
			return ""
		})
	}
	w.silent(1)
	if diff := cmp.Diff(versions, w.resourceVersions()); diff != "" {
		t.Errorf("the status was written for other words:\n%s", diff)
	}
	w.event("orders", "PolicyViolation")
}

// TestLongWordsAreCut, and what is no UTF-8 is made so.
func TestLongWordsAreCut(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kafkatest.Options{})
	w.kafka.SetPolicy(kafkatest.Policy{Create: func(name string, _ [][]int32, _ map[string]string) error {
		return fmt.Errorf("start %s \xff\xfe end", strings.Repeat("ä%d<nil", 5000)+name)
	}})
	w.create(topic("orders", critical, declare("segment.ms", strings.Repeat("9", 1000))))
	w.connect("default")
	got := w.until("orders", "Stalled=True:PolicyViolation")
	w.mentions(message(got, "Stalled"), "start ä%d")
	if words := message(got, "Stalled"); len(words) > 600 {
		t.Errorf("the message has %d bytes", len(words))
	}
}

// TestSessionsAreNotCopied: the words of CLUSTER_AUTHORIZATION_FAILED name sessions and differ each time.
func TestSessionsAreNotCopied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.create(topic("orders", critical))
	w.until("orders", "Ready=True")
	for _, operation := range []kmsg.ACLOperation{
		kmsg.ACLOperationDescribe, kmsg.ACLOperationDescribeConfigs, kmsg.ACLOperationAlter, kmsg.ACLOperationAlterConfigs, kmsg.ACLOperationCreate,
	} {
		w.kafka.Deny(kafkatest.Denial{Operation: operation, Resource: kmsg.ACLResourceTypeCluster})
	}
	w.silent(2)
	w.restart()
	w.kafka.SetTopicConfig("orders", minISR, "1")
	w.config("orders", minISR, "2")
	w.until("orders", "Ready=True")
	w.eventually("the missing rights", func() string {
		if missing := w.getCluster("default").Status.MissingPermissions; len(missing) == 0 {
			return conditions(1, w.getCluster("default").Status.Conditions)
		}
		return ""
	})
	w.silent(2)
	for _, right := range w.getCluster("default").Status.MissingPermissions {
		if found := leaks(right); len(found) > 0 {
			t.Error(found)
		}
	}
}

// TestForbiddenOperationsAreNamed: each refusal names the operation and what it is missing on, and heals when granted.
func TestForbiddenOperationsAreNamed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		operation kmsg.ACLOperation
		edit      func(*durableTopic)
		want      string
	}{
		"alter-configs":    {kmsg.ACLOperationAlterConfigs, declare("retention.ms", "1000"), "ALTER_CONFIGS on Topic alter-configs"},
		"add-partitions":   {kmsg.ACLOperationAlter, partitions(6), "ALTER on Topic add-partitions"},
		"describe-configs": {kmsg.ACLOperationDescribeConfigs, declare("retention.ms", "1000"), "DESCRIBE_CONFIGS on Topic describe-configs"},
		"describe":         {kmsg.ACLOperationDescribe, declare("retention.ms", "1000"), "DESCRIBE on Topic describe"},
	}
	w := newWorld(t, kafkatest.Options{})
	for name := range tests {
		w.create(topic(name, critical))
	}
	for name, test := range tests {
		w.until(name, "Ready=True")
		w.kafka.Deny(kafkatest.Denial{Operation: test.operation, Resource: kmsg.ACLResourceTypeTopic, Name: name})
		w.edit(name, test.edit)
	}
	for name, test := range tests {
		got := w.until(name, "Ready=False:NotAuthorized", "Stalled=True:NotAuthorized")
		w.mentions(message(got, "Stalled"), test.want, "TOPIC_AUTHORIZATION_FAILED")
	}
	w.silent(2)
	w.kafka.AllowAll()
	for name := range tests {
		w.later(refusalOver, name)
		w.until(name, "Ready=True")
		w.event(name, "TopicConfigured")
		if told := w.events(name, "DriftCorrected"); len(told) > 0 {
			t.Errorf("the user's own edit is told as drift: %q", told)
		}
	}
}
