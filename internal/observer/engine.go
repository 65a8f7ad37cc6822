package observer

import (
	"context"
	"time"
)

// agenda is what the engine has to do and when. Guarded by Observer.mu.
type agenda struct {
	sweepStart time.Time // of the newest sweep
	sweepDue   time.Time
	wanted     map[string]uint64    // to be read now, by a read numbered higher
	later      map[string]time.Time // to be wanted then
	confirm    map[string]time.Time // to be read at another broker then
	roundEnd   time.Time
	roundDue   time.Time
	gap        time.Duration // after the newest round
}

func newAgenda(now time.Time) agenda {
	return agenda{
		sweepDue: now, wanted: map[string]uint64{}, later: map[string]time.Time{}, confirm: map[string]time.Time{},
	}
}

func (a *agenda) drop(name string) {
	delete(a.wanted, name)
	delete(a.later, name)
	delete(a.confirm, name)
}

// soon asks for a read of the name after a while; an earlier wish stays.
func (a *agenda) soon(name string, at time.Time) { earliest(a.later, name, at) }

func earliest(m map[string]time.Time, name string, at time.Time) {
	if old, ok := m[name]; !ok || at.Before(old) {
		m[name] = at
	}
}

// ripen moves wishes whose time has come to the wanted names.
func (a *agenda) ripen(now time.Time, seq uint64) {
	for name, at := range a.later {
		if !at.After(now) {
			delete(a.later, name)
			a.wanted[name] = seq
		}
	}
}

// first gives the earliest time.
func first(m map[string]time.Time) (at time.Time, ok bool) {
	for _, t := range m {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	return at, ok
}

type job int8

const (
	jobNone job = iota
	jobSweep
	jobRound
	jobConfirm
)

// engine makes all reads of topics, one after the other, until ctx ends.
func (o *Observer) engine(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		job, due := o.choose(time.Now())
		switch job {
		case jobSweep:
			o.sweep(ctx)
		case jobRound:
			o.round(ctx)
		case jobConfirm:
			o.confirm(ctx)
		case jobNone:
			timer.Reset(time.Until(due))
			select {
			case <-ctx.Done():
			case <-o.wake:
			case <-timer.C:
			}
		}
	}
}

// choose gives the next job, or when to look again. Names that somebody waits for go before sweeps; the gap between
// rounds leaves sweeps their time. Without contact only sweeps try, so that one success restores all facts.
func (o *Observer) choose(now time.Time) (job, time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.expire(now)
	o.announceLost(now)
	a := &o.agenda
	a.ripen(now, o.seq)
	due := a.sweepDue
	sooner := func(t time.Time, ok bool) {
		if ok && t.Before(due) {
			due = t
		}
	}
	if o.contact.shown.InTouch {
		confirm, doubts := first(a.confirm)
		switch {
		case o.roundReady(now):
			return jobRound, now
		case doubts && !confirm.After(now):
			return jobConfirm, now
		}
		sooner(confirm, doubts)
		sooner(first(a.later))
		sooner(a.roundDue, len(a.wanted) > 0)
	}
	if !a.sweepDue.After(now) {
		return jobSweep, now
	}
	return jobNone, due
}

// roundReady tells whether names wait to be read and the gap after the last round is over.
func (o *Observer) roundReady(now time.Time) bool {
	return len(o.agenda.wanted) > 0 && !o.agenda.roundDue.After(now)
}
