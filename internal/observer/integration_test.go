package observer_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
	"durabletopic.io/operator/internal/kafka"
	"durabletopic.io/operator/internal/kafka/kafkatest"
	"durabletopic.io/operator/internal/observer"
)

// onCluster runs an observer on the in-memory cluster through the real client, in fake time.
func onCluster(t *testing.T, opts kafkatest.Options, body func(t *testing.T, c *kafkatest.Cluster, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := kafkatest.New(opts)
		wire := c.Wire()
		defer wire.Close()
		w := &world{t: t}
		w.Observer = observer.New(kafka.NewClient(wire, kafka.Options{}), observer.Options{
			Interval: interval, ClusterID: c.ClusterID(), Changed: w.changed,
			ClusterChanged: func() { w.locked(func() { w.cluster++ }) },
			OnFailover:     func(b int32, _ error) { w.locked(func() { w.left = append(w.left, b) }) },
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		body(t, c, w)
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the observer ended with %v", err)
		}
	})
}

var placed = [][]int32{{1, 3, 5}, {3, 5, 1}, {5, 1, 3}}

func TestClusterDeletedAndCreatedByHand(t *testing.T) {
	onCluster(t, kafkatest.Options{}, func(t *testing.T, c *kafkatest.Cluster, w *world) {
		first := c.CreateTopicByHand("orders", placed, map[string]string{minISR: "2"})
		w.Declare("orders", keys, true)
		w.pass(time.Second)
		w.wantPresence("orders", topic.Present)
		w.wantConfig("orders", minISR, "2")
		w.told()

		c.DeleteTopicByHand("orders")
		w.pass(interval + 2*time.Second)
		w.wantPresence("orders", topic.Absent)
		w.told()

		second := c.CreateTopicByHand("orders", [][]int32{{1}}, nil)
		w.pass(interval + 2*time.Second)
		w.wantPresence("orders", topic.Present)
		if got := w.View("orders").Topic; got.ID != second || got.ID == first || len(got.Partitions) != 1 {
			t.Errorf("topic is %+v, want the second one %s", got, second)
		}

		// Deleted and created again between two sweeps.
		c.DeleteTopicByHand("orders")
		third := c.CreateTopicByHand("orders", placed, nil)
		w.pass(interval + 2*time.Second)
		if got := w.View("orders").Topic.ID; got != third {
			t.Errorf("topic ID is %s, want the third one %s", got, third)
		}
	})
}

func TestClusterDriftIsToldOnce(t *testing.T) {
	onCluster(t, kafkatest.Options{}, func(t *testing.T, c *kafkatest.Cluster, w *world) {
		c.CreateTopicByHand("orders", placed, map[string]string{minISR: "2"})
		w.Declare("orders", keys, false)
		w.pass(time.Minute)
		w.told()
		c.Reset()
		w.pass(5 * interval)
		if got := w.told(); len(got) > 0 {
			t.Errorf("told %v while nothing changed", got)
		}
		if got := c.Requests().ReadTotal(); got > 6*5+10 {
			t.Errorf("%d requests in five quiet sweeps", got)
		}
		if got := c.Requests().WriteTotal(); got > 0 {
			t.Errorf("%d writes", got)
		}
		c.SetTopicConfig("orders", minISR, "1")
		w.pass(interval)
		w.wantConfig("orders", minISR, "1")
		if got := w.told(); !slices.Equal(got, []string{"urgent orders"}) {
			t.Errorf("told %v, want once", got)
		}
		c.SetISR("orders", 0, 1, 3)
		w.pass(interval)
		if got := w.told(); !slices.Equal(got, []string{"calm orders"}) {
			t.Errorf("told %v, want calmly once", got)
		}
		if w.View("orders").ReducedSince.IsZero() {
			t.Error("a reduced topic does not say since when")
		}
	})
}

