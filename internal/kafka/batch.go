package kafka

import (
	"context"
	"fmt"
	"sync"
	"time"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/fault"
)

// Defaults of LaneOptions.
const (
	DefaultMinGap    = 100 * time.Millisecond
	DefaultMaxGap    = 500 * time.Millisecond
	DefaultIdleAfter = 3 * time.Second
	DefaultTimeout   = 5 * time.Second
)

// BusyAtMost bounds how long after a request the next one waits for brokers that are Busy; busyEvery is how often that is
// asked.
const (
	BusyAtMost = 5 * time.Second
	busyEvery  = 50 * time.Millisecond
)

// LaneOptions say how a Lane makes requests of items. Key, Fit and Flush are needed; zero durations mean the defaults.
type LaneOptions[K comparable, I, R any] struct {
	// Key names the object of an item. One request has at most one item per key; others wait for the next one.
	Key func(I) K
	// Fit tells how many of the first items make one request; less than 1 counts as 1.
	Fit func([]I) int
	// Flush sends one request and gives one result per item, in their order. It must return when its context ends.
	Flush func(context.Context, []I) []R
	// MinGap is the least time between the end of a request and the start of the next one. It doubles with each request
	// up to MaxGap, so that a trickle of items shares requests, and starts anew when IdleAfter has passed without one.
	// A request that is full does not wait.
	MinGap, MaxGap, IdleAfter time.Duration
	// Busy tells that the brokers are still at work on earlier requests. The next one waits for them, full or not, at most
	// BusyAtMost. May be nil.
	Busy func() bool
	// Timeout is the total time of one request.
	Timeout time.Duration
	// OnBatch reports the number of items of each request.
	OnBatch func(size int)
	// OnPanic reports a panic in Flush, whose items get an uncertain fault.
	OnPanic func(recovered any)
}

// Lane commits items in groups: whatever waits while a request is in flight goes into the next one. One request is in
// flight at a time. There is no waiting when the lane is idle.
//
//	Do --> queue --(gap passed, or full)--> request in flight --> each caller its own result
//	         ^  caller's context ends:            |  caller's context ends:
//	         |  withdrawn, never sent             |  result dropped, uncertain
type Lane[K comparable, I, R any] struct {
	opts LaneOptions[K, I, R]
	ctx  context.Context

	mu      sync.Mutex
	queue   []*parked[I, R]
	running bool
	more    chan struct{} // something was added to the queue
	gap     time.Duration
	last    time.Time // end of the latest request
}

// parked is a caller that waits.
type parked[I, R any] struct {
	item I
	sent bool // guarded by Lane.mu
	done chan settled[R]
}

type settled[R any] struct {
	result R
	err    error
}

// NewLane makes a lane that works until ctx ends, which is the leader's: requests in flight end with it, and what waits
// gets a fault. It has no goroutine while it is idle.
func NewLane[K comparable, I, R any](ctx context.Context, o LaneOptions[K, I, R]) *Lane[K, I, R] {
	set := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	set(&o.MinGap, DefaultMinGap)
	set(&o.MaxGap, max(DefaultMaxGap, o.MinGap))
	set(&o.IdleAfter, DefaultIdleAfter)
	set(&o.Timeout, DefaultTimeout)
	return &Lane[K, I, R]{opts: o, ctx: ctx, more: make(chan struct{}, 1)}
}

// Do parks the caller until its item was in a request, and gives the item's result. The error is a *fault.Fault about
// the lane, not about the item; Uncertain tells that the item may have been sent.
func (l *Lane[K, I, R]) Do(ctx context.Context, item I) (R, error) {
	p := &parked[I, R]{item: item, done: make(chan settled[R], 1)}
	var none R
	if err := l.park(ctx, p); err != nil {
		return none, err
	}
	select {
	case s := <-p.done:
		return s.result, s.err
	case <-ctx.Done():
		if l.withdraw(p) {
			return none, notSent(ctx.Err())
		}
	}
	select {
	case s := <-p.done: // it was settled at the same moment
		return s.result, s.err
	default:
		f := notSent(ctx.Err())
		f.Message, f.Uncertain = "the caller gave up while its request was in flight; it is looked at again", true
		return none, f
	}
}

// notSent is the fault of an item whose caller or lane ended before it was sent.
func notSent(err error) *fault.Fault {
	return fault.Wrap(err, fault.Transient, v1alpha1.ReasonKafkaUnreachable, "the request was given up before it was sent; it is tried again")
}

func (l *Lane[K, I, R]) park(ctx context.Context, p *parked[I, R]) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range []context.Context{ctx, l.ctx} {
		if c.Err() != nil {
			return notSent(c.Err())
		}
	}
	l.queue = append(l.queue, p)
	if !l.running {
		l.running = true
		go l.run()
	}
	select {
	case l.more <- struct{}{}:
	default:
	}
	return nil
}

