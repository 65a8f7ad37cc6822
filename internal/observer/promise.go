package observer

import (
	"slices"
	"time"

	"durabletopic.io/operator/internal/core/topic"
)

// ExpectCreated records that Kafka confirmed the creation of a topic. For up to a minute it counts as existing although
// brokers do not show it. A topic that the name had before is gone for sure. A zero ID or count is not known.
func (o *Observer) ExpectCreated(name string, id topic.ID, partitions int32) {
	o.expect(name, func(e *entry) {
		x := &e.expect
		x.replaced()
		x.created = &createPromise{promise: newPromise(expectCreateFor), id: id, partitions: partitions}
		switch {
		case e.topic == nil:
		case e.presence == topic.Present && x.creates(e.topic.ID): // a read was faster than the answer
			x.created.pending = false
		case e.topic.ID != id:
			e.bury()
		}
		if x.created.pending {
			e.presence = topic.Missing
		}
		e.missing, e.replaced = doubt{}, doubt{}
		delete(o.agenda.confirm, name)
	})
}

// ExpectConfigs records that Kafka confirmed a change of a topic's configs: set to these values, or the overrides
// deleted. For up to half a minute a read that shows what was there before is a stale one.
func (o *Observer) ExpectConfigs(name string, set map[string]string, deleted []string) {
	o.expect(name, func(e *entry) {
		for key, value := range set {
			e.expectConfig(key, &value)
		}
		for _, key := range deleted {
			e.expectConfig(key, nil)
		}
	})
}

// ExpectPartitions records that Kafka confirmed that a topic has so many partitions, for up to half a minute.
func (o *Observer) ExpectPartitions(name string, total int32) {
	o.expect(name, func(e *entry) {
		p := &countPromise{promise: newPromise(expectFor), total: total}
		if e.topic != nil {
			n := len(e.topic.Partitions)
			if n >= int(total) {
				return
			}
			p.before = append(p.before, n)
		}
		if old := e.expect.count; old != nil {
			p.before = append(append(p.before, old.before...), int(old.total))
		}
		e.expect.count = p
	})
}

// expectConfig adds one key. What the key was, and what an earlier write of ours made it, are states that a lagging
// broker may still show.
func (e *entry) expectConfig(key string, want *string) {
	x := &e.expect
	p := &configPromise{promise: newPromise(expectFor), want: want}
	if old := x.configs[key]; old != nil {
		p.before, p.anyBefore = append(p.before, old.before...), old.anyBefore
		if old.want != nil {
			p.before = append(p.before, setting{*old.want, true})
		}
	}
	c, read := topic.Config{}, false
	if e.topic != nil {
		c, read = e.topic.Configs[key]
	}
	switch {
	case !read:
		p.anyBefore = true
	case p.shows(c) == showsWritten && len(p.before) == 0:
		return // nothing differs from before
	default:
		p.before = append(p.before, setting{c.Value, c.OnTopic})
	}
	if x.configs == nil {
		x.configs = map[string]*configPromise{}
	}
	x.configs[key] = p
}

// bury remembers the ID of a topic that is gone for sure: no read that shows it is ever believed again.
func (e *entry) bury() {
	if slices.Contains(e.former, e.topic.ID) {
		return
	}
	e.former = append(e.former, e.topic.ID)
	if n := len(e.former); n > maxFormer {
		e.former = slices.Clone(e.former[n-maxFormer:])
	}
}

// expect records a confirmed write of a declared topic and has it read soon.
func (o *Observer) expect(name string, record func(*entry)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	e, ok := o.entries[name]
	if !ok {
		return
	}
	record(e)
	if e.expect.empty() {
		return
	}
	o.expecting[name] = e
	e.expect.revision++
	e.shown = e.expect.shown()
	o.agenda.soon(name, time.Now().Add(expectFirst))
	o.poke()
}

// showExpected renews what a view shows of the expected writes, if that changed. The caller holds o.mu.
func (o *Observer) showExpected(e *entry) {
	if _, ok := o.expecting[e.name]; !ok {
		return
	}
	if now := e.expect.shown(); !sameExpected(e.shown, now) {
		e.shown = now
		e.expect.revision++
	}
	if e.expect.empty() {
		delete(o.expecting, e.name)
	}
}

func sameExpected(a, b topic.Expected) bool {
	if a.Created != b.Created || a.Partitions != b.Partitions || len(a.Configs) != len(b.Configs) {
		return false
	}
	for key, want := range a.Configs {
		other, ok := b.Configs[key]
		if !ok || (want == nil) != (other == nil) || want != nil && *want != *other {
			return false
		}
	}
	return true
}

// expire ends promises whose time is over. A topic with one that no read has shown is told: that is no stale reading
// any more. The caller holds o.mu.
func (o *Observer) expire(now time.Time) {
	for _, e := range o.expecting {
		was := e.face()
		e.expect.expire(now)
		o.showExpected(e)
		o.report(e, was)
	}
}
