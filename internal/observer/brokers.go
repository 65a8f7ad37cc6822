package observer

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

// Bounds of reads. A paused broker accepts connections and never answers, so each read is short and another broker is
// asked next.
const (
	clusterTimeout = 1500 * time.Millisecond
	topicsTimeout  = 2 * time.Second
	// distrustFor is how long a broker that failed is asked last.
	distrustFor = 30 * time.Second
	// acquireTimeout bounds the search for a broker; the next search begins with those that were not tried.
	acquireTimeout = 10 * time.Second
	// bootstrapTries is how often the bootstrap servers are tried in one search before any broker is known.
	bootstrapTries = 3
)

// pool is the choice of the broker to read from. Guarded by Observer.mu.
type pool struct {
	pin int32 // AnyBroker: none
	bad map[int32]time.Time
}

// candidates gives the brokers to try, best first: the pinned one, others in service from there on, and at last those
// that failed lately. Fenced brokers are out of service.
func (p *pool) candidates(c *topic.Cluster, now time.Time) []int32 {
	if c == nil {
		return nil
	}
	var good, bad []int32
	for _, b := range c.Brokers {
		switch {
		case b.Fenced:
		case now.Before(p.bad[b.ID]):
			bad = append(bad, b.ID)
		default:
			good = append(good, b.ID)
		}
	}
	at, _ := slices.BinarySearch(good, p.pin)
	good = slices.Concat(good[at:], good[:at])
	slices.SortStableFunc(bad, func(a, b int32) int { return p.bad[a].Compare(p.bad[b]) })
	return append(good, bad...)
}

// search is one search for a broker.
type search struct {
	tried     map[int32]bool
	bootstrap int // attempts at the bootstrap servers
	err       error
}

// next gives the broker to try next; the bootstrap servers when no known one is left.
func (o *Observer) next(s *search) (int32, bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	for _, b := range o.pool.candidates(o.cluster, time.Now()) {
		if !s.tried[b] {
			s.tried[b] = true
			return b, true
		}
	}
	tries := 1
	if o.cluster == nil {
		tries = bootstrapTries
	}
	s.bootstrap++
	return AnyBroker, s.bootstrap <= tries
}

// acquire finds a broker in service of the bound cluster, verified by a read that starts now, and pins it. It tries
// every broker before it gives up.
func (o *Observer) acquire(ctx context.Context) (int32, *topic.Cluster, error) {
	bounded, cancel := context.WithTimeout(ctx, acquireTimeout)
	defer cancel()
	s := search{tried: map[int32]bool{}}
	for {
		b, ok := o.next(&s)
		if !ok {
			return AnyBroker, nil, unreachable(s.err)
		}
		c, err := o.probe(bounded, b)
		if err == nil && b != AnyBroker {
			o.repin(b)
			return b, c, nil
		}
		if err == nil {
			s.keep(noneInService)
			continue
		}
		if ctx.Err() != nil {
			return AnyBroker, nil, ctx.Err()
		}
		o.distrust(b, err)
		s.keep(err)
		if bounded.Err() != nil || b == AnyBroker && isIdentity(err) {
			return AnyBroker, nil, unreachable(s.err)
		}
	}
}

var noneInService = fault.New(fault.Transient, v1alpha1.ReasonKafkaUnreachable, "no Kafka broker that the bootstrap servers name is in service and answers")

// keep remembers the error that says most: the least likely to pass by itself, the first of equals.
func (s *search) keep(err error) {
	if s.err == nil || fault.As(err).Class > fault.As(s.err).Class {
		s.err = err
	}
}

// probe reads the cluster as one broker shows it and accepts the facts if the broker is fit to be read from.
func (o *Observer) probe(ctx context.Context, broker int32) (*topic.Cluster, error) {
	c, seq, err := o.look(ctx, broker)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.fit(c, broker); err != nil {
		return nil, err
	}
	o.acceptCluster(c, seq)
	if len(c.Missing) > 0 {
		return nil, fault.New(fault.Blocked, v1alpha1.ReasonUnsupportedBrokers, "the brokers lack Kafka APIs that are needed: %s; "+
			"nothing is written; upgrade them to Apache Kafka 4.0 or newer", strings.Join(c.Missing, ", "))
	}
	return c, nil
}

