package kafkatest_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

// throttle throttles both sides of a topic's copies from one broker to others.
func throttle(c *kafkatest.Cluster, name, leader, follower string) {
	if leader != "" {
		c.SetTopicConfig(name, topic.LeaderThrottledReplicas, leader)
	}
	if follower != "" {
		c.SetTopicConfig(name, topic.FollowerThrottledReplicas, follower)
	}
}

// A side throttles with a rate and an entry only; the slower of both sides counts, and of it a share.
func TestThrottledCopy(t *testing.T) {
	const leader, follower = topic.LeaderThrottledRate, topic.FollowerThrottledRate
	for name, c := range map[string]struct {
		cluster  map[string]string
		broker   map[int32]map[string]string
		lists    [2]string
		perTick  int64 // Options.CopyBytesPerTick
		wantTick [2]int64
	}{
		"no throttle":             {perTick: 40, wantTick: [2]int64{40, 40}},
		"no bound at all":         {wantTick: [2]int64{100, 100}},
		"rates without entries":   {cluster: map[string]string{leader: "10", follower: "10"}, perTick: 40, wantTick: [2]int64{40, 40}},
		"entries without rates":   {lists: [2]string{"0:1", "0:2,0:4"}, perTick: 40, wantTick: [2]int64{40, 40}},
		"the leader's side":       {cluster: map[string]string{leader: "10"}, lists: [2]string{"0:1", ""}, wantTick: [2]int64{5, 5}},
		"another leader's side":   {cluster: map[string]string{leader: "10"}, lists: [2]string{"0:3,0:2,1:1", ""}, perTick: 40, wantTick: [2]int64{40, 40}},
		"one follower's side":     {cluster: map[string]string{follower: "10"}, lists: [2]string{"", "0:2"}, perTick: 40, wantTick: [2]int64{10, 40}},
		"both sides":              {cluster: map[string]string{leader: "16", follower: "10"}, lists: [2]string{"*", "*"}, wantTick: [2]int64{8, 8}},
		"a broker's own rate":     {cluster: map[string]string{follower: "10"}, broker: map[int32]map[string]string{4: {follower: "30"}}, lists: [2]string{"", "*"}, wantTick: [2]int64{10, 30}},
		"a rate of nothing":       {cluster: map[string]string{follower: "0"}, lists: [2]string{"", "*"}, wantTick: [2]int64{0, 0}},
		"slower than the network": {cluster: map[string]string{follower: "50"}, lists: [2]string{"", "*"}, perTick: 40, wantTick: [2]int64{40, 40}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := kafkatest.New(kafkatest.Options{CopyBytesPerTick: c.perTick, MoveTicks: kafkatest.Never})
			cluster.CreateTopicByHand("orders", [][]int32{{1}, {3}}, nil)
			cluster.SetSize("orders", 0, 100)
			for key, value := range c.cluster {
				cluster.SetClusterConfig(key, value)
			}
			for id, rates := range c.broker {
				for key, value := range rates {
					cluster.SetBrokerConfig(id, key, value)
				}
			}
			throttle(cluster, "orders", c.lists[0], c.lists[1])
			cluster.MoveByHand("orders", 0, []int32{1, 2, 4})
			cluster.Tick()
			equal(t, "copied", c.wantTick, [2]int64{cluster.ReplicaSize("orders", 0, 2), cluster.ReplicaSize("orders", 0, 4)})
		})
	}
}

// A new replica gets into sync with the last byte; the log may grow meanwhile.
func TestCopyToTheEnd(t *testing.T) {
	c := kafkatest.New(kafkatest.Options{CopyBytesPerTick: 40})
	c.CreateTopicByHand("orders", [][]int32{{1}}, nil)
	c.SetSize("orders", 0, 60)
	c.MoveByHand("orders", 0, []int32{2})
	c.Tick()
	c.SetSize("orders", 0, 100)
	var got []int64
	for c.Partition("orders", 0).Reassigning() && len(got) < 9 {
		got = append(got, c.ReplicaSize("orders", 0, 2))
		c.Tick()
	}
	equal(t, "copied tick by tick", []int64{40, 80}, got)
	is(t, "moved", c, "orders", topic.Partition{Leader: 2, LeaderEpoch: 1, Replicas: []int32{2}, ISR: []int32{2}})
	equal(t, "whole", 100, c.ReplicaSize("orders", 0, 2))
	equal(t, "gone", 0, c.ReplicaSize("orders", 0, 1))
}

