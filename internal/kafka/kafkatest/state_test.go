package kafkatest_test

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

// elr are options with eligible leader replicas and a minimum of two.
func elr() kafkatest.Options { return kafkatest.Options{ELR: true, MinInSyncReplicas: "2"} }

func TestReturnToISR(t *testing.T) {
	for name, c := range map[string]struct {
		ticks int
		want  [][]int32 // ISR after the return and after each tick
	}{
		"at once":   {0, [][]int32{{1, 5, 3}, {1, 5, 3}, {1, 5, 3}}},
		"one tick":  {1, [][]int32{{1, 5}, {1, 5, 3}, {1, 5, 3}}},
		"two ticks": {2, [][]int32{{1, 5}, {1, 5}, {1, 5, 3}}},
		"never":     {kafkatest.Never, [][]int32{{1, 5}, {1, 5}, {1, 5}}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := seed(kafkatest.Options{CatchUpTicks: c.ticks}, "orders")
			cluster.Fence(3)
			cluster.Tick()
			cluster.Tick() // time that passes while it is away does not count
			cluster.Unfence(3)
			for i, want := range c.want {
				if i > 0 {
					cluster.Tick()
				}
				equal(t, "ISR", want, isr(cluster, "orders"))
			}
			cluster.CatchUp("orders")
			equal(t, "ISR after CatchUp", []int32{1, 5, 3}, isr(cluster, "orders"))
		})
	}
}

func TestMoveTakesTicks(t *testing.T) {
	for name, c := range map[string]struct {
		ticks int
		want  []bool // still moving after the request and after each tick
	}{
		"at once":   {0, []bool{false, false, false}},
		"two ticks": {2, []bool{true, true, false}},
		"never":     {kafkatest.Never, []bool{true, true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := seed(kafkatest.Options{MoveTicks: c.ticks}, "orders")
			ask[*kmsg.AlterPartitionAssignmentsResponse](t, cluster, 1, moveRequest("orders", []int32{2, 3, 5}))
			for i, want := range c.want {
				if i > 0 {
					cluster.Tick()
				}
				equal(t, "still moving", want, cluster.Partition("orders", 0).Reassigning())
			}
			cluster.CatchUp("orders")
			is(t, "afterwards", cluster, "orders", topic.Partition{Leader: 2, LeaderEpoch: 1, Replicas: []int32{2, 3, 5}, ISR: []int32{3, 5, 2}})
		})
	}
}

func TestSetISRLasts(t *testing.T) {
	c := seed(elr(), "orders")
	c.SetISR("orders", 0, 3)
	want := topic.Partition{Leader: 3, LeaderEpoch: 1, Replicas: []int32{1, 3, 5}, ISR: []int32{3}, ELR: []int32{1, 5}}
	is(t, "set", c, "orders", want)
	c.Tick()
	is(t, "after a tick", c, "orders", want)
	c.SetISR("orders", 0, 3, 5)
	is(t, "set again", c, "orders", topic.Partition{Leader: 3, LeaderEpoch: 1, Replicas: []int32{1, 3, 5}, ISR: []int32{3, 5}})
	c.CatchUp("orders")
	equal(t, "ISR after CatchUp", []int32{3, 5, 1}, isr(c, "orders"))
}

func TestSetStatesWithoutRules(t *testing.T) {
	c := seed(elr(), "orders")
	c.SetELR("orders", 0, []int32{5}, []int32{3})
	is(t, "SetELR", c, "orders", topic.Partition{Leader: 1, Replicas: []int32{1, 3, 5}, ISR: []int32{1, 3, 5}, ELR: []int32{5}, LastKnownELR: []int32{3}})
	offline := topic.Partition{Leader: topic.NoLeader, LeaderEpoch: 7, Replicas: []int32{1, 3, 5}, ELR: []int32{3}, LastKnownELR: []int32{1}}
	c.SetPartition("orders", offline)
	c.Tick()
	is(t, "SetPartition", c, "orders", offline)
}

