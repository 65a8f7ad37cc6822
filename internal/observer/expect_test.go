package observer_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/internal/core/topic"
)

func (w *world) wantExpected(name string, want topic.Expected) {
	w.t.Helper()
	if diff := cmp.Diff(want, w.View(name).Expected); diff != "" {
		w.t.Fatalf("expected writes of %q (-want +got):\n%s", name, diff)
	}
}

func minExpected(v string) topic.Expected {
	return topic.Expected{Configs: map[string]*string{minISR: &v}}
}

var deletedMin = topic.Expected{Configs: map[string]*string{minISR: nil}}

func TestExpectConfigs(t *testing.T) {
	set := map[string]string{minISR: "2"}
	tests := map[string]struct {
		before topic.Read
		set    map[string]string
		delete []string
		read   topic.Read
		want   topic.Expected
	}{
		"set, stale":             {orders(withMin("1")), set, nil, orders(withMin("1")), minExpected("2")},
		"set, stale inherited":   {orders(withoutMin()), set, nil, orders(withoutMin()), minExpected("2")},
		"set, seen":              {orders(withMin("1")), set, nil, orders(withMin("2")), topic.Expected{}},
		"set, third value":       {orders(withMin("1")), set, nil, orders(withMin("3")), topic.Expected{}},
		"set, deleted by others": {orders(withMin("3")), set, nil, orders(withoutMin()), topic.Expected{}},
		"delete, stale":          {orders(withMin("2")), nil, keys, orders(withMin("2")), deletedMin},
		"delete, seen":           {orders(withMin("2")), nil, keys, orders(withoutMin()), topic.Expected{}},
		"delete, third value":    {orders(withMin("2")), nil, keys, orders(withMin("3")), topic.Expected{}},
		"nothing changed":        {orders(withMin("2")), set, nil, orders(withMin("2")), topic.Expected{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			k := newScript(2)
			k.set("orders", tt.before)
			within(t, k, func(t *testing.T, w *world) {
				w.Declare("orders", keys, false)
				w.settle()
				k.set("orders", tt.read)
				w.ExpectConfigs("orders", tt.set, tt.delete)
				if name == "nothing changed" {
					w.wantExpected("orders", topic.Expected{})
				}
				if err := w.Refresh(t.Context(), "orders"); err != nil {
					t.Fatal(err)
				}
				w.wantExpected("orders", tt.want)
				// Stale facts are shown as they were read.
				w.wantConfig("orders", minISR, tt.read.Topic.Configs[minISR].Value)
			})
		})
	}
}

func TestExpectedConfigEndsAfterHalfAMinute(t *testing.T) {
	k := newScript(2)
	k.set("orders", orders(withMin("1")))
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		w.told()
		w.ExpectConfigs("orders", map[string]string{minISR: "2"}, nil)
		k.clearCalls()
		w.pass(29 * time.Second)
		w.wantExpected("orders", minExpected("2"))
		if got := w.told(); len(got) > 0 {
			t.Errorf("told %v while stale facts are expected", got)
		}
		if got := len(k.since(time.Time{}, "topics")); got < 20 || got > 36 {
			t.Errorf("%d reads in 29 s, want about one a second", got)
		}
		w.pass(2 * time.Second)
		w.wantExpected("orders", topic.Expected{})
		if got := w.told(); !slices.Equal(got, []string{"urgent orders"}) {
			t.Errorf("told %v when the write never showed, want once", got)
		}
		k.clearCalls()
		w.pass(interval)
		if got := len(k.since(time.Time{}, "topics")); got > 2 {
			t.Errorf("%d reads in an interval with nothing to wait for", got)
		}
	})
}

