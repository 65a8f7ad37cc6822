// Package plan turns differences into an ordered list of steps, holds back those that a safety rule forbids now, and
// renders both as text. It decides in values: it knows no client, clock or context.
package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"durabletopic.io/operator/internal/core/durability"
	"durabletopic.io/operator/internal/core/placement"
)

// Step is one change to one topic. Its text is the same in a plan, an event and a log line.
type Step interface {
	TopicName() string
	String() string
}

// CreateTopic creates a topic with explicit replica lists, computed from the rule when the batch closes.
type CreateTopic struct {
	Name string
	// Partitions; 0 means the brokers' num.partitions.
	Partitions int32
	Rule       placement.Rule
	// ByBroker leaves the assignment to Kafka (managed services that refuse explicit ones).
	ByBroker bool
	// Locks are the profile's own keys, Config the declared others. A create refused because of Config is repeated
	// with Locks alone.
	Locks, Config map[string]string
}

// ErrCreated is the cause (errors.Is) of a fault about Config when the topic was created all the same, with Locks alone.
var ErrCreated = errors.New("the topic was created without its declared configs")

// TopicName names the topic.
func (s CreateTopic) TopicName() string { return s.Name }

// String says what would be done.
func (s CreateTopic) String() string {
	partitions := "as the brokers' num.partitions"
	if s.Partitions > 0 {
		partitions = fmt.Sprint(s.Partitions)
	}
	configs := maps.Clone(s.Locks)
	maps.Copy(configs, s.Config)
	pairs := make([]string, 0, len(configs))
	for _, k := range slices.Sorted(maps.Keys(configs)) {
		pairs = append(pairs, k+"="+durability.Words(configs[k]))
	}
	return fmt.Sprintf("create topic %q: partitions %s, replication factor %d, %s", s.Name, partitions,
		s.Rule.ReplicationFactor, strings.Join(pairs, ", "))
}

// Lane keeps kinds of config changes in requests of their own, so that a value refused in one never delays another.
type Lane int8

// The lanes of config changes.
const (
	// Locks carries the keys of the profile and goes first.
	Locks Lane = iota
	// Declared carries the keys of spec.config.
	Declared
)

// AlterConfigs changes config keys of a topic by incremental alter.
type AlterConfigs struct {
	Name    string
	Lane    Lane
	Changes []ConfigChange
}

// ConfigChange is one key. A nil To removes the topic's own value, so that the default counts again.
type ConfigChange struct {
	Key  string
	From string // as it was shown, for the text only
	To   *string
}

// TopicName names the topic.
func (s AlterConfigs) TopicName() string { return s.Name }

// String says what would be done.
func (s AlterConfigs) String() string {
	words := make([]string, 0, len(s.Changes))
	for _, c := range s.Changes {
		words = append(words, c.String())
	}
	return fmt.Sprintf("alter topic %q: %s", s.Name, strings.Join(words, ", "))
}

// String says what would be done to the key.
func (c ConfigChange) String() string {
	switch {
	case c.To == nil:
		return fmt.Sprintf("remove %s (now %s)", c.Key, durability.Words(c.From))
	case c.From == *c.To && c.From != "":
		return fmt.Sprintf("pin %s=%s on the topic", c.Key, durability.Words(*c.To))
	case c.From == "":
		return fmt.Sprintf("set %s=%s", c.Key, durability.Words(*c.To))
	}
	return fmt.Sprintf("set %s=%s (now %s)", c.Key, durability.Words(*c.To), durability.Words(c.From))
}

// AddPartitions raises the partition count.
type AddPartitions struct {
	Name     string
	From, To int32
	// Existing are the replica lists the topic has, so that the new ones even them out.
	Existing [][]int32
	// Rule for the new partitions. Kafka demands the replication factor of partition 0.
	Rule     placement.Rule
	ByBroker bool
}

// TopicName names the topic.
func (s AddPartitions) TopicName() string { return s.Name }

// String says what would be done.
func (s AddPartitions) String() string {
	return fmt.Sprintf("add partitions to topic %q: %d -> %d", s.Name, s.From, s.To)
}
