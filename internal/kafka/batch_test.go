package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/fault"
)

// bench is a lane of small items whose requests take a given time.
type bench struct {
	lane *Lane[string, entry, string]
	took time.Duration

	mu      sync.Mutex
	batches [][]entry
	starts  []time.Time
}

type entry struct{ key, value string }

func newBench(ctx context.Context, took time.Duration, change func(*LaneOptions[string, entry, string])) *bench {
	b := &bench{took: took}
	o := LaneOptions[string, entry, string]{
		Key:   func(e entry) string { return e.key },
		Fit:   func(items []entry) int { return min(len(items), 10) },
		Flush: b.flush,
	}
	if change != nil {
		change(&o)
	}
	b.lane = NewLane(ctx, o)
	return b
}

func (b *bench) flush(ctx context.Context, items []entry) []string {
	b.mu.Lock()
	b.batches, b.starts = append(b.batches, items), append(b.starts, time.Now())
	b.mu.Unlock()
	results := make([]string, len(items))
	failed := ""
	select {
	case <-time.After(b.took):
	case <-ctx.Done():
		failed = ctx.Err().Error()
	}
	for i, e := range items {
		results[i] = e.key + "=" + e.value + failed
	}
	return results
}

// sizes gives the number of items of each request so far.
func (b *bench) sizes() []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	var n []int
	for _, batch := range b.batches {
		n = append(n, len(batch))
	}
	return n
}

// start runs a Do in the background and fails the test on an error or a stranger's result.
func (b *bench) start(t *testing.T, wg *sync.WaitGroup, e entry) {
	wg.Go(func() {
		got, err := b.lane.Do(t.Context(), e)
		if want := e.key + "=" + e.value; err != nil || got != want {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	})
}

func numbered(i int) entry { return entry{fmt.Sprintf("k%d", i), fmt.Sprint(i)} }

func TestLaneIdleDoesNotLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t.Context(), time.Millisecond, nil)
		start := time.Now()
		if got, err := b.lane.Do(t.Context(), entry{"a", "1"}); err != nil || got != "a=1" {
			t.Errorf("got %q, %v", got, err)
		}
		if took := time.Since(start); took != time.Millisecond {
			t.Errorf("took %v, want the time of the request alone", took)
		}
	})
}

func TestLaneGroupsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reported []int
		b := newBench(t.Context(), 50*time.Millisecond, func(o *LaneOptions[string, entry, string]) {
			o.OnBatch = func(n int) { reported = append(reported, n) }
		})
		var wg sync.WaitGroup
		b.start(t, &wg, numbered(0))
		synctest.Wait()
		for i := 1; i < 36; i++ {
			b.start(t, &wg, numbered(i))
		}
		start := time.Now()
		wg.Wait()
		want := []int{1, 10, 10, 10, 5}
		if diff := cmp.Diff(want, b.sizes()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(want, reported); diff != "" {
			t.Errorf("reported sizes: %s", diff)
		}
		// Full requests follow at once; the last one, which is not full, waits for the gap that has grown to its cap.
		if took, want := time.Since(start), 5*50*time.Millisecond+DefaultMaxGap; took != want {
			t.Errorf("took %v, want %v", took, want)
		}
	})
}

// Items that trickle in share requests: at most a tenth of the items, at either end of the range.
func TestLaneTrickle(t *testing.T) {
	for _, perSecond := range []int{20, 50, 100} {
		t.Run(fmt.Sprint(perSecond), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t.Context(), 20*time.Millisecond, func(o *LaneOptions[string, entry, string]) {
					o.Fit = func(items []entry) int { return min(len(items), MaxTopics) }
					o.MaxGap = time.Second
				})
				var wg sync.WaitGroup
				for i := range 500 {
					b.start(t, &wg, numbered(i))
					time.Sleep(time.Second / time.Duration(perSecond))
				}
				wg.Wait()
				total := 0
				for _, n := range b.sizes() {
					total += n
				}
				if requests := len(b.sizes()); requests > 50 || total != 500 {
					t.Errorf("%d requests for %d items, want at most 50 for 500", requests, total)
				}
			})
		})
	}
}

