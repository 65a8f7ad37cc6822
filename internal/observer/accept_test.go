package observer_test

import (
	"slices"
	"testing"
	"time"

	"durabletopic.io/operator/internal/core/topic"
)

func TestOlderReadsAreDropped(t *testing.T) {
	tests := map[string]struct {
		read topic.Read
		want string // min.insync.replicas shown afterwards
	}{
		"same epoch":       {orders(withMin("1")), "1"},
		"higher epoch":     {orders(withMin("1"), withEpoch(6)), "1"},
		"lower epoch":      {orders(withMin("1"), withEpoch(4)), "2"},
		"fewer partitions": {orders(withMin("1"), withPartitions(1)), "2"},
		"more partitions":  {orders(withMin("1"), withPartitions(3)), "1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			k := newScript(3)
			k.set("orders", orders())
			within(t, k, func(t *testing.T, w *world) {
				w.Declare("orders", keys, false)
				w.settle()
				readAt := w.View("orders").ReadAt
				k.set("orders", tt.read)
				w.pass(interval)
				w.wantConfig("orders", minISR, tt.want)
				if moved := w.View("orders").ReadAt != readAt; moved != (tt.want == "1") {
					t.Errorf("time of the read moved: %v", moved)
				}
			})
		})
	}
}

// A broker that shows less than another one did is asked again until it has caught up.
func TestRefreshWaitsForABrokerThatLags(t *testing.T) {
	k := newScript(1)
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		k.set("orders", orders(withEpoch(4)))
		time.AfterFunc(5*time.Second, func() { k.set("orders", orders(withEpoch(6))) })
		start := time.Now()
		if err := w.Refresh(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < 5*time.Second || took > 10*time.Second {
			t.Errorf("Refresh took %v, want 5 to 10 s", took)
		}
	})
}

func TestReducedSince(t *testing.T) {
	k := newScript(1)
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		want := func(want time.Time) {
			t.Helper()
			if got := w.View("orders").ReducedSince; !got.Equal(want) {
				t.Errorf("reduced since %v, want %v", got, want)
			}
		}
		want(time.Time{})
		k.set("orders", orders(withISR(1, 2)))
		w.pass(interval)
		since := time.Now()
		want(since)
		k.set("orders", orders(withISR(1, 3)))
		w.pass(interval)
		want(since)
		k.set("orders", orders())
		w.pass(interval)
		want(time.Time{})
		k.set("orders", orders(withISR(1)))
		w.pass(interval)
		want(time.Now())
		k.set("orders", orders(withID(2), withISR(1))) // another topic, reduced from its first sight on
		w.pass(interval + 2*time.Second)
		want(time.Now().Add(-time.Second))
	})
}

func TestWhatIsTold(t *testing.T) {
	internal := func(t *topic.Topic) { t.Internal = true }
	config := func(c topic.Config) shape { return func(t *topic.Topic) { t.Configs[minISR] = c } }
	partition := func(change func(p *topic.Partition)) shape {
		return func(t *topic.Topic) { change(&t.Partitions[1]) }
	}
	tests := map[string]struct {
		read topic.Read
		want string
	}{
		"nothing":       {orders(), ""},
		"value":         {orders(withMin("1")), "urgent"},
		"source":        {orders(config(topic.Config{Value: "2", Type: topic.TypeInt})), "urgent"},
		"read-only":     {orders(config(topic.Config{Value: "2", Type: topic.TypeInt, OnTopic: true, ReadOnly: true})), "urgent"},
		"partitions":    {orders(withPartitions(3)), "urgent"},
		"internal":      {orders(internal), "urgent"},
		"replicas":      {orders(partition(func(p *topic.Partition) { p.Replicas = []int32{2, 1, 3} })), "urgent"},
		"adding":        {orders(partition(func(p *topic.Partition) { p.Adding = []int32{4} })), "urgent"},
		"removing":      {orders(partition(func(p *topic.Partition) { p.Removing = []int32{3} })), "urgent"},
		"unknown":       {unknown, "urgent"},
		"leader":        {orders(partition(func(p *topic.Partition) { p.Leader = 2 })), "calm"},
		"no leader":     {orders(partition(func(p *topic.Partition) { p.Leader = topic.NoLeader })), "calm"},
		"epoch":         {orders(withEpoch(6)), "calm"},
		"ISR":           {orders(withISR(1, 2)), "calm"},
		"ELR":           {orders(partition(func(p *topic.Partition) { p.ELR = []int32{3} })), "calm"},
		"last ELR":      {orders(partition(func(p *topic.Partition) { p.LastKnownELR = []int32{3} })), "calm"},
		"value and ISR": {orders(withMin("1"), withISR(1)), "urgent"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			k := newScript(1)
			k.set("orders", orders())
			within(t, k, func(t *testing.T, w *world) {
				w.Declare("orders", keys, false)
				w.settle()
				w.told()
				k.set("orders", tt.read)
				w.pass(interval)
				var want []string
				if tt.want != "" {
					want = []string{tt.want + " orders"}
				}
				if got := w.told(); !slices.Equal(got, want) {
					t.Errorf("told %v, want %v", got, want)
				}
			})
		})
	}
}

