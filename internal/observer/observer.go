package observer

import (
	"context"
	"slices"
	"sync"
	"time"

	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

// Reader reads one broker per call. Every call ends when its context does. AnyBroker may stand for the broker of a
// Cluster call only.
type Reader interface {
	Cluster(ctx context.Context, broker int32) (*topic.Cluster, error)
	Topics(ctx context.Context, broker int32, asks []topic.Ask) (map[string]topic.Read, error)
	Listing(ctx context.Context, broker int32) (*topic.Listing, error)
}

// AnyBroker lets the reader pick one of the bootstrap servers, for the time before any broker is known.
const AnyBroker int32 = -1

// Urgency says how soon a changed topic should be looked at.
type Urgency int8

const (
	// Calm says that leader, in-sync replicas or epochs changed, or the cluster as a whole did. Paced by the observer.
	Calm Urgency = iota
	// Urgent says that what somebody declares or writes changed, or a confirmed write was seen or failed to show. Told at once.
	Urgent
)

// Options of an Observer. Callbacks may be nil; they come from goroutines of Run and should return soon: Changed and
// ClusterChanged one at a time, OnSweep and OnFailover while reads wait.
type Options struct {
	// Interval between the starts of two sweeps. A sweep that takes more than a tenth of it stretches it.
	Interval time.Duration
	// ClusterID is the Kafka cluster the observer is bound to; empty until Bind.
	ClusterID string
	// Changed names topics of which a fact changed.
	Changed func(names []string, urgency Urgency)
	// ClusterChanged tells that brokers, racks, features, contact or identity changed.
	ClusterChanged func()
	// OnSweep reports each sweep: the time it spent reading, how many topics it named, and why it failed.
	OnSweep func(took time.Duration, topics int, err error)
	// OnFailover reports a broker that is not asked for a while, and why.
	OnFailover func(broker int32, err error)
}

// Observer holds the newest accepted facts of one Kafka cluster. Its methods may be called from any goroutine.
type Observer struct {
	reader Reader
	opts   Options

	wake    chan struct{} // the engine has something new to do
	first   chan struct{} // closed after the first attempt to read
	stopped chan struct{} // closed when Run has ended
	pace    *pacer
	checks  *joint[checked]
	lists   *joint[*topic.Listing]

	mu         sync.RWMutex
	bound      string
	cluster    *topic.Cluster
	clusterSeq uint64
	contact    contact
	pool       pool
	entries    map[string]*entry
	asks       []topic.Ask // of all entries by name, never changed in place; nil: to be built
	seq        uint64      // of the newest read that was started
	agenda     agenda
	reign      int // counts the clusters that facts were read from
	expecting  map[string]*entry
	waiting    map[*waiter]struct{}
	listing    *topic.Listing
	listingAt  time.Time
	collisions map[string][2]string
	chunk      int // topics per read
}

// entry is all that is known about one declared topic.
type entry struct {
	name  string
	given []string // keys as the caller gave them
	keys  []string // sorted, without doubles
	known bool

	presence     topic.Presence
	topic        *topic.Topic
	readAt       time.Time
	seq          uint64 // reads up to this one say nothing new
	incomplete   bool
	problem      error
	reducedSince time.Time
	collision    string

	missing  doubt
	replaced doubt
	former   []topic.ID // of earlier topics of this name
	retries  int        // reads in a row that settled nothing
	lagged   int        // reads in a row that the pinned broker answered with older facts than accepted ones
	expect   expectations
	shown    topic.Expected // what View shows of expect; replaced, never changed
	waiters  []*waiter
}

// New makes an observer that reads once Run is called.
func New(r Reader, o Options) *Observer {
	now := time.Now()
	return &Observer{
		reader: r, opts: o, bound: o.ClusterID,
		wake: make(chan struct{}, 1), first: make(chan struct{}), stopped: make(chan struct{}),
		pace: newPacer(), checks: newJoint[checked](), lists: newJoint[*topic.Listing](),
		contact: newContact(o.Interval, now),
		pool:    pool{pin: AnyBroker, bad: map[int32]time.Time{}},
		entries: map[string]*entry{}, expecting: map[string]*entry{}, waiting: map[*waiter]struct{}{},
		agenda: newAgenda(now), chunk: maxChunk,
	}
}

// Run reads until ctx ends and gives ctx's error. It may be called once; nothing it started outlives it.
func (o *Observer) Run(ctx context.Context) error {
	defer close(o.stopped)
	var loops sync.WaitGroup
	loops.Go(func() { o.engine(ctx) })
	loops.Go(func() { o.verifier(ctx) })
	loops.Go(func() { o.lister(ctx) })
	loops.Go(func() { o.pace.run(ctx, o.opts.Changed, o.opts.ClusterChanged) })
	loops.Wait()
	return ctx.Err()
}

// Bind pins the identity of the Kafka cluster. Facts that were read from another one are forgotten. An empty ID binds
// nothing.
func (o *Observer) Bind(clusterID string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if clusterID == "" || clusterID == o.bound {
		return
	}
	o.bound = clusterID
	if o.cluster != nil && o.cluster.ID != clusterID {
		seen := o.cluster.ID
		o.forgetFacts()
		o.lose(time.Now(), clusterIDChanged(clusterID, seen))
	}
	o.agenda.sweepDue = time.Time{}
	o.poke()
}

// SetInterval changes the time between sweeps.
func (o *Observer) SetInterval(d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if d == o.contact.interval {
		return
	}
	o.contact.setInterval(d)
	if due := o.agenda.sweepStart.Add(d); due.Before(o.agenda.sweepDue) {
		o.agenda.sweepDue = due
	}
	o.poke()
}

// Declare adds a topic to the sweeps and names the config keys to read. A new topic or a new key is read at once. With
// known the caller has seen the topic exist earlier: that it is missing is then verified at another broker. Repeating
// a declaration costs next to nothing.
func (o *Observer) Declare(name string, keys []string, known bool) {
	if o.declared(name, keys, known) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	e, ok := o.entries[name]
	if !ok {
		e = &entry{name: name, collision: o.collisionOf(name)}
		o.entries[name] = e
	}
	e.given = slices.Clone(keys)
	o.setKnown(e, known)
	sorted := slices.Compact(slices.Sorted(slices.Values(keys)))
	if ok && slices.Equal(sorted, e.keys) {
		return
	}
	more := !ok || slices.ContainsFunc(sorted, func(k string) bool { return !slices.Contains(e.keys, k) })
	e.keys = sorted
	o.asks = nil
	e.seq = o.seq // a read under way asks for other keys
	if more {
		e.incomplete = true
		o.want(name)
	}
}

// declared tells whether a declaration changes nothing.
func (o *Observer) declared(name string, keys []string, known bool) bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	e, ok := o.entries[name]
	return ok && e.known == known && slices.Equal(e.given, keys)
}

