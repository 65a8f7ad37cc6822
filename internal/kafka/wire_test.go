package kafka

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

func TestWireReads(t *testing.T) {
	b := startBrokers(t, kfake.SeedTopics(3, "orders"), kfake.AllowAutoTopicCreation())
	for _, broker := range []int32{AnyBroker, 0, 1, 2} {
		got, err := b.client.Cluster(t.Context(), broker)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Brokers) != 3 || got.ID == "" || len(got.Missing) > 0 || !got.ELR() {
			t.Errorf("broker %d shows %+v", broker, got)
		}
	}
	asks := []topic.Ask{{Name: "orders", Keys: []string{topic.MinInSyncReplicas}}, {Name: "absent", Keys: []string{topic.MinInSyncReplicas}}}
	for _, broker := range []int32{0, 1, 2} {
		got, err := b.client.Topics(t.Context(), broker, asks)
		if err != nil {
			t.Fatal(err)
		}
		orders := got["orders"].Topic
		if orders == nil || len(orders.Partitions) != 3 || orders.ID.IsZero() || orders.Configs[topic.MinInSyncReplicas].Value == "" {
			t.Errorf("orders: %+v", got["orders"])
		}
		if !got["absent"].Unknown {
			t.Errorf("a read made the topic: %+v", got["absent"])
		}
	}
	listing, err := b.client.Listing(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := listing.Names["orders"]; !ok || len(listing.Names) != 1 {
		t.Errorf("listing has %v", listing.Names)
	}
}

func TestWireWrites(t *testing.T) {
	b := startBrokers(t)
	created := b.client.CreateTopics(t.Context(), controller, []NewTopic{
		{Name: "orders", Partitions: 2, ReplicationFactor: 3, Configs: map[string]string{"retention.ms": "1000"}},
		{Name: "payments", Partitions: 1, ReplicationFactor: 9},
	})
	if c := created["orders"]; c.Err != nil || c.ID != topic.ID(b.TopicInfo("orders").TopicID) {
		t.Errorf("orders: %+v", c)
	}
	want := verdict{fault.Waiting, v1alpha1.ReasonWaitingForBrokers, false}
	if diff := cmp.Diff(want, verdictOf(t, created["payments"].Err)); diff != "" {
		t.Error(diff)
	}
	altered := b.client.AlterConfigs(t.Context(), 2, []Alteration{
		{Topic: "orders", Set: map[string]string{topic.MinInSyncReplicas: "2"}, Delete: []string{"retention.ms"}},
		{Topic: "payments", Set: map[string]string{topic.MinInSyncReplicas: "2"}},
	})
	if altered["orders"] != nil {
		t.Errorf("orders: %v", altered["orders"])
	}
	want = verdict{fault.Waiting, v1alpha1.ReasonTopicNotFound, false}
	if diff := cmp.Diff(want, verdictOf(t, altered["payments"])); diff != "" {
		t.Error(diff)
	}
	if err := b.client.CreatePartitions(t.Context(), controller, []NewPartitions{{Topic: "orders", Total: 4}})["orders"]; err != nil {
		t.Errorf("orders: %v", err)
	}
	got, err := b.client.Topics(t.Context(), 0, []topic.Ask{{Name: "orders", Keys: []string{topic.MinInSyncReplicas, "retention.ms"}}})
	if err != nil {
		t.Fatal(err)
	}
	orders := got["orders"].Topic
	if orders == nil || len(orders.Partitions) != 4 {
		t.Fatalf("orders: %+v", got["orders"])
	}
	if m := orders.Configs[topic.MinInSyncReplicas]; m.Value != "2" || !m.OnTopic {
		t.Errorf("%s: %+v", topic.MinInSyncReplicas, m)
	}
	if orders.Configs["retention.ms"].OnTopic {
		t.Error("retention.ms is still set")
	}
}

