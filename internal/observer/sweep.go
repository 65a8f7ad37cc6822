package observer

import (
	"context"
	"errors"
	"time"

	"durabletopic.io/operator/internal/core/topic"
)

// errMoved: a sweep is of one broker and of one cluster, or worth nothing.
var errMoved = errors.New("the broker that is read from changed within a sweep")

const (
	// maxChunk and minChunk bound the topics of one read; it shrinks when brokers are too slow for a whole one.
	maxChunk = 500
	minChunk = 25
	// maxChunkPartitions bounds the partitions of one read, as far as they are known.
	maxChunkPartitions = 4000
	// quickRead is a time after which the double could be read as well. slowRead is how long a read that failed must
	// have taken for its size to be a likely cause.
	quickRead = 500 * time.Millisecond
	slowRead  = 900 * time.Millisecond
	// sweepShare is the part of the time that sweeps may take: one tenth.
	sweepShare = 10
	// failovers is how many brokers may fail in the middle of a sweep or round before it is given up.
	failovers = 3
)

// Gaps between rounds of targeted reads: none when idle, then growing, so that a busy time costs few requests.
const (
	gapFirst = 100 * time.Millisecond
	gapMost  = 600 * time.Millisecond
	gapIdle  = time.Second
)

// source says where and when a read was made.
type source struct {
	reign  int
	broker int32
	seq    uint64
	at     time.Time
	// second: asked of another broker than the pinned one, to confirm or refute a doubt.
	second bool
}

// batch is one read of some topics.
type batch struct {
	source
	asks  []topic.Ask
	reads map[string]topic.Read
}

// sweep reads the cluster and all declared topics at one broker and accepts the facts, or none of them if that broker
// fails in the middle.
func (o *Observer) sweep(ctx context.Context) {
	asks := o.startSweep()
	began := time.Now()
	var batches []batch
	var busy time.Duration
	var err error
	var reign int
	for range failovers {
		var again bool
		reign = o.currentReign()
		batches, busy, again, err = o.collect(ctx, reign, asks)
		if !again {
			break
		}
	}
	if ctx.Err() != nil {
		return
	}
	lags := false
	for _, b := range batches {
		lags = o.apply(b) || lags
	}
	if lags {
		o.leaveLagging(batches[0].broker)
	}
	o.endSweep(reign, began, busy, err)
	if o.opts.OnSweep != nil {
		o.opts.OnSweep(busy, len(asks), err)
	}
}

func (o *Observer) startSweep() []topic.Ask {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.agenda.sweepStart = time.Now()
	return o.allAsks()
}

func (o *Observer) endSweep(reign int, began time.Time, busy time.Duration, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err != nil:
		o.lose(time.Now(), err)
		return
	case reign != o.reign: // bound to another cluster meanwhile
		return
	}
	o.agenda.sweepDue = began.Add(max(o.contact.interval, sweepShare*busy))
	o.regain(began)
}

// collect reads everything at one broker; again tells that this broker failed or was left meanwhile. Between the
// parts of a long sweep, names that somebody waits for have their turn; busy does not count those.
func (o *Observer) collect(ctx context.Context, reign int, asks []topic.Ask) (all []batch, busy time.Duration, again bool, err error) {
	start := time.Now()
	broker, _, err := o.acquire(ctx)
	busy = time.Since(start)
	if err != nil {
		return nil, busy, false, err
	}
	for len(asks) > 0 && ctx.Err() == nil {
		n := o.chunkOf(asks)
		start = time.Now()
		b, err := o.readTopics(ctx, reign, broker, asks[:n])
		busy += time.Since(start)
		if err != nil {
			return nil, busy, true, err
		}
		all, asks = append(all, b), asks[n:]
		if len(asks) > 0 {
			o.yield(ctx)
		}
	}
	if o.pinned() != broker || o.currentReign() != reign {
		return nil, busy, true, unreachable(errMoved)
	}
	return all, busy, false, ctx.Err()
}

// yield gives names that somebody waits for their turn within a sweep.
func (o *Observer) yield(ctx context.Context) {
	o.mu.RLock()
	ready := o.contact.shown.InTouch && o.roundReady(time.Now())
	o.mu.RUnlock()
	if ready {
		o.round(ctx)
	}
}

// round reads the wanted names at the pinned broker.
func (o *Observer) round(ctx context.Context) {
	asks := o.startRound()
	var err error
	for range failovers {
		var again bool
		if again, err = o.readAll(ctx, asks); !again {
			break
		}
	}
	if ctx.Err() != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	o.agenda.roundEnd, o.agenda.roundDue = now, now.Add(o.agenda.gap)
	if err != nil {
		o.lose(now, err)
	}
}

func (o *Observer) startRound() []topic.Ask {
	o.mu.Lock()
	defer o.mu.Unlock()
	a := &o.agenda
	a.gap = min(2*a.gap, gapMost)
	if time.Since(a.roundEnd) > gapIdle || a.gap == 0 {
		a.gap = gapFirst
	}
	asks := make([]topic.Ask, 0, len(a.wanted))
	for name := range a.wanted {
		delete(a.later, name)
		asks = append(asks, topic.Ask{Name: name, Keys: o.entries[name].keys})
	}
	clear(a.wanted)
	return asks
}

// readAll reads topics at the pinned broker, after having verified it, and accepts the facts part by part; again tells
// that this broker failed.
func (o *Observer) readAll(ctx context.Context, asks []topic.Ask) (again bool, err error) {
	reign := o.currentReign()
	broker, _, err := o.acquire(ctx)
	if err != nil {
		return false, err
	}
	lags := false
	for len(asks) > 0 && ctx.Err() == nil {
		n := o.chunkOf(asks)
		b, err := o.readTopics(ctx, reign, broker, asks[:n])
		if err != nil {
			return true, err
		}
		lags = o.apply(b) || lags
		asks = asks[n:]
	}
	if lags {
		o.leaveLagging(broker)
	}
	return false, nil
}

// readTopics makes one read. A broker that fails it is left.
func (o *Observer) readTopics(ctx context.Context, reign int, broker int32, asks []topic.Ask) (batch, error) {
	seq, at := o.begin()
	bounded, cancel := context.WithTimeout(ctx, topicsTimeout)
	defer cancel()
	reads, err := o.reader.Topics(bounded, broker, asks)
	o.sizeChunk(err == nil, time.Since(at))
	if err != nil {
		if ctx.Err() == nil {
			o.distrust(broker, err)
		}
		return batch{}, unreachable(err)
	}
	return batch{source{reign: reign, broker: broker, seq: seq, at: at}, asks, reads}, nil
}

// sizeChunk lets reads shrink that brokers are too slow for, and grow again while they are answered quickly.
func (o *Observer) sizeChunk(answered bool, took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case answered && took < quickRead:
		o.chunk = min(2*o.chunk, maxChunk)
	case !answered && took >= slowRead:
		o.chunk = max(o.chunk/2, minChunk)
	}
}

func (o *Observer) currentReign() int {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.reign
}

// chunkOf gives how many of the topics to read next.
func (o *Observer) chunkOf(asks []topic.Ask) int {
	o.mu.RLock()
	defer o.mu.RUnlock()
	partitions := 0
	for n, a := range asks {
		if e, ok := o.entries[a.Name]; ok && e.topic != nil {
			partitions += len(e.topic.Partitions)
		}
		if n == o.chunk || n > 0 && partitions > maxChunkPartitions {
			return n
		}
	}
	return len(asks)
}