func TestExpectedConfigThatIsSeenIsTold(t *testing.T) {
	k := newScript(2)
	k.set("orders", orders(withMin("1")))
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		w.told()
		w.ExpectConfigs("orders", map[string]string{minISR: "2"}, nil)
		w.pass(3 * time.Second)
		k.set("orders", orders())
		w.pass(1100 * time.Millisecond)
		w.wantExpected("orders", topic.Expected{})
		if got := w.told(); !slices.Equal(got, []string{"urgent orders"}) {
			t.Errorf("told %v, want once", got)
		}
		w.pass(time.Minute)
		if got := w.told(); len(got) > 0 {
			t.Errorf("told %v later", got)
		}
	})
}

func TestSeenWriteAndAnOlderRead(t *testing.T) {
	tests := map[string]struct {
		failover bool
		after    time.Duration
		read     string
		want     topic.Expected
	}{
		"older at another broker":            {true, 5 * time.Second, "1", minExpected("2")},
		"older at the same broker":           {false, 5 * time.Second, "1", topic.Expected{}},
		"another value at another broker":    {true, 5 * time.Second, "3", topic.Expected{}},
		"older at another broker, too late":  {true, 35 * time.Second, "1", topic.Expected{}},
		"unchanged at another broker":        {true, 5 * time.Second, "2", topic.Expected{}},
		"written before that, at another":    {true, 5 * time.Second, "4", minExpected("2")},
		"written before that, at the same":   {false, 5 * time.Second, "4", topic.Expected{}},
		"unchanged at the same broker":       {false, 5 * time.Second, "2", topic.Expected{}},
		"third value at the same broker":     {false, 5 * time.Second, "3", topic.Expected{}},
		"older at the same broker, too late": {false, 35 * time.Second, "1", topic.Expected{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			k := newScript(2)
			k.set("orders", orders(withMin("1")))
			within(t, k, func(t *testing.T, w *world) {
				w.Declare("orders", keys, false)
				w.settle()
				w.ExpectConfigs("orders", map[string]string{minISR: "4"}, nil)
				w.ExpectConfigs("orders", map[string]string{minISR: "2"}, nil)
				k.set("orders", orders(withMin("2")))
				w.pass(time.Second)
				w.wantExpected("orders", topic.Expected{})
				w.pass(tt.after)
				w.told()
				k.set("orders", orders(withMin(tt.read)))
				if tt.failover {
					k.do(func() { k.fail[1] = errDown })
				}
				if err := w.Refresh(t.Context(), "orders"); err != nil {
					t.Fatal(err)
				}
				w.wantExpected("orders", tt.want)
			})
		})
	}
}

func TestExpectPartitions(t *testing.T) {
	tests := map[string]struct {
		read int32
		want int32
	}{
		"stale":     {2, 6},
		"seen":      {6, 0},
		"even more": {8, 0},
		"others":    {4, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			k := newScript(2)
			k.set("orders", orders())
			within(t, k, func(t *testing.T, w *world) {
				w.Declare("orders", keys, false)
				w.settle()
				w.ExpectPartitions("orders", 6)
				w.wantExpected("orders", topic.Expected{Partitions: 6})
				k.set("orders", orders(withPartitions(tt.read)))
				w.pass(3 * time.Second)
				w.wantExpected("orders", topic.Expected{Partitions: tt.want})
				w.pass(30 * time.Second)
				w.wantExpected("orders", topic.Expected{})
			})
		})
	}
}

func TestExpectedTopicIsNotAbsentForAMinute(t *testing.T) {
	k := newScript(3)
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, true)
		w.settle()
		k.set("orders", unknown)
		w.pass(interval + 2*time.Second)
		w.wantPresence("orders", topic.Absent)
		w.told()
		w.ExpectCreated("orders", topic.ID{2}, 12)
		w.wantPresence("orders", topic.Missing)
		w.wantExpected("orders", topic.Expected{Created: true, Partitions: 12})
		w.pass(59 * time.Second)
		w.wantPresence("orders", topic.Missing)
		w.wantExpected("orders", topic.Expected{Created: true, Partitions: 12})
		if got := w.told(); len(got) > 0 {
			t.Errorf("told %v while the topic is expected", got)
		}
		w.pass(5 * time.Second)
		w.wantPresence("orders", topic.Absent)
		w.wantExpected("orders", topic.Expected{})
		if got := w.told(); !slices.Contains(got, "urgent orders") {
			t.Errorf("told %v, want that the topic never came", got)
		}
	})
}

