package fleet

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

func TestNothingIsWritten(t *testing.T) {
	tests := map[string]struct {
		hold       time.Duration
		unrecorded bool
		refusal    *fault.Fault
		meanwhile  func(k *kafkatest.Cluster)
		wantReason string
	}{
		"before the identity is recorded": {unrecorded: true, wantReason: v1alpha1.ReasonConnecting},
		"while it is refused": {refusal: fault.New(fault.Blocked, v1alpha1.ReasonObserveOnly, "enforcement is Observe"),
			wantReason: v1alpha1.ReasonObserveOnly},
		"before the lease is safely ours": {hold: time.Hour, wantReason: v1alpha1.ReasonConnecting},
		"to another Kafka since the last sweep": {meanwhile: func(k *kafkatest.Cluster) { k.ReplaceClusterID("other") },
			wantReason: v1alpha1.ReasonClusterIDChanged},
		"to brokers that do not answer": {meanwhile: func(k *kafkatest.Cluster) { k.DownAll() },
			wantReason: v1alpha1.ReasonConnectionRefused},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{Hold: tc.hold}, func(t *testing.T, b *bed) {
				k := kafkatest.New(kafkatest.Options{})
				b.kafkas["a"] = k
				s := settings("a", k.ClusterID())
				s.Refusal = tc.refusal
				if tc.unrecorded {
					s.ClusterID = ""
				}
				c := b.fleet.Ensure("a", s)
				b.inTouch(c)
				declare(c, "orders")
				if tc.meanwhile != nil {
					tc.meanwhile(k)
				}
				errs := execute(t, c, create("orders"), alter("orders", "retention.ms", "1"))
				for _, err := range errs {
					if f := fault.As(err); f == nil || f.Reason != tc.wantReason || f.Uncertain {
						t.Errorf("got %v, want %q, and certain", err, tc.wantReason)
					}
				}
				if n := k.Requests().WriteTotal(); n != 0 {
					t.Errorf("%d writes were sent", n)
				}
				if c.Enter("ns/orders") {
					t.Error("somebody is let in")
				}
			})
		})
	}
}

func TestAHungClusterDelaysNoOther(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bed) {
		hung, slow := b.connect("h", kafkatest.Options{ClusterID: "hung"})
		_, quick := b.connect("a", kafkatest.Options{})
		createAll := func(c *Cluster, prefix string) time.Duration {
			start := time.Now()
			for _, name := range names(prefix, 50) {
				declare(c, name)
				if err := c.Execute(t.Context(), create(name)); err != nil && c == quick {
					t.Error(err)
				}
			}
			return time.Since(start)
		}
		alone := createAll(quick, "alone")
		time.Sleep(time.Minute) // the lane has rested in both cases
		hung.HangAll()
		done := make(chan struct{})
		go func() {
			defer close(done)
			createAll(slow, "t")
		}()
		if beside := createAll(quick, "beside"); beside > alone+time.Second {
			t.Errorf("50 creates took %v beside a hung cluster, %v alone", beside, alone)
		}
		<-done
		if slow.Enter("ns/t000") {
			t.Error("a cluster that hangs lets somebody in")
		}
		if _, contact := quick.Facts(); !contact.InTouch {
			t.Error("the other cluster lost contact")
		}
	})
}

func TestEnsureAppliesChanges(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bed) {
		_, c := b.connect("a", kafkatest.Options{})
		other := kafkatest.New(kafkatest.Options{ClusterID: "other"})
		other.CreateTopicByHand("orders", [][]int32{{1, 3, 5}}, nil)
		b.kafkas["b"] = other
		declare(c, "orders")
		b.until("read", func() bool { return c.View("orders").Presence == topic.Missing })

		same := settings("a", kafkatest.DefaultClusterID)
		same.Interval = 2 * time.Second
		if b.fleet.Ensure("a", same) != c {
			t.Error("another interval made another cluster")
		}
		if v := c.View("orders"); v.Presence != topic.Missing || b.closed != 0 {
			t.Error("another interval dropped the facts")
		}

		b.fleet.Ensure("a", settings("b", "other"))
		if v := c.View("orders"); v.Presence == topic.Missing {
			t.Errorf("facts of the former brokers are shown: %+v", v)
		}
		b.until("topic", func() bool { return c.View("orders").Presence == topic.Present })
		if b.closed != 1 {
			t.Errorf("the former client was closed %d times", b.closed)
		}
	})
}

