package observer_test

import (
	"slices"
	"testing"
	"time"

	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/observer"
)

func brokersOf(calls []call) []int32 {
	var ids []int32
	for _, c := range calls {
		ids = append(ids, c.broker)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func TestReadsArePinnedToOneBroker(t *testing.T) {
	k := newScript(6)
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.pass(50 * time.Second)
		if got := k.calls[0]; got.kind != "cluster" || got.broker != observer.AnyBroker {
			t.Errorf("first read was %s at %d, want the cluster at the bootstrap servers", got.kind, got.broker)
		}
		if got := brokersOf(k.since(time.Time{}, "topics")); len(got) != 1 {
			t.Errorf("topics were read at brokers %v, want one", got)
		}
		if got := len(k.since(time.Time{}, "topics")); got != 6 {
			t.Errorf("topics were read %d times in 50 s, want 6", got)
		}
	})
}

func TestPausedBrokerCostsOnce(t *testing.T) {
	k := newScript(3)
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		k.do(func() { k.hang[1] = true })
		k.set("orders", orders(withMin("1")))
		w.pass(interval + 2*time.Second)
		w.wantConfig("orders", minISR, "1")
		paused := time.Now()
		w.pass(20 * time.Second)
		for _, c := range k.since(paused, "topics") {
			if c.broker != 2 {
				t.Errorf("topics were read at broker %d, want broker 2 only", c.broker)
			}
		}
		if got := slices.Contains(brokersOf(k.since(paused, "")), 1); got {
			t.Error("the paused broker was asked again")
		}
		if _, contact := w.Cluster(); !contact.InTouch || contact.Last.Before(paused) {
			t.Errorf("contact is %+v, want in touch", contact)
		}
	})
}

// A broker that hangs only when it is asked for topics, so that each search finds it fit, is not asked again first.
func TestBrokerThatFailsIsAskedLastForAWhile(t *testing.T) {
	k := newScript(3)
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		k.do(func() {
			k.onTopics = func(b int32, _ []topic.Ask) error {
				if b == 1 {
					return errDown
				}
				return nil
			}
		})
		w.pass(interval)
		k.clearCalls()
		w.pass(2 * interval)
		if got := brokersOf(k.since(time.Time{}, "topics")); !slices.Equal(got, []int32{2}) {
			t.Errorf("topics were read at brokers %v, want only 2", got)
		}
		// Broker 2 fails too: 3 is next, although 1 comes before it in order.
		k.do(func() { k.fail[2] = errDown })
		k.clearCalls()
		w.pass(interval)
		if got := brokersOf(k.since(time.Time{}, "topics")); !slices.Equal(got, []int32{3}) {
			t.Errorf("topics were read at brokers %v, want only 3", got)
		}
	})
}

func TestFencedBrokerIsNotReadFrom(t *testing.T) {
	k := newScript(3)
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		k.fence(1, true)
		k.clearCalls()
		w.pass(interval)
		if got := brokersOf(k.since(time.Time{}, "topics")); !slices.Equal(got, []int32{2}) {
			t.Errorf("topics were read at brokers %v, want only 2", got)
		}
	})
}

// A broker that is cut off from the controllers does not know that it is fenced. The others do.
func TestBrokerThatOthersFencedIsLeft(t *testing.T) {
	k := newScript(3)
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		k.do(func() { k.seenBy[1] = slices.Clone(k.brokers) })
		k.fence(1, true)
		w.pass(time.Minute + interval)
		k.clearCalls()
		w.pass(interval)
		if got := brokersOf(k.since(time.Time{}, "topics")); !slices.Equal(got, []int32{2}) {
			t.Errorf("topics were read at brokers %v, want only 2", got)
		}
	})
}

func TestSweepOfTwoBrokersIsDiscarded(t *testing.T) {
	k := newScript(3)
	within(t, k, func(t *testing.T, w *world) {
		names := w.many(700) // two reads
		w.pass(time.Second)
		w.told()
		for _, n := range names[:500] {
			k.set(n, named(n, withMin("1")), 1) // as only broker 1 shows it
		}
		k.do(func() {
			k.onTopics = func(b int32, asks []topic.Ask) error {
				if b == 1 && asks[0].Name != names[0] {
					return errDown
				}
				return nil
			}
		})
		w.pass(interval)
		w.wantConfig(names[0], minISR, "2")
		if got := w.told(); len(got) > 0 {
			t.Errorf("%d notifications from half a sweep, want none", len(got))
		}
		if got := k.since(time.Time{}, "topics"); got[len(got)-1].broker != 2 {
			t.Errorf("the last read was at broker %d, want 2", got[len(got)-1].broker)
		}
	})
}

func TestSlowSweepsTakeATenthOfTheTime(t *testing.T) {
	k := newScript(3)
	k.took = 1500 * time.Millisecond
	within(t, k, func(t *testing.T, w *world) {
		w.many(1500) // three reads: 4.5 s
		w.pass(5 * time.Minute)
		k.clearCalls()
		start := time.Now()
		w.pass(15 * time.Minute)
		if got := time.Duration(len(k.since(start, "topics"))) * k.took; got > 95*time.Second || got < 60*time.Second {
			t.Errorf("reads took %v of 15 minutes, want about a tenth", got)
		}
	})
}

