package fleet

import (
	"maps"
	"slices"
	"sync"
	"time"

	"durabletopic.io/operator/internal/core/topic"
)

// reserveFor is how long a confirmed write may stay out of listings.
const reserveFor = time.Minute

// reservations are replicas that were sent to Kafka and that no listing shows yet: they are load all the same, and a
// confirmed name is taken.
type reservations struct {
	mu    sync.Mutex
	held  []reservation
	doubt time.Time // listings that started before may lack an uncertain write
}

type reservation struct {
	topic    string
	replicas [][]int32
	until    time.Time
	// created is a whole topic, else partitions were added to one.
	created bool
	// uncertain: no answer came, so the name is not taken for sure.
	uncertain bool
}

func (r *reservations) add(name string, replicas [][]int32, created, uncertain bool) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = append(r.held, reservation{name, replicas, now.Add(reserveFor), created, uncertain})
	if uncertain {
		r.doubt = now
	}
}

// certainAge gives the age, at most most, of listings that started after every uncertain write was given up.
func (r *reservations) certainAge(most time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return min(most, time.Since(r.doubt)-1)
}

// anyCreated tells whether a topic was created that has not been seen yet, as pending says.
func (r *reservations) anyCreated(pending func(name string) bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	return slices.ContainsFunc(r.held, func(h reservation) bool {
		return h.created && !h.uncertain && now.Before(h.until) && pending(h.topic)
	})
}

// over adds what is held to a listing: the load of the brokers, and names that are taken. Topics that the listing shows
// are no longer held; additions are held for as long as shown says that they do not show. A name is taken while pending
// says that its topic has not been seen yet: one that was seen and is missing now is gone.
func (r *reservations) over(l *topic.Listing, shown func(name string, added [][]int32) bool,
	pending func(name string) bool) (map[int32]topic.Load, map[string]bool) {
	load, taken := maps.Clone(l.Load), map[string]bool{}
	if load == nil {
		load = map[int32]topic.Load{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	kept := r.held[:0]
	for _, h := range r.held {
		_, listed := l.Names[h.topic]
		if now.After(h.until) || h.created && listed || !h.created && shown(h.topic, h.replicas) {
			continue
		}
		kept = append(kept, h)
		burden(load, h.replicas)
		if h.created && !h.uncertain && pending(h.topic) {
			taken[h.topic] = true
		}
	}
	clear(r.held[len(kept):])
	r.held = kept
	return load, taken
}

// burden adds replica lists to the load of their brokers.
func burden(load map[int32]topic.Load, replicas [][]int32) {
	for _, list := range replicas {
		for i, b := range list {
			l := load[b]
			l.Replicas++
			if i == 0 {
				l.Leaders++
			}
			load[b] = l
		}
	}
}
