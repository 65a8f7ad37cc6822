package kafkatest

import (
	"maps"
	"slices"
	"strconv"

	"durabletopic.io/operator/internal/core/topic"
)

// Topic gives a topic as the controller knows it, with the configs set on the topic itself as they were set, and
// whether it exists.
func (c *Cluster) Topic(name string) (topic.Topic, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.w.topics[name]
	if r == nil {
		return topic.Topic{}, false
	}
	t := topic.Topic{Name: name, ID: r.id, Internal: c.internal(name), Configs: map[string]topic.Config{}}
	for _, p := range r.parts {
		t.Partitions = append(t.Partitions, copyPartition(p))
	}
	for key, value := range r.configs {
		t.Configs[key] = topic.Config{Value: value, Type: topicConfigs[key].kind, OnTopic: true, ReadOnly: c.fixed[key]}
	}
	return t, true
}

// internal tells whether brokers flag a topic as their own. The caller holds c.mu.
func (c *Cluster) internal(name string) bool { return c.own[name] || topic.IsInternal(name) }

// Partition gives one partition of a topic that exists.
func (c *Cluster) Partition(name string, partition int32) topic.Partition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return copyPartition(c.w.mustPart(name, partition))
}

// EffectiveMinISR is how many replicas must be in sync for writes with acks=all: min.insync.replicas, but never more than
// the replica list is long, in which adding replicas count from the start (Partition.effectiveMinIsr).
func (c *Cluster) EffectiveMinISR(name string, partition int32) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, _ := strconv.Atoi(c.w.value(c.w.mustTopic(name), topic.MinInSyncReplicas))
	return min(n, len(c.w.mustPart(name, partition).Replicas))
}

// TopicNames are all topics in order.
func (c *Cluster) TopicNames() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.w.sortedNames()
}

// TopicConfig gives the value of a config that is set on a topic itself, and whether it is.
func (c *Cluster) TopicConfig(name, key string) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	value, ok := c.w.mustTopic(name).configs[key]
	return value, ok
}

// EffectiveConfig gives the value of a topic config, inherited or not.
func (c *Cluster) EffectiveConfig(name, key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.w.value(c.w.mustTopic(name), key)
}

// ClusterConfigs are the cluster-level dynamic broker configs.
func (c *Cluster) ClusterConfigs() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.w.defaults)
}

// Brokers are the registered brokers by ID.
func (c *Cluster) Brokers() []topic.Broker {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.w.sortedBrokers()
}

// ClusterID is the cluster's ID.
func (c *Cluster) ClusterID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opts.ClusterID
}

func copyPartition(p topic.Partition) topic.Partition {
	for _, list := range []*[]int32{&p.Replicas, &p.ISR, &p.ELR, &p.LastKnownELR, &p.Adding, &p.Removing} {
		*list = slices.Clone(*list)
	}
	return p
}
