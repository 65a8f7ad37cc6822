package observer

import (
	"context"
	"slices"
	"strings"

	"durabletopic.io/operator/internal/core/topic"
)

// waiter waits until reads that started after its call were accepted.
type waiter struct {
	after uint64
	left  int // topics still to be read
	err   error
	done  chan error
	over  bool
}

// Refresh returns when reads of the named topics that started after the call have been accepted; all that call
// meanwhile share few reads. It gives an error when one of the topics could not be read or is not declared, and at
// once when there is no contact.
func (o *Observer) Refresh(ctx context.Context, names ...string) error {
	if err := o.reachable(ctx); err != nil {
		return err
	}
	if len(names) == 0 {
		return nil
	}
	w, err := o.await(names)
	if err != nil {
		return err
	}
	o.poke()
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		err = ctx.Err()
	case <-o.stopped:
		err = errStopped
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.settle(w, err)
	return err
}

// await puts the names on the agenda.
func (o *Observer) await(names []string) (*waiter, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.contact.shown.InTouch {
		return nil, o.contact.shown.Fault
	}
	for _, name := range names {
		if _, ok := o.entries[name]; !ok {
			return nil, notDeclared(name)
		}
	}
	w := &waiter{after: o.seq, left: len(names), done: make(chan error, 1)}
	o.waiting[w] = struct{}{}
	for _, name := range names {
		e := o.entries[name]
		e.waiters = append(e.waiters, w)
		o.agenda.wanted[name] = o.seq
	}
	return w, nil
}

// want has a topic read at the next opportunity. The caller holds o.mu.
func (o *Observer) want(name string) {
	o.agenda.wanted[name] = o.seq
	o.poke()
}

// fulfil lets those go on who wait for a read of the topic that started after their call. The caller holds o.mu.
func (o *Observer) fulfil(e *entry, seq uint64, problem error) {
	if at, ok := o.agenda.wanted[e.name]; ok && at < seq {
		delete(o.agenda.wanted, e.name)
	}
	if len(e.waiters) == 0 {
		return
	}
	var still []*waiter
	for _, w := range e.waiters {
		switch {
		case w.over:
		case w.after >= seq:
			still = append(still, w)
		default:
			o.progress(w, problem)
		}
	}
	e.waiters = still
}

// progress counts one topic of a waiter as read. The caller holds o.mu.
func (o *Observer) progress(w *waiter, problem error) {
	if w.err == nil {
		w.err = problem
	}
	if w.left--; w.left == 0 {
		o.settle(w, w.err)
	}
}

// settle ends a wait. The caller holds o.mu.
func (o *Observer) settle(w *waiter, err error) {
	if w.over {
		return
	}
	w.over = true
	w.done <- err
	delete(o.waiting, w)
}

// allAsks gives what to ask about every declared topic, by name. The caller holds o.mu and changes nothing in it.
func (o *Observer) allAsks() []topic.Ask {
	if o.asks == nil {
		o.asks = make([]topic.Ask, 0, len(o.entries))
		for name, e := range o.entries {
			o.asks = append(o.asks, topic.Ask{Name: name, Keys: e.keys})
		}
		slices.SortFunc(o.asks, func(a, b topic.Ask) int { return strings.Compare(a.Name, b.Name) })
	}
	return o.asks
}
