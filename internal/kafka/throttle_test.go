package kafka

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

func entries(n int) []topic.ThrottledReplica {
	list := make([]topic.ThrottledReplica, n)
	for i := range list {
		list[i] = topic.ThrottledReplica{Partition: int32(i), Broker: 12}
	}
	return list
}

// model is an in-memory cluster with topics of one partition on brokers 1, 3 and 5.
func model(topics ...string) (*kafkatest.Cluster, *Client) {
	c := kafkatest.New(kafkatest.Options{})
	for _, name := range topics {
		c.CreateTopicByHand(name, [][]int32{{1, 3, 5}}, nil)
	}
	return c, NewClient(c.Wire(), Options{})
}

func TestThrottledRequest(t *testing.T) {
	add, subtract := kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract
	for op, do := range map[kmsg.IncrementalAlterConfigOp]func(*Client, []Throttling) map[string]error{
		add: func(c *Client, list []Throttling) map[string]error { return c.AppendThrottled(t.Context(), 1, list) },
		subtract: func(c *Client, list []Throttling) map[string]error {
			return c.SubtractThrottled(t.Context(), 1, list)
		},
	} {
		var got *kmsg.IncrementalAlterConfigsRequest
		s := scripted(kmsg.IncrementalAlterConfigs, reply(func(req *kmsg.IncrementalAlterConfigsRequest, resp *kmsg.IncrementalAlterConfigsResponse) {
			got = req
			resp.Resources = []kmsg.IncrementalAlterConfigsResponseResource{{ResourceName: "orders"}}
		}))
		outcome := do(NewClient(s, Options{}), []Throttling{
			{Topic: "orders", Leader: entries(2), Follower: entries(1)}, {Topic: "nothing"}, {Topic: "page-views", Leader: entries(1)},
		})
		row := func(name string, configs ...kmsg.IncrementalAlterConfigsRequestResourceConfig) kmsg.IncrementalAlterConfigsRequestResource {
			return kmsg.IncrementalAlterConfigsRequestResource{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: name, Configs: configs}
		}
		config := func(key, value string) kmsg.IncrementalAlterConfigsRequestResourceConfig {
			return kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: key, Op: op, Value: &value}
		}
		want := []kmsg.IncrementalAlterConfigsRequestResource{
			row("orders", config(topic.FollowerThrottledReplicas, "0:12"), config(topic.LeaderThrottledReplicas, "0:12,1:12")),
			row("page-views", config(topic.LeaderThrottledReplicas, "0:12")),
		}
		if diff := cmp.Diff(want, got.Resources, cmp.AllowUnexported(kmsg.Tags{})); diff != "" {
			t.Error(diff)
		}
		left := map[string]verdict{"page-views": {fault.Transient, v1alpha1.ReasonRequestRejected, true}}
		if diff := cmp.Diff(left, verdicts(t, outcome)); diff != "" || len(outcome) != 3 {
			t.Errorf("%d outcomes: %s", len(outcome), diff)
		}
	}
}

// A list that is too long is refused before it is sent, where it would cost the other topics their answer; one that
// grows too long is refused by Kafka.
func TestThrottledTooLong(t *testing.T) {
	c, client := model("short", "long", "grows")
	most := entries(4000) // 27 889 bytes
	list := []Throttling{{Topic: "short", Leader: entries(1)}, {Topic: "long", Follower: entries(5000)}, {Topic: "grows", Leader: most}}
	refused := verdict{fault.Blocked, v1alpha1.ReasonRequestRejected, false}
	got := client.AppendThrottled(t.Context(), 1, list)
	if diff := cmp.Diff(map[string]verdict{"long": refused}, verdicts(t, got)); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(got["long"].Error(), "32767 bytes") {
		t.Errorf("the bound is not named: %v", got["long"])
	}
	for i := range most {
		most[i].Broker = 13
	}
	got = client.AppendThrottled(t.Context(), 1, []Throttling{{Topic: "grows", Leader: most}})
	if diff := cmp.Diff(map[string]verdict{"grows": refused}, verdicts(t, got)); diff != "" {
		t.Error(diff)
	}
	if value, _ := c.TopicConfig("short", topic.LeaderThrottledReplicas); value != "0:12" {
		t.Errorf("the short list is %q", value)
	}
}