// A broker that hangs costs a read its deadline and nothing else; the others answer meanwhile.
func TestWireHungBroker(t *testing.T) {
	b := startBrokers(t, kfake.SeedTopics(1, "orders"))
	if _, err := b.client.Cluster(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	b.hang(1)
	var wg sync.WaitGroup
	wg.Go(func() {
		start := time.Now()
		_, err := b.client.Cluster(t.Context(), 1)
		if diff := cmp.Diff(verdict{fault.Transient, v1alpha1.ReasonConnectionTimedOut, false}, verdictOf(t, err)); diff != "" {
			t.Error(diff)
		}
		if took := time.Since(start); took > 4*time.Second {
			t.Errorf("the read took %v", took)
		}
	})
	wg.Go(func() {
		created := b.client.CreateTopics(t.Context(), 1, []NewTopic{{Name: "a", Partitions: 1, ReplicationFactor: 1}})
		want := verdict{fault.Transient, v1alpha1.ReasonConnectionTimedOut, true}
		if diff := cmp.Diff(want, verdictOf(t, created["a"].Err)); diff != "" {
			t.Error(diff)
		}
	})
	for range 20 {
		if _, err := b.client.Topics(t.Context(), 2, []topic.Ask{{Name: "orders"}}); err != nil {
			t.Errorf("broker 2 is disturbed: %v", err)
		}
	}
	wg.Wait()
}

// The connection is cut after the request was applied: the outcome is uncertain, and nothing is sent again.
func TestWireCutAfterApply(t *testing.T) {
	b := startBrokers(t)
	if _, err := b.client.Cluster(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	requests := b.count(kmsg.CreateTopics)
	b.ControlKey(kmsg.CreateTopics.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		if err := b.CreateTopic("orders", 1, nil); err != nil {
			t.Error(err)
		}
		return nil, errors.New("cut"), true
	})
	created := b.client.CreateTopics(t.Context(), controller, []NewTopic{{Name: "orders", Partitions: 1, ReplicationFactor: 1}})
	if diff := cmp.Diff(verdict{fault.Transient, v1alpha1.ReasonKafkaUnreachable, true}, verdictOf(t, created["orders"].Err)); diff != "" {
		t.Error(diff)
	}
	if b.TopicInfo("orders") == nil {
		t.Error("the test did not create the topic")
	}
	if n := requests(); n != 1 {
		t.Errorf("%d requests, want 1: a write must not be sent again", n)
	}
}

// Connections that died while idle are no reason to fail a read.
func TestWireStaleConnection(t *testing.T) {
	b := startBrokers(t, kfake.SeedTopics(1, "orders"))
	for range 5 {
		if _, err := b.client.Cluster(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if got, err := b.client.Topics(t.Context(), 0, []topic.Ask{{Name: "orders", Keys: []string{"retention.ms"}}}); err != nil || got["orders"].Topic == nil {
			t.Fatalf("got %v, %v", got, err)
		}
		b.cut()
	}
}

func TestWireErrorCodes(t *testing.T) {
	b := startBrokers(t)
	if _, err := b.client.Cluster(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		code        *kerr.Error
		want        verdict
		wantApplied bool
	}{
		"timed out, but applied": {kerr.RequestTimedOut, verdict{fault.Transient, v1alpha1.ReasonConnectionTimedOut, true}, true},
		"not-controller":         {kerr.NotController, verdict{fault.Transient, v1alpha1.ReasonKafkaUnreachable, true}, false},
		"policy":                 {kerr.PolicyViolation, verdict{fault.Blocked, v1alpha1.ReasonPolicyViolation, false}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			requests := b.count(kmsg.CreateTopics)
			h := b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.CreateTopics}, Err: tt.code})
			defer h.Remove()
			topicName := tt.code.Message
			created := b.client.CreateTopics(t.Context(), controller, []NewTopic{{Name: topicName, Partitions: 1, ReplicationFactor: 1}})
			if diff := cmp.Diff(tt.want, verdictOf(t, created[topicName].Err)); diff != "" {
				t.Error(diff)
			}
			if applied := b.TopicInfo(topicName) != nil; applied != tt.wantApplied {
				t.Errorf("applied is %v, want %v", applied, tt.wantApplied)
			}
			if n := requests(); n != 1 {
				t.Errorf("%d requests, want 1: a write must not be sent again", n)
			}
		})
	}
}

