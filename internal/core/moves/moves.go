// Package moves decides what the mover of one Kafka cluster does next: which reassignments to begin, which have ended and
// what is to be cleaned up after them, which have stalled. It works on the journal, which is written before anything is
// done, and on what Kafka shows, and knows neither how the one is kept nor how the other is read.
//
// Every decision follows from the journal and the newest facts alone, and every act may be repeated. So whoever takes over
// after a crash at any point goes on by deciding anew.
package moves

import (
	"slices"
	"time"

	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/topic"
)

// Move is one reassignment of the operator's own (KIP-455), as the journal keeps it.
type Move struct {
	Topic     string  `json:"topic"`
	TopicID   string  `json:"topicID"`
	Partition int32   `json:"partition"`
	From      []int32 `json:"from"` // replicas before, the preferred leader first
	To        []int32 `json:"to"`   // replicas after
	// Throttled: the move copies under a throttle. Sources and Targets are the brokers that the topic's lists of throttled
	// replicas name with this partition on its behalf; not those that were there before, which are somebody else's.
	Throttled bool    `json:"throttled,omitempty"`
	Sources   []int32 `json:"sources,omitempty"`
	Targets   []int32 `json:"targets,omitempty"`
	// Began is when the move was put into the journal.
	Began time.Time `json:"began"`
}

// Wish is where the replicas of one topic should be.
type Wish struct {
	Rule placement.Rule
	// Critical topics are moved before others that are as endangered.
	Critical bool
}

// Key names the partition that moves.
func (m Move) Key() topic.TopicPartition {
	return topic.TopicPartition{Topic: m.Topic, Partition: m.Partition}
}

// Adding are the brokers that get a replica, in the order of the new list.
func (m Move) Adding() []int32 { return without(m.To, m.From) }

// Removing are the brokers that lose theirs.
func (m Move) Removing() []int32 { return without(m.From, m.To) }

// Journal is what the operator has put into Kafka that must not outlive its purpose.
type Journal struct {
	Moves []Move `json:"moves,omitempty"`
	// Rates are the cluster-wide throttle rates that the operator has set; a half is zero if somebody else's counts.
	Rates Rates `json:"rates,omitzero"`
}

// Empty tells whether nothing of the operator's is in Kafka.
func (j Journal) Empty() bool { return len(j.Moves) == 0 && j.Rates == Rates{} }

// Rates are leader.replication.throttled.rate and follower.replication.throttled.rate, in bytes a second; zero: none.
type Rates struct {
	Leader   int64 `json:"leader,omitempty"`
	Follower int64 `json:"follower,omitempty"`
}

// Settings bound the moves of a cluster.
type Settings struct {
	// MaxConcurrent is how many partitions may move at once.
	MaxConcurrent int
	// BytesPerSecond is the throttle; zero: none.
	BytesPerSecond int64
	// StallTimeout is how long a move may make no progress.
	StallTimeout time.Duration
	// Suspended: no move begins; those that run end and are cleaned up after.
	Suspended bool
}

// Fact is the newest read of a topic that the journal or a candidate names.
type Fact struct {
	Topic *topic.Topic // nil: nothing can be said
	// ReadAt is when the read began.
	ReadAt time.Time
	// Gone: the topic is proven not to exist.
	Gone bool
}

// partition gives one partition of the topic.
func (f Fact) partition(i int32) (topic.Partition, bool) {
	if f.Topic == nil || int(i) >= len(f.Topic.Partitions) {
		return topic.Partition{}, false
	}
	return f.Topic.Partitions[i], true
}

// State is what became of a move.
type State int8

// What became of a move.
const (
	// Unclear: what Kafka shows is older than the move, or cannot be read.
	Unclear State = iota
	// Running: the reassignment runs as it was begun.
	Running
	// Done: the partition has its new replicas.
	Done
	// NotRunning: the partition does not move, and has not the new replicas: it never began, or was cancelled.
	NotRunning
	// Overtaken: somebody else has begun another reassignment of the partition.
	Overtaken
	// Gone: the topic of the move does not exist any more.
	Gone
)

// Settle is how long after a move was put into the journal its request may still take effect: until then that it does not
// run says nothing.
const Settle = 10 * time.Second

// Over tells whether there is nothing more to wait for.
func (s State) Over() bool { return s > Running }

// StateOf tells what became of a move.
func StateOf(m Move, f Fact) State {
	if f.Gone {
		return Gone
	}
	if f.Topic == nil || !f.ReadAt.After(m.Began) {
		return Unclear
	}
	if f.Topic.ID.String() != m.TopicID {
		return Gone
	}
	p, ok := f.partition(m.Partition)
	switch {
	case !ok:
		return Unclear
	case p.Reassigning() && slices.Equal(p.Target(), m.To):
		return Running
	case p.Reassigning():
		return Overtaken
	case slices.Equal(p.Replicas, m.To):
		return Done
	case f.ReadAt.Sub(m.Began) < Settle:
		return Unclear
	}
	return NotRunning
}

// String gives Kafka's kind of word for a state, for logs.
func (s State) String() string {
	return [...]string{"unclear", "running", "done", "not running", "overtaken", "topic gone"}[s]
}

func without(all, some []int32) []int32 {
	var rest []int32
	for _, id := range all {
		if !slices.Contains(some, id) {
			rest = append(rest, id)
		}
	}
	return rest
}