// A KafkaCluster that was deleted and made again under its name has no recorded identity any more.
func TestIdentityNoLongerRecorded(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bed) {
		k, c := b.connect("a", kafkatest.Options{})
		k.ReplaceClusterID("other")
		b.fleet.Ensure("a", settings("a", ""))
		b.inTouch(c)
		if facts, _ := c.Facts(); facts.ID != "other" {
			t.Errorf("the facts are of %q", facts.ID)
		}
		declare(c, "orders")
		if errs := execute(t, c, create("orders")); reason(errs[0]) != v1alpha1.ReasonConnecting {
			t.Errorf("a write without a recorded identity: %v", errs[0])
		}
		b.fleet.Ensure("a", settings("a", "other"))
		b.until("create", func() bool { return c.Execute(t.Context(), create("orders")) == nil })
	})
}

func TestRemove(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bed) {
		k, c := b.connect("a", kafkatest.Options{})
		b.fleet.Remove("a")
		if _, ok := b.fleet.Cluster("a"); ok {
			t.Error("a removed cluster is still there")
		}
		synctest.Wait()
		if b.closed != 1 {
			t.Errorf("the client was closed %d times", b.closed)
		}
		k.Reset()
		time.Sleep(time.Minute)
		if n := k.Requests().ReadTotal(); n != 0 {
			t.Errorf("a removed cluster was read %d times", n)
		}
		if errs := execute(t, c, create("orders")); reason(errs[0]) != v1alpha1.ReasonConnecting {
			t.Errorf("a write to a removed cluster: %v", errs[0])
		}
		if c.Enter("ns/x") {
			t.Error("a removed cluster lets somebody in")
		}
	})
}

func TestBootstrapServersThatCannotBeDialled(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bed) {
		k := kafkatest.New(kafkatest.Options{})
		b.kafkas["a"] = k
		c := b.fleet.Ensure("a", Settings{BootstrapServers: []string{""}, Interval: time.Second})
		since := time.Now()
		for range 3 {
			facts, contact := c.Facts()
			if facts != nil || contact.InTouch || fault.As(contact.Fault).Class != fault.Invalid || !contact.Since.Equal(since) {
				t.Errorf("got %+v, %+v", facts, contact)
			}
			if v := c.View("orders"); v.Presence != topic.NotRead || v.Contact.Fault == nil {
				t.Errorf("view %+v", v)
			}
			time.Sleep(time.Second)
			b.fleet.Ensure("a", Settings{BootstrapServers: []string{""}, Interval: time.Second})
		}
		b.fleet.Ensure("a", settings("a", ""))
		b.inTouch(c)
	})
}

