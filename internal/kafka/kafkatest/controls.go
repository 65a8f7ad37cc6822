package kafkatest

import (
	"fmt"
	"slices"

	"durabletopic.io/operator/internal/core/topic"
)

// Fence takes brokers out of service in the metadata, one after the other: they leave ISR (into ELR where it is below
// the minimum) and lose leadership. They go on answering; Pause, Kill and Stop are the whole story.
func (c *Cluster) Fence(brokers ...int32) {
	for _, id := range brokers {
		c.update(func(w *world) { w.fence(id) })
	}
}

// Unfence brings brokers back into service, one after the other. A broker that was killed registers first, which takes
// it out of ELR and ISR.
func (c *Cluster) Unfence(brokers ...int32) {
	for _, id := range brokers {
		c.update(func(w *world) { w.unfence(id) })
	}
}

// Unregister removes brokers from the cluster; replica lists keep naming them.
func (c *Cluster) Unregister(brokers ...int32) {
	for _, id := range brokers {
		c.update(func(w *world) { w.unregister(id) })
	}
}

// Register adds brokers or changes their racks.
func (c *Cluster) Register(brokers ...topic.Broker) {
	for _, b := range brokers {
		c.update(func(w *world) {
			if old, ok := w.brokers[b.ID]; ok && !b.Fenced && old.Fenced {
				old.Rack = b.Rack
				w.putBroker(old)
				w.unfence(b.ID)
				return
			}
			w.putBroker(b)
			if b.Fenced {
				w.depart(departure{leaves: b.ID, dirty: noBroker}, inISR(b.ID))
			}
		})
	}
}

// SetRack changes the rack of a broker.
func (c *Cluster) SetRack(broker int32, rack string) {
	c.update(func(w *world) {
		b := w.brokers[broker]
		b.ID, b.Rack = broker, rack
		w.putBroker(b)
	})
}

// SetISR sets the in-sync replicas of a partition, in this order. Live replicas left out stay out until CatchUp or
// another SetISR, whatever Tick does. The leader stays if it is in the list, else one is elected; an empty list needs
// eligible leader replicas.
func (c *Cluster) SetISR(name string, partition int32, isr ...int32) {
	c.update(func(w *world) {
		p := w.mustPart(name, partition)
		for _, id := range p.Replicas {
			at := spot{w.topics[name].id, partition, id}
			delete(w.stalled, at)
			if !slices.Contains(isr, id) {
				w.stalled[at] = true
			}
		}
		ch := changeOf(p)
		ch.isr = isr
		w.apply(name, partition, ch)
	})
}

// SetELR sets the eligible leader replicas and the last known leader as they are, without any rule: for states that
// are hard to come by.
func (c *Cluster) SetELR(name string, partition int32, elr, lastKnown []int32) {
	c.update(func(w *world) {
		p := w.mustPart(name, partition)
		p.ELR, p.LastKnownELR = slices.Clone(elr), slices.Clone(lastKnown)
		w.put(w.topics[name].withPart(p))
	})
}

// SetPartition replaces a partition as it is, without any rule. Live replicas outside ISR stay out until CatchUp.
func (c *Cluster) SetPartition(name string, p topic.Partition) {
	c.update(func(w *world) {
		w.keepCopies(w.topics[name], w.mustPart(name, p.Index), p)
		for _, id := range p.Replicas {
			at := spot{w.topics[name].id, p.Index, id}
			delete(w.stalled, at)
			if !slices.Contains(p.ISR, id) {
				w.stalled[at] = true
			}
		}
		w.put(w.topics[name].withPart(copyPartition(p)))
	})
}

// CatchUp puts every live replica of a topic into ISR, adding ones too, whatever time they would need.
func (c *Cluster) CatchUp(name string) {
	c.update(func(w *world) {
		r := w.mustTopic(name)
		for i := range r.parts {
			for _, id := range r.parts[i].Replicas {
				delete(w.stalled, spot{r.id, int32(i), id})
				if w.topics[name].parts[i].Leader != topic.NoLeader && w.active(id) {
					w.join(name, int32(i), id)
				}
			}
		}
	})
}

