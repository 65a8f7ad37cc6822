// Package topic holds the nouns of a Kafka cluster as values: brokers, racks, topics, partitions and configs, as one
// read of the cluster showed them. It decides nothing and knows no client, clock or context.
package topic

import (
	"encoding/base64"
	"slices"
	"strings"
)

// Topic-level config keys that a durability profile owns, in Kafka's words.
const (
	MinInSyncReplicas     = "min.insync.replicas"
	UncleanLeaderElection = "unclean.leader.election.enable"
)

// NoLeader is the leader ID Kafka shows for a partition that has none.
const NoLeader int32 = -1

// ID is Kafka's identity of one creation of a topic (KIP-516). The same name created again has another ID.
type ID [16]byte

// IsZero tells whether the ID is unknown.
func (id ID) IsZero() bool { return id == ID{} }

// String gives the form Kafka's own tools print: URL-safe base64 without padding; empty for the zero ID.
func (id ID) String() string {
	if id.IsZero() {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(id[:])
}

// Partition is one partition as the cluster metadata shows it. Slices are in Kafka's order: the first replica is the
// preferred leader.
type Partition struct {
	Index       int32
	Leader      int32 // NoLeader when there is none
	LeaderEpoch int32
	Replicas    []int32 // includes the adding ones while a reassignment runs
	ISR         []int32
	ELR         []int32 // eligible leader replicas (KIP-966); empty when the feature is off
	// LastKnownELR holds the last known leader of a leaderless partition (KIP-966).
	LastKnownELR []int32
	Adding       []int32 // of a running reassignment (KIP-455)
	Removing     []int32
}

// Reassigning tells whether a reassignment runs on the partition.
func (p Partition) Reassigning() bool { return len(p.Adding) > 0 || len(p.Removing) > 0 }

// Target is the replica list the partition has once a running reassignment is done.
func (p Partition) Target() []int32 {
	if len(p.Removing) == 0 {
		return p.Replicas
	}
	target := make([]int32, 0, len(p.Replicas))
	for _, r := range p.Replicas {
		if !slices.Contains(p.Removing, r) {
			target = append(target, r)
		}
	}
	return target
}

// ConfigType is the type DescribeConfigs reports for a key (KIP-569).
type ConfigType int8

// The config types of Kafka's ConfigDef.Type that matter for comparing values.
const (
	TypeUnknown ConfigType = iota
	TypeBoolean
	TypeString
	TypeInt
	TypeShort
	TypeLong
	TypeDouble
	TypeList
	TypeClass
	TypePassword
)

// Config is one config key of a topic as DescribeConfigs shows it.
type Config struct {
	Value    string // effective value
	Type     ConfigType
	OnTopic  bool // set on the topic itself (DYNAMIC_TOPIC_CONFIG), not inherited
	ReadOnly bool
}

// Topic is one topic as one read showed it. Values are never changed after they were handed out.
type Topic struct {
	Name       string
	ID         ID
	Internal   bool
	Partitions []Partition       // by index, from 0, without gaps
	Configs    map[string]Config // only the keys that were asked for
}

// MinReplicas and MaxReplicas bound the replication factor, which Kafka keeps per partition. A running reassignment
// counts with its target.
func (t *Topic) MinReplicas() int32 { lo, _ := t.replicas(); return lo }

// MaxReplicas is the largest replication factor of any partition.
func (t *Topic) MaxReplicas() int32 { _, hi := t.replicas(); return hi }

func (t *Topic) replicas() (lo, hi int32) {
	for i, p := range t.Partitions {
		n := int32(len(p.Target()))
		if i == 0 || n < lo {
			lo = n
		}
		hi = max(hi, n)
	}
	return lo, hi
}

// CollisionKey is what Kafka compares to refuse topics whose metric names would be equal: '.' and '_' are the same
// (org.apache.kafka.common.internals.Topic.hasCollision).
func CollisionKey(name string) string { return strings.ReplaceAll(name, ".", "_") }

// IsInternal tells whether the name is one that Kafka keeps for itself.
func IsInternal(name string) bool {
	switch name {
	case "__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata", "__remote_log_metadata":
		return true
	}
	return false
}

// IsReserved tells whether a config key is not for declarations: the keys of the profiles, and the replication throttles,
// which belong to whoever moves replicas.
func IsReserved(key string) bool {
	switch key {
	case MinInSyncReplicas, UncleanLeaderElection, LeaderThrottledReplicas, FollowerThrottledReplicas:
		return true
	}
	return false
}

// DefaultMayDeleteData tells whether going back to the default of a config key could make Kafka delete records that the
// present value keeps.
func DefaultMayDeleteData(key string) bool {
	switch key {
	case "cleanup.policy", "delete.retention.ms", "max.compaction.lag.ms":
		return true
	}
	for _, prefix := range []string{"retention.", "local.retention.", "remote."} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}