// In one batch of a hundred, one bad config harms one topic.
func TestWireOneBadOfMany(t *testing.T) {
	b := startBrokers(t)
	if _, err := b.client.Cluster(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	requests := b.count(kmsg.CreateTopics)
	b.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.CreateTopics}, Topic: "t57", Err: kerr.InvalidConfig},
		kfake.Fault{Keys: []kmsg.Key{kmsg.CreateTopics}, Topic: "t58", Err: kerr.TopicAuthorizationFailed})
	if err := b.CreateTopic("t59_", 1, nil); err != nil {
		t.Fatal(err)
	}
	topics := []NewTopic{{Name: "t59.", Partitions: 1, ReplicationFactor: 1}}
	for i := range 99 {
		topics = append(topics, NewTopic{Name: fmt.Sprintf("t%d", i), Partitions: 1, ReplicationFactor: 3})
	}
	created := b.client.CreateTopics(t.Context(), controller, topics)
	got := map[string]verdict{}
	for name, c := range created {
		if c.Err != nil {
			got[name] = verdictOf(t, c.Err)
		}
	}
	want := map[string]verdict{
		"t57":  {fault.Invalid, v1alpha1.ReasonConfigRejected, false},
		"t58":  {fault.Blocked, v1alpha1.ReasonNotAuthorized, false},
		"t59.": {fault.Invalid, v1alpha1.ReasonTopicNameCollision, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(created) != 100 || requests() != 1 {
		t.Errorf("%d outcomes of %d requests, want 100 of 1", len(created), requests())
	}
}

func TestWireThrottle(t *testing.T) {
	b := startBrokers(t)
	if _, err := b.client.Cluster(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	b.ControlKey(kmsg.CreateTopics.Int16(), func(req kmsg.Request) (kmsg.Response, error, bool) {
		resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
		resp.ThrottleMillis = 60_000
		resp.Topics = []kmsg.CreateTopicsResponseTopic{{Topic: "orders", ErrorCode: kerr.ThrottlingQuotaExceeded.Code}}
		return resp, nil, true
	})
	for range 2 {
		start := time.Now()
		created := b.client.CreateTopics(t.Context(), controller, []NewTopic{{Name: "orders", Partitions: 1, ReplicationFactor: 1}})
		if diff := cmp.Diff(verdict{fault.Transient, v1alpha1.ReasonThrottled, false}, verdictOf(t, created["orders"].Err)); diff != "" {
			t.Error(diff)
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("took %v, want an answer at once", took)
		}
	}
	if _, err := b.client.Cluster(t.Context(), 0); err != nil {
		t.Errorf("reads wait for the quota of creations: %v", err)
	}
}

func TestWireOldBrokers(t *testing.T) {
	tests := map[string]struct {
		versions    *kversion.Versions
		wantMissing []string
		wantErr     bool
	}{
		"4.0": {kversion.V4_0_0(), nil, false},
		"3.7": {kversion.V3_7_0(), []string{"DescribeCluster version 2", "DescribeTopicPartitions"}, false},
		"2.3": {kversion.V2_3_0(), nil, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := startBrokers(t, kfake.MaxVersions(tt.versions))
			got, err := b.client.Cluster(t.Context(), AnyBroker)
			if tt.wantErr {
				if diff := cmp.Diff(verdict{fault.Blocked, v1alpha1.ReasonUnsupportedBrokers, false}, verdictOf(t, err)); diff != "" {
					t.Error(diff)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.wantMissing, got.Missing); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A broker that comes back at another address, or is new, is found through the others.
func TestWireLearnsAddresses(t *testing.T) {
	b := startBrokers(t)
	client := dialClient(t, b.ListenAddrs()[0])
	if _, err := client.Listing(t.Context(), 2); err != nil {
		t.Fatalf("a broker that was never seen is not looked for: %v", err)
	}
	if err := b.RemoveNode(2); err != nil {
		t.Fatal(err)
	}
	b.cut()
	if _, err := client.Listing(t.Context(), 2); err == nil {
		t.Fatal("the broker is gone, want an error")
	}
	if _, _, err := b.AddNode(2, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Cluster(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Listing(t.Context(), 2); err != nil {
		t.Errorf("the new address is not used: %v", err)
	}
	if _, _, err := b.AddNode(7, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Listing(t.Context(), 7); err != nil {
		t.Errorf("the new broker is not found: %v", err)
	}
	_, err := client.Listing(t.Context(), 99)
	if f := fault.As(err); f == nil || !errors.Is(err, errUnknownBroker) || f.Reason != v1alpha1.ReasonKafkaUnreachable {
		t.Errorf("a broker that does not exist: %v", err)
	}
}