func TestReadsShrinkWhenBrokersAreTooSlow(t *testing.T) {
	k := newScript(3)
	within(t, k, func(t *testing.T, w *world) {
		k.do(func() {
			k.onTopics = func(_ int32, asks []topic.Ask) error {
				time.Sleep(time.Duration(len(asks)) * 5 * time.Millisecond) // 500 take 2.5 s
				return nil
			}
		})
		names := w.many(1000)
		w.pass(30 * time.Second)
		w.wantPresence(names[999], topic.Present)
	})
}

func TestLaggingBrokerIsLeft(t *testing.T) {
	k := newScript(3)
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		k.set("orders", orders(withEpoch(3)), 1)
		w.pass(2 * interval)
		if !slices.Equal(w.left, []int32{1}) {
			t.Errorf("brokers left: %v, want 1", w.left)
		}
		k.clearCalls()
		w.pass(interval)
		if got := brokersOf(k.since(time.Time{}, "topics")); !slices.Equal(got, []int32{2}) {
			t.Errorf("topics were read at brokers %v, want only 2", got)
		}
	})
}

func TestClusterFactsAreToldOnce(t *testing.T) {
	tests := map[string]struct {
		change      func(k *script)
		wantCluster int
		wantTopics  int
	}{
		"nothing":      {func(*script) {}, 0, 0},
		"fenced":       {func(k *script) { k.fence(3, true) }, 1, 0},
		"unregistered": {func(k *script) { k.do(func() { k.brokers = k.brokers[:2:2] }) }, 1, 30},
		"rack": {func(k *script) {
			k.do(func() { k.brokers = slices.Clone(k.brokers); k.brokers[2].Rack = "z" })
		}, 1, 30},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			k := newScript(3)
			within(t, k, func(t *testing.T, w *world) {
				w.many(30)
				w.pass(time.Second)
				w.told()
				w.toldCluster()
				tt.change(k)
				w.pass(3 * interval)
				if got := w.toldCluster(); got != tt.wantCluster {
					t.Errorf("cluster told %d times, want %d", got, tt.wantCluster)
				}
				if got := w.told(); len(got) != tt.wantTopics {
					t.Errorf("%d topics told, want %d", len(got), tt.wantTopics)
				}
			})
		})
	}
}

func TestFencedBrokerIsNotEvenAsked(t *testing.T) {
	k := newScript(3)
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		k.fence(2, true)
		w.pass(interval)
		k.do(func() { k.hang[2], k.fail[1] = true, errDown })
		k.clearCalls()
		w.pass(interval)
		if got := brokersOf(k.since(time.Time{}, "")); !slices.Equal(got, []int32{1, 3}) {
			t.Errorf("asked brokers %v, want 1 and then 3", got)
		}
	})
}

func TestFirstContactTriesBootstrapServersAgain(t *testing.T) {
	k := newScript(1)
	k.bootstrapFails = 2
	within(t, k, func(t *testing.T, w *world) {
		w.settle()
		if _, contact := w.Cluster(); !contact.InTouch {
			t.Errorf("contact is %+v, want in touch at once", contact)
		}
	})
}

func TestSweepIsDiscardedWhenAWriterLeftItsBroker(t *testing.T) {
	k := newScript(2)
	within(t, k, func(t *testing.T, w *world) {
		names := w.many(700)
		w.pass(time.Second)
		w.told()
		for _, n := range names {
			k.set(n, named(n, withMin("1")), 1) // as only broker 1 shows it
		}
		k.do(func() { k.took = time.Second })
		w.pass(interval - 500*time.Millisecond) // within the first of two reads
		k.do(func() { k.ids[1] = "cluster-2" })
		if broker, _, err := w.Verify(t.Context()); err != nil || broker != 2 {
			t.Fatalf("Verify gave broker %d, %v; want 2", broker, err)
		}
		w.pass(interval)
		if got := w.told(); len(got) > 0 {
			t.Errorf("%d notifications from a broker that was left, want none", len(got))
		}
	})
}

func TestDefaultPartitionsThatCannotBeReadStay(t *testing.T) {
	k := newScript(1)
	k.defaults = 6
	within(t, k, func(t *testing.T, w *world) {
		w.settle()
		w.toldCluster()
		k.do(func() { k.defaults = 0 })
		w.pass(interval)
		if c, _ := w.Cluster(); c.DefaultPartitions != 6 {
			t.Errorf("num.partitions is %d, want 6 as read before", c.DefaultPartitions)
		}
		k.do(func() { k.defaults = 3 })
		w.pass(interval)
		if c, _ := w.Cluster(); c.DefaultPartitions != 3 {
			t.Errorf("num.partitions is %d, want 3", c.DefaultPartitions)
		}
		if got := w.toldCluster(); got != 1 {
			t.Errorf("cluster told %d times, want once", got)
		}
	})
}
