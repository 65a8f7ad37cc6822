package kafkatest_test

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

func deny(op kmsg.ACLOperation, name string) kafkatest.Denial {
	if name == "" {
		return kafkatest.Denial{Operation: op, Resource: kmsg.ACLResourceTypeCluster}
	}
	return kafkatest.Denial{Operation: op, Resource: kmsg.ACLResourceTypeTopic, Name: name}
}

func TestDenials(t *testing.T) {
	both := func(code string) map[string]string { return map[string]string{"shop.a": code} }
	remove := kmsg.NewPtrDeleteTopicsRequest()
	d := kmsg.NewDeleteTopicsRequestTopic()
	name := "shop.a"
	d.Topic = &name
	remove.Topics = append(remove.Topics, d)
	grow := kmsg.NewPtrCreatePartitionsRequest()
	g := kmsg.NewCreatePartitionsRequestTopic()
	g.Topic, g.Count = name, 2
	grow.Topics = append(grow.Topics, g)
	const topicDenied, clusterDenied = "TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"
	for name, c := range map[string]struct {
		denied []kafkatest.Denial
		req    kmsg.Request
		want   map[string]string
	}{
		"describe a topic":         {[]kafkatest.Denial{deny(kmsg.ACLOperationDescribe, "shop.a")}, describeRequest("shop.a"), both(topicDenied)},
		"describe by prefix":       {[]kafkatest.Denial{deny(kmsg.ACLOperationDescribe, "shop.*")}, describeRequest("shop.a"), both(topicDenied)},
		"describe an unknown one":  {[]kafkatest.Denial{deny(kmsg.ACLOperationDescribe, "*")}, describeRequest("none"), map[string]string{"none": topicDenied}},
		"list all":                 {[]kafkatest.Denial{deny(kmsg.ACLOperationDescribe, "*")}, describeRequest(), map[string]string{}},
		"describe another":         {[]kafkatest.Denial{deny(kmsg.ACLOperationDescribe, "bank.*")}, describeRequest("shop.a"), both("NONE")},
		"describe configs":         {[]kafkatest.Denial{deny(kmsg.ACLOperationDescribeConfigs, "shop.a")}, describeConfigsRequest("shop.a"), both(topicDenied)},
		"alter configs":            {[]kafkatest.Denial{deny(kmsg.ACLOperationAlterConfigs, "shop.a")}, alterRequest("shop.a", "retention.ms", "1"), both(topicDenied)},
		"create by cluster":        {[]kafkatest.Denial{deny(kmsg.ACLOperationCreate, "*")}, createRequest("new"), map[string]string{"new": "NONE"}},
		"create by topic":          {[]kafkatest.Denial{deny(kmsg.ACLOperationCreate, "")}, createRequest("new"), map[string]string{"new": "NONE"}},
		"create by neither":        {[]kafkatest.Denial{deny(kmsg.ACLOperationCreate, ""), deny(kmsg.ACLOperationCreate, "*")}, createRequest("new"), map[string]string{"new": topicDenied}},
		"create partitions":        {[]kafkatest.Denial{deny(kmsg.ACLOperationAlter, "shop.a")}, grow, both(topicDenied)},
		"delete":                   {[]kafkatest.Denial{deny(kmsg.ACLOperationDelete, "shop.a")}, remove, both(topicDenied)},
		"reassign":                 {[]kafkatest.Denial{deny(kmsg.ACLOperationAlter, "")}, moveRequest("shop.a", []int32{3, 1, 5}), both(clusterDenied)},
		"elect":                    {[]kafkatest.Denial{deny(kmsg.ACLOperationAlter, "")}, electRequest(0, "shop.a"), both(clusterDenied)},
		"reassign with other ones": {[]kafkatest.Denial{deny(kmsg.ACLOperationAlter, "*")}, moveRequest("shop.a", []int32{3, 1, 5}), both("NONE")},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := seed(kafkatest.Options{}, "shop.a")
			cluster.Deny(c.denied...)
			before := cluster.Commits()
			equal(t, "codes", c.want, codesOf(ask[kmsg.Response](t, cluster, 1, c.req)))
			for _, code := range c.want {
				if changed := cluster.Commits() > before; code != "NONE" && changed {
					t.Errorf("denied, yet something changed")
				}
			}
			cluster.AllowAll()
			equal(t, "afterwards", map[string]string{"shop.a": "NONE"}, describeCodes(t, cluster, 1, "shop.a"))
		})
	}
}

