package observer_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
	"durabletopic.io/operator/internal/observer"
)

func (k *script) hangAll(hang bool) {
	k.do(func() {
		for id := range k.images {
			k.hang[id] = hang
		}
	})
}

func (k *script) failAll(err error) {
	k.do(func() {
		for id := range k.images {
			k.fail[id] = err
		}
	})
}

func TestContactBeforeTheFirstRead(t *testing.T) {
	o := observer.New(newScript(1), observer.Options{Interval: interval})
	c, contact := o.Cluster()
	if c != nil || contact.InTouch || contact.Fault == nil || !contact.Last.IsZero() {
		t.Errorf("cluster %v, contact %+v: want no facts and no contact", c, contact)
	}
}

func TestContactGrace(t *testing.T) {
	tests := map[string]struct{ interval, want time.Duration }{
		"short":   {10 * time.Second, 120 * time.Second},
		"long":    {5 * time.Minute, 15 * time.Minute},
		"not set": {0, 120 * time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := observer.New(newScript(1), observer.Options{Interval: time.Second})
			o.SetInterval(tt.interval)
			if _, c := o.Cluster(); c.Grace != tt.want {
				t.Errorf("grace is %v, want %v", c.Grace, tt.want)
			}
		})
	}
}

func TestContactIsLostWhenNoBrokerAnswers(t *testing.T) {
	k := newScript(3)
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		_, before := w.Cluster()
		w.toldCluster()
		k.hangAll(true)
		w.pass(interval + 8*time.Second) // four searches: three brokers and the bootstrap servers
		v := w.View("orders")
		if v.Contact.InTouch || v.Contact.Since.Before(before.Last.Add(interval)) || v.Contact.Last != before.Last {
			t.Errorf("contact is %+v, want lost since the second sweep", v.Contact)
		}
		if f := fault.As(v.Contact.Fault); f == nil || f.Class != fault.Transient || f.Reason != v1alpha1.ReasonKafkaUnreachable {
			t.Errorf("fault is %v, want %s", v.Contact.Fault, v1alpha1.ReasonKafkaUnreachable)
		}
		if v.Presence != topic.Present || v.Topic == nil {
			t.Errorf("facts are gone with the contact: %+v", v)
		}
		if got := w.toldCluster(); got != 1 {
			t.Errorf("the loss was told %d times, want once", got)
		}
		since := v.Contact.Since
		w.pass(30 * time.Second)
		if _, c := w.Cluster(); c.Since != since {
			t.Errorf("lost since %v, then since %v: each failure starts anew", since, c.Since)
		}
	})
}

func TestRetriesBackOffWithoutContact(t *testing.T) {
	k := newScript(1)
	within(t, k, func(t *testing.T, w *world) {
		w.settle()
		k.failAll(errDown)
		w.pass(interval)
		start := time.Now()
		k.clearCalls()
		w.pass(45 * time.Second)
		var at []float64
		for _, c := range k.since(time.Time{}, "cluster") {
			if c.broker == 1 {
				at = append(at, c.at.Sub(start).Seconds())
			}
		}
		if want := []float64{1, 3, 7, 15, 25, 35, 45}; !slices.Equal(at, want) {
			t.Errorf("retries at %v s, want %v", at, want)
		}
		k.failAll(nil)
		w.pass(10 * time.Second)
		if _, c := w.Cluster(); !c.InTouch || c.Fault != nil {
			t.Errorf("contact is %+v, want regained", c)
		}
		// The next loss begins with short waits again.
		k.failAll(errDown)
		w.pass(interval)
		_, lost := w.Cluster()
		k.failAll(nil)
		w.pass(time.Until(lost.Since.Add(time.Second)))
		if _, c := w.Cluster(); lost.InTouch || !c.InTouch {
			t.Errorf("contact is %+v, then %+v a second later: want lost and regained", lost, c)
		}
	})
}

func TestWithoutContactCallersAreSentOffAtOnce(t *testing.T) {
	k := newScript(2)
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		k.hangAll(true)
		w.pass(interval + 10*time.Second)
		start := time.Now()
		err := w.Refresh(t.Context(), "orders")
		_, _, verr := w.Verify(t.Context())
		_, lerr := w.Listing(t.Context(), 0)
		for call, err := range map[string]error{"Refresh": err, "Verify": verr, "Listing": lerr} {
			if f := fault.As(err); f == nil || f.Reason != v1alpha1.ReasonKafkaUnreachable {
				t.Errorf("%s gave %v, want %s", call, err, v1alpha1.ReasonKafkaUnreachable)
			}
		}
		if took := time.Since(start); took > 0 {
			t.Errorf("callers waited %v, want none", took)
		}
	})
}

func TestARefreshUnderWayEndsWithTheContact(t *testing.T) {
	k := newScript(2)
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		k.hangAll(true)
		start := time.Now()
		if err := w.Refresh(t.Context(), "orders"); fault.As(err) == nil {
			t.Error("Refresh succeeded on a cluster that hangs")
		}
		if took := time.Since(start); took > 6*time.Second {
			t.Errorf("Refresh took %v", took)
		}
		if _, c := w.Cluster(); c.InTouch {
			t.Error("still in touch after a read failed at all brokers")
		}
	})
}

