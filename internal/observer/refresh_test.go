package observer_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/observer"
)

// A read that was under way when Refresh was called may be older than what the caller wants to see.
func TestRefreshWantsAReadThatStartsAfterTheCall(t *testing.T) {
	k := newScript(1)
	k.took = time.Second
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.pass(500 * time.Millisecond) // within the first sweep
		start := time.Now()
		if err := w.Refresh(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < 1500*time.Millisecond {
			t.Errorf("Refresh took %v: it was content with the read under way", took)
		}
		go func() { _ = w.Refresh(t.Context(), "orders") }()
		w.pass(700 * time.Millisecond) // within the read of the other caller
		k.set("orders", orders(withMin("1")))
		if err := w.Refresh(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
		w.wantConfig("orders", minISR, "1")
	})
}

func TestRefreshIsImmediateWhenIdle(t *testing.T) {
	k := newScript(1)
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.pass(2 * time.Second)
		start := time.Now()
		if err := w.Refresh(t.Context(), "orders", "orders"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > 0 {
			t.Errorf("Refresh took %v on an idle observer", took)
		}
		if err := w.Refresh(t.Context()); err != nil {
			t.Errorf("Refresh of nothing: %v", err)
		}
	})
}

const gapFirst = 100 * time.Millisecond

// Hundreds of callers, each again and again, share few reads.
func TestRefreshesAreCoalesced(t *testing.T) {
	k := newScript(1)
	within(t, k, func(t *testing.T, w *world) {
		names := w.many(300)
		w.pass(5 * time.Second)
		k.clearCalls()
		start := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan int)
		for _, name := range names {
			go func() {
				n := 0
				for w.Refresh(ctx, name) == nil {
					n++
				}
				done <- n
			}()
		}
		w.pass(30 * time.Second)
		cancel()
		least := 1000
		for range names {
			least = min(least, <-done)
		}
		if least < 40 {
			t.Errorf("a caller had %d answers in 30 s, want one at least every 600 ms", least)
		}
		calls := k.since(start, "")
		if got := float64(len(calls)) / 30; got > 4 {
			t.Errorf("%.1f reads a second, want at most 4", got)
		}
		var rounds []time.Time
		for _, c := range k.since(start, "topics") {
			if len(c.names) < 300 || len(rounds) < 6 {
				rounds = append(rounds, c.at)
			}
		}
		const ms = time.Millisecond
		for i, want := range []time.Duration{100 * ms, 200 * ms, 400 * ms, 600 * ms} {
			if got := rounds[i+1].Sub(rounds[i]); got != want {
				t.Errorf("gap %d is %v, want %v", i, got, want)
			}
		}

		w.pass(3 * time.Second) // idle again: short gaps again
		start = time.Now()
		for range 2 {
			if err := w.Refresh(t.Context(), names[0]); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took > gapFirst {
			t.Errorf("two refreshes took %v on an idle observer, want one gap of %v", took, gapFirst)
		}
	})
}

func TestSweepsGoOnUnderRefreshes(t *testing.T) {
	k := newScript(1)
	k.took = 100 * time.Millisecond
	within(t, k, func(t *testing.T, w *world) {
		names := w.many(600)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() {
			for ctx.Err() == nil {
				_ = w.Refresh(ctx, names[0])
			}
		}()
		w.pass(time.Minute)
		if got := len(w.sweeps); got < 6 {
			t.Errorf("%d sweeps in a minute, want 6", got)
		}
	})
}

// Somebody who waits has their turn between the parts of a long sweep.
func TestRefreshDoesNotWaitForALongSweep(t *testing.T) {
	k := newScript(1)
	within(t, k, func(t *testing.T, w *world) {
		names := w.many(5000)
		w.pass(time.Second)
		k.do(func() { k.took = time.Second })
		w.pass(interval) // 100 ms before the end of the first part
		start := time.Now()
		if err := w.Refresh(t.Context(), names[4000]); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("Refresh took %v within a sweep of 10 s", took)
		}
	})
}

// The older facts of a sweep do not replace those of a read that was made within it.
func TestSweepDoesNotUndoAReadWithinIt(t *testing.T) {
	k := newScript(1)
	within(t, k, func(t *testing.T, w *world) {
		names := w.many(1000)
		w.pass(time.Second)
		k.do(func() { k.took = time.Second })
		w.pass(interval - 500*time.Millisecond) // in the first part, which has read names[0]
		k.set(names[0], named(names[0], withMin("1")))
		if err := w.Refresh(t.Context(), names[0]); err != nil {
			t.Fatal(err)
		}
		w.wantConfig(names[0], minISR, "1")
		for range 30 {
			w.pass(100 * time.Millisecond)
			w.wantConfig(names[0], minISR, "1")
		}
	})
}

func TestRefreshErrors(t *testing.T) {
	k := newScript(1)
	k.took = time.Second
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.pass(3 * time.Second)
		if err := w.Refresh(t.Context(), "orders", "payments"); err == nil {
			t.Error("Refresh of a topic that is not declared succeeded")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := w.Refresh(ctx, "orders"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Refresh gave %v, want the error of its context", err)
		}
		time.AfterFunc(200*time.Millisecond, func() { w.Forget("orders") })
		if err := w.Refresh(t.Context(), "orders"); err == nil {
			t.Error("Refresh of a topic that was forgotten meanwhile succeeded")
		}
	})
}

func TestRefreshBeforeTheFirstSweepWaitsForIt(t *testing.T) {
	k := newScript(1)
	k.took = time.Second
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		if err := w.Refresh(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
		w.wantPresence("orders", topic.Present)
	})
}

func TestAReadThatLeavesATopicOutIsRepeated(t *testing.T) {
	k := newScript(1)
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		w.leaveOut("orders", true)
		time.AfterFunc(2500*time.Millisecond, func() { w.leaveOut("orders", false) })
		start := time.Now()
		if err := w.Refresh(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > 4*time.Second {
			t.Errorf("Refresh took %v", took)
		}
	})
}

func (w *world) leaveOut(name string, out bool) {
	w.kafka.do(func() { w.kafka.leftOut = map[string]bool{name: out} })
}

var _ observer.Reader = (*script)(nil)
