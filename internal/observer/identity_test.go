package observer_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
	"durabletopic.io/operator/internal/observer"
)

func (w *world) wantIdentityFault() {
	w.t.Helper()
	_, contact := w.Cluster()
	f := fault.As(contact.Fault)
	if contact.InTouch || f == nil || f.Class != fault.Blocked || f.Reason != v1alpha1.ReasonClusterIDChanged {
		w.t.Fatalf("contact is %+v, want blocked by %s", contact, v1alpha1.ReasonClusterIDChanged)
	}
	for _, id := range []string{"cluster-1", "cluster-2"} {
		if !strings.Contains(f.Message, id) {
			w.t.Errorf("message %q does not name %s", f.Message, id)
		}
	}
}

func TestUnboundObserverShowsFactsAndForbidsWrites(t *testing.T) {
	k := newScript(2)
	k.set("orders", orders())
	withinOptions(t, k, observer.Options{Interval: interval}, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		w.wantPresence("orders", topic.Present)
		if c, _ := w.Cluster(); c.ID != "cluster-1" {
			t.Errorf("cluster ID %q, want cluster-1", c.ID)
		}
		if _, _, err := w.Verify(t.Context()); err == nil {
			t.Error("Verify succeeded before an identity was bound")
		}
		w.Bind("cluster-1")
		if _, _, err := w.Verify(t.Context()); err != nil {
			t.Errorf("Verify: %v", err)
		}
		w.wantPresence("orders", topic.Present)
	})
}

func TestBindToAnotherClusterForgetsFacts(t *testing.T) {
	k := newScript(2)
	k.id = "cluster-2"
	k.set("orders", orders())
	withinOptions(t, k, observer.Options{Interval: interval}, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		w.Bind("cluster-1")
		w.settle()
		w.wantIdentityFault()
		v := w.View("orders")
		if v.Presence != topic.NotRead || v.Topic != nil || v.Cluster != nil {
			t.Errorf("view still shows facts of the other cluster: %+v", v)
		}
	})
}

// What is under way when another identity is bound is not accepted, whatever it is.
func TestBindDuringReads(t *testing.T) {
	tests := map[string]struct {
		wait time.Duration
		read func(ctx context.Context, w *world) error
	}{
		"sweep":   {interval - time.Second, nil},
		"refresh": {0, func(ctx context.Context, w *world) error { return w.Refresh(ctx, w.names...) }},
		"listing": {0, func(ctx context.Context, w *world) error { _, err := w.Listing(ctx, 0); return err }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			k := newScript(2)
			k.set("orders", orders())
			withinOptions(t, k, observer.Options{Interval: interval}, func(t *testing.T, w *world) {
				w.Declare("orders", keys, false)
				w.names = append(w.many(700), "orders")
				w.pass(time.Second)
				k.do(func() {
					k.took = time.Second
					k.onListing = func(int32) error { time.Sleep(time.Second); return nil }
				})
				w.pass(tt.wait)
				if tt.read != nil {
					go func() {
						if err := tt.read(t.Context(), w); err == nil {
							t.Error("a read of the other cluster was accepted")
						}
					}()
				}
				w.pass(500 * time.Millisecond)
				w.Bind("cluster-2")
				for range 10 {
					w.pass(300 * time.Millisecond)
					for _, name := range w.names {
						if v := w.View(name); v.Presence != topic.NotRead || v.Contact.InTouch {
							t.Fatalf("view of %q is %+v, want no facts and no contact", name, v)
						}
					}
				}
				k.do(func() { k.id = "cluster-2" })
				w.pass(2 * interval)
				w.wantPresence("orders", topic.Present)
			})
		})
	}
}

func TestFactsOfAnotherClusterAreNeverAccepted(t *testing.T) {
	k := newScript(2)
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		k.do(func() { k.id = "cluster-2" })
		k.set("orders", orders(withMin("1")))
		if err := w.Refresh(t.Context(), "orders"); fault.As(err) == nil || fault.As(err).Reason != v1alpha1.ReasonClusterIDChanged {
			t.Errorf("Refresh gave %v, want %s", err, v1alpha1.ReasonClusterIDChanged)
		}
		w.wantIdentityFault()
		w.pass(3 * interval)
		w.wantConfig("orders", minISR, "2")
		w.wantIdentityFault()

		k.clearCalls()
		start := time.Now()
		w.pass(time.Minute)
		if got := len(k.since(start, "topics")); got > 0 {
			t.Errorf("topics of the other cluster were read %d times", got)
		}
		if got := len(k.since(start, "cluster")); got > 6*3 {
			t.Errorf("identity was read %d times in six intervals", got)
		}
		k.do(func() { k.id = "cluster-1" })
		w.pass(interval)
		w.wantConfig("orders", minISR, "1")
	})
}

func TestBrokerOfAnotherClusterIsAvoided(t *testing.T) {
	k := newScript(3)
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		k.do(func() { k.ids[1] = "cluster-2" })
		k.set("orders", orders(withMin("1")), 1)
		w.pass(interval)
		if v := w.View("orders"); !v.Contact.InTouch {
			t.Errorf("contact is %+v, want in touch through broker 2", v.Contact)
		}
		w.wantConfig("orders", minISR, "2")
	})
}

func TestVerify(t *testing.T) {
	tests := map[string]struct {
		change     func(k *script)
		wantBroker int32
		wantReason string
	}{
		"well":                 {func(*script) {}, 1, ""},
		"hangs":                {func(k *script) { k.do(func() { k.hang[1] = true }) }, 2, ""},
		"fenced":               {func(k *script) { k.fence(1, true) }, 2, ""},
		"another cluster":      {func(k *script) { k.do(func() { k.id = "cluster-2" }) }, 0, v1alpha1.ReasonClusterIDChanged},
		"one broker elsewhere": {func(k *script) { k.do(func() { k.ids[1] = "cluster-2" }) }, 2, ""},
		"all down":             {func(k *script) { k.failAll(errDown) }, 0, v1alpha1.ReasonKafkaUnreachable},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			k := newScript(3)
			within(t, k, func(t *testing.T, w *world) {
				w.settle()
				tt.change(k)
				k.clearCalls()
				broker, c, err := w.Verify(t.Context())
				if tt.wantReason != "" {
					if f := fault.As(err); f == nil || f.Reason != tt.wantReason {
						t.Fatalf("Verify gave %v, want %s", err, tt.wantReason)
					}
					if _, contact := w.Cluster(); contact.InTouch {
						t.Error("still in touch")
					}
					return
				}
				if err != nil || broker != tt.wantBroker || c == nil {
					t.Fatalf("Verify gave broker %d, cluster %v, error %v; want broker %d", broker, c, err, tt.wantBroker)
				}
				if got := k.since(time.Time{}, "cluster"); len(got) == 0 {
					t.Error("nothing was read anew")
				}
			})
		})
	}
}

func TestVerifyIsShared(t *testing.T) {
	k := newScript(1)
	k.clusterTook = time.Millisecond
	within(t, k, func(t *testing.T, w *world) {
		w.pass(time.Second)
		k.clearCalls()
		errs := make(chan error)
		for range 100 {
			go func() { _, _, err := w.Verify(t.Context()); errs <- err }()
		}
		for range 100 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if got := len(k.since(time.Time{}, "cluster")); got > 2 {
			t.Errorf("100 callers cost %d reads", got)
		}
	})
}
