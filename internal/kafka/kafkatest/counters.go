package kafkatest

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/core/topic"
)

// Write is one mutating request that reached a broker, whether it was applied or not.
type Write struct {
	Key    kmsg.Key
	Broker int32
	// Topics are the topics and resources it names; a deletion by ID names the printed ID.
	Topics []string
	// ValidateOnly requests change nothing.
	ValidateOnly bool
	// Request is what the broker read. It must not be changed.
	Request kmsg.Request
}

// Requests counts what reached the brokers.
type Requests struct {
	Reads, Writes map[kmsg.Key]int
}

// ReadTotal is the number of all reads.
func (r Requests) ReadTotal() int { return sum(r.Reads) }

// WriteTotal is the number of all mutating requests.
func (r Requests) WriteTotal() int { return sum(r.Writes) }

func sum(m map[kmsg.Key]int) int {
	n := 0
	for _, v := range m {
		n += v
	}
	return n
}

type counters struct {
	Requests
	log []Write
}

func newCounters() counters {
	return counters{Requests: Requests{Reads: map[kmsg.Key]int{}, Writes: map[kmsg.Key]int{}}}
}

func (n *counters) note(broker int32, req kmsg.Request) {
	key := kmsg.Key(req.Key())
	if !mutates(req.Key()) {
		n.Reads[key]++
		return
	}
	n.Writes[key]++
	n.log = append(n.log, Write{Key: key, Broker: broker, Topics: itemNames(req), ValidateOnly: validateOnly(req), Request: req})
}

func validateOnly(req kmsg.Request) bool {
	switch r := req.(type) {
	case *kmsg.CreateTopicsRequest:
		return r.ValidateOnly
	case *kmsg.CreatePartitionsRequest:
		return r.ValidateOnly
	case *kmsg.IncrementalAlterConfigsRequest:
		return r.ValidateOnly
	}
	return false
}

// Requests gives the counts since the start or the last Reset.
func (c *Cluster) Requests() Requests {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Requests{Reads: maps.Clone(c.count.Reads), Writes: maps.Clone(c.count.Writes)}
}

// Writes gives the mutating requests since the start or the last Reset, in order of arrival.
func (c *Cluster) Writes() []Write {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.count.log)
}

// TopicWrites counts the mutating requests that named each topic or resource.
func (c *Cluster) TopicWrites() map[string]int {
	n := map[string]int{}
	for _, w := range c.Writes() {
		for _, name := range w.Topics {
			n[name]++
		}
	}
	return n
}

// Reset sets all counts and the log to nothing.
func (c *Cluster) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count = newCounters()
}

func printed(id [16]byte) string { return topic.ID(id).String() }
