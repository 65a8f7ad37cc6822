//go:build unix

// Package kafka tests the Kafka adapter against real brokers: what only they show about its reads, writes and errors.
package kafka

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
	"durabletopic.io/operator/internal/kafka"
	"durabletopic.io/operator/internal/testbed/kafkabed"
)

// patience is how long brokers may take to show what the controller has confirmed.
const patience = 60 * time.Second

// suite is a bed of three brokers, one per rack, and a client of it.
type suite struct {
	bed    *kafkabed.Cluster
	client *kafka.Client
}

func TestAdapter(t *testing.T) {
	if testing.Short() {
		t.Skip("needs real Kafka")
	}
	bed, err := kafkabed.Start(t.Context(), kafkabed.Options{Racks: []string{"a", "b", "c"}, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Stop(); err != nil {
			t.Errorf("stop the bed: %v", err)
		}
	})
	wire, err := kafka.Dial(kafka.Config{BootstrapServers: bed.Bootstrap()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(wire.Close)
	s := &suite{bed: bed, client: kafka.NewClient(wire, kafka.Options{ReadTimeout: 2 * time.Second})}
	t.Run("cluster", s.cluster)
	t.Run("create", s.create)
	t.Run("too large", s.tooLarge)
	t.Run("alter", s.alter)
	t.Run("partitions", s.partitions)
	t.Run("listing", s.listing)
	t.Run("move", s.move)
	t.Run("paused broker and reassignment", s.paused)
	t.Run("stopped broker", s.stopped)
}

type verdict struct {
	Class     fault.Class
	Reason    string
	Uncertain bool
}

// judge compares the faults of several topics; those that are done have none.
func judge(t *testing.T, want map[string]verdict, got map[string]error) {
	t.Helper()
	verdicts := map[string]verdict{}
	for name, err := range got {
		if err != nil {
			f := fault.As(err)
			verdicts[name] = verdict{f.Class, f.Reason, f.Uncertain}
			t.Logf("%v", err)
		}
	}
	if diff := cmp.Diff(want, verdicts); diff != "" {
		t.Error(diff)
	}
}

// until reads topics at a broker until a condition holds.
func (s *suite) until(t *testing.T, broker int32, asks []topic.Ask, holds func(map[string]topic.Read) bool) map[string]topic.Read {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		got, err := s.client.Topics(t.Context(), broker, asks)
		if err == nil && holds(got) {
			return got
		}
		if time.Now().After(deadline) {
			t.Fatalf("broker %d shows %+v, %v", broker, got, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (s *suite) cluster(t *testing.T) {
	for _, broker := range []int32{kafka.AnyBroker, 1, 2, 3} {
		got, err := s.client.Cluster(t.Context(), broker)
		if err != nil {
			t.Fatal(err)
		}
		want := &topic.Cluster{
			ID: s.bed.ClusterID(), DefaultPartitions: 1, Features: got.Features,
			Brokers: []topic.Broker{{ID: 1, Rack: "a"}, {ID: 2, Rack: "b"}, {ID: 3, Rack: "c"}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("broker %d: %s", broker, diff)
		}
		if !got.ELR() {
			t.Errorf("broker %d shows no eligible leader replicas: %v", broker, got.Features)
		}
	}
}

func (s *suite) create(t *testing.T) {
	locks := map[string]string{topic.MinInSyncReplicas: "2", topic.UncleanLeaderElection: "false"}
	topics := []kafka.NewTopic{
		{Name: "orders", Assignments: [][]int32{{1, 2, 3}, {2, 3, 1}, {3, 1, 2}}, Configs: locks},
		{Name: "page.views", Assignments: [][]int32{{2, 1}}},
		{Name: "bad.config", Assignments: [][]int32{{1, 2, 3}}, Configs: map[string]string{"retention.ms": "soon"}},
		{Name: "bad-assignment", Assignments: [][]int32{{1, 2, 42}}},
		{Name: "bad-factor", Partitions: 1, ReplicationFactor: 4},
		{Name: "bad name", Partitions: 1, ReplicationFactor: 1},
	}
	created := s.client.CreateTopics(t.Context(), 1, topics)
	errs := map[string]error{}
	for name, c := range created {
		errs[name] = c.Err
	}
	judge(t, map[string]verdict{
		"bad.config":     {fault.Invalid, v1alpha1.ReasonConfigRejected, false},
		"bad-assignment": {fault.Waiting, v1alpha1.ReasonWaitingForBrokers, false},
		"bad-factor":     {fault.Waiting, v1alpha1.ReasonWaitingForBrokers, false},
		"bad name":       {fault.Invalid, v1alpha1.ReasonTopicNameInvalid, false},
	}, errs)
	if d := fault.As(created["bad.config"].Err).Detail; !strings.Contains(d, "soon") {
		t.Errorf("the broker's words are lost: %q", d)
	}
	asks := []topic.Ask{{Name: "orders", Keys: []string{topic.MinInSyncReplicas, topic.UncleanLeaderElection, "bogus.key"}}, {Name: "bad.config"}}
	got := s.until(t, 3, asks, func(r map[string]topic.Read) bool { return r["orders"].Topic != nil })
	orders := got["orders"].Topic
	want := &topic.Topic{
		Name: "orders", ID: created["orders"].ID, Partitions: orders.Partitions,
		Configs: map[string]topic.Config{
			topic.MinInSyncReplicas:     {Value: "2", Type: topic.TypeInt, OnTopic: true},
			topic.UncleanLeaderElection: {Value: "false", Type: topic.TypeBoolean, OnTopic: true},
		},
	}
	if diff := cmp.Diff(want, orders); diff != "" || want.ID.IsZero() {
		t.Errorf("ID %v: %s", want.ID, diff)
	}
	for i, replicas := range topics[0].Assignments {
		if diff := cmp.Diff(replicas, orders.Partitions[i].Replicas); diff != "" {
			t.Errorf("partition %d: %s", i, diff)
		}
	}
	if !got["bad.config"].Unknown {
		t.Errorf("a refused topic: %+v", got["bad.config"])
	}
	again := s.client.CreateTopics(t.Context(), 2, []kafka.NewTopic{
		{Name: "orders", Partitions: 1, ReplicationFactor: 1}, {Name: "page_views", Partitions: 1, ReplicationFactor: 1},
	})
	judge(t, map[string]verdict{
		"orders":     {fault.Waiting, v1alpha1.ReasonCreating, false},
		"page_views": {fault.Invalid, v1alpha1.ReasonTopicNameCollision, false},
	}, map[string]error{"orders": again["orders"].Err, "page_views": again["page_views"].Err})
}

func (s *suite) tooLarge(t *testing.T) {
	assignments := make([][]int32, 10_001)
	for i := range assignments {
		assignments[i] = []int32{1}
	}
	created := s.client.CreateTopics(t.Context(), 1, []kafka.NewTopic{{Name: "giant", Assignments: assignments}})
	judge(t, map[string]verdict{"giant": {fault.Invalid, v1alpha1.ReasonTooManyPartitions, false}}, map[string]error{"giant": created["giant"].Err})
}

func (s *suite) alter(t *testing.T) {
	got := s.client.AlterConfigs(t.Context(), 2, []kafka.Alteration{
		{Topic: "orders", Set: map[string]string{"retention.ms": "86400000"}, Delete: []string{topic.UncleanLeaderElection, "segment.ms"}},
		{Topic: "page.views", Set: map[string]string{topic.MinInSyncReplicas: "asd"}},
		{Topic: "nowhere", Set: map[string]string{topic.MinInSyncReplicas: "2"}},
	})
	judge(t, map[string]verdict{
		"page.views": {fault.Invalid, v1alpha1.ReasonConfigRejected, false},
		"nowhere":    {fault.Waiting, v1alpha1.ReasonTopicNotFound, false},
	}, got)
	keys := []string{"retention.ms", topic.UncleanLeaderElection}
	s.until(t, 1, []topic.Ask{{Name: "orders", Keys: keys}}, func(r map[string]topic.Read) bool {
		configs := r["orders"].Topic.Configs
		return configs["retention.ms"] == topic.Config{Value: "86400000", Type: topic.TypeLong, OnTopic: true} &&
			!configs[topic.UncleanLeaderElection].OnTopic
	})
}

func (s *suite) partitions(t *testing.T) {
	grow := func(broker int32, total int32, assignments ...[]int32) map[string]error {
		return s.client.CreatePartitions(t.Context(), broker, []kafka.NewPartitions{{Topic: "orders", Total: total, Assignments: assignments}})
	}
	judge(t, map[string]verdict{}, grow(3, 5, []int32{1, 2, 3}, []int32{3, 2, 1}))
	judge(t, map[string]verdict{"orders": {fault.Waiting, v1alpha1.ReasonAddingPartitions, false}}, grow(1, 5))
	judge(t, map[string]verdict{"orders": {fault.Waiting, v1alpha1.ReasonWaitingForBrokers, false}}, grow(1, 6, []int32{1, 2, 42}))
	got := s.until(t, 2, []topic.Ask{{Name: "orders"}}, func(r map[string]topic.Read) bool { return len(r["orders"].Topic.Partitions) == 5 })
	if diff := cmp.Diff([]int32{3, 2, 1}, got["orders"].Topic.Partitions[4].Replicas); diff != "" {
		t.Error(diff)
	}
}

func (s *suite) listing(t *testing.T) {
	got, err := s.client.Listing(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	want := map[int32]topic.Load{1: {Replicas: 6, Leaders: 2}, 2: {Replicas: 6, Leaders: 2}, 3: {Replicas: 5, Leaders: 2}}
	if diff := cmp.Diff(want, got.Load); diff != "" {
		t.Error(diff)
	}
	if len(got.Names) != 2 || got.Names["orders"].IsZero() {
		t.Errorf("names: %v", got.Names)
	}
}

func (s *suite) reassign(t *testing.T, p topic.TopicPartition, replicas []int32) {
	t.Helper()
	moves := []kafka.Move{{TopicPartition: p, Replicas: replicas}}
	if err, ok := s.client.Reassign(t.Context(), 1, moves)[p]; err != nil || !ok {
		t.Fatalf("reassign: %v, answered %t", err, ok)
	}
}

// move is all that moving a replica takes, over the operator's own connections: the throttle, the reassignment, the
// sizes, the election.
func (s *suite) move(t *testing.T) {
	const name = "moving"
	created := s.client.CreateTopics(t.Context(), 1, []kafka.NewTopic{{Name: name, Assignments: [][]int32{{1, 2}}}})
	judge(t, map[string]verdict{}, map[string]error{name: created[name].Err})
	asks := []topic.Ask{{Name: name}}
	s.until(t, 1, asks, func(r map[string]topic.Read) bool { return r[name].Topic != nil })

	throttling := []kafka.Throttling{{Topic: name,
		Leader:   []topic.ThrottledReplica{{Partition: 0, Broker: 1}, {Partition: 0, Broker: 2}},
		Follower: []topic.ThrottledReplica{{Partition: 0, Broker: 3}},
	}}
	rates := topic.Rates{Leader: topic.RateOf(1 << 20), Follower: topic.RateOf(1 << 20)}
	judge(t, map[string]verdict{}, s.client.AppendThrottled(t.Context(), 1, throttling))
	judge(t, map[string]verdict{}, map[string]error{"set": s.client.SetDefaultRates(t.Context(), 1, rates)})

	p := topic.TopicPartition{Topic: name}
	s.reassign(t, p, []int32{3, 2})
	s.until(t, 1, asks, func(r map[string]topic.Read) bool {
		q := r[name].Topic.Partitions[0]
		return !q.Reassigning() && cmp.Equal(q.Replicas, []int32{3, 2})
	})
	running, err := s.client.Reassignments(t.Context(), 1)
	if err != nil || len(running) != 0 {
		t.Errorf("running: %v, %v", running, err)
	}
	sizes, err := s.client.LogDirs(t.Context(), 3, []topic.TopicPartition{p})
	if _, ok := sizes[p]; !ok || err != nil {
		t.Errorf("sizes: %v, %v", sizes, err)
	}
	elected, err := s.client.ElectPreferred(t.Context(), 1, []topic.TopicPartition{p})
	judge(t, map[string]verdict{}, map[string]error{"election": err, name: elected[p]})
	s.until(t, 1, asks, func(r map[string]topic.Read) bool { return r[name].Topic.Partitions[0].Leader == 3 })

	judge(t, map[string]verdict{}, s.client.SubtractThrottled(t.Context(), 1, throttling))
	judge(t, map[string]verdict{}, map[string]error{"delete": s.client.DeleteDefaultRates(t.Context(), 1, rates)})
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) { // brokers show it a little later
		left, err := s.client.ThrottleRates(t.Context(), []topic.Broker{{ID: 1}})
		if err == nil && !left.Default.Any() {
			return
		}
		if err != nil || time.Now().After(end) {
			t.Fatalf("rates: %+v, %v", left, err)
		}
	}
}

// paused pauses a broker: it accepts connections and never answers. A reassignment to it stays under way.
func (s *suite) paused(t *testing.T) {
	if err := s.bed.Pause(3); err != nil {
		t.Fatal(err)
	}
	judge(t, map[string]verdict{"orders": {fault.Transient, v1alpha1.ReasonConnectionTimedOut, true}},
		s.client.AlterConfigs(t.Context(), 3, []kafka.Alteration{{Topic: "orders", Set: map[string]string{"retention.ms": "86400000"}}}))
	_, err := s.client.Cluster(t.Context(), 3)
	judge(t, map[string]verdict{"read": {fault.Transient, v1alpha1.ReasonConnectionTimedOut, false}}, map[string]error{"read": err})
	if err := s.bed.WaitFenced(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	got, err := s.client.Cluster(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := got.Broker(3); b != (topic.Broker{ID: 3, Rack: "c", Fenced: true}) {
		t.Errorf("broker 1 shows %+v", b)
	}
	views := topic.TopicPartition{Topic: "page.views"}
	s.reassign(t, views, []int32{2, 3})
	reads := s.until(t, 2, []topic.Ask{{Name: "page.views"}}, func(r map[string]topic.Read) bool {
		return r["page.views"].Topic.Partitions[0].Reassigning()
	})
	p := reads["page.views"].Topic.Partitions[0]
	if diff := cmp.Diff([][]int32{{2, 3}, {3}, {1}}, [][]int32{p.Target(), p.Adding, p.Removing}); diff != "" {
		t.Errorf("target, adding, removing: %s", diff)
	}
	rates, err := s.client.ThrottleRates(t.Context(), []topic.Broker{{ID: 3}, {ID: 1}, {ID: 2}})
	if diff := cmp.Diff([]int32{3}, rates.Unread); err != nil || diff != "" {
		t.Errorf("brokers whose rates are unknown: %s, %v", diff, err)
	}
	_, err = s.client.LogDirs(t.Context(), 3, []topic.TopicPartition{views})
	judge(t, map[string]verdict{"sizes": {fault.Transient, v1alpha1.ReasonConnectionTimedOut, false}}, map[string]error{"sizes": err})
	if err := errors.Join(s.bed.Resume(3), s.bed.WaitUnfenced(t.Context(), 3), s.bed.WaitFullISR(t.Context(), "page.views")); err != nil {
		t.Fatal(err)
	}
	s.until(t, 3, []topic.Ask{{Name: "page.views"}}, func(r map[string]topic.Read) bool {
		p := r["page.views"].Topic.Partitions[0]
		return !p.Reassigning() && cmp.Equal(p.Replicas, []int32{2, 3})
	})
}

// stopped stops a broker and brings it back: the way to it is found again.
func (s *suite) stopped(t *testing.T) {
	if err := errors.Join(s.bed.Kill(2), s.bed.WaitFenced(t.Context(), 2)); err != nil {
		t.Fatal(err)
	}
	_, err := s.client.Cluster(t.Context(), 2)
	judge(t, map[string]verdict{"read": {fault.Transient, v1alpha1.ReasonConnectionRefused, false}}, map[string]error{"read": err})
	if _, err := s.client.Cluster(t.Context(), kafka.AnyBroker); err != nil {
		t.Errorf("the bootstrap servers that are left are not used: %v", err)
	}
	if err := errors.Join(s.bed.Start(2), s.bed.WaitUnfenced(t.Context(), 2)); err != nil {
		t.Fatal(err)
	}
	s.until(t, 2, []topic.Ask{{Name: "orders"}}, func(r map[string]topic.Read) bool { return r["orders"].Topic != nil })
}
