// Package durability compares the topic that is declared with the topic that Kafka shows. Chain is the specification: a
// list of named checks, each of which finds one kind of difference. Health says which partitions are weak now. Nothing
// here writes, waits or reads a clock.
package durability

import (
	"fmt"
	"strings"

	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/profile"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

// Kind names a check; it is the label of the drift metrics.
type Kind string

// The kinds of differences.
const (
	// TopicMissing: the topic does not exist.
	TopicMissing Kind = "topic_missing"
	// MinInSyncReplicasDiffers: min.insync.replicas has another value, or is inherited instead of set on the topic.
	MinInSyncReplicasDiffers Kind = "min_insync_replicas"
	// UncleanElectionDiffers: unclean.leader.election.enable likewise.
	UncleanElectionDiffers Kind = "unclean_leader_election"
	// ConfigDiffers: a key of spec.config has another value or is not set on the topic.
	ConfigDiffers Kind = "config"
	// ConfigLeft: a key that this object had set and no longer declares is still set.
	ConfigLeft Kind = "config_left"
	// PartitionsDiffer: fewer or more partitions than declared.
	PartitionsDiffer Kind = "partitions"
	// ReplicasMoving: a reassignment runs.
	ReplicasMoving Kind = "replicas_moving"
	// ReplicasViolate: replica lists break the replication factor or the rack rule, or name brokers that are gone.
	ReplicasViolate Kind = "replicas"
)

// Input is what the checks look at.
type Input struct {
	Desired profile.Desired
	View    topic.View
	// Owned are the config keys this object has set before (status.ownedConfig).
	Owned []string
}

// Difference is one thing that is not as declared.
type Difference struct {
	Kind Kind
	// Key is what differs: a config key, or "topic", "partitions", "replicas".
	Key string
	// From is what Kafka shows, To what is declared. The To of ConfigLeft is empty: the topic's own value has to go.
	From, To string
	// Inherited: the effective value is right, but it is not set on the topic.
	Inherited bool
	// Unread: the key has not been asked for yet, so nobody knows. Unshown: it was asked for and Kafka does not show it.
	Unread, Unshown bool
	// ReadOnly: the broker lets nobody change the key.
	ReadOnly bool
	// Expected: Kafka has confirmed the change already; no read shows it yet.
	Expected bool
	// HeldDown: To is no declared value but what min.insync.replicas may be at most while replicas are added.
	HeldDown bool
	// Violations are the replica lists at fault.
	Violations []placement.Violation
}

// String says what is not as declared.
func (d Difference) String() string {
	switch d.Kind {
	case TopicMissing:
		return "the topic does not exist"
	case ReplicasMoving, ReplicasViolate:
		return d.From
	case PartitionsDiffer:
		return fmt.Sprintf("the partition count is %s, declared %s", d.From, d.To)
	case ConfigLeft:
		return fmt.Sprintf("%s is %s, no longer declared", d.Key, d.Have())
	case MinInSyncReplicasDiffers, UncleanElectionDiffers, ConfigDiffers:
	}
	if d.HeldDown {
		return fmt.Sprintf("%s is %s, and %s until every partition has its replicas", d.Key, d.Have(), d.To)
	}
	if d.Inherited {
		return fmt.Sprintf("%s is %s by inheritance, not set on the topic", d.Key, d.Have())
	}
	return fmt.Sprintf("%s is %s, declared %s", d.Key, d.Have(), Words(d.To))
}

// Have says what Kafka shows.
func (d Difference) Have() string {
	switch {
	case d.Unread:
		return "not read yet"
	case d.Unshown:
		return "not shown by Kafka"
	}
	return Words(d.From)
}

// maxWords bounds a config value in a text, in bytes: Kafka does not bound values, and a text has to name others too.
const maxWords = 80

// Words gives a config value as texts show it: on one line, cut, and "" when there is nothing to see.
func Words(value string) string {
	if value = strings.Join(strings.Fields(value), " "); value == "" {
		return `""`
	}
	return fault.Cut(value, maxWords)
}
