package kafkacluster

import (
	"sync"
	"time"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/mover"
)

// numbers are what a status counts.
type numbers struct {
	topics []v1alpha1.TopicCount
	moves  *v1alpha1.MoveCounts
}

func numbersOf(s v1alpha1.KafkaClusterStatus) numbers { return numbers{s.Topics, s.Moves} }

func (n numbers) same(other numbers) bool {
	return sameCounts(n.topics, other.topics) && (n.moves == nil) == (other.moves == nil) &&
		(n.moves == nil || *n.moves == *other.moves)
}

// moveCounts gives the counts of moves; nil if there are none.
func moveCounts(c mover.Counts) *v1alpha1.MoveCounts {
	if c == (mover.Counts{}) {
		return nil
	}
	return &v1alpha1.MoveCounts{Running: int32(c.Running), Waiting: int32(c.Waiting), Foreign: int32(c.Foreign)}
}

// countsEvery is how often the counts are looked at, and how often at most they are written.
const countsEvery = time.Minute

// counts remembers when the counts were last written, by KafkaCluster.
type counts struct {
	mu sync.Mutex
	at map[string]time.Time
}

// due gives the counts to show: the present ones if it is time, else those that are written. The first time comes a
// while after the start, since until then not all topics were looked at.
func (c *counts) due(o *v1alpha1.KafkaCluster, present numbers, now time.Time) numbers {
	written := numbersOf(o.Status)
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.at[o.Name]
	if !ok {
		c.at[o.Name] = now
		at = now
	}
	if now.Sub(at) < countsEvery || written.same(present) {
		return written
	}
	return present
}

// wrote notes when counts were written.
func (c *counts) wrote(name string, before, after numbers, now time.Time) {
	if before.same(after) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at[name] = now
}

func (c *counts) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.at, name)
}