// TestWithoutELR: the last in-sync replica stays in ISR, and only it can lead again.
func TestWithoutELR(t *testing.T) {
	c := kafkatest.New(kafkatest.Options{MinInSyncReplicas: "2"})
	c.CreateTopicByHand("orders", [][]int32{{1, 3}}, nil)
	c.CreateTopicByHand("page-views", [][]int32{{1, 3}}, map[string]string{topic.UncleanLeaderElection: "true"})
	c.Fence(3)
	c.Kill(1)
	offline := topic.Partition{Leader: topic.NoLeader, LeaderEpoch: 1, Replicas: []int32{1, 3}, ISR: []int32{1}}
	is(t, "orders", c, "orders", offline)
	c.Unfence(3)
	is(t, "orders with a stale replica", c, "orders", offline)
	is(t, "page-views with a stale replica", c, "page-views", topic.Partition{Leader: 3, LeaderEpoch: 2, Replicas: []int32{1, 3}, ISR: []int32{3}})
	c.Start(1) // an unclean shutdown costs nothing without eligible leader replicas
	is(t, "orders", c, "orders", topic.Partition{Leader: 1, LeaderEpoch: 2, Replicas: []int32{1, 3}, ISR: []int32{1, 3}})
}

func TestUnregister(t *testing.T) {
	c := kafkatest.New(elr())
	c.CreateTopicByHand("orders", [][]int32{{1, 3}}, nil)
	c.Kill(3)
	is(t, "killed", c, "orders", topic.Partition{Leader: 1, Replicas: []int32{1, 3}, ISR: []int32{1}, ELR: []int32{3}})
	c.Unregister(3)
	is(t, "unregistered", c, "orders", topic.Partition{Leader: 1, Replicas: []int32{1, 3}, ISR: []int32{1}})
	resp := ask[*kmsg.AlterPartitionAssignmentsResponse](t, c, 1, moveRequest("orders", []int32{3, 1}))
	equal(t, "reorder", "INVALID_REPLICA_ASSIGNMENT", code(resp.Topics[0].Partitions[0].ErrorCode))
	all := kmsg.NewPtrDescribeClusterRequest()
	all.IncludeFencedBrokers = true
	for _, b := range ask[*kmsg.DescribeClusterResponse](t, c, 1, all).Brokers {
		if b.NodeID == 3 {
			t.Errorf("broker 3 is still registered")
		}
	}
}

func TestRegister(t *testing.T) {
	c := seed(kafkatest.Options{}, "orders")
	c.Unregister(3)
	equal(t, "without broker 3", []int32{1, 5}, isr(c, "orders"))
	c.Register(topic.Broker{ID: 3, Rack: "z"}, topic.Broker{ID: 7, Rack: "d"})
	equal(t, "with broker 3", []int32{1, 5, 3}, isr(c, "orders"))
	c.SetRack(5, "d")
	c.Register(topic.Broker{ID: 1, Rack: "a", Fenced: true})
	equal(t, "broker 1 is fenced", []int32{5, 3}, isr(c, "orders"))
	var racks []string
	for _, b := range c.Brokers() {
		racks = append(racks, b.Rack)
	}
	equal(t, "racks", []string{"a", "a", "z", "b", "d", "c", "d"}, racks)
}

func TestCordonedBroker(t *testing.T) {
	c := seed(kafkatest.Options{}, "orders")
	c.SetBrokerConfig(5, "cordoned.log.dirs", "*")
	for name, x := range map[string]struct {
		replicas []int32
		want     string
	}{
		"reorder that keeps it": {[]int32{3, 1, 5}, "INVALID_REPLICA_ASSIGNMENT"},
		"drop it":               {[]int32{1, 3}, "NONE"},
	} {
		resp := ask[*kmsg.AlterPartitionAssignmentsResponse](t, c, 1, moveRequest("orders", x.replicas))
		equal(t, name, x.want, code(resp.Topics[0].Partitions[0].ErrorCode))
	}
	createCodes(t, c, "new")
	if slices.Contains(c.Partition("new", 0).Replicas, 5) {
		t.Errorf("a new replica is on the cordoned broker: %v", c.Partition("new", 0).Replicas)
	}
}

