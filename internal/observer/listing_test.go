package observer_test

import (
	"slices"
	"testing"
	"time"

	"durabletopic.io/operator/internal/core/topic"
)

func TestListingIsReadEachMinute(t *testing.T) {
	k := newScript(3)
	within(t, k, func(t *testing.T, w *world) {
		w.pass(10*time.Minute + time.Second)
		if got := len(k.since(time.Time{}, "listing")); got != 11 {
			t.Errorf("%d listings in ten minutes, want 11", got)
		}
		if got := brokersOf(k.since(time.Time{}, "listing")); !slices.Equal(got, []int32{1}) {
			t.Errorf("listings were read at brokers %v, want the pinned one", got)
		}
	})
}

func TestListingMaxAge(t *testing.T) {
	k := newScript(1)
	k.names["orders"] = topic.ID{1}
	within(t, k, func(t *testing.T, w *world) {
		w.pass(30 * time.Second)
		k.do(func() { k.names["payments"] = topic.ID{2} })
		for maxAge, want := range map[time.Duration]int{time.Minute: 1, 30 * time.Second: 1} {
			l, err := w.Listing(t.Context(), maxAge)
			if err != nil || len(l.Names) != want {
				t.Errorf("listing %v, %v: want %d names", l, err, want)
			}
		}
		l, err := w.Listing(t.Context(), 29*time.Second)
		if err != nil || len(l.Names) != 2 {
			t.Errorf("listing %v, %v: want a new one", l, err)
		}
	})
}

func TestListingFailsOver(t *testing.T) {
	k := newScript(2)
	within(t, k, func(t *testing.T, w *world) {
		w.settle()
		k.do(func() { k.hang[1] = true })
		if _, err := w.Listing(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		k.do(func() { k.hang[2] = true })
		if _, err := w.Listing(t.Context(), 0); err == nil {
			t.Error("listing of a cluster that hangs")
		}
	})
}

// A broker may answer everything but a listing.
func TestListingThatOneBrokerFails(t *testing.T) {
	k := newScript(2)
	within(t, k, func(t *testing.T, w *world) {
		w.pass(time.Second)
		k.do(func() {
			k.onListing = func(b int32) error {
				if b == 1 {
					return errDown
				}
				return nil
			}
		})
		if _, err := w.Listing(t.Context(), 0); err != nil {
			t.Error(err)
		}
	})
}

func TestCollision(t *testing.T) {
	k := newScript(1)
	k.names = map[string]topic.ID{"a.b": {1}, "a_b": {2}, "c.d_e": {3}, "plain": {4}}
	within(t, k, func(t *testing.T, w *world) {
		want := map[string]string{"a.b": "a_b", "a_b": "a.b", "c.d_e": "", "c.d.e": "c.d_e", "plain": "", "x.y": ""}
		for name := range want {
			w.Declare(name, nil, false)
		}
		w.settle()
		for name, want := range want {
			if got := w.View(name).Collision; got != want {
				t.Errorf("collision of %q is %q, want %q", name, got, want)
			}
		}
		w.Declare("a-b", nil, false)
		w.Declare("c_d_e", nil, false) // after the listing
		w.settle()
		if got := w.View("c_d_e").Collision; got != "c.d_e" {
			t.Errorf("collision is %q, want c.d_e", got)
		}
		w.told()
		k.do(func() { k.names["x_y"] = topic.ID{5} })
		w.pass(time.Minute)
		if got := w.told(); !slices.Equal(got, []string{"urgent x.y"}) {
			t.Errorf("told %v, want x.y", got)
		}
	})
}

func TestListingOfAnotherClusterIsNotAccepted(t *testing.T) {
	k := newScript(1)
	within(t, k, func(t *testing.T, w *world) {
		w.settle()
		k.do(func() { k.id = "cluster-2" })
		if _, err := w.Listing(t.Context(), 0); err == nil {
			t.Error("listing of another cluster")
		}
	})
}