func TestShareOfTheWorkers(t *testing.T) {
	inBubble(t, Options{Share: 2, Hold: 5 * time.Second}, func(t *testing.T, b *bed) {
		k := kafkatest.New(kafkatest.Options{})
		b.kafkas["a"] = k
		c := b.fleet.Ensure("a", settings("a", k.ClusterID()))
		b.inTouch(c)
		if c.Enter("early") || len(b.taken(&b.free)) != 0 {
			t.Fatal("let in before the lease is safely ours")
		}
		b.until("a free place once it is time", func() bool { return slices.Contains(b.taken(&b.free), "early") })

		if !c.Enter("1") || !c.Enter("2") || !c.Enter("2") {
			t.Fatal("refused although there are places")
		}
		for _, key := range []string{"3", "4", "5", "4"} {
			if c.Enter(key) {
				t.Fatalf("%q let in although all places are taken", key)
			}
		}
		c.Forget("3")
		c.Leave("1")
		if diff := cmp.Diff([]string{"4"}, b.taken(&b.free)); diff != "" {
			t.Errorf("handed back (-want +got):\n%s", diff)
		}
		// The one that got the offer never comes; the next one must not wait for ever.
		b.until("second offer", func() bool { return slices.Contains(b.taken(&b.free), "5") })
		if !c.Enter("5") {
			t.Error("refused although there is a place")
		}

		k.DownAll()
		b.until("loss of contact", func() bool { _, contact := c.Facts(); return !contact.InTouch })
		c.Leave("5")
		c.Leave("2")
		if c.Enter("6") {
			t.Error("let in without contact")
		}
		time.Sleep(time.Minute)
		if free := b.taken(&b.free); len(free) != 0 {
			t.Errorf("places were offered without contact: %v", free)
		}
		k.ResumeAll()
		b.inTouch(c)
		if free := b.taken(&b.free); !slices.Contains(free, "6") {
			t.Errorf("contact handed back %v at once", free)
		}
	})
}

// What was refused because nothing may be written comes back once it may.
func TestEnsureOpensTheGate(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bed) {
		k := kafkatest.New(kafkatest.Options{})
		b.kafkas["a"] = k
		c := b.fleet.Ensure("a", settings("a", ""))
		b.inTouch(c)
		if c.Enter("ns/x") {
			t.Fatal("let in before the identity is recorded")
		}
		b.fleet.Ensure("a", settings("a", k.ClusterID()))
		if diff := cmp.Diff([]string{"ns/x"}, b.taken(&b.free)); diff != "" {
			t.Errorf("handed back (-want +got):\n%s", diff)
		}
	})
}

// Settings may come before the leader's Start: nothing is read until then.
func TestEnsureBeforeStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := kafkatest.New(kafkatest.Options{})
		b := &bed{t: t, kafkas: map[string]*kafkatest.Cluster{"a": k}}
		b.fleet = New(Options{Dial: b.dial})
		c := b.fleet.Ensure("a", settings("a", k.ClusterID()))
		declare(c, "orders")
		time.Sleep(time.Minute)
		if n := k.Requests().ReadTotal(); n != 0 {
			t.Errorf("%d reads before Start", n)
		}
		if errs := execute(t, c, create("orders")); reason(errs[0]) != v1alpha1.ReasonConnecting {
			t.Errorf("a write before Start: %v", errs[0])
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.fleet.Start(ctx) }()
		b.inTouch(c)
		b.until("read", func() bool { return c.View("orders").Presence == topic.Missing })
		cancel()
		if err := <-ended; err != nil || b.closed != 1 {
			t.Errorf("ended with %v, the client was closed %d times", err, b.closed)
		}
	})
}

func TestMissingPermissions(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bed) {
		k := kafkatest.New(kafkatest.Options{})
		b.kafkas["a"] = k
		k.Deny(kafkatest.Denial{Operation: kmsg.ACLOperationDescribeConfigs, Resource: kmsg.ACLResourceTypeCluster})
		c := b.fleet.Ensure("a", settings("a", k.ClusterID()))
		if got := c.MissingPermissions(); len(got) != 0 {
			t.Errorf("missing before anything was read: %v", got)
		}
		b.inTouch(c)
		got := c.MissingPermissions()
		if len(got) != 1 || !strings.Contains(got[0], "DESCRIBE_CONFIGS on the Cluster") {
			t.Errorf("missing: %v", got)
		}
	})
}

func TestOnlyTheLeaderSpeaksToKafka(t *testing.T) {
	if !New(Options{}).NeedLeaderElection() {
		t.Error("a standby would speak to Kafka")
	}
}