// TestCancelWithoutOldReplicas: cancelling is refused where it would leave no in-sync replica.
func TestCancelWithoutOldReplicas(t *testing.T) {
	for name, c := range map[string]struct {
		configs map[string]string
		want    string
	}{
		"clean":   {nil, "INVALID_REPLICA_ASSIGNMENT"},
		"unclean": {map[string]string{topic.UncleanLeaderElection: "true"}, "NONE"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := kafkatest.New(kafkatest.Options{MoveTicks: 1})
			cluster.CreateTopicByHand("orders", [][]int32{{1}}, c.configs)
			cluster.Fence(6)
			cluster.MoveByHand("orders", 0, []int32{3, 6})
			cluster.Tick() // 3 is in sync, 6 is fenced
			cluster.Fence(1)
			resp := ask[*kmsg.AlterPartitionAssignmentsResponse](t, cluster, 2, moveRequest("orders", nil))
			equal(t, "cancel", c.want, code(resp.Topics[0].Partitions[0].ErrorCode))
		})
	}
}

func TestPlacement(t *testing.T) {
	for name, c := range map[string]struct {
		racks  []string
		fence  []int32
		factor int16
		want   string
		racked int // racks that every partition spans; 0: not checked
	}{
		"three racks":              {[]string{"a", "a", "b", "b", "c", "c"}, nil, 3, "NONE", 3},
		"more replicas than racks": {[]string{"a", "a", "b", "b", "c", "c"}, nil, 5, "NONE", 3},
		"one broker per rack":      {[]string{"a", "b", "c"}, nil, 3, "NONE", 3},
		"no racks":                 {[]string{"", "", ""}, nil, 3, "NONE", 1},
		"a fenced rack":            {[]string{"a", "b", "c"}, []int32{3}, 3, "NONE", 3},
		"too few brokers":          {[]string{"a", "b"}, nil, 3, "INVALID_REPLICATION_FACTOR", 0},
		"all fenced":               {[]string{"a", "b"}, []int32{1, 2}, 1, "INVALID_REPLICATION_FACTOR", 0},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := kafkatest.New(kafkatest.Options{Racks: c.racks})
			cluster.Fence(c.fence...)
			req := createRequest("orders")
			req.Topics[0].NumPartitions, req.Topics[0].ReplicationFactor = 12, c.factor
			equal(t, "code", c.want, code(ask[*kmsg.CreateTopicsResponse](t, cluster, 1, req).Topics[0].ErrorCode))
			made, _ := cluster.Topic("orders")
			for _, p := range made.Partitions {
				spanned := map[string]bool{}
				for _, id := range p.Replicas {
					spanned[c.racks[id-1]] = true
				}
				if slices.Contains(c.fence, p.Leader) || len(spanned) != c.racked || len(p.Replicas) != int(c.factor) {
					t.Errorf("partition %d: %+v over %d racks, want %d", p.Index, p, len(spanned), c.racked)
				}
			}
		})
	}
}

func TestForeignEdits(t *testing.T) {
	c := seed(elr(), "orders")
	c.SetTopicConfig("orders", topic.MinInSyncReplicas, "1")
	equal(t, "effective", "1", c.EffectiveConfig("orders", topic.MinInSyncReplicas))
	value, ok := c.TopicConfig("orders", topic.MinInSyncReplicas)
	equal(t, "own value", "1", value)
	equal(t, "own value is there", true, ok)
	c.DeleteTopicConfig("orders", topic.MinInSyncReplicas)
	equal(t, "effective after deletion", "2", c.EffectiveConfig("orders", topic.MinInSyncReplicas))
	c.SetClusterConfig(topic.UncleanLeaderElection, "true")
	equal(t, "inherited", "true", c.EffectiveConfig("orders", topic.UncleanLeaderElection))
	equal(t, "cluster configs", map[string]string{topic.MinInSyncReplicas: "2", topic.UncleanLeaderElection: "true"}, c.ClusterConfigs())
	c.DeleteClusterConfig(topic.UncleanLeaderElection)

	c.AddPartitionsByHand("orders", []int32{2, 4, 6})
	c.MoveByHand("orders", 0, []int32{3, 1, 5})
	got, _ := c.Topic("orders")
	equal(t, "partitions", []topic.Partition{
		{Leader: 1, Replicas: []int32{3, 1, 5}, ISR: []int32{1, 3, 5}},
		{Index: 1, Leader: 2, Replicas: []int32{2, 4, 6}, ISR: []int32{2, 4, 6}},
	}, got.Partitions)
	c.DeleteTopicByHand("orders")
	again := c.CreateTopicByHand("orders", [][]int32{{1}}, map[string]string{"retention.ms": "5"})
	if again == got.ID {
		t.Errorf("the topic created again has the same ID")
	}
	got, _ = c.Topic("orders")
	equal(t, "configs", map[string]topic.Config{"retention.ms": {Value: "5", Type: topic.TypeLong, OnTopic: true}}, got.Configs)
	c.ReplaceClusterID("another")
	equal(t, "cluster ID", "another", ask[*kmsg.DescribeClusterResponse](t, c, 1, kmsg.NewPtrDescribeClusterRequest()).ClusterID)
}