// Forget drops a topic and all that is known about it.
func (o *Observer) Forget(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e, ok := o.entries[name]
	if !ok {
		return
	}
	for _, w := range e.waiters {
		o.settle(w, notDeclared(name))
	}
	delete(o.entries, name)
	delete(o.expecting, name)
	o.agenda.drop(name)
	o.pace.drop(name)
	o.asks = nil
}

// View gives all that is known about a declared topic. It never waits for Kafka. A topic that was not declared is
// NotRead.
func (o *Observer) View(name string) topic.View {
	o.mu.RLock()
	defer o.mu.RUnlock()
	v := topic.View{Cluster: o.cluster, Contact: o.contact.shown}
	e, ok := o.entries[name]
	if !ok {
		return v
	}
	v.Presence, v.Topic, v.ReadAt, v.Incomplete = e.presence, e.topic, e.readAt, e.incomplete
	v.Problem, v.Expected, v.ReducedSince, v.Collision = e.problem, e.shown, e.reducedSince, e.collision
	if e.presence == topic.Absent {
		v.Topic = nil
	}
	return v
}

// Cluster gives the newest facts about the cluster as a whole, nil before the first read, and how fresh facts are. It
// never waits for Kafka.
func (o *Observer) Cluster() (*topic.Cluster, topic.Contact) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.cluster, o.contact.shown
}

// NotifyOnContact has the topic told as Urgent as soon as there is contact, or at once if there is. A caller that has
// work to do and saw a View without contact calls it.
func (o *Observer) NotifyOnContact(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.contact.shown.InTouch {
		o.pace.add(name, Urgent)
		return
	}
	o.contact.notify[name] = struct{}{}
}

// poke wakes the engine.
func (o *Observer) poke() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// forgetFacts drops everything read so far: it came from another cluster. Declarations stay.
func (o *Observer) forgetFacts() {
	o.reign++
	o.cluster, o.listing, o.collisions = nil, nil, nil
	o.listingAt = time.Time{}
	o.pool = pool{pin: AnyBroker, bad: map[int32]time.Time{}}
	clear(o.expecting)
	for name, e := range o.entries {
		*e = entry{
			name: name, given: e.given, keys: e.keys, known: e.known, waiters: e.waiters, seq: o.seq, incomplete: true,
		}
		o.agenda.drop(name)
		o.pace.add(name, Calm)
	}
}

func notDeclared(name string) error {
	return fault.New(fault.Transient, "", "topic %q is not declared to the observer", name)
}
