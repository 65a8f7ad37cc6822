package kafkacluster

import (
	"sync"
	"time"

	"durabletopic.io/operator/api/v1alpha1"
)

// countsEvery is how often the counts of topics are looked at, and how often at most they are written.
const countsEvery = time.Minute

// counts remembers when the counts of topics were last written, by KafkaCluster.
type counts struct {
	mu sync.Mutex
	at map[string]time.Time
}

// due gives the counts to show: the present ones if it is time, else those that are written. The first time comes a
// while after the start, since until then not all topics were looked at.
func (c *counts) due(o *v1alpha1.KafkaCluster, present []v1alpha1.TopicCount, now time.Time) []v1alpha1.TopicCount {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.at[o.Name]
	if !ok {
		c.at[o.Name] = now
		at = now
	}
	if now.Sub(at) < countsEvery || sameCounts(o.Status.Topics, present) {
		return o.Status.Topics
	}
	return present
}

// wrote notes when counts were written.
func (c *counts) wrote(name string, before, after []v1alpha1.TopicCount, now time.Time) {
	if sameCounts(before, after) {
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