func TestClusterPausedBroker(t *testing.T) {
	onCluster(t, kafkatest.Options{}, func(t *testing.T, c *kafkatest.Cluster, w *world) {
		c.CreateTopicByHand("orders", placed, map[string]string{minISR: "2"})
		w.Declare("orders", keys, false)
		w.pass(time.Second)
		broker, _, err := w.Verify(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c.Hang(broker)
		start := time.Now()
		other, _, err := w.Verify(t.Context())
		if took := time.Since(start); err != nil || other == broker || took > 2*time.Second {
			t.Errorf("Verify gave broker %d, %v after %v; want another than %d", other, err, took, broker)
		}
		start = time.Now()
		for range 10 {
			if err := w.Refresh(t.Context(), "orders"); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took > 7*time.Second {
			t.Errorf("ten refreshes took %v beside a paused broker", took)
		}
		c.Pause(broker) // and now it is fenced
		w.pass(time.Minute)
		if _, contact := w.Cluster(); !contact.InTouch {
			t.Errorf("contact is %+v, want in touch", contact)
		}
		if got := c.Partition("orders", 0); !slices.Equal(w.View("orders").Topic.Partitions[0].ISR, got.ISR) {
			t.Errorf("view shows %+v, want %+v", w.View("orders").Topic.Partitions[0], got)
		}
	})
}

func TestClusterAllHangForTwoMinutes(t *testing.T) {
	onCluster(t, kafkatest.Options{}, func(t *testing.T, c *kafkatest.Cluster, w *world) {
		c.CreateTopicByHand("orders", placed, nil)
		w.Declare("orders", keys, false)
		w.pass(time.Second)
		w.told()
		c.HangAll()
		w.pass(interval + 10*time.Second)
		if _, contact := w.Cluster(); contact.InTouch {
			t.Error("in touch with brokers that hang")
		}
		w.pass(2 * time.Minute)
		if _, contact := w.Cluster(); !contact.Lost(time.Now()) {
			t.Errorf("contact is %+v, want lost", contact)
		}
		if got := w.told(); !slices.Equal(got, []string{"calm orders"}) {
			t.Errorf("told %v, want the loss once", got)
		}
		c.ResumeAll()
		w.pass(25 * time.Second)
		if _, contact := w.Cluster(); !contact.InTouch {
			t.Errorf("contact is %+v, want regained", contact)
		}
		if got := w.told(); !slices.Equal(got, []string{"calm orders"}) {
			t.Errorf("told %v, want the contact once", got)
		}
	})
}

func TestClusterLaggingBroker(t *testing.T) {
	onCluster(t, kafkatest.Options{}, func(t *testing.T, c *kafkatest.Cluster, w *world) {
		c.CreateTopicByHand("orders", placed, map[string]string{minISR: "1"})
		w.Declare("orders", keys, false)
		w.pass(time.Second)
		pin, _, err := w.Verify(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// Broker 2 keeps the old metadata; the pinned broker shows our write, then it is gone.
		for id := range int32(6) {
			if id+1 != pin {
				c.HoldMetadata(id + 1)
			}
		}
		c.SetTopicConfig("orders", minISR, "2")
		w.ExpectConfigs("orders", map[string]string{minISR: "2"}, nil)
		w.pass(2 * time.Second)
		w.wantExpected("orders", topic.Expected{})
		c.Down(pin)
		if err := w.Refresh(t.Context(), "orders"); err != nil {
			t.Fatal(err)
		}
		w.wantConfig("orders", minISR, "1")
		w.wantExpected("orders", minExpected("2"))
		for id := range int32(6) {
			c.ReleaseMetadata(id + 1)
		}
		w.pass(2 * time.Second)
		w.wantConfig("orders", minISR, "2")
		w.wantExpected("orders", topic.Expected{})
	})
}

func TestClusterCreateThatIsSlowToShow(t *testing.T) {
	onCluster(t, kafkatest.Options{}, func(t *testing.T, c *kafkatest.Cluster, w *world) {
		w.Declare("orders", keys, false)
		w.pass(time.Second)
		w.wantPresence("orders", topic.Missing)
		for id := range int32(6) {
			c.HoldMetadata(id + 1)
		}
		id := c.CreateTopicByHand("orders", placed, map[string]string{minISR: "2"})
		w.ExpectCreated("orders", id, 3)
		w.Declare("orders", keys, true)
		w.pass(25 * time.Second)
		w.wantPresence("orders", topic.Missing)
		w.wantExpected("orders", topic.Expected{Created: true, Partitions: 3})
		for id := range int32(6) {
			c.ReleaseMetadata(id + 1)
		}
		w.pass(1500 * time.Millisecond)
		w.wantPresence("orders", topic.Present)
		w.wantExpected("orders", topic.Expected{})
	})
}

func TestClusterThatIsNotAllowed(t *testing.T) {
	onCluster(t, kafkatest.Options{}, func(t *testing.T, c *kafkatest.Cluster, w *world) {
		c.CreateTopicByHand("orders", placed, nil)
		c.CreateTopicByHand("payments", placed, nil)
		w.Declare("orders", keys, false)
		w.Declare("payments", keys, false)
		w.pass(time.Second)
		c.Deny(kafkatest.Denial{Operation: kmsg.ACLOperationDescribe, Resource: kmsg.ACLResourceTypeTopic, Name: "orders"})
		w.pass(5 * interval)
		w.wantPresence("orders", topic.Hidden)
		w.wantPresence("payments", topic.Present)
		if f := fault.As(w.View("orders").Problem); f == nil || f.Reason != v1alpha1.ReasonNotAuthorized {
			t.Errorf("problem is %v, want %s", f, v1alpha1.ReasonNotAuthorized)
		}
		c.AllowAll()
		w.pass(interval)
		w.wantPresence("orders", topic.Present)
	})
}

func TestClusterIsReplaced(t *testing.T) {
	onCluster(t, kafkatest.Options{}, func(t *testing.T, c *kafkatest.Cluster, w *world) {
		c.CreateTopicByHand("orders", placed, map[string]string{minISR: "2"})
		w.Declare("orders", keys, false)
		w.pass(time.Second)
		c.ReplaceClusterID("another-cluster-0000000")
		c.SetTopicConfig("orders", minISR, "1")
		if _, _, err := w.Verify(t.Context()); err == nil || fault.As(err).Reason != v1alpha1.ReasonClusterIDChanged {
			t.Errorf("Verify gave %v, want %s", err, v1alpha1.ReasonClusterIDChanged)
		}
		w.pass(3 * interval)
		w.wantConfig("orders", minISR, "2")
	})
}

func TestClusterFencedBroker(t *testing.T) {
	onCluster(t, kafkatest.Options{}, func(t *testing.T, c *kafkatest.Cluster, w *world) {
		c.CreateTopicByHand("orders", placed, nil)
		w.Declare("orders", keys, false)
		w.pass(time.Second)
		pin, _, err := w.Verify(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c.Fence(pin)
		other, cluster, err := w.Verify(t.Context())
		if err != nil || other == pin {
			t.Fatalf("Verify gave broker %d, %v; want another than %d", other, err, pin)
		}
		if b, ok := cluster.Broker(pin); !ok || !b.Fenced {
			t.Errorf("broker %d is shown as %+v, want fenced", pin, b)
		}
	})
}
