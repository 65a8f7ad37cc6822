package observer_test

import (
	"slices"
	"testing"
	"time"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

func TestMissingTopicIsAbsentWhenASecondBrokerSaysSo(t *testing.T) {
	k := newScript(3)
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		w.told()
		k.set("orders", unknown)
		k.clearCalls()
		w.pass(interval)
		w.wantPresence("orders", topic.Missing)
		if v := w.View("orders"); v.Topic == nil {
			t.Error("the last facts are gone while the topic is merely missing")
		}
		w.pass(900 * time.Millisecond)
		w.wantPresence("orders", topic.Missing)
		w.pass(200 * time.Millisecond)
		w.wantPresence("orders", topic.Absent)
		if v := w.View("orders"); v.Topic != nil {
			t.Error("an absent topic is shown")
		}
		if got := brokersOf(k.since(time.Time{}, "topics")); !slices.Equal(got, []int32{1, 2}) {
			t.Errorf("asked brokers %v, want 1 and 2", got)
		}
		if got := w.told(); !slices.Equal(got, []string{"urgent orders", "urgent orders"}) {
			t.Errorf("told %v, want missing and absent", got)
		}
		w.pass(5 * interval)
		if got := w.told(); len(got) > 0 {
			t.Errorf("told %v while nothing changed", got)
		}
		k.set("orders", orders())
		w.pass(interval)
		w.wantPresence("orders", topic.Present)
	})
}

func TestMissingAtOneBrokerOnlyIsNeverAbsent(t *testing.T) {
	k := newScript(3)
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		w.told()
		k.set("orders", unknown, 1)
		w.pass(2 * time.Minute)
		w.wantPresence("orders", topic.Missing)
		if got := w.told(); !slices.Equal(got, []string{"urgent orders"}) {
			t.Errorf("told %v, want missing once", got)
		}
		// The other broker shows it deleted only now.
		k.set("orders", unknown)
		w.pass(21 * time.Second)
		w.wantPresence("orders", topic.Absent)
	})
}

func TestMissingWhileOtherBrokersAreFencedIsNotAbsent(t *testing.T) {
	k := newScript(2)
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		k.fence(2, true)
		k.set("orders", unknown)
		w.pass(2 * time.Minute)
		w.wantPresence("orders", topic.Missing)
		k.fence(2, false)
		w.pass(30 * time.Second)
		w.wantPresence("orders", topic.Absent)
	})
}

func TestOnlyBrokerIsAskedTwice(t *testing.T) {
	k := newScript(1)
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		k.set("orders", unknown)
		if err := w.Refresh(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
		if err := w.Refresh(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
		w.wantPresence("orders", topic.Missing)
		w.pass(2 * time.Second)
		w.wantPresence("orders", topic.Absent)
	})
}

func TestTopicThatNobodyKnewIsMissingWithoutFurtherQuestions(t *testing.T) {
	k := newScript(3)
	within(t, k, func(t *testing.T, w *world) {
		w.settle()
		k.clearCalls()
		w.Declare("orders", keys, false)
		w.pass(5 * time.Second)
		w.wantPresence("orders", topic.Missing)
		if got := len(k.since(time.Time{}, "topics")); got != 1 {
			t.Errorf("%d reads, want 1", got)
		}
		// Then its declaration recalls that it existed.
		w.Declare("orders", keys, true)
		w.pass(3 * time.Second)
		w.wantPresence("orders", topic.Absent)
	})
}

func TestKnownTopicIsVerifiedAtOnce(t *testing.T) {
	k := newScript(3)
	within(t, k, func(t *testing.T, w *world) {
		w.settle()
		w.Declare("orders", keys, true)
		w.settle()
		w.wantPresence("orders", topic.Missing)
		w.pass(2 * time.Second)
		w.wantPresence("orders", topic.Absent)
	})
}

func TestUnreadableTopicIsNotAbsent(t *testing.T) {
	denied := fault.New(fault.Blocked, v1alpha1.ReasonNotAuthorized, "DESCRIBE on topic is not allowed")
	busy := fault.New(fault.Transient, v1alpha1.ReasonKafkaUnreachable, "leader not available")
	tests := map[string]struct {
		err  error
		want topic.Presence
	}{
		"denied": {denied, topic.Hidden},
		"busy":   {busy, topic.Present},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			k := newScript(3)
			k.set("orders", orders())
			within(t, k, func(t *testing.T, w *world) {
				w.Declare("orders", keys, false)
				w.settle()
				w.told()
				k.set("orders", topic.Read{Err: tt.err})
				w.pass(5 * interval)
				w.wantPresence("orders", tt.want)
				if v := w.View("orders"); v.Problem == nil || v.Topic == nil {
					t.Errorf("view is %+v, want a problem and the last facts", v)
				}
				if got := w.told(); !slices.Equal(got, []string{"urgent orders"}) {
					t.Errorf("told %v, want once", got)
				}
				if err := w.Refresh(t.Context(), "orders"); err == nil {
					t.Error("Refresh succeeded for a topic that cannot be read")
				}
				k.set("orders", orders())
				w.pass(interval)
				w.wantPresence("orders", topic.Present)
				if v := w.View("orders"); v.Problem != nil {
					t.Errorf("problem %v stays", v.Problem)
				}
			})
		})
	}
}