// The gap doubles while the lane is busy, stays below its cap, and starts anew after a while without requests.
func TestLaneGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t.Context(), time.Millisecond, nil)
		var wg sync.WaitGroup
		i := 0
		feed := func(n int) {
			for range n {
				b.start(t, &wg, numbered(i))
				i++
				time.Sleep(50 * time.Millisecond)
			}
			wg.Wait()
		}
		feed(40)
		time.Sleep(DefaultIdleAfter)
		restart := len(b.starts)
		feed(4)
		var gaps []time.Duration
		for j := 1; j < len(b.starts); j++ {
			gaps = append(gaps, b.starts[j].Sub(b.starts[j-1])-time.Millisecond)
		}
		if diff := cmp.Diff([]time.Duration{DefaultMinGap, 2 * DefaultMinGap, 4 * DefaultMinGap, DefaultMaxGap}, gaps[:4]); diff != "" {
			t.Error(diff)
		}
		for _, g := range gaps[:restart-1] {
			if g > DefaultMaxGap {
				t.Errorf("a gap of %v, want at most %v", g, DefaultMaxGap)
			}
		}
		if g := gaps[restart]; g != DefaultMinGap {
			t.Errorf("the gap after a pause is %v, want %v", g, DefaultMinGap)
		}
	})
}

// While brokers are busy with earlier requests the next one waits, full or not, but not for ever.
func TestLaneWaitsForBusyBrokers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy atomic.Bool
		b := newBench(t.Context(), time.Millisecond, func(o *LaneOptions[string, entry, string]) { o.Busy = busy.Load })
		var wg sync.WaitGroup
		b.start(t, &wg, numbered(0))
		wg.Wait()
		busy.Store(true)
		for i := range 25 {
			b.start(t, &wg, numbered(i))
		}
		time.Sleep(2 * time.Second)
		if diff := cmp.Diff([]int{1}, b.sizes()); diff != "" {
			t.Errorf("requests while the brokers are busy:\n%s", diff)
		}
		busy.Store(false)
		time.Sleep(2 * busyEvery)
		if diff := cmp.Diff([]int{1, 10, 10}, b.sizes()); diff != "" {
			t.Errorf("requests once they are not:\n%s", diff)
		}
		wg.Wait()
		busy.Store(true)
		began := time.Now()
		b.start(t, &wg, numbered(99))
		wg.Wait()
		if took := time.Since(began); took > BusyAtMost+busyEvery {
			t.Errorf("a request waited %s for busy brokers, want at most %s", took, BusyAtMost)
		}
	})
}

// Two items for one object never travel together, and keep their order.
func TestLaneOneItemPerKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t.Context(), 10*time.Millisecond, nil)
		var wg sync.WaitGroup
		b.start(t, &wg, entry{"first", ""})
		synctest.Wait()
		for _, e := range []entry{{"a", "1"}, {"a", "2"}, {"b", "1"}, {"a", "3"}} {
			b.start(t, &wg, e)
			synctest.Wait()
		}
		wg.Wait()
		want := [][]entry{{{"first", ""}}, {{"a", "1"}, {"b", "1"}}, {{"a", "2"}}, {{"a", "3"}}}
		if diff := cmp.Diff(want, b.batches, cmp.AllowUnexported(entry{})); diff != "" {
			t.Error(diff)
		}
	})
}

func TestLaneCallerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t.Context(), time.Second, nil)
		short := func(d time.Duration) context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			t.Cleanup(cancel)
			return ctx
		}
		var wg sync.WaitGroup
		give := func(ctx context.Context, e entry, wantUncertain bool) {
			start := time.Now()
			wg.Go(func() {
				_, err := b.lane.Do(ctx, e)
				if diff := cmp.Diff(verdict{fault.Transient, v1alpha1.ReasonKafkaUnreachable, wantUncertain}, verdictOf(t, err)); diff != "" {
					t.Errorf("%s: %s", e.key, diff)
				}
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: the cause is lost: %v", e.key, err)
				}
				if took := time.Since(start); took > 300*time.Millisecond {
					t.Errorf("%s: released after %v", e.key, took)
				}
			})
			synctest.Wait()
		}
		give(short(300*time.Millisecond), entry{"sent", ""}, true)
		give(short(200*time.Millisecond), entry{"waiting", ""}, false)
		b.start(t, &wg, entry{"patient", ""})
		wg.Wait()
		want := [][]entry{{{"sent", ""}}, {{"patient", ""}}}
		if diff := cmp.Diff(want, b.batches, cmp.AllowUnexported(entry{})); diff != "" {
			t.Errorf("a withdrawn item was sent: %s", diff)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.lane.Do(ended, entry{"late", ""}); !errors.Is(err, context.Canceled) || fault.As(err).Uncertain {
			t.Errorf("a caller that had ended got %v", err)
		}
	})
}

