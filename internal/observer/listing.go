package observer

import (
	"context"
	"strings"
	"time"

	"durabletopic.io/operator/internal/core/topic"
)

const (
	// listingEvery is how old the listing of the whole cluster may get before it is read again without being asked for.
	listingEvery   = time.Minute
	listingTimeout = 15 * time.Second
)

// Listing gives a listing of the whole cluster whose read started at most maxAge ago, or a new one. Those who wait for
// a new one at the same time share it. Without contact it fails at once.
func (o *Observer) Listing(ctx context.Context, maxAge time.Duration) (*topic.Listing, error) {
	if l := o.recentListing(maxAge); l != nil {
		return l, nil
	}
	if err := o.reachable(ctx); err != nil {
		return nil, err
	}
	return o.lists.join(ctx, o.stopped)
}

func (o *Observer) recentListing(maxAge time.Duration) *topic.Listing {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.listing == nil || maxAge <= 0 || time.Since(o.listingAt) > maxAge {
		return nil
	}
	return o.listing
}

// lister reads listings until ctx ends: each minute, and when somebody asks.
func (o *Observer) lister(ctx context.Context) {
	timer := time.NewTimer(listingEvery)
	defer timer.Stop()
	var due time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.lists.wake:
		case <-timer.C:
		}
		waiting := o.lists.take()
		if _, contact := o.Cluster(); len(waiting) == 0 && (!contact.InTouch || time.Now().Before(due)) {
			continue
		}
		start := time.Now()
		l, err := o.list(ctx)
		answer(waiting, l, err)
		due = start.Add(max(listingEvery, sweepShare*time.Since(start)))
		if err != nil {
			due = time.Now().Add(retryMost)
		}
		timer.Reset(time.Until(due))
	}
}

// list reads the whole cluster at the pinned broker.
func (o *Observer) list(ctx context.Context) (*topic.Listing, error) {
	if second, ok := o.second(); ok {
		_ = o.lookSecond(ctx, second) // a witness, not a condition
	}
	var err error
	for range failovers {
		reign := o.currentReign()
		var broker int32
		if broker, _, err = o.acquire(ctx); err != nil {
			return nil, err
		}
		var l *topic.Listing
		if l, err = o.readListing(ctx, reign, broker); err == nil || ctx.Err() != nil {
			return l, err
		}
		o.distrust(broker, err)
	}
	return nil, unreachable(err)
}

func (o *Observer) readListing(ctx context.Context, reign int, broker int32) (*topic.Listing, error) {
	_, at := o.begin()
	bounded, cancel := context.WithTimeout(ctx, listingTimeout)
	defer cancel()
	l, err := o.reader.Listing(bounded, broker)
	if err != nil {
		return nil, err
	}
	index := collisionIndex(l)
	o.mu.Lock()
	defer o.mu.Unlock()
	if reign != o.reign {
		return nil, errMoved
	}
	o.listing, o.listingAt, o.collisions = l, at, index
	for name, e := range o.entries {
		was := e.face()
		e.collision = o.collisionOf(name)
		o.report(e, was)
	}
	return l, nil
}

// collisionIndex gives for each collision key up to two names that have it: enough to find one that is another's.
// Names without '.' and '_' collide with none.
func collisionIndex(l *topic.Listing) map[string][2]string {
	index := map[string][2]string{}
	for name := range l.Names {
		if !strings.ContainsAny(name, "._") {
			continue
		}
		key := topic.CollisionKey(name)
		pair := index[key]
		switch {
		case pair[0] == "" || name < pair[0]:
			pair[0], pair[1] = name, pair[0]
		case pair[1] == "" || name < pair[1]:
			pair[1] = name
		}
		index[key] = pair
	}
	return index
}

// collisionOf gives another topic of the newest listing whose name is the same to Kafka. The caller holds o.mu.
func (o *Observer) collisionOf(name string) string {
	if o.collisions == nil || !strings.ContainsAny(name, "._") {
		return ""
	}
	for _, other := range o.collisions[topic.CollisionKey(name)] {
		if other != name {
			return other
		}
	}
	return ""
}
