package kafkatest

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Cluster is one Kafka cluster. All methods may be called from many goroutines; each takes effect as a whole.
type Cluster struct {
	mu     sync.Mutex
	opts   Options
	w      *world
	views  map[int32]*view // brokers whose metadata is late
	links  map[int32]*link
	all    link // applies to every broker
	faults []*Armed
	policy Policy
	denied []Denial
	fixed  map[string]bool // read-only topic configs
	own    map[string]bool // topics that the brokers flag as internal
	count  counters
	asked  int // answers that named some broker as controller
}

// New makes a cluster.
func New(o Options) *Cluster {
	o = o.withDefaults()
	c := &Cluster{opts: o, views: map[int32]*view{}, links: map[int32]*link{}, fixed: map[string]bool{}, own: map[string]bool{}, count: newCounters()}
	c.w = newWorld(o)
	return c
}

// Policy is the cluster's create.topic.policy.class.name and alter.config.policy.class.name: an error refuses with
// POLICY_VIOLATION and its text. Nil functions allow everything.
type Policy struct {
	Create func(topic string, assignments [][]int32, configs map[string]string) error
	Alter  func(topic string, configs map[string]string) error
}

// SetPolicy installs a policy.
func (c *Cluster) SetPolicy(p Policy) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.policy = p
}

// update runs one mutation, lets settle what needs no time, and publishes the change to every broker but the late ones.
func (c *Cluster) update(mutate func(*world)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.commit(mutate)
}

func (c *Cluster) commit(mutate func(*world)) {
	mutate(c.w)
	c.w.settle(false)
	if c.w.pending.empty() {
		return
	}
	d := c.w.pending
	c.w.pending = delta{}
	c.w.commits++
	for _, v := range c.views {
		v.push(d)
	}
}

// Tick is one step of time: replicas come closer to ISR, and the controller's periodic unclean election runs for the
// topics that allow it (Kafka: unclean.leader.election.interval.ms, five minutes by default).
func (c *Cluster) Tick() {
	c.update(func(w *world) { w.settle(true) })
}

// Commits counts the changes of the cluster's state so far, whoever made them.
func (c *Cluster) Commits() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.w.commits
}

// call is one request being answered.
type call struct {
	c      *Cluster
	w      *world
	see    *image // what the asked broker knows
	broker int32
	late   *view // why it knows less; nil
	// inherited are the topic configs that topics have from the broker.
	inherited map[string]kmsg.DescribeConfigsResponseResourceConfig
}

// read answers a decoded request that changes nothing; the cluster's lock is held.
func (k *call) read(req kmsg.Request) kmsg.Response {
	switch r := req.(type) {
	case *kmsg.ApiVersionsRequest:
		return k.apiVersions(r)
	case *kmsg.DescribeClusterRequest:
		return k.describeCluster(r)
	case *kmsg.MetadataRequest:
		return k.metadata(r)
	case *kmsg.DescribeTopicPartitionsRequest:
		return k.describeTopicPartitions(r)
	case *kmsg.DescribeConfigsRequest:
		return k.describeConfigs(r)
	case *kmsg.ListPartitionReassignmentsRequest:
		return k.listReassignments(r)
	case *kmsg.ListOffsetsRequest:
		return k.listOffsets(r)
	case *kmsg.DescribeLogDirsRequest:
		return k.describeLogDirs(r)
	}
	return nil
}

// mutate answers a decoded request that may change the cluster; it runs inside a commit.
func (k *call) mutate(req kmsg.Request) kmsg.Response {
	switch r := req.(type) {
	case *kmsg.CreateTopicsRequest:
		return k.createTopics(r)
	case *kmsg.CreatePartitionsRequest:
		return k.createPartitions(r)
	case *kmsg.DeleteTopicsRequest:
		return k.deleteTopics(r)
	case *kmsg.IncrementalAlterConfigsRequest:
		return k.alterConfigs(r)
	case *kmsg.AlterPartitionAssignmentsRequest:
		return k.reassign(r)
	case *kmsg.ElectLeadersRequest:
		return k.electLeaders(r)
	}
	return nil
}

// apiKeys are the APIs the brokers answer, with the newest version the model knows.
var apiKeys = func() map[int16]int16 {
	m := map[int16]int16{}
	for _, k := range []kmsg.Key{
		kmsg.ApiVersions, kmsg.DescribeCluster, kmsg.Metadata, kmsg.DescribeTopicPartitions, kmsg.DescribeConfigs,
		kmsg.ListPartitionReassignments, kmsg.ListOffsets, kmsg.DescribeLogDirs, kmsg.CreateTopics, kmsg.CreatePartitions, kmsg.DeleteTopics,
		kmsg.IncrementalAlterConfigs, kmsg.AlterPartitionAssignments, kmsg.ElectLeaders,
	} {
		m[k.Int16()] = kmsg.RequestForKey(k.Int16()).MaxVersion()
	}
	return m
}()

// maxVersion is the newest version the brokers take of an API, -1 if they lack it.
func (c *Cluster) maxVersion(key int16) int16 {
	most, ok := apiKeys[key]
	if !ok {
		return -1
	}
	if limit, ok := c.opts.MaxVersions[key]; ok {
		return min(most, limit)
	}
	return most
}

func mutates(key int16) bool {
	switch kmsg.Key(key) {
	case kmsg.CreateTopics, kmsg.CreatePartitions, kmsg.DeleteTopics, kmsg.IncrementalAlterConfigs,
		kmsg.AlterPartitionAssignments, kmsg.ElectLeaders:
		return true
	default:
		return false
	}
}
