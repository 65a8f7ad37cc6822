package observer

import (
	"slices"
	"time"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

const (
	// applyAtOnce is how many topics are taken in before readers of views have their turn.
	applyAtOnce = 128
	// staleRounds is in how many reads in a row the pinned broker may lag behind accepted facts before it is left.
	staleRounds = 3
	// maxFormer bounds the IDs of earlier topics of a name that are remembered.
	maxFormer = 4
	// Dropped reads are repeated after againFirst, doubling to againMost.
	againFirst = time.Second
	againMost  = 10 * time.Second
)

// ruling is what became of the read of one topic.
type ruling int8

const (
	// accepted: the facts are taken, and whoever waits for them goes on.
	accepted ruling = iota
	// dropped: the read is older than accepted facts; read again.
	dropped
	// doubted: the read needs confirmation, which is on the agenda.
	doubted
)

// face is what a view shows of an entry and what makes its topic worth a look.
type face struct {
	presence   topic.Presence
	topic      *topic.Topic
	problem    error
	collision  string
	incomplete bool
	expected   int // revision
}

func (e *entry) face() face {
	return face{e.presence, e.topic, e.problem, e.collision, e.incomplete, e.expect.revision}
}

// apply judges and takes in one read of some topics. It tells whether the broker lags behind accepted facts for so long
// that it should be left.
func (o *Observer) apply(b batch) (lags bool) {
	for part := range slices.Chunk(b.asks, applyAtOnce) {
		lags = o.applyPart(b, part) || lags
	}
	return lags
}

func (o *Observer) applyPart(b batch, asks []topic.Ask) (lags bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if b.reign != o.reign {
		return false
	}
	for _, a := range asks {
		e, ok := o.entries[a.Name]
		if !ok {
			continue
		}
		r, ok := b.reads[a.Name]
		if !ok {
			o.agenda.soon(a.Name, b.at.Add(againFirst))
			continue
		}
		if o.take(e, r, b.source) == dropped && !b.second {
			e.lagged++
			lags = lags || e.lagged >= staleRounds
		}
	}
	return lags
}

// take rules on the read of one topic and tells who waits for it. The caller holds o.mu.
func (o *Observer) take(e *entry, r topic.Read, s source) ruling {
	if s.seq <= e.seq {
		return accepted
	}
	was := e.face()
	ruled, problem := o.rule(e, r, s)
	switch ruled {
	case accepted:
		e.seq = s.seq
		o.fulfil(e, s.seq, problem)
	case dropped:
		o.agenda.soon(e.name, s.at.Add(e.again()))
		e.retries++
	case doubted:
	}
	if e.expect.pending() {
		o.agenda.soon(e.name, s.at.Add(expectEvery))
	}
	o.report(e, was)
	return ruled
}

func (o *Observer) rule(e *entry, r topic.Read, s source) (ruling, error) {
	switch {
	case r.Err != nil:
		return o.unreadable(e, r.Err, s), r.Err
	case r.Topic != nil:
		return o.present(e, r.Topic, s), nil
	default:
		return o.unknown(e, s), nil
	}
}

// unreadable takes in that a topic cannot be read although the cluster can. Refusal hides the topic; other trouble
// leaves its presence as it was.
func (o *Observer) unreadable(e *entry, err error, s source) ruling {
	if s.second {
		o.doubtAgain(e, s)
		return doubted
	}
	if !sameFault(e.problem, err) {
		e.problem = err
	}
	if fault.As(err).Class == fault.Blocked {
		e.presence = topic.Hidden
		e.missing, e.replaced = doubt{}, doubt{}
		return accepted
	}
	o.agenda.soon(e.name, s.at.Add(e.again()))
	e.retries++
	return accepted
}

// accept takes a topic as read. Equal facts keep their old value, so that a quiet sweep leaves nothing behind.
func (o *Observer) accept(e *entry, t *topic.Topic, s source) {
	old := e.topic
	if old != nil && old.ID != t.ID {
		e.bury()
		e.expect.replaced()
		e.reducedSince = time.Time{}
		old = nil
	}
	e.expect.observe(t, s.broker)
	o.showExpected(e)
	if old == nil || !sameTopic(old, t) {
		e.topic = t
	}
	switch {
	case !reduced(t):
		e.reducedSince = time.Time{}
	case e.reducedSince.IsZero():
		e.reducedSince = s.at
	}
	e.presence, e.problem, e.incomplete, e.readAt = topic.Present, nil, false, s.at
	e.missing, e.replaced = doubt{}, doubt{}
	e.retries, e.lagged = 0, 0
	delete(o.agenda.confirm, e.name)
}

// report queues the topic if anything changed that somebody may act on. The caller holds o.mu.
func (o *Observer) report(e *entry, was face) {
	is := e.face()
	urgency, changed := change(was.topic, is.topic, e.keys)
	if was.presence != is.presence || was.collision != is.collision || was.incomplete != is.incomplete ||
		was.expected != is.expected || !sameFault(was.problem, is.problem) {
		urgency, changed = Urgent, true
	}
	if changed {
		o.pace.add(e.name, urgency)
	}
}

// again gives the wait before a dropped read is repeated.
func (e *entry) again() time.Duration { return min(againFirst<<min(e.retries, 4), againMost) }

// leaveLagging gives up a pinned broker that goes on showing old facts, if there is a better one.
func (o *Observer) leaveLagging(broker int32) {
	o.mu.RLock()
	now := time.Now()
	better := slices.ContainsFunc(o.pool.candidates(o.cluster, now), func(id int32) bool {
		return id != broker && !now.Before(o.pool.bad[id])
	})
	o.mu.RUnlock()
	if better {
		o.distrust(broker, fault.New(fault.Transient, v1alpha1.ReasonKafkaUnreachable,
			"broker %d lags behind the cluster", broker))
	}
}