func TestEqualReadsKeepTheTopic(t *testing.T) {
	k := newScript(1)
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		before := w.View("orders")
		w.pass(interval)
		if after := w.View("orders"); after.Topic != before.Topic || !after.ReadAt.After(before.ReadAt) {
			t.Errorf("topic %p read at %v, then %p at %v; want the same value, read later",
				before.Topic, before.ReadAt, after.Topic, after.ReadAt)
		}
	})
}

func TestDeclare(t *testing.T) {
	k := newScript(1)
	more := func(t *topic.Topic) { t.Configs["retention.ms"] = topic.Config{Value: "1", OnTopic: true} }
	k.set("orders", orders(more))
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		w.told()
		k.clearCalls()
		for range 100 {
			w.Declare("orders", keys, false)
			w.Declare("orders", slices.Clone(keys), false)
		}
		w.pass(time.Second)
		if got := len(k.since(time.Time{}, "")); got > 0 {
			t.Errorf("repeating the declaration cost %d reads", got)
		}

		w.Declare("orders", []string{minISR, "retention.ms"}, false)
		if !w.View("orders").Incomplete {
			t.Error("view does not say that a key is still to be read")
		}
		w.settle()
		w.wantConfig("orders", "retention.ms", "1")
		if w.View("orders").Incomplete {
			t.Error("view says that a key is still to be read")
		}
		if got := w.told(); !slices.Equal(got, []string{"urgent orders"}) {
			t.Errorf("told %v, want once", got)
		}

		w.Declare("orders", keys, false)
		w.pass(3 * interval)
		if got := w.told(); len(got) > 0 {
			t.Errorf("told %v because a key is no longer declared", got)
		}

		w.Forget("orders")
		w.wantPresence("orders", topic.NotRead)
		k.clearCalls()
		w.pass(interval)
		if got := len(k.since(time.Time{}, "topics")); got > 0 {
			t.Errorf("%d reads of a topic that nobody declares", got)
		}
	})
}

// An unknown key never shows up, so that its reading is told even though no fact changed.
func TestDeclareOfAKeyThatKafkaDoesNotKnow(t *testing.T) {
	k := newScript(1)
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		w.told()
		w.Declare("orders", []string{minISR, "retension.ms"}, false)
		if got := w.told(); !slices.Equal(got, []string{"urgent orders"}) {
			t.Errorf("told %v, want once", got)
		}
	})
}

// A read that was under way when a key was declared did not ask for it.
func TestDeclareDuringARead(t *testing.T) {
	k := newScript(1)
	k.set("orders", orders())
	k.took = time.Second
	within(t, k, func(t *testing.T, w *world) {
		w.pass(2 * time.Second)
		w.Declare("orders", nil, false)
		w.pass(500 * time.Millisecond)
		w.Declare("orders", keys, false)
		w.pass(600 * time.Millisecond)
		if v := w.View("orders"); !v.Incomplete || v.Presence != topic.NotRead {
			t.Errorf("view is %+v, want nothing of the read that asked for no key", v)
		}
		w.pass(1100 * time.Millisecond)
		w.wantConfig("orders", minISR, "2")
	})
}

func TestConvergedIsSilent(t *testing.T) {
	k := newScript(3)
	within(t, k, func(t *testing.T, w *world) {
		w.many(1000)
		w.pass(time.Minute)
		w.told()
		w.toldCluster()
		k.clearCalls()
		start := time.Now()
		w.pass(20 * time.Minute)
		if got := len(w.told()) + w.toldCluster(); got > 0 {
			t.Errorf("%d notifications in 20 minutes without change", got)
		}
		if got := len(k.since(start, "topics")); got > 242 {
			t.Errorf("%d reads of topics in 20 minutes, want two each interval", got)
		}
	})
}

func TestSetInterval(t *testing.T) {
	k := newScript(1)
	withinLong := func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.SetInterval(time.Hour)
		w.pass(5 * time.Minute)
		k.clearCalls()
		w.SetInterval(time.Second)
		w.pass(10 * time.Second)
		if got := len(k.since(time.Time{}, "topics")); got != 11 {
			t.Errorf("%d sweeps in 10 s, want 11", got)
		}
	}
	within(t, k, withinLong)
}