func TestExpectedTopicIsAcceptedAtFirstSight(t *testing.T) {
	k := newScript(3)
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, true)
		w.settle()
		w.told()
		w.ExpectCreated("orders", topic.ID{2}, 2)
		// A broker that lags shows the former topic, which is gone for sure.
		w.pass(2 * time.Second)
		w.wantPresence("orders", topic.Missing)
		w.wantExpected("orders", topic.Expected{Created: true, Partitions: 2})
		k.set("orders", orders(withID(2)), 1)
		w.pass(5 * time.Second)
		w.wantPresence("orders", topic.Present)
		w.wantID("orders", 2)
		w.wantExpected("orders", topic.Expected{})
		if got := w.told(); !slices.Equal(got, []string{"urgent orders"}) {
			t.Errorf("told %v, want once", got)
		}
	})
}

func TestExpectedTopicThatWasSeen(t *testing.T) {
	tests := map[string]struct {
		failover bool
		want     topic.Presence
		expected bool
	}{
		"is unknown to another broker, which lags":      {true, topic.Missing, true},
		"is unknown to the same broker: it was deleted": {false, topic.Absent, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			k := newScript(2)
			within(t, k, func(t *testing.T, w *world) {
				w.Declare("orders", keys, false)
				w.settle()
				w.ExpectCreated("orders", topic.ID{1}, 2)
				k.set("orders", orders())
				w.pass(time.Second)
				w.wantPresence("orders", topic.Present)
				k.set("orders", unknown)
				if tt.failover {
					k.do(func() { k.fail[1] = errDown })
				}
				if err := w.Refresh(t.Context(), "orders"); err != nil {
					t.Fatal(err)
				}
				w.pass(5 * time.Second)
				w.wantPresence("orders", tt.want)
				if got := w.View("orders").Expected.Created; got != tt.expected {
					t.Errorf("creation expected: %v, want %v", got, tt.expected)
				}
			})
		})
	}
}

func TestExpectCreatedAfterTheTopicWasSeen(t *testing.T) {
	for name, id := range map[string]topic.ID{"known ID": {1}, "unknown ID": {}} {
		t.Run(name, func(t *testing.T) {
			k := newScript(2)
			k.set("orders", orders())
			within(t, k, func(t *testing.T, w *world) {
				w.Declare("orders", keys, false)
				w.settle()
				w.ExpectCreated("orders", id, 2)
				w.wantPresence("orders", topic.Present)
				w.wantExpected("orders", topic.Expected{})
				w.pass(interval)
				w.wantPresence("orders", topic.Present)
			})
		})
	}
}

func TestExpectOfATopicThatIsNotDeclared(t *testing.T) {
	k := newScript(1)
	within(t, k, func(t *testing.T, w *world) {
		w.ExpectCreated("orders", topic.ID{1}, 2)
		w.ExpectConfigs("orders", map[string]string{minISR: "2"}, nil)
		w.ExpectPartitions("orders", 2)
		w.wantExpected("orders", topic.Expected{})
	})
}

func TestPendingTopicsAreReadTogether(t *testing.T) {
	k := newScript(3)
	within(t, k, func(t *testing.T, w *world) {
		names := w.many(400)
		w.pass(time.Second)
		for i, name := range names {
			w.ExpectConfigs(name, map[string]string{minISR: "3"}, nil)
			if i%10 == 0 {
				w.pass(10 * time.Millisecond)
			}
		}
		start := time.Now()
		k.clearCalls()
		w.pass(10 * time.Second)
		if got := len(k.since(start, "topics")); got > 20 {
			t.Errorf("%d reads in 10 s for 400 pending topics", got)
		}
	})
}