// A replica that falls out of sync lacks what came since. One that is dropped begins from nothing.
func TestCopyAgain(t *testing.T) {
	c := kafkatest.New(kafkatest.Options{CopyBytesPerTick: 10})
	c.CreateTopicByHand("orders", [][]int32{{1, 2}}, nil)
	c.SetSize("orders", 0, 100)
	c.Fence(2)
	c.SetSize("orders", 0, 115)
	equal(t, "what it had", 100, c.ReplicaSize("orders", 0, 2))
	c.Tick()
	equal(t, "nothing while it is away", 100, c.ReplicaSize("orders", 0, 2))
	c.Unfence(2)
	c.Tick()
	equal(t, "nearly", []int32{1}, isr(c, "orders"))
	c.Tick()
	equal(t, "back", []int32{1, 2}, isr(c, "orders"))
	c.MoveByHand("orders", 0, []int32{1})
	c.MoveByHand("orders", 0, []int32{1, 2})
	equal(t, "from nothing", 0, c.ReplicaSize("orders", 0, 2))
	c.Tick()
	equal(t, "copied", 10, c.ReplicaSize("orders", 0, 2))
	c.MoveByHand("orders", 0, nil) // what was copied is given up
	c.MoveByHand("orders", 0, []int32{1, 2})
	equal(t, "from nothing again", 0, c.ReplicaSize("orders", 0, 2))
}

// A longer list raises the minimum at once, a test can let one replica after the other catch up.
func TestRaiseStepByStep(t *testing.T) {
	c := kafkatest.New(kafkatest.Options{MinInSyncReplicas: "2", MoveTicks: kafkatest.Never})
	c.CreateTopicByHand("orders", [][]int32{{1}, {1, 2, 3}}, nil)
	equal(t, "minimum of one replica", 1, c.EffectiveMinISR("orders", 0))
	equal(t, "minimum of three", 2, c.EffectiveMinISR("orders", 1))
	c.MoveByHand("orders", 0, []int32{1, 3, 5})
	equal(t, "minimum at once", 2, c.EffectiveMinISR("orders", 0))
	c.CatchUpReplica("orders", 0, 5)
	equal(t, "one in sync", []int32{1, 5}, isr(c, "orders"))
	equal(t, "still running", true, c.Partition("orders", 0).Reassigning())
	c.CatchUpReplica("orders", 0, 3)
	is(t, "both in sync", c, "orders", topic.Partition{Leader: 1, Replicas: []int32{1, 3, 5}, ISR: []int32{1, 5, 3}})
}

func logDirs(t *testing.T, c *kafkatest.Cluster, broker int32, topics []kmsg.DescribeLogDirsRequestTopic) map[string]int64 {
	t.Helper()
	req := kmsg.NewPtrDescribeLogDirsRequest()
	req.Topics = topics
	resp := ask[*kmsg.DescribeLogDirsResponse](t, c, broker, req)
	got := map[string]int64{}
	if resp.ErrorCode != 0 {
		got[code(resp.ErrorCode)] = 0
	}
	for _, d := range resp.Dirs {
		for _, x := range d.Topics {
			for _, p := range x.Partitions {
				got[topic.TopicPartition{Topic: x.Topic, Partition: p.Partition}.String()] = p.Size
			}
		}
	}
	return got
}

func TestLogDirs(t *testing.T) {
	c := kafkatest.New(kafkatest.Options{})
	c.CreateTopicByHand("orders", [][]int32{{1, 2}, {1}, {2}}, nil)
	c.CreateTopicByHand("payments", [][]int32{{1}}, nil)
	c.SetSize("orders", 0, 7)
	equal(t, "all", map[string]int64{"orders-0": 7, "orders-1": 0, "payments-0": 0}, logDirs(t, c, 1, nil))
	named := []kmsg.DescribeLogDirsRequestTopic{{Topic: "orders", Partitions: []int32{0, 2, 9}}, {Topic: "none", Partitions: []int32{0}}}
	equal(t, "named", map[string]int64{"orders-0": 7}, logDirs(t, c, 1, named))
	equal(t, "at another broker", map[string]int64{"orders-0": 7, "orders-2": 0}, logDirs(t, c, 2, named))
	equal(t, "without partitions", map[string]int64{}, logDirs(t, c, 1, []kmsg.DescribeLogDirsRequestTopic{{Topic: "orders"}}))
	c.Deny(kafkatest.Denial{Operation: kmsg.ACLOperationDescribe, Resource: kmsg.ACLResourceTypeCluster})
	equal(t, "not allowed", map[string]int64{"CLUSTER_AUTHORIZATION_FAILED": 0}, logDirs(t, c, 1, named))
	c.AllowAll()
	c.Fail(kafkatest.Fault{APIKey: kmsg.DescribeLogDirs, Code: -1, TopLevel: true})
	equal(t, "fault", map[string]int64{"UNKNOWN_SERVER_ERROR": 0}, logDirs(t, c, 1, named))
}