// withdraw takes a caller out of the queue, unless its item was sent.
func (l *Lane[K, I, R]) withdraw(p *parked[I, R]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.sent {
		return false
	}
	for i, q := range l.queue {
		if q == p {
			l.queue = append(l.queue[:i], l.queue[i+1:]...)
			break
		}
	}
	return true
}

// run sends requests until nothing waits any more.
func (l *Lane[K, I, R]) run() {
	for {
		if !l.pause() {
			l.giveUp()
			return
		}
		batch := l.take()
		if batch == nil {
			return
		}
		l.commit(batch)
	}
}

// pause waits for the gap to pass or for a full request. It gives false when the lane has ended.
func (l *Lane[K, I, R]) pause() bool {
	for {
		wait, full := l.rest()
		if l.ctx.Err() != nil {
			return false
		}
		if wait <= 0 || full {
			return true
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-l.more:
		case <-l.ctx.Done():
		}
		t.Stop()
	}
}

// rest gives the time left before the next request may go, and whether a whole one waits already, which need not mind the
// gap.
func (l *Lane[K, I, R]) rest() (time.Duration, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last.IsZero() || len(l.queue) == 0 {
		return 0, false
	}
	since := time.Since(l.last)
	if since < BusyAtMost && l.opts.Busy != nil && l.opts.Busy() {
		return max(busyEvery, l.gap-since), false
	}
	if since >= l.opts.IdleAfter {
		l.gap = 0
		return 0, false
	}
	_, full := l.choose()
	return l.gap - since, full
}

// choose gives the indexes of the items of the next request, and whether that request is full. The caller holds l.mu.
func (l *Lane[K, I, R]) choose() ([]int, bool) {
	seen := make(map[K]struct{}, len(l.queue))
	var indexes []int
	var items []I
	for i, p := range l.queue {
		k := l.opts.Key(p.item)
		if _, again := seen[k]; again {
			continue
		}
		seen[k] = struct{}{}
		indexes, items = append(indexes, i), append(items, p.item)
	}
	if len(items) == 0 {
		return nil, false
	}
	n := min(max(l.opts.Fit(items), 1), len(items))
	return indexes[:n], n < len(items)
}

// take takes the next request off the queue. With none the goroutine's end is agreed under the lock.
func (l *Lane[K, I, R]) take() []*parked[I, R] {
	l.mu.Lock()
	defer l.mu.Unlock()
	indexes, _ := l.choose()
	if len(indexes) == 0 {
		l.running = false
		return nil
	}
	batch := make([]*parked[I, R], 0, len(indexes))
	rest := l.queue[:0:0]
	for i, p := range l.queue {
		if len(batch) < len(indexes) && indexes[len(batch)] == i {
			p.sent = true
			batch = append(batch, p)
			continue
		}
		rest = append(rest, p)
	}
	l.queue = rest
	return batch
}

// commit sends one request and gives everybody his result.
func (l *Lane[K, I, R]) commit(batch []*parked[I, R]) {
	items := make([]I, len(batch))
	for i, p := range batch {
		items[i] = p.item
	}
	if l.opts.OnBatch != nil {
		l.opts.OnBatch(len(items))
	}
	results, failed := l.flush(items)
	l.mu.Lock()
	l.last = time.Now()
	l.gap = min(max(2*l.gap, l.opts.MinGap), l.opts.MaxGap)
	l.mu.Unlock()
	for i, p := range batch {
		if i < len(results) {
			p.done <- settled[R]{result: results[i]}
			continue
		}
		p.done <- settled[R]{err: failed}
	}
}

// flush calls Flush. The fault is for items without a result, after a panic above all.
func (l *Lane[K, I, R]) flush(items []I) (results []R, failed *fault.Fault) {
	ctx, cancel := context.WithTimeout(l.ctx, l.opts.Timeout)
	defer cancel()
	failed = fault.New(fault.Transient, v1alpha1.ReasonRequestRejected, "the request gave no result for this item; it is looked at again")
	failed.Uncertain = true
	defer func() {
		if r := recover(); r != nil {
			results = nil
			failed = fault.Wrap(fmt.Errorf("panic: %v", r), fault.Transient, v1alpha1.ReasonRequestRejected,
				"the request failed inside the operator; it is looked at again")
			failed.Uncertain = true
			if l.opts.OnPanic != nil {
				l.opts.OnPanic(r)
			}
		}
	}()
	return l.opts.Flush(ctx, items), failed
}

// giveUp sends everybody off who waits when the lane ends. Nothing of theirs was sent.
func (l *Lane[K, I, R]) giveUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.queue {
		p.done <- settled[R]{err: notSent(l.ctx.Err())}
	}
	l.queue, l.running = nil, false
}
