package fleet

import (
	"slices"
	"sync"
	"time"
)

// offerAgain is after how long waiting keys are offered free places again: those that were offered may not have come.
const offerAgain = time.Second

// gate lets a bounded number of keys in and remembers those it refused, in their order.
type gate struct {
	places int
	ready  func() bool      // whether anybody may be let in now
	offer  func(key string) // called without locks

	mu      sync.Mutex
	inside  map[string]struct{}
	waiting []string
	queued  map[string]struct{}
	timer   *time.Timer // runs while somebody waits
	closed  bool
}

func newGate(places int, ready func() bool, offer func(string)) *gate {
	return &gate{places: places, ready: ready, offer: offer, inside: map[string]struct{}{}, queued: map[string]struct{}{}}
}

func (g *gate) enter(key string) bool {
	ready := g.ready()
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, in := g.inside[key]; in || ready && len(g.inside) < g.places {
		g.inside[key] = struct{}{}
		g.unqueue(key)
		return true
	}
	if _, ok := g.queued[key]; !ok && !g.closed {
		g.queued[key] = struct{}{}
		g.waiting = append(g.waiting, key)
	}
	g.watch()
	return false
}

// leave frees a place and offers it to one that waits.
func (g *gate) leave(key string) {
	ready := g.ready()
	g.mu.Lock()
	delete(g.inside, key)
	var next []string
	if ready {
		next = g.take(1)
	}
	g.mu.Unlock()
	g.tell(next)
}

// forget drops a key that waits.
func (g *gate) forget(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unqueue(key)
}

// open offers all free places, if anybody may be let in.
func (g *gate) open() {
	ready := g.ready()
	g.mu.Lock()
	var next []string
	if ready {
		next = g.take(g.places - len(g.inside))
	}
	g.watch()
	g.mu.Unlock()
	g.tell(next)
}

// close drops those that wait.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.waiting, g.queued = nil, map[string]struct{}{}
	if g.timer != nil {
		g.timer.Stop()
	}
}

func (g *gate) tell(keys []string) {
	for _, k := range keys {
		g.offer(k)
	}
}

// take takes the first n keys that wait. The caller holds g.mu.
func (g *gate) take(n int) []string {
	n = min(max(n, 0), len(g.waiting))
	next := slices.Clone(g.waiting[:n])
	g.waiting = g.waiting[n:]
	for _, k := range next {
		delete(g.queued, k)
	}
	return next
}

// unqueue takes a key out of those that wait. The caller holds g.mu.
func (g *gate) unqueue(key string) {
	if _, ok := g.queued[key]; ok {
		delete(g.queued, key)
		g.waiting = slices.DeleteFunc(g.waiting, func(k string) bool { return k == key })
	}
}

// watch has free places offered again while somebody waits. The caller holds g.mu.
func (g *gate) watch() {
	if len(g.waiting) == 0 || g.timer != nil || g.closed {
		return
	}
	g.timer = time.AfterFunc(offerAgain, func() {
		g.mu.Lock()
		g.timer = nil
		g.mu.Unlock()
		g.open()
	})
}
