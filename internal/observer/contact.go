package observer

import (
	"context"
	"errors"
	"time"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

// Without contact a read is tried again after retryFirst, doubling to the interval or retryMost.
const (
	retryFirst = time.Second
	retryMost  = 10 * time.Second
)

// graceLeast is the least time for which facts stay good without contact.
const graceLeast = 120 * time.Second

// defaultInterval stands in for an interval that is not positive.
const defaultInterval = 10 * time.Second

var errStopped = errors.New("observer has stopped")

// contact is whether and since when Kafka answers. Guarded by Observer.mu.
type contact struct {
	shown     topic.Contact
	interval  time.Duration
	retry     time.Duration
	attempted bool
	announced bool // the present loss went beyond the grace and every topic was told
	notify    map[string]struct{}
}

func newContact(interval time.Duration, now time.Time) contact {
	c := contact{notify: map[string]struct{}{}}
	c.setInterval(interval)
	c.shown.Since = now
	c.shown.Fault = fault.New(fault.Waiting, v1alpha1.ReasonConnecting, "Kafka has not been read yet")
	return c
}

func (c *contact) setInterval(d time.Duration) {
	if d <= 0 {
		d = defaultInterval
	}
	c.interval = d
	c.shown.Grace = max(3*d, graceLeast)
}

// nextRetry gives the wait before the next attempt without contact.
func (c *contact) nextRetry() time.Duration {
	most := min(c.interval, retryMost)
	wait := min(max(c.retry, retryFirst), most)
	c.retry = min(2*wait, most)
	return wait
}

// regain records a complete sweep that began at the given time. The caller holds o.mu.
func (o *Observer) regain(began time.Time) {
	c := &o.contact
	c.shown.Last = began
	o.attempt()
	if c.shown.InTouch {
		return
	}
	c.shown.InTouch, c.shown.Since, c.shown.Fault = true, time.Now(), nil
	c.retry = 0
	o.pace.addCluster()
	if c.announced {
		c.announced = false
		o.tellAll()
	}
	for name := range c.notify {
		if _, ok := o.entries[name]; ok {
			o.pace.add(name, Urgent)
		}
	}
	clear(c.notify)
	o.lists.poke()
}

// lose records a failed attempt to read and sends off everybody who waits for one. The caller holds o.mu.
func (o *Observer) lose(now time.Time, err error) {
	c := &o.contact
	o.attempt()
	if c.shown.InTouch || !sameFault(c.shown.Fault, err) {
		o.pace.addCluster()
	}
	if c.shown.InTouch {
		c.shown.InTouch, c.shown.Since = false, now
	}
	c.shown.Fault = err
	for w := range o.waiting {
		o.settle(w, err)
	}
	o.agenda.sweepDue = now.Add(c.nextRetry())
}

// attempt lets those go on who wait for the first attempt to read. The caller holds o.mu.
func (o *Observer) attempt() {
	if !o.contact.attempted {
		o.contact.attempted = true
		close(o.first)
	}
}

// announceLost tells every topic, once, that contact is lost beyond the grace. The caller holds o.mu.
func (o *Observer) announceLost(now time.Time) {
	c := &o.contact
	if c.shown.Lost(now) && !c.announced {
		c.announced = true
		o.pace.addCluster()
		o.tellAll()
	}
}

// tellAll queues every topic, slowly. The caller holds o.mu.
func (o *Observer) tellAll() {
	for _, a := range o.allAsks() {
		o.pace.add(a.Name, Calm)
	}
}

// reachable gives nil while there is contact, and the reason why not as soon as an attempt to read has failed.
func (o *Observer) reachable(ctx context.Context) error {
	select {
	case <-o.first:
	case <-ctx.Done():
		return ctx.Err()
	case <-o.stopped:
		return errStopped
	}
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.contact.shown.Fault
}

// unreachable classifies the error of a read that no broker answered. One that the reader gave a reason stays as it is.
func unreachable(err error) error {
	f := fault.As(err)
	if f.Reason != "" {
		return f
	}
	return fault.Wrap(err, fault.Transient, v1alpha1.ReasonKafkaUnreachable, "no Kafka broker answers").WithDetail(err.Error())
}

func clusterIDChanged(bound, seen string) error {
	return fault.New(fault.Blocked, v1alpha1.ReasonClusterIDChanged,
		"the brokers belong to Kafka cluster %q, not to %q as recorded", seen, bound)
}

func isIdentity(err error) bool {
	f := fault.As(err)
	return f != nil && f.Reason == v1alpha1.ReasonClusterIDChanged
}

// sameFault compares what is shown of two faults; a broker's own words may vary.
func sameFault(a, b error) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	x, y := fault.As(a), fault.As(b)
	return x.Class == y.Class && x.Reason == y.Reason && x.Message == y.Message
}