func TestAnotherTopicIDNeedsASecondBroker(t *testing.T) {
	k := newScript(3)
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		k.set("orders", orders(withID(2)), 1)
		w.pass(interval)
		w.wantID("orders", 1)
		w.pass(time.Minute)
		w.wantID("orders", 1) // broker 2 shows the old one
		k.set("orders", orders(withID(2)))
		w.pass(12 * time.Second)
		w.wantID("orders", 2)
	})
}

func TestAnotherTopicIDIsConfirmedWithinASecond(t *testing.T) {
	for name, brokers := range map[string]int32{"two brokers": 2, "only one": 1} {
		t.Run(name, func(t *testing.T) {
			k := newScript(brokers)
			k.set("orders", orders())
			within(t, k, func(t *testing.T, w *world) {
				w.Declare("orders", keys, false)
				w.settle()
				w.told()
				k.set("orders", orders(withID(2)))
				start := time.Now()
				time.AfterFunc(300*time.Millisecond, func() { _ = w.Refresh(t.Context(), "orders") })
				if err := w.Refresh(t.Context(), "orders"); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took < time.Second || took > 1200*time.Millisecond {
					t.Errorf("accepted after %v, want about a second", took)
				}
				w.wantID("orders", 2)
				if got := w.told(); !slices.Equal(got, []string{"urgent orders"}) {
					t.Errorf("told %v, want once", got)
				}
			})
		})
	}
}

func TestFormerTopicIDNeverComesBack(t *testing.T) {
	k := newScript(2)
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		k.set("orders", orders(withID(2)))
		w.pass(interval + 2*time.Second)
		w.wantID("orders", 2)
		k.set("orders", orders()) // both brokers were started from old images
		w.pass(5 * interval)
		w.wantID("orders", 2)
	})
}

func (w *world) wantID(name string, want byte) {
	w.t.Helper()
	v := w.View(name)
	if v.Topic == nil || v.Topic.ID != (topic.ID{want}) {
		w.t.Fatalf("topic is %+v, want ID %d", v.Topic, want)
	}
}

func TestDeletedAndCreatedAgainBehindUNKNOWN(t *testing.T) {
	k := newScript(2)
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		// Broker 1 lags at the deletion, broker 2 shows the new topic.
		k.set("orders", unknown, 1)
		k.set("orders", orders(withID(2)), 2)
		w.pass(interval + 5*time.Second)
		w.wantPresence("orders", topic.Missing)
		k.set("orders", orders(withID(2)))
		w.pass(interval + 2*time.Second)
		w.wantPresence("orders", topic.Present)
		w.wantID("orders", 2)
	})
}

func TestAnotherTopicIDThatTheSecondBrokerDoesNotKnow(t *testing.T) {
	k := newScript(2)
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		k.set("orders", orders(withID(2)), 1)
		k.set("orders", unknown, 2)
		for range 60 {
			w.pass(time.Second)
			w.wantPresence("orders", topic.Present)
			w.wantID("orders", 1)
		}
	})
}

// Deleted, and created again before the second broker could say that it was gone.
func TestMissingTopicThatComesBackIsNotAbsent(t *testing.T) {
	k := newScript(2)
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		k.set("orders", unknown)
		w.pass(interval)
		w.wantPresence("orders", topic.Missing)
		k.set("orders", orders(withID(2)), 1) // broker 2 lags
		go func() { _ = w.Refresh(t.Context(), "orders") }()
		for range 50 {
			w.pass(100 * time.Millisecond)
			w.wantPresence("orders", topic.Missing)
		}
		k.set("orders", orders(withID(2)), 2)
		w.pass(interval)
		w.wantPresence("orders", topic.Present)
		w.wantID("orders", 2)
	})
}

// The broker that raised a doubt is not the one to confirm it, even if it is no longer the pinned one.
func TestDoubtOfABrokerThatWasLeft(t *testing.T) {
	for name, r := range map[string]topic.Read{"missing": unknown, "another ID": orders(withID(2))} {
		t.Run(name, func(t *testing.T) {
			k := newScript(2)
			k.set("orders", orders())
			within(t, k, func(t *testing.T, w *world) {
				w.Declare("orders", keys, false)
				w.settle()
				k.set("orders", r)
				w.pass(interval)
				k.do(func() { k.ids[1] = "cluster-2" })
				if broker, _, err := w.Verify(t.Context()); err != nil || broker != 2 {
					t.Fatalf("Verify gave broker %d, %v; want 2", broker, err)
				}
				k.do(func() { delete(k.ids, 1) })
				w.pass(1100 * time.Millisecond)
				if r.Unknown {
					w.wantPresence("orders", topic.Absent)
				} else {
					w.wantID("orders", 2)
				}
			})
		})
	}
}

func TestDoubtGoesToAThirdBrokerIfTheSecondFails(t *testing.T) {
	k := newScript(3)
	k.set("orders", orders())
	within(t, k, func(t *testing.T, w *world) {
		w.Declare("orders", keys, false)
		w.settle()
		k.set("orders", unknown)
		k.do(func() { k.fail[2] = errDown })
		w.pass(interval + 4*time.Second)
		w.wantPresence("orders", topic.Absent)
	})
}
