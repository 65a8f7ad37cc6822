package observer

import (
	"maps"
	"slices"
	"time"

	"durabletopic.io/operator/internal/core/topic"
)

const (
	// expectFor and expectCreateFor are how long a confirmed write counts as expected although no read shows it.
	expectFor       = 30 * time.Second
	expectCreateFor = time.Minute
	// A topic with an expected write is read soon after it, and then about once a second.
	expectFirst = 150 * time.Millisecond
	expectEvery = time.Second
)

// showing is what a read shows of a confirmed write.
type showing int8

const (
	showsBefore showing = iota // not yet applied where it was read
	showsWritten
	showsOther // somebody else has changed it since
)

// promise is one confirmed write. A read that shows it fulfils it; but another broker may still lag behind, so it is
// kept for its time, and a broker that never showed it makes it pending again.
type promise struct {
	until   time.Time
	pending bool
	showed  []int32 // brokers that showed it
}

func newPromise(d time.Duration) promise { return promise{until: time.Now().Add(d), pending: true} }

// keep takes in what a read showed and tells whether the promise still says anything.
func (p *promise) keep(shows showing, broker int32) bool {
	switch {
	case shows == showsWritten:
		p.pending = false
		if !slices.Contains(p.showed, broker) {
			p.showed = append(p.showed, broker)
		}
		return true
	case shows == showsBefore && !slices.Contains(p.showed, broker):
		p.pending = true
		return true
	}
	return false
}

// setting is the state of a config key of a topic.
type setting struct {
	value   string
	onTopic bool
}

type configPromise struct {
	promise
	want      *string   // nil: deleted
	before    []setting // states that a lagging broker may still show
	anyBefore bool      // what was there before is not known
}

func (p *configPromise) shows(c topic.Config) showing {
	s := setting{c.Value, c.OnTopic}
	switch {
	case p.want == nil && !c.OnTopic, p.want != nil && c.OnTopic && c.Value == *p.want:
		return showsWritten
	case p.anyBefore || slices.Contains(p.before, s):
		return showsBefore
	}
	return showsOther
}

type countPromise struct {
	promise
	total  int32
	before []int // empty: not known
}

func (p *countPromise) shows(n int) showing {
	switch {
	case n >= int(p.total):
		return showsWritten
	case len(p.before) == 0 || slices.Contains(p.before, n):
		return showsBefore
	}
	return showsOther
}

type createPromise struct {
	promise
	id         topic.ID // zero: not known
	partitions int32
}

// expectations are the confirmed writes of one topic.
type expectations struct {
	created  *createPromise
	configs  map[string]*configPromise
	count    *countPromise
	revision int // changes with what a view shows
}

func (x *expectations) empty() bool {
	return x.created == nil && len(x.configs) == 0 && x.count == nil
}

// pending tells whether some write was not seen yet.
func (x *expectations) pending() bool {
	for _, p := range x.configs {
		if p.pending {
			return true
		}
	}
	return x.created != nil && x.created.pending || x.count != nil && x.count.pending
}

// creates tells whether the ID is that of a topic we have created.
func (x *expectations) creates(id topic.ID) bool {
	return x.created != nil && (x.created.id == id || x.created.id.IsZero())
}

// observe takes in a read that was accepted.
func (x *expectations) observe(t *topic.Topic, broker int32) {
	if x.created != nil {
		shows := showsOther
		if x.creates(t.ID) {
			shows = showsWritten
		}
		if !x.created.keep(shows, broker) {
			x.created = nil
		}
	}
	for key, p := range x.configs {
		if !p.keep(p.shows(t.Configs[key]), broker) {
			delete(x.configs, key)
		}
	}
	if x.count != nil && !x.count.keep(x.count.shows(len(t.Partitions)), broker) {
		x.count = nil
	}
}

// stillUncreated takes in that a broker does not show the topic and tells whether it may be about to.
func (x *expectations) stillUncreated(broker int32) bool {
	if x.created == nil {
		return false
	}
	if !x.created.keep(showsBefore, broker) {
		x.created = nil
	}
	return x.created != nil
}

// replaced drops what was written to an earlier topic of the name.
func (x *expectations) replaced() { x.configs, x.count = nil, nil }

// expire drops promises whose time is over.
func (x *expectations) expire(now time.Time) {
	if x.created != nil && !x.created.until.After(now) {
		x.created = nil
	}
	if x.count != nil && !x.count.until.After(now) {
		x.count = nil
	}
	maps.DeleteFunc(x.configs, func(_ string, p *configPromise) bool { return !p.until.After(now) })
}

// shown gives what a view shows: the writes that were not seen yet.
func (x *expectations) shown() topic.Expected {
	var e topic.Expected
	if x.created != nil && x.created.pending {
		e.Created, e.Partitions = true, x.created.partitions
	}
	if x.count != nil && x.count.pending {
		e.Partitions = x.count.total
	}
	for key, p := range x.configs {
		if p.pending {
			if e.Configs == nil {
				e.Configs = map[string]*string{}
			}
			e.Configs[key] = p.want
		}
	}
	return e
}
