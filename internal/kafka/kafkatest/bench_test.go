package kafkatest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/kafka"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

var _ kafka.Wire = (*kafkatest.Wire)(nil)

// ask sends a request and fails the test if there is no answer.
func ask[R kmsg.Response](t *testing.T, c *kafkatest.Cluster, broker int32, req kmsg.Request) R {
	t.Helper()
	resp, err := c.Wire().Request(t.Context(), broker, req)
	if err != nil {
		t.Fatalf("%s: %v", kmsg.NameForKey(req.Key()), err)
	}
	return resp.(R)
}

func equal[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func code(c int16) string {
	if c == 0 {
		return "NONE"
	}
	return kerr.TypedErrorForCode(c).Message
}

func createRequest(names ...string) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	for _, name := range names {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, 1, 3
		req.Topics = append(req.Topics, t)
	}
	return req
}

func createCodes(t *testing.T, c *kafkatest.Cluster, names ...string) map[string]string {
	t.Helper()
	return codesOf(ask[kmsg.Response](t, c, 1, createRequest(names...)))
}

func describeRequest(names ...string) *kmsg.DescribeTopicPartitionsRequest {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	for _, name := range names {
		t := kmsg.NewDescribeTopicPartitionsRequestTopic()
		t.Topic = name
		req.Topics = append(req.Topics, t)
	}
	return req
}

// describeCodes gives the code of each topic as one broker sees it.
func describeCodes(t *testing.T, c *kafkatest.Cluster, broker int32, names ...string) map[string]string {
	t.Helper()
	return codesOf(ask[kmsg.Response](t, c, broker, describeRequest(names...)))
}

func alterRequest(name, key, value string) *kmsg.IncrementalAlterConfigsRequest {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	res := kmsg.NewIncrementalAlterConfigsRequestResource()
	res.ResourceType, res.ResourceName = kmsg.ConfigResourceTypeTopic, name
	cfg := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	cfg.Name, cfg.Value = key, &value
	res.Configs = append(res.Configs, cfg)
	req.Resources = append(req.Resources, res)
	return req
}

func alterCode(t *testing.T, c *kafkatest.Cluster, name, key, value string) string {
	t.Helper()
	return code(ask[*kmsg.IncrementalAlterConfigsResponse](t, c, 1, alterRequest(name, key, value)).Resources[0].ErrorCode)
}

func describeConfigsRequest(name string, keys ...string) *kmsg.DescribeConfigsRequest {
	req := kmsg.NewPtrDescribeConfigsRequest()
	res := kmsg.NewDescribeConfigsRequestResource()
	res.ResourceType, res.ResourceName, res.ConfigNames = kmsg.ConfigResourceTypeTopic, name, keys
	req.Resources = append(req.Resources, res)
	return req
}

func moveRequest(name string, replicas []int32) *kmsg.AlterPartitionAssignmentsRequest {
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	t := kmsg.NewAlterPartitionAssignmentsRequestTopic()
	t.Topic = name
	p := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	p.Replicas = replicas
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

func electRequest(kind int8, name string) *kmsg.ElectLeadersRequest {
	req := kmsg.NewPtrElectLeadersRequest()
	req.ElectionType = kind
	t := kmsg.NewElectLeadersRequestTopic()
	t.Topic, t.Partitions = name, []int32{0}
	req.Topics = append(req.Topics, t)
	return req
}

// offsetsRequest asks for the log ends of partition 0 of topics.
func offsetsRequest(replica int32, names ...string) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = replica
	for _, name := range names {
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = name
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Timestamp = -1
		t.Partitions = append(t.Partitions, p)
		req.Topics = append(req.Topics, t)
	}
	return req
}

// seed makes a cluster with topics of one partition on brokers 1, 3 and 5.
func seed(opts kafkatest.Options, names ...string) *kafkatest.Cluster {
	c := kafkatest.New(opts)
	for _, name := range names {
		c.CreateTopicByHand(name, [][]int32{{1, 3, 5}}, nil)
	}
	return c
}

// isr is the ISR of partition 0.
func isr(c *kafkatest.Cluster, name string) []int32 { return c.Partition(name, 0).ISR }

// is checks partition 0 of a topic.
func is(t *testing.T, what string, c *kafkatest.Cluster, name string, want topic.Partition) {
	t.Helper()
	equal(t, what, want, c.Partition(name, 0))
}