func TestBlipInsideTheGraceTellsTopicsThatWaitOnly(t *testing.T) {
	k := newScript(2)
	within(t, k, func(t *testing.T, w *world) {
		w.many(20)
		w.pass(time.Second)
		w.told()
		w.toldCluster()
		k.failAll(errDown)
		w.pass(interval)
		w.Declare("topic-new", keys, false)
		w.NotifyOnContact("topic-1003")
		w.NotifyOnContact("forgotten")
		w.pass(60 * time.Second)
		if got := w.told(); len(got) > 0 {
			t.Errorf("told %v without contact inside the grace, want nothing", got)
		}
		k.failAll(nil)
		w.pass(interval)
		if diff := cmp.Diff([]string{"urgent topic-1003", "urgent topic-new"}, w.told()); diff != "" {
			t.Errorf("told on contact (-want +got):\n%s", diff)
		}
		if got := w.toldCluster(); got != 2 {
			t.Errorf("cluster told %d times, want 2: lost and regained", got)
		}
		w.NotifyOnContact("topic-1004")
		if diff := cmp.Diff([]string{"urgent topic-1004"}, w.told()); diff != "" {
			t.Errorf("told with contact (-want +got):\n%s", diff)
		}
	})
}

func TestLossBeyondTheGraceTellsEveryTopicSlowly(t *testing.T) {
	k := newScript(2)
	within(t, k, func(t *testing.T, w *world) {
		w.many(200)
		w.pass(time.Second)
		w.told()
		k.hangAll(true)
		w.pass(interval + 9*time.Second)
		_, contact := w.Cluster()
		w.pass(time.Until(contact.Since.Add(contact.Grace)))
		if got := w.told(); len(got) > 0 {
			t.Fatalf("%d topics told inside the grace", len(got))
		}
		w.pass(20 * time.Second)
		w.wantPaced(200)
		w.pass(time.Minute)
		if got := w.told(); len(got) > 0 {
			t.Errorf("%d topics told again", len(got))
		}
		k.hangAll(false)
		w.pass(30 * time.Second)
		w.wantPaced(200)
	})
}

// wantPaced wants so many calm notifications, at most 50 in any second.
func (w *world) wantPaced(n int) {
	w.t.Helper()
	w.locked(func() {
		if len(w.notes) != n {
			w.t.Errorf("%d notifications, want %d", len(w.notes), n)
		}
		for i, note := range w.notes {
			if note.urgency != observer.Calm {
				w.t.Errorf("%q was told as urgent", note.name)
			}
			if i >= 50 && note.at.Sub(w.notes[i-50].at) < time.Second {
				w.t.Fatalf("more than 50 notifications within a second: %d and %d", i-50, i)
			}
		}
		w.notes = nil
	})
}

func TestUnsupportedBrokersAreNotReadFurther(t *testing.T) {
	k := newScript(2)
	k.missing = []string{"DescribeTopicPartitions"}
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.pass(interval)
		c, contact := w.Cluster()
		f := fault.As(contact.Fault)
		if c == nil || f == nil || f.Class != fault.Blocked || f.Reason != v1alpha1.ReasonUnsupportedBrokers {
			t.Fatalf("cluster %v, fault %v: want facts and %s", c, f, v1alpha1.ReasonUnsupportedBrokers)
		}
		if !strings.Contains(f.Message, k.missing[0]) {
			t.Errorf("message %q does not name %s", f.Message, k.missing[0])
		}
		if got := k.since(time.Time{}, "topics"); len(got) > 0 {
			t.Errorf("topics were read %d times", len(got))
		}
	})
}

func TestReasonsOfTheReaderStay(t *testing.T) {
	k := newScript(1)
	k.fail[1] = fault.New(fault.Blocked, "AuthenticationFailed", "wrong password")
	within(t, k, func(t *testing.T, w *world) {
		w.settle()
		if _, c := w.Cluster(); fault.As(c.Fault).Reason != "AuthenticationFailed" {
			t.Errorf("fault is %v, want the reader's", c.Fault)
		}
	})
}

// Of several errors the one that needs a person is shown.
func TestFaultThatSaysMost(t *testing.T) {
	denied := fault.New(fault.Blocked, v1alpha1.ReasonNotAuthorized, "DESCRIBE on the cluster is not allowed")
	k := newScript(3)
	within(t, k, func(t *testing.T, w *world) {
		w.settle()
		k.do(func() { k.fail[1], k.fail[2], k.fail[3] = errDown, denied, errDown })
		w.pass(interval)
		if _, c := w.Cluster(); fault.As(c.Fault).Reason != v1alpha1.ReasonNotAuthorized {
			t.Errorf("fault is %v, want %v", c.Fault, denied)
		}
	})
}

func TestNothingIsAnsweredAfterTheEnd(t *testing.T) {
	k := newScript(1)
	o := observer.New(k, observer.Options{Interval: interval})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Run gave %v", err)
	}
	o.Declare("orders", keys, false)
	if err := o.Refresh(t.Context(), "orders"); err == nil {
		t.Error("Refresh succeeded after the end")
	}
	if _, _, err := o.Verify(t.Context()); err == nil {
		t.Error("Verify succeeded after the end")
	}
	if _, err := o.Listing(t.Context(), 0); err == nil {
		t.Error("Listing succeeded after the end")
	}
}