// CatchUpReplica puts one live replica of a partition into ISR, an adding one too, whatever time it would need.
func (c *Cluster) CatchUpReplica(name string, partition, broker int32) {
	c.update(func(w *world) {
		p := w.mustPart(name, partition)
		delete(w.stalled, spot{w.topics[name].id, partition, broker})
		if !leaderless(p) && w.active(broker) {
			w.join(name, partition, broker)
		}
	})
}

// SetTopicConfig is somebody else's edit of a topic config; it is subject to the same rules, and panics if the value is
// not valid.
func (c *Cluster) SetTopicConfig(name, key, value string) {
	c.update(func(w *world) {
		w.mustTopic(name)
		if why := validateTopicConfigs(map[string]string{key: value}); why != "" {
			panic("kafkatest: " + string(why))
		}
		w.setTopicConfig(name, key, &value)
	})
}

// DeleteTopicConfig is somebody else's removal of a topic config.
func (c *Cluster) DeleteTopicConfig(name, key string) {
	c.update(func(w *world) {
		w.mustTopic(name)
		w.setTopicConfig(name, key, nil)
	})
}

// SetClusterConfig sets a cluster-level dynamic broker config.
func (c *Cluster) SetClusterConfig(key, value string) {
	c.update(func(w *world) { w.setDefault(key, &value) })
}

// DeleteClusterConfig removes a cluster-level dynamic broker config.
func (c *Cluster) DeleteClusterConfig(key string) {
	c.update(func(w *world) { w.setDefault(key, nil) })
}

// SetBrokerConfig sets a dynamic config of one broker.
func (c *Cluster) SetBrokerConfig(broker int32, key, value string) {
	c.update(func(w *world) { w.setNode(broker, key, &value) })
}

// SetReadOnly marks topic configs as a managed service does that keeps them for itself: DescribeConfigs shows them read
// only, and altering them is a POLICY_VIOLATION.
func (c *Cluster) SetReadOnly(keys ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fixed = map[string]bool{}
	for _, key := range keys {
		c.fixed[key] = true
	}
}

// FlagInternal has the brokers show a topic as one of their own, as newer brokers may that keep topics of further names.
func (c *Cluster) FlagInternal(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.own[name] = true
}

// CreateTopicByHand makes a topic with one replica list per partition, which may differ in length, and gives its ID. It
// panics if the topic exists or a broker does not.
func (c *Cluster) CreateTopicByHand(name string, replicas [][]int32, configs map[string]string) topic.ID {
	var id topic.ID
	c.update(func(w *world) {
		if w.topics[name] != nil {
			panic(fmt.Sprintf("kafkatest: topic %q exists", name))
		}
		r := &record{name: name, id: w.newID(), configs: map[string]string{}}
		for k, v := range configs {
			r.configs[k] = v
		}
		for i, list := range replicas {
			if v := w.checkAssignment(list, 0, int32(i)); v != nil {
				panic("kafkatest: " + v.asError().Error())
			}
			r.parts = append(r.parts, w.newPartition(int32(i), list))
		}
		w.put(r)
		id = r.id
	})
	return id
}

// DeleteTopicByHand deletes a topic.
func (c *Cluster) DeleteTopicByHand(name string) {
	c.update(func(w *world) {
		w.mustTopic(name)
		w.remove(name)
	})
}

// AddPartitionsByHand adds partitions to a topic, one per replica list.
func (c *Cluster) AddPartitionsByHand(name string, replicas ...[]int32) {
	c.update(func(w *world) {
		r := *w.mustTopic(name)
		r.parts = slices.Clone(r.parts)
		for _, list := range replicas {
			r.parts = append(r.parts, w.newPartition(int32(len(r.parts)), list))
		}
		w.put(&r)
	})
}

// MoveByHand is somebody else's reassignment of a partition; nil replicas cancel one. It panics where Kafka refuses.
func (c *Cluster) MoveByHand(name string, partition int32, replicas []int32) {
	c.update(func(w *world) {
		if v := w.reassign(name, partition, replicas, true); v != nil {
			panic("kafkatest: " + v.asError().Error())
		}
	})
}

// ReplaceClusterID makes it another cluster, as when an address leads to another Kafka.
func (c *Cluster) ReplaceClusterID(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opts.ClusterID = id
}