// Requests end with the lane, and everybody is released. The test ends only when no goroutine is left.
func TestLaneEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := newBench(ctx, time.Minute, nil)
		var wg sync.WaitGroup
		wg.Go(func() {
			got, err := b.lane.Do(t.Context(), entry{"sent", "1"})
			if err != nil || got != "sent=1"+context.Canceled.Error() {
				t.Errorf("in flight: got %q, %v", got, err)
			}
		})
		synctest.Wait()
		for i := range 3 {
			wg.Go(func() {
				_, err := b.lane.Do(t.Context(), numbered(i))
				if !errors.Is(err, context.Canceled) || fault.As(err).Uncertain {
					t.Errorf("waiting: got %v, want a certain fault", err)
				}
			})
		}
		synctest.Wait()
		cancel()
		wg.Wait()
		if _, err := b.lane.Do(t.Context(), entry{"late", ""}); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end: got %v", err)
		}
		if diff := cmp.Diff([]int{1}, b.sizes()); diff != "" {
			t.Errorf("sent after the end: %s", diff)
		}
	})
}

// A lane that ends during the gap releases those who wait for it.
func TestLaneEndsInTheGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := newBench(ctx, time.Millisecond, func(o *LaneOptions[string, entry, string]) { o.MinGap = 2 * time.Second })
		if _, err := b.lane.Do(t.Context(), entry{"a", ""}); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		_, err := b.lane.Do(t.Context(), entry{"b", ""})
		if !errors.Is(err, context.Canceled) || time.Since(start) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
}

func TestLaneRequestHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t.Context(), time.Hour, nil)
		start := time.Now()
		got, err := b.lane.Do(t.Context(), entry{"a", "1"})
		if err != nil || got != "a=1"+context.DeadlineExceeded.Error() {
			t.Errorf("got %q, %v", got, err)
		}
		if took := time.Since(start); took != DefaultTimeout {
			t.Errorf("took %v, want %v", took, DefaultTimeout)
		}
	})
}

func TestLaneSurvivesPanicAndShortResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		var recovered any
		b := newBench(t.Context(), 0, func(o *LaneOptions[string, entry, string]) {
			o.OnPanic = func(r any) { recovered = r }
			inner := o.Flush
			o.Flush = func(ctx context.Context, items []entry) []string {
				switch calls.Add(1) {
				case 1:
					panic("boom")
				case 2:
					return nil
				}
				return inner(ctx, items)
			}
		})
		for range 2 {
			_, err := b.lane.Do(t.Context(), entry{"a", "1"})
			if diff := cmp.Diff(verdict{fault.Transient, v1alpha1.ReasonRequestRejected, true}, verdictOf(t, err)); diff != "" {
				t.Error(diff)
			}
		}
		if recovered != "boom" {
			t.Errorf("the panic was reported as %v", recovered)
		}
		if got, err := b.lane.Do(t.Context(), entry{"a", "1"}); err != nil || got != "a=1" {
			t.Errorf("the lane is stuck: %q, %v", got, err)
		}
	})
}

// Many callers, some of whom give up, all get what is theirs.
func TestLaneUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inFlight atomic.Int32
		b := newBench(t.Context(), 5*time.Millisecond, func(o *LaneOptions[string, entry, string]) {
			o.MinGap, o.MaxGap = time.Millisecond, 2*time.Millisecond
			inner := o.Flush
			o.Flush = func(ctx context.Context, items []entry) []string {
				if inFlight.Add(1) > 1 {
					t.Error("two requests in flight")
				}
				defer inFlight.Add(-1)
				return inner(ctx, items)
			}
		})
		var wg sync.WaitGroup
		var done, gaveUp atomic.Int32
		for i := range 400 {
			wg.Go(func() {
				ctx := t.Context()
				if i%3 == 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, time.Duration(i%50)*time.Millisecond)
					defer cancel()
				}
				e := entry{fmt.Sprintf("k%d", i%80), fmt.Sprint(i)}
				got, err := b.lane.Do(ctx, e)
				switch {
				case err != nil && i%3 == 0:
					gaveUp.Add(1)
				case err != nil || got != e.key+"="+e.value:
					t.Errorf("item %d got %q, %v", i, got, err)
				default:
					done.Add(1)
				}
			})
		}
		wg.Wait()
		if n := done.Load() + gaveUp.Load(); n != 400 || gaveUp.Load() == 0 {
			t.Errorf("%d callers returned, %d of them gave up", n, gaveUp.Load())
		}
	})
}