func TestDeniedClusterReads(t *testing.T) {
	c := seed(kafkatest.Options{}, "a")
	c.Deny(deny(kmsg.ACLOperationDescribe, ""), deny(kmsg.ACLOperationDescribeConfigs, ""), deny(kmsg.ACLOperationAlterConfigs, ""))
	list := ask[*kmsg.ListPartitionReassignmentsResponse](t, c, 1, kmsg.NewPtrListPartitionReassignmentsRequest())
	equal(t, "list reassignments", "CLUSTER_AUTHORIZATION_FAILED", code(list.ErrorCode))
	read := describeConfigsRequest("1", "num.partitions")
	read.Resources[0].ResourceType = kmsg.ConfigResourceTypeBroker
	equal(t, "broker configs", "CLUSTER_AUTHORIZATION_FAILED", code(ask[*kmsg.DescribeConfigsResponse](t, c, 1, read).Resources[0].ErrorCode))
	write := alterRequest("", "follower.replication.throttled.rate", "1")
	write.Resources[0].ResourceType = kmsg.ConfigResourceTypeBroker
	equal(t, "alter cluster configs", "CLUSTER_AUTHORIZATION_FAILED", code(ask[*kmsg.IncrementalAlterConfigsResponse](t, c, 1, write).Resources[0].ErrorCode))
	equal(t, "brokers all the same", 6, len(ask[*kmsg.DescribeClusterResponse](t, c, 1, kmsg.NewPtrDescribeClusterRequest()).Brokers))
}

// TestMessagesOfDenialsVary: what Kafka says is different each time, so that nobody keeps it.
func TestMessagesOfDenialsVary(t *testing.T) {
	c := seed(kafkatest.Options{}, "a")
	c.Deny(deny(kmsg.ACLOperationAlter, ""))
	message := func() string {
		return *ask[*kmsg.AlterPartitionAssignmentsResponse](t, c, 1, moveRequest("a", []int32{1})).ErrorMessage
	}
	if first, second := message(), message(); first == second {
		t.Errorf("both messages are %q", first)
	}
}

func TestPolicies(t *testing.T) {
	c := seed(kafkatest.Options{}, "a")
	c.SetPolicy(kafkatest.Policy{
		Create: func(name string, assignments [][]int32, _ map[string]string) error {
			if name == "bad" && len(assignments) == 1 && len(assignments[0]) == 3 {
				return errors.New("bad topics are not made here")
			}
			return nil
		},
		Alter: func(_ string, configs map[string]string) error {
			if configs["retention.ms"] == "1" {
				return errors.New("too short")
			}
			return nil
		},
	})
	equal(t, "create", map[string]string{"bad": "POLICY_VIOLATION", "good": "NONE"}, createCodes(t, c, "bad", "good"))
	res := ask[*kmsg.IncrementalAlterConfigsResponse](t, c, 1, alterRequest("a", "retention.ms", "1")).Resources[0]
	equal(t, "alter", "POLICY_VIOLATION", code(res.ErrorCode))
	equal(t, "words", "too short", *res.ErrorMessage)
	equal(t, "alter within the policy", "NONE", alterCode(t, c, "a", "retention.ms", "2"))
}

func TestReadOnlyConfigs(t *testing.T) {
	c := seed(kafkatest.Options{MinInSyncReplicas: "2"}, "a")
	c.SetReadOnly(topic.MinInSyncReplicas)
	cfg := ask[*kmsg.DescribeConfigsResponse](t, c, 1, describeConfigsRequest("a", topic.MinInSyncReplicas)).Resources[0].Configs[0]
	equal(t, "read only", true, cfg.ReadOnly)
	equal(t, "source", kmsg.ConfigSourceStaticBrokerConfig, cfg.Source)
	equal(t, "alter", "POLICY_VIOLATION", alterCode(t, c, "a", topic.MinInSyncReplicas, "2"))
	equal(t, "alter another key", "NONE", alterCode(t, c, "a", "retention.ms", "1"))
}

func TestDeletionDisabled(t *testing.T) {
	c := seed(kafkatest.Options{DeleteDisabled: true}, "a")
	req := kmsg.NewPtrDeleteTopicsRequest()
	made, _ := c.Topic("a")
	d := kmsg.NewDeleteTopicsRequestTopic()
	d.TopicID = made.ID
	req.Topics = append(req.Topics, d)
	equal(t, "code", "TOPIC_DELETION_DISABLED", code(ask[*kmsg.DeleteTopicsResponse](t, c, 1, req).Topics[0].ErrorCode))
	equal(t, "topics", []string{"a"}, c.TopicNames())
}

func TestCounts(t *testing.T) {
	c := seed(kafkatest.Options{}, "a")
	describeCodes(t, c, 1, "a")
	describeCodes(t, c, 2, "a")
	createCodes(t, c, "b", "a")
	alterCode(t, c, "b", "retention.ms", "1")
	dry := createRequest("c")
	dry.ValidateOnly = true
	ask[*kmsg.CreateTopicsResponse](t, c, 3, dry)

	got := c.Requests()
	equal(t, "reads", map[kmsg.Key]int{kmsg.DescribeTopicPartitions: 2}, got.Reads)
	equal(t, "writes", map[kmsg.Key]int{kmsg.CreateTopics: 2, kmsg.IncrementalAlterConfigs: 1}, got.Writes)
	equal(t, "read total", 2, got.ReadTotal())
	equal(t, "write total", 3, got.WriteTotal())
	equal(t, "writes by topic", map[string]int{"a": 1, "b": 2, "c": 1}, c.TopicWrites())
	last := c.Writes()[2]
	equal(t, "last write's broker", 3, last.Broker)
	equal(t, "last write is validate only", true, last.ValidateOnly)
	c.Reset()
	equal(t, "after Reset", 0, c.Requests().WriteTotal()+c.Requests().ReadTotal()+len(c.Writes()))
}