func TestThrottledSplits(t *testing.T) {
	var names []string
	var list []Throttling
	for i := range 1001 {
		names = append(names, fmt.Sprintf("t%d", i))
		list = append(list, Throttling{Topic: names[i], Leader: entries(1)})
	}
	c, client := model(names...)
	if got := client.AppendThrottled(t.Context(), 1, list); len(got) != 1001 || len(verdicts(t, got)) != 0 {
		t.Errorf("%d outcomes: %v", len(got), verdicts(t, got))
	}
	if n := c.Requests().Writes[kmsg.IncrementalAlterConfigs]; n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
	got, err := client.Throttled(t.Context(), 1, names)
	if err != nil || len(got) != 1001 || got["t1000"].Leader.Raw != "0:12" {
		t.Errorf("%d lists, the last one %+v, %v", len(got), got["t1000"], err)
	}
}

// A topic that cannot be read or written is that topic's trouble, and a missing permission is named until it is granted.
func TestThrottledDenied(t *testing.T) {
	c, client := model("orders", "payments")
	deny := func(op kmsg.ACLOperation) {
		c.Deny(kafkatest.Denial{Operation: op, Resource: kmsg.ACLResourceTypeTopic, Name: "payments"})
	}
	deny(kmsg.ACLOperationAlterConfigs)
	deny(kmsg.ACLOperationDescribeConfigs)
	no := verdict{fault.Blocked, v1alpha1.ReasonNotAuthorized, false}
	list := []Throttling{{Topic: "payments", Leader: entries(1)}, {Topic: "orders", Leader: entries(1)}}
	got := client.AppendThrottled(t.Context(), 1, list)
	if diff := cmp.Diff(map[string]verdict{"payments": no}, verdicts(t, got)); diff != "" {
		t.Error(diff)
	}
	want := `throttle replicas of topic "payments": TOPIC_AUTHORIZATION_FAILED, the operator's user is not allowed to; grant it ALTER_CONFIGS on Topic payments`
	if got["payments"].Error() != want {
		t.Error(got["payments"])
	}
	reads, err := client.Throttled(t.Context(), 1, []string{"payments", "orders", "gone", "orders"})
	if err != nil {
		t.Fatal(err)
	}
	errs := map[string]error{}
	for name, r := range reads {
		errs[name] = r.Err
	}
	if diff := cmp.Diff(map[string]verdict{"payments": no, "gone": {fault.Waiting, v1alpha1.ReasonTopicNotFound, false}}, verdicts(t, errs)); diff != "" {
		t.Error(diff)
	}
	missing := []string{"ALTER_CONFIGS on Topic payments, to throttle the copying of replicas"}
	client.AppendThrottled(t.Context(), 1, list[1:]) // another topic says nothing about it
	if diff := cmp.Diff(missing, client.MissingPermissions()); diff != "" {
		t.Error(diff)
	}
	c.Deny(kafkatest.Denial{Operation: kmsg.ACLOperationAlterConfigs, Resource: kmsg.ACLResourceTypeTopic, Name: "orders"})
	client.AppendThrottled(t.Context(), 1, list) // the first one that was seen stays
	if diff := cmp.Diff(missing, client.MissingPermissions()); diff != "" {
		t.Error(diff)
	}
	c.AllowAll()
	client.AppendThrottled(t.Context(), 1, list)
	if diff := cmp.Diff([]string{}, client.MissingPermissions()); diff != "" {
		t.Error(diff)
	}
}