// look reads the cluster as one broker shows it.
func (o *Observer) look(ctx context.Context, broker int32) (*topic.Cluster, uint64, error) {
	seq, _ := o.begin()
	ctx, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	c, err := o.reader.Cluster(ctx, broker)
	return c, seq, err
}

// fit tells why a broker that showed the cluster must not be read from. The caller holds o.mu.
func (o *Observer) fit(c *topic.Cluster, broker int32) error {
	if o.bound != "" && c.ID != o.bound {
		return clusterIDChanged(o.bound, c.ID)
	}
	if broker == AnyBroker {
		return nil
	}
	if b, ok := c.Broker(broker); !ok || b.Fenced {
		return outOfService(broker)
	}
	return nil
}

func outOfService(broker int32) error {
	return fault.New(fault.Transient, v1alpha1.ReasonKafkaUnreachable, "broker %d is not in service", broker)
}

// acceptCluster takes newer facts about the cluster. The caller holds o.mu.
func (o *Observer) acceptCluster(c *topic.Cluster, seq uint64) {
	if seq <= o.clusterSeq {
		return
	}
	o.clusterSeq = seq
	old := o.cluster
	if old != nil && old.ID != c.ID {
		o.forgetFacts()
		old = nil
	}
	if old != nil && c.DefaultPartitions == 0 { // could not be read this time
		kept := *c
		kept.DefaultPartitions = old.DefaultPartitions
		c = &kept
	}
	if old != nil && sameCluster(old, c) {
		return
	}
	o.cluster = c
	o.pace.addCluster()
	if old != nil && !sameRacks(old, c) {
		o.tellAll()
	}
}

func sameCluster(a, b *topic.Cluster) bool {
	return a.ID == b.ID && slices.Equal(a.Brokers, b.Brokers) && maps.Equal(a.Features, b.Features) &&
		a.DefaultPartitions == b.DefaultPartitions && slices.Equal(a.Missing, b.Missing)
}

// sameRacks tells whether nothing changed that every topic is judged by: which brokers are registered, where, and the
// features. A broker that is merely fenced or back changes nothing: the partitions it touches tell.
func sameRacks(a, b *topic.Cluster) bool {
	return maps.Equal(a.Features, b.Features) && slices.EqualFunc(a.Brokers, b.Brokers, func(x, y topic.Broker) bool {
		return x.ID == y.ID && x.Rack == y.Rack
	})
}

// repin makes a broker that just answered the one to read from.
func (o *Observer) repin(b int32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pool.pin = b
	delete(o.pool.bad, b)
}

// pinned gives the broker that reads go to at present.
func (o *Observer) pinned() int32 {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.pool.pin
}

// distrust has a broker asked last for a while. As the pin it stays the place in the order from which to go on.
func (o *Observer) distrust(b int32, err error) {
	if b == AnyBroker {
		return
	}
	o.mu.Lock()
	o.pool.bad[b] = time.Now().Add(distrustFor)
	o.mu.Unlock()
	if o.opts.OnFailover != nil {
		o.opts.OnFailover(b, err)
	}
}

// begin numbers a read that starts now.
func (o *Observer) begin() (uint64, time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seq++
	return o.seq, time.Now()
}

// second gives a broker in service other than the pinned one, preferably one that did not fail lately.
func (o *Observer) second() (int32, bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	for _, b := range o.pool.candidates(o.cluster, time.Now()) {
		if b != o.pool.pin {
			return b, true
		}
	}
	return AnyBroker, false
}

// lookSecond reads the cluster at a broker other than the pinned one. When that one knows the pinned broker to be out
// of service, which a broker cut off from the controllers does not know of itself, the pin is given up.
func (o *Observer) lookSecond(ctx context.Context, broker int32) error {
	c, _, err := o.look(ctx, broker)
	if err == nil {
		o.mu.RLock()
		err = o.fit(c, broker)
		o.mu.RUnlock()
	}
	if err != nil {
		if ctx.Err() == nil {
			o.distrust(broker, err)
		}
		return err
	}
	pin := o.pinned()
	if b, ok := c.Broker(pin); !ok || b.Fenced {
		o.distrust(pin, outOfService(pin))
	}
	return nil
}
