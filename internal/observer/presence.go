package observer

import (
	"context"
	"slices"
	"time"

	"durabletopic.io/operator/internal/core/topic"
)

// confirmAfter is the least time between the two reads that make a surprising fact true.
const confirmAfter = time.Second

// doubt is a surprising fact that one broker showed first.
type doubt struct {
	broker int32
	at     time.Time
	id     topic.ID // of another topic of the same name
}

func (d doubt) open() bool { return !d.at.IsZero() }

// present rules on a read that shows the topic.
func (o *Observer) present(e *entry, t *topic.Topic, s source) ruling {
	switch {
	case slices.Contains(e.former, t.ID):
		e.expect.stillUncreated(s.broker)
		o.showExpected(e)
		return dropped
	case e.topic != nil && e.topic.ID != t.ID:
		if !e.expect.creates(t.ID) && !o.replaces(e, t.ID, s) {
			return doubted
		}
	case s.second:
		o.doubtAgain(e, s)
		return doubted
	case e.topic != nil && older(e.topic, t):
		return dropped
	}
	o.accept(e, t, s)
	return accepted
}

// replaces tells whether another topic ID is true: seen at two brokers, or twice with time between at the only one.
func (o *Observer) replaces(e *entry, id topic.ID, s source) bool {
	d := &e.replaced
	e.missing = doubt{}
	if !d.open() || d.id != id {
		*d = doubt{broker: s.broker, at: s.at, id: id}
		o.confirmLater(e, s.at)
		return false
	}
	if d.broker != s.broker || o.inService() == 1 && s.at.Sub(d.at) >= confirmAfter {
		return true
	}
	o.confirmLater(e, s.at)
	return false
}

// unknown rules on a read by name that answered UNKNOWN_TOPIC_OR_PARTITION.
func (o *Observer) unknown(e *entry, s source) ruling {
	if s.second && !e.missing.open() {
		o.doubtAgain(e, s)
		return doubted
	}
	awaited := e.expect.stillUncreated(s.broker)
	o.showExpected(e)
	e.problem, e.incomplete, e.replaced = nil, false, doubt{}
	switch {
	case awaited:
		e.presence = topic.Missing
		return accepted
	case e.presence == topic.Absent:
		return accepted
	case !e.missing.open():
		e.missing = doubt{broker: s.broker, at: s.at}
	case o.gone(e, s):
		e.presence, e.retries = topic.Absent, 0
		delete(o.agenda.confirm, e.name)
		return accepted
	}
	e.presence = topic.Missing
	if e.everSeen() {
		o.confirmLater(e, s.at)
	}
	return accepted
}

// gone tells whether a missing topic is absent: it existed, and is unknown to two brokers in two reads with time
// between; a cluster of one broker has but one to ask.
func (o *Observer) gone(e *entry, s source) bool {
	if !e.everSeen() || s.at.Sub(e.missing.at) < confirmAfter {
		return false
	}
	return s.broker != e.missing.broker || o.cluster != nil && len(o.cluster.Brokers) == 1
}

// everSeen tells whether the topic is known to have existed, here or by the caller.
func (e *entry) everSeen() bool { return e.topic != nil || e.known }

// inService counts the brokers that are not fenced. The caller holds o.mu.
func (o *Observer) inService() int {
	n := 0
	if o.cluster != nil {
		for _, b := range o.cluster.Brokers {
			if !b.Fenced {
				n++
			}
		}
	}
	return n
}

// confirmLater puts a doubt on the agenda. The caller holds o.mu.
func (o *Observer) confirmLater(e *entry, now time.Time) {
	earliest(o.agenda.confirm, e.name, now.Add(max(confirmAfter, e.again())))
}

// doubtAgain rules on a second broker that does not confirm a doubt: it may lag, or the pinned one does. The pinned
// broker is asked again, and then the doubt goes on if it still has reason to. The caller holds o.mu.
func (o *Observer) doubtAgain(e *entry, s source) {
	e.missing = doubt{}
	if e.replaced.open() {
		o.confirmLater(e, s.at)
		return
	}
	o.agenda.soon(e.name, s.at.Add(e.again()))
}

// setKnown takes in that the caller has seen the topic exist: if it is missing, that is to be verified. The caller
// holds o.mu.
func (o *Observer) setKnown(e *entry, known bool) {
	news := known && !e.known
	e.known = known
	if news && e.presence == topic.Missing && e.missing.open() {
		o.confirmLater(e, time.Now())
		o.poke()
	}
}

// confirm asks another broker than the pinned one about topics in doubt. Those that were doubted at that other broker,
// and all if there is none, are asked at the pinned one.
func (o *Observer) confirm(ctx context.Context) {
	second, ok := o.second()
	reign := o.currentReign()
	asks := o.doubts(second, ok)
	if len(asks) == 0 {
		return
	}
	err := o.lookSecond(ctx, second)
	for len(asks) > 0 && err == nil && ctx.Err() == nil {
		var b batch
		n := o.chunkOf(asks)
		if b, err = o.readTopics(ctx, reign, second, asks[:n]); err == nil {
			b.second = true
			o.apply(b)
			asks = asks[n:]
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, a := range asks { // not answered
		if e, ok := o.entries[a.Name]; ok {
			o.confirmLater(e, time.Now())
		}
	}
}

// doubts takes the doubts that are due off the agenda and gives those to ask the second broker about.
func (o *Observer) doubts(second int32, ok bool) []topic.Ask {
	o.mu.Lock()
	defer o.mu.Unlock()
	var asks []topic.Ask
	now := time.Now()
	for name, at := range o.agenda.confirm {
		if at.After(now) {
			continue
		}
		delete(o.agenda.confirm, name)
		e := o.entries[name]
		if !e.missing.open() && !e.replaced.open() {
			continue
		}
		e.retries++
		if !ok || e.missing.open() && e.missing.broker == second || e.replaced.open() && e.replaced.broker == second {
			o.agenda.wanted[name] = o.seq
			continue
		}
		asks = append(asks, topic.Ask{Name: name, Keys: e.keys})
	}
	return asks
}