func TestThrottleRates(t *testing.T) {
	c, client := model()
	c.SetClusterConfig(topic.LeaderThrottledRate, "5")
	c.SetBrokerConfig(2, topic.FollowerThrottledRate, "0")
	c.SetBrokerConfig(3, topic.LeaderThrottledRate, "7")
	c.Kill(3)
	c.Down(4)
	got, err := client.ThrottleRates(t.Context(), c.Brokers())
	if err != nil {
		t.Fatal(err)
	}
	want := topic.ThrottleRates{
		Default: topic.Rates{Leader: topic.RateOf(5)},
		Brokers: map[int32]topic.Rates{2: {Follower: topic.RateOf(0)}}, // what it has from the cluster is not its own
		Unread:  []int32{3, 4},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := c.Requests().Reads[kmsg.DescribeConfigs]; n != 4 {
		t.Errorf("%d requests, want one to each broker that answers", n)
	}
}

func TestThrottleRatesUnanswered(t *testing.T) {
	c, client := model()
	c.DownAll()
	_, err := client.ThrottleRates(t.Context(), c.Brokers())
	if diff := cmp.Diff(verdict{fault.Transient, v1alpha1.ReasonConnectionRefused, false}, verdictOf(t, err)); diff != "" {
		t.Error(diff)
	}
	_, err = client.ThrottleRates(t.Context(), []topic.Broker{{ID: 1, Fenced: true}})
	if diff := cmp.Diff(verdict{fault.Transient, v1alpha1.ReasonKafkaUnreachable, false}, verdictOf(t, err)); diff != "" {
		t.Error(diff)
	}
}

// A broker that refuses is not one that is down: what it has stays unknown until somebody grants the permission.
func TestThrottleRatesDeniedByOne(t *testing.T) {
	c, client := model()
	c.Fail(kafkatest.Fault{APIKey: kmsg.DescribeConfigs, Broker: 2, Code: kerr.ClusterAuthorizationFailed.Code})
	_, err := client.ThrottleRates(t.Context(), c.Brokers())
	if diff := cmp.Diff(verdict{fault.Blocked, v1alpha1.ReasonNotAuthorized, false}, verdictOf(t, err)); diff != "" {
		t.Error(diff)
	}
}

func TestRatesDenied(t *testing.T) {
	c, client := model()
	for _, op := range []kmsg.ACLOperation{kmsg.ACLOperationDescribeConfigs, kmsg.ACLOperationAlterConfigs} {
		c.Deny(kafkatest.Denial{Operation: op, Resource: kmsg.ACLResourceTypeCluster})
	}
	rates := topic.Rates{Leader: topic.RateOf(1)}
	_, err := client.ThrottleRates(t.Context(), c.Brokers())
	for what, err := range map[string]error{
		"read": err, "set": client.SetDefaultRates(t.Context(), 1, rates), "delete": client.DeleteDefaultRates(t.Context(), 1, rates),
	} {
		if diff := cmp.Diff(verdict{fault.Blocked, v1alpha1.ReasonNotAuthorized, false}, verdictOf(t, err)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
		if fault.As(err).Detail != "" {
			t.Errorf("%s: the broker's words show: %v", what, err)
		}
	}
	want := []string{"ALTER_CONFIGS on the Cluster, to set the replication throttle", "DESCRIBE_CONFIGS on the Cluster, to see replication throttles"}
	if diff := cmp.Diff(want, client.MissingPermissions()); diff != "" {
		t.Error(diff)
	}
}

// Only the sides that are named are set and deleted; none is no request.
func TestDefaultRates(t *testing.T) {
	c, client := model()
	steps := []struct {
		do   func() error
		want map[string]string
	}{
		{func() error {
			return client.SetDefaultRates(t.Context(), 1, topic.Rates{Leader: topic.RateOf(5), Follower: topic.RateOf(0)})
		}, map[string]string{topic.LeaderThrottledRate: "5", topic.FollowerThrottledRate: "0"}},
		{func() error { return client.SetDefaultRates(t.Context(), 1, topic.Rates{Follower: topic.RateOf(6)}) },
			map[string]string{topic.LeaderThrottledRate: "5", topic.FollowerThrottledRate: "6"}},
		{func() error { return client.DeleteDefaultRates(t.Context(), 1, topic.Rates{Leader: topic.RateOf(1)}) },
			map[string]string{topic.FollowerThrottledRate: "6"}},
		{func() error { return client.DeleteDefaultRates(t.Context(), 1, topic.Rates{}) },
			map[string]string{topic.FollowerThrottledRate: "6"}},
	}
	for i, s := range steps {
		if err := s.do(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s.want, c.ClusterConfigs()); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
	}
	if n := c.Requests().Writes[kmsg.IncrementalAlterConfigs]; n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
	c.Fail(kafkatest.Fault{APIKey: kmsg.IncrementalAlterConfigs, Drop: true})
	err := client.DeleteDefaultRates(t.Context(), 1, topic.Rates{Follower: topic.RateOf(6)})
	if f := fault.As(err); f == nil || !f.Uncertain {
		t.Errorf("a lost answer gives %v", err)
	}
}

func TestLogDirs(t *testing.T) {
	var asked []int
	s := scripted(kmsg.DescribeLogDirs, reply(func(req *kmsg.DescribeLogDirsRequest, resp *kmsg.DescribeLogDirsResponse) {
		asked = append(asked, len(req.Topics[0].Partitions))
		row := func(p int32, size int64, future bool) kmsg.DescribeLogDirsResponseDirTopic {
			return kmsg.DescribeLogDirsResponseDirTopic{Topic: "orders", Partitions: []kmsg.DescribeLogDirsResponseDirTopicPartition{
				{Partition: p, Size: size, OffsetLag: size / 10, IsFuture: future},
			}}
		}
		resp.Dirs = []kmsg.DescribeLogDirsResponseDir{
			{Dir: "/a", Topics: []kmsg.DescribeLogDirsResponseDirTopic{row(0, 100, false), row(1, 50, true)}},
			{Dir: "/b", Topics: []kmsg.DescribeLogDirsResponseDirTopic{row(1, 200, false), row(0, 70, true)}},
			{Dir: "/c", ErrorCode: kerr.KafkaStorageError.Code},
		}
	}))
	c := NewClient(s, Options{})
	var partitions []topic.TopicPartition
	for i := range int32(2500) {
		partitions = append(partitions, tp("orders", i))
	}
	got, err := c.LogDirs(t.Context(), 7, partitions)
	if err != nil {
		t.Fatal(err)
	}
	want := map[topic.TopicPartition]topic.ReplicaSize{tp("orders", 0): {Bytes: 100, OffsetLag: 10}, tp("orders", 1): {Bytes: 200, OffsetLag: 20}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(asked, []int{2000, 500}) || !slices.Equal(s.to, []int32{7, 7}) {
		t.Errorf("asked for %v of %v", asked, s.to)
	}
	// No topic would mean all.
	if got, err := c.LogDirs(t.Context(), 7, nil); err != nil || len(got) != 0 || len(s.sent) != 2 {
		t.Errorf("%v, %v after %d requests", got, err, len(s.sent))
	}
}

func TestLogDirsDenied(t *testing.T) {
	c, client := model("orders")
	c.Deny(kafkatest.Denial{Operation: kmsg.ACLOperationDescribe, Resource: kmsg.ACLResourceTypeCluster})
	_, err := client.LogDirs(t.Context(), 1, []topic.TopicPartition{tp("orders", 0)})
	if diff := cmp.Diff(verdict{fault.Blocked, v1alpha1.ReasonNotAuthorized, false}, verdictOf(t, err)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"DESCRIBE on the Cluster, to see the sizes of replicas"}, client.MissingPermissions()); diff != "" {
		t.Error(diff)
	}
	c.AllowAll()
	c.SetSize("orders", 0, 77)
	got, err := client.LogDirs(t.Context(), 3, []topic.TopicPartition{tp("orders", 0)})
	if err != nil || got[tp("orders", 0)].Bytes != 77 || len(client.MissingPermissions()) != 0 {
		t.Errorf("%v, %v, missing %q", got, err, client.MissingPermissions())
	}
}