func TestWrongHandsPanic(t *testing.T) {
	for name, do := range map[string]func(*kafkatest.Cluster){
		"unknown topic":     func(c *kafkatest.Cluster) { c.DeleteTopicByHand("none") },
		"unknown partition": func(c *kafkatest.Cluster) { c.SetISR("orders", 4, 1) },
		"taken name":        func(c *kafkatest.Cluster) { c.CreateTopicByHand("orders", [][]int32{{1}}, nil) },
		"unknown broker":    func(c *kafkatest.Cluster) { c.CreateTopicByHand("new", [][]int32{{99}}, nil) },
		"impossible move":   func(c *kafkatest.Cluster) { c.MoveByHand("orders", 0, []int32{1, 1}) },
		"impossible value":  func(c *kafkatest.Cluster) { c.SetTopicConfig("orders", "min.insync.replicas", "0") },
	} {
		t.Run(name, func(t *testing.T) {
			c := seed(kafkatest.Options{}, "orders")
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("no panic")
					}
				}()
				do(c)
			}()
			equal(t, "topics afterwards", []string{"orders"}, c.TopicNames())
		})
	}
}

func TestLogEnds(t *testing.T) {
	c := seed(kafkatest.Options{}, "orders")
	c.SetLogEnd("orders", 0, 0, 20) // high watermark
	c.SetLogEnd("orders", 0, 1, 25)
	c.SetLogEnd("orders", 0, 3, 22)
	for name, x := range map[string]struct {
		broker, replica int32
		want            int64
	}{
		"client at the leader":    {1, -1, 20},
		"client at a follower":    {3, -1, -1},
		"debug at the leader":     {1, -2, 25},
		"debug at a follower":     {3, -2, 22},
		"debug without a replica": {2, -2, -1},
	} {
		got := ask[*kmsg.ListOffsetsResponse](t, c, x.broker, offsetsRequest(x.replica, "orders"))
		equal(t, name, x.want, got.Topics[0].Partitions[0].Offset)
	}
}

// TestStopIsNoUncleanShutdown: a broker that was stopped in order stays eligible, one that was killed does not.
func TestStopIsNoUncleanShutdown(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(*kafkatest.Cluster, int32)
		want topic.Partition
	}{
		"stopped": {(*kafkatest.Cluster).Stop, topic.Partition{Leader: 3, LeaderEpoch: 2, Replicas: []int32{1, 3}, ISR: []int32{3}, ELR: []int32{1}}},
		"paused":  {(*kafkatest.Cluster).Pause, topic.Partition{Leader: 3, LeaderEpoch: 2, Replicas: []int32{1, 3}, ISR: []int32{3}, ELR: []int32{1}}},
		"killed":  {(*kafkatest.Cluster).Kill, topic.Partition{Leader: topic.NoLeader, LeaderEpoch: 1, Replicas: []int32{1, 3}, ELR: []int32{1}, LastKnownELR: []int32{1}}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := kafkatest.New(elr())
			cluster.CreateTopicByHand("orders", [][]int32{{1, 3}}, nil)
			c.end(cluster, 3)
			cluster.Fence(1)
			cluster.Start(3)
			is(t, "orders", cluster, "orders", c.want)
		})
	}
}
