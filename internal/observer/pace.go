package observer

import (
	"context"
	"sync"
	"time"
)

// Calm notifications come at most calmBurst every calmEvery: 50 topics a second.
const (
	calmBurst = 5
	calmEvery = 100 * time.Millisecond
)

// pacer hands out notifications: urgent ones at once, calm ones slowly, each name once however often it changed.
type pacer struct {
	wake chan struct{}

	mu      sync.Mutex
	urgent  queue
	calm    queue
	cluster bool
}

func newPacer() *pacer {
	return &pacer{
		wake:   make(chan struct{}, 1),
		urgent: queue{in: map[string]struct{}{}},
		calm:   queue{in: map[string]struct{}{}},
	}
}

// add queues a name. One that is urgent already stays so; a calm one that becomes urgent is told once.
func (p *pacer) add(name string, u Urgency) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u == Urgent {
		p.urgent.add(name)
		p.calm.drop(name)
	} else if !p.urgent.has(name) {
		p.calm.add(name)
	}
	p.poke()
}

// addCluster queues word of a change of the cluster as a whole.
func (p *pacer) addCluster() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cluster = true
	p.poke()
}

func (p *pacer) drop(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.urgent.drop(name)
	p.calm.drop(name)
}

func (p *pacer) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// run tells until ctx ends.
func (p *pacer) run(ctx context.Context, changed func([]string, Urgency), clusterChanged func()) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var calmDue time.Time
	for {
		urgent, cluster := p.takeUrgent()
		if cluster && clusterChanged != nil {
			clusterChanged()
		}
		tell(changed, urgent, Urgent)
		if now := time.Now(); !now.Before(calmDue) {
			if calm := p.takeCalm(); len(calm) > 0 {
				calmDue = now.Add(calmEvery)
				tell(changed, calm, Calm)
				timer.Reset(calmEvery)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		case <-timer.C:
		}
	}
}

func tell(changed func([]string, Urgency), names []string, u Urgency) {
	if changed != nil && len(names) > 0 {
		changed(names, u)
	}
}

func (p *pacer) takeUrgent() (names []string, cluster bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	cluster, p.cluster = p.cluster, false
	return p.urgent.take(len(p.urgent.names)), cluster
}

func (p *pacer) takeCalm() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calm.take(calmBurst)
}

// queue holds names in order of arrival, each once. A dropped name stays in the slice until its turn.
type queue struct {
	names []string
	in    map[string]struct{}
}

func (q *queue) has(name string) bool { _, ok := q.in[name]; return ok }

func (q *queue) add(name string) {
	if !q.has(name) {
		q.in[name] = struct{}{}
		q.names = append(q.names, name)
	}
}

func (q *queue) drop(name string) { delete(q.in, name) }

// take removes up to n names that were not dropped.
func (q *queue) take(n int) []string {
	var taken []string
	i := 0
	for ; i < len(q.names) && len(taken) < n; i++ {
		if name := q.names[i]; q.has(name) {
			delete(q.in, name)
			taken = append(taken, name)
		}
	}
	q.names = q.names[i:]
	if len(q.names) == 0 {
		q.names = nil
	}
	return taken
}
