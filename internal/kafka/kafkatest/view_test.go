package kafkatest_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/kafka/kafkatest"
)

const unknown = "UNKNOWN_TOPIC_OR_PARTITION"

func TestHeldMetadata(t *testing.T) {
	c := seed(kafkatest.Options{}, "old", "gone")
	c.HoldMetadata(2)
	c.Fence(6)
	c.DeleteTopicByHand("gone")
	equal(t, "write through the late broker", map[string]string{"new": "NONE"}, createCodes(t, c, "new"))
	c.SetTopicConfig("old", "retention.ms", "5")

	names := []string{"old", "new", "gone"}
	equal(t, "late broker", map[string]string{"old": "NONE", "new": unknown, "gone": "NONE"}, describeCodes(t, c, 2, names...))
	equal(t, "another broker", map[string]string{"old": "NONE", "new": "NONE", "gone": unknown}, describeCodes(t, c, 1, names...))
	configs := ask[*kmsg.DescribeConfigsResponse](t, c, 2, describeConfigsRequest("old", "retention.ms")).Resources[0].Configs
	equal(t, "config at the late broker", "604800000", *configs[0].Value)
	equal(t, "brokers at the late broker", 6, len(ask[*kmsg.DescribeClusterResponse](t, c, 2, kmsg.NewPtrDescribeClusterRequest()).Brokers))
	equal(t, "brokers at another", 5, len(ask[*kmsg.DescribeClusterResponse](t, c, 1, kmsg.NewPtrDescribeClusterRequest()).Brokers))
	equal(t, "a second create", map[string]string{"new": "TOPIC_ALREADY_EXISTS"}, createCodes(t, c, "new"))

	c.ReleaseMetadata(2)
	equal(t, "released", map[string]string{"old": "NONE", "new": "NONE", "gone": unknown}, describeCodes(t, c, 2, names...))
}

func TestLaggingMetadata(t *testing.T) {
	c := kafkatest.New(kafkatest.Options{})
	c.LagMetadata(2, 2)
	names := []string{"a", "b", "c"}
	for i, want := range []map[string]string{
		{"a": unknown, "b": unknown, "c": unknown},
		{"a": unknown, "b": unknown, "c": unknown},
		{"a": "NONE", "b": unknown, "c": unknown},
	} {
		c.CreateTopicByHand(names[i], [][]int32{{1}}, nil)
		equal(t, "after "+names[i], want, describeCodes(t, c, 2, names...))
	}
	c.LagMetadata(2, 1)
	equal(t, "less late", map[string]string{"a": "NONE", "b": "NONE", "c": unknown}, describeCodes(t, c, 2, names...))
	c.HoldMetadata(2)
	c.DeleteTopicByHand("a")
	c.DeleteTopicByHand("b")
	equal(t, "held", map[string]string{"a": "NONE", "b": "NONE", "c": unknown}, describeCodes(t, c, 2, names...))
}

func TestHiddenTopic(t *testing.T) {
	c := seed(kafkatest.Options{}, "here", "hidden")
	c.HideTopic(2, "hidden")
	c.SetISR("hidden", 0, 1)
	c.SetISR("here", 0, 1, 3)
	equal(t, "by name", map[string]string{"here": "NONE", "hidden": unknown}, describeCodes(t, c, 2, "here", "hidden"))
	equal(t, "all", map[string]string{"here": "NONE"}, describeCodes(t, c, 2))
	described := ask[*kmsg.DescribeTopicPartitionsResponse](t, c, 2, describeRequest("here"))
	equal(t, "what is not hidden is up to date", []int32{1, 3}, described.Topics[0].Partitions[0].ISR)
	equal(t, "another broker", map[string]string{"here": "NONE", "hidden": "NONE"}, describeCodes(t, c, 1))
	c.ReleaseMetadata(2)
	equal(t, "released", map[string]string{"here": "NONE", "hidden": "NONE"}, describeCodes(t, c, 2))
}
