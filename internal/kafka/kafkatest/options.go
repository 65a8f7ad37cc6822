package kafkatest

import (
	"maps"

	"durabletopic.io/operator/internal/core/topic"
)

// DefaultClusterID is the cluster ID of a cluster made without one.
const DefaultClusterID = "a2Fma2F0ZXN0LWNsdXN0cg"

// Never as a number of ticks means that something happens only when the test says so.
const Never = -1

// Options describe a cluster. The zero value is six brokers 1-6 in racks a, a, b, b, c, c with eligible leader replicas
// off, one default partition, and everything that can settle settling at once.
type Options struct {
	// Brokers are the registered brokers; if empty, one per entry of Racks, numbered from 1.
	Brokers []topic.Broker
	Racks   []string
	// ELR finalises eligible.leader.replicas.version 1.
	ELR bool
	// DefaultPartitions is num.partitions; 0 means 1.
	DefaultPartitions int32
	// DefaultReplicationFactor is default.replication.factor; 0 means 1.
	DefaultReplicationFactor int16
	ClusterID                string
	// MinInSyncReplicas is the cluster's min.insync.replicas; empty means 1. With ELR it is a cluster-level dynamic
	// config as Kafka writes it when the feature starts, else a static one of every broker.
	MinInSyncReplicas string
	// Static are other entries of every broker's server.properties, by broker config name.
	Static map[string]string
	// CatchUpTicks is how many ticks a live replica needs to get back into ISR: 0 at once, Never only by CatchUp.
	CatchUpTicks int
	// MoveTicks is the same for a replica that a reassignment adds: 0 within the request, Never only by CatchUp.
	MoveTicks int
	// CopyBytesPerTick is what a replica that is not in sync copies in a tick where no throttle holds it back: 0 all that
	// it lacks, at once. It matters for partitions that were given a size.
	CopyBytesPerTick int64
	// DeleteDisabled is delete.topic.enable=false.
	DeleteDisabled bool
	// LateWrites makes a request that was sent to a hanging broker take effect when the broker goes on, although its
	// sender has given up: what a paused process does with the bytes in its socket.
	LateWrites bool
	// MaxVersions caps API versions of an older Kafka, by API key; -1 means that the brokers lack the API.
	MaxVersions map[int16]int16
	// Features are finalised features beside the eligible leader replicas.
	Features map[string]int16
}

func (o Options) withDefaults() Options {
	if len(o.Racks) == 0 {
		o.Racks = []string{"a", "a", "b", "b", "c", "c"}
	}
	if len(o.Brokers) == 0 {
		for i, r := range o.Racks {
			o.Brokers = append(o.Brokers, topic.Broker{ID: int32(i + 1), Rack: r})
		}
	}
	if o.DefaultPartitions == 0 {
		o.DefaultPartitions = 1
	}
	if o.DefaultReplicationFactor == 0 {
		o.DefaultReplicationFactor = 1
	}
	if o.ClusterID == "" {
		o.ClusterID = DefaultClusterID
	}
	features := map[string]int16{"metadata.version": 33}
	maps.Copy(features, o.Features)
	if o.ELR {
		features[topic.FeatureELR] = 1
	}
	o.Features = features
	return o
}
