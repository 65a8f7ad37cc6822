package fleet

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
	"durabletopic.io/operator/internal/kafka"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

func TestManyCreatesShareFewRequests(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bed) {
		k, c := b.connect("a", kafkatest.Options{})
		all := names("t", 500)
		declare(c, all...)
		createAll(t, c, all, create(all[0]).Partitions)
		if n := k.Requests().WriteTotal(); n > 12 {
			t.Errorf("500 creates took %d requests", n)
		}
		if n := k.Requests().ReadTotal(); n > 100 {
			t.Errorf("500 creates took %d reads", n)
		}
		checkEven(t, k, all)
		for _, name := range all {
			v := c.View(name)
			if v.Presence != topic.Present || v.Topic.Configs[topic.MinInSyncReplicas].Value != "2" {
				t.Fatalf("after Execute %q is not known: %+v", name, v)
			}
		}
	})
}

// createAll creates topics at the same time.
func createAll(t *testing.T, c *Cluster, topics []string, partitions int32) {
	t.Helper()
	var run sync.WaitGroup
	for _, name := range topics {
		run.Go(func() {
			s := create(name)
			s.Partitions = partitions
			if err := c.Execute(t.Context(), s); err != nil {
				t.Errorf("create %q: %v", name, err)
			}
		})
	}
	run.Wait()
}

// checkEven checks that every partition keeps the rack rule, and that leaders and replicas are even over brokers.
func checkEven(t *testing.T, k *kafkatest.Cluster, topics []string) {
	t.Helper()
	load := map[int32]topic.Load{}
	for _, name := range topics {
		got, ok := k.Topic(name)
		if !ok {
			t.Fatalf("topic %q was not created", name)
		}
		if v := placement.Judge(k.Brokers(), placement.Targets(&got), rule); len(v) > 0 {
			t.Fatalf("topic %q: %s", name, v[0].Message)
		}
		for _, p := range got.Partitions {
			burden(load, [][]int32{p.Replicas})
		}
	}
	var leaders, replicas []int
	for _, broker := range k.Brokers() {
		leaders = append(leaders, load[broker.ID].Leaders)
		replicas = append(replicas, load[broker.ID].Replicas)
	}
	if d := slices.Max(leaders) - slices.Min(leaders); d > 1 {
		t.Errorf("leaders per broker %v", leaders)
	}
	if d := slices.Max(replicas) - slices.Min(replicas); d > 3 {
		t.Errorf("replicas per broker %v", replicas)
	}
}

// So do topics whose partitions are left to the brokers' num.partitions.
func TestManyCreatesWithoutPartitionsShareFewRequests(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bed) {
		k, c := b.connect("a", kafkatest.Options{})
		all := names("t", 100)
		declare(c, all...)
		createAll(t, c, all, 0)
		if n := k.Requests().WriteTotal(); n > 10 {
			t.Errorf("100 creates took %d requests", n)
		}
	})
}

// Brokers are not given more new topics than they can take in: a request is bounded by the logs that have to be made, and
// the next one goes when brokers show the topics of the last, though not much later if they do not.
func TestCreatesArePacedByWhatBrokersShow(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bed) {
		k, c := b.connect("a", kafkatest.Options{})
		for _, broker := range k.Brokers() {
			k.HoldMetadata(broker.ID)
		}
		const full = maxReplicas / 9 // topics of three partitions with three replicas
		all := names("t", 3*full)
		declare(c, all...)
		var run sync.WaitGroup
		for _, name := range all {
			run.Go(func() {
				s := create(name)
				s.Partitions = 3
				_ = c.Execute(t.Context(), s)
			})
		}
		created := func() (n int) {
			for _, name := range all {
				if _, ok := k.Topic(name); ok {
					n++
				}
			}
			return n
		}
		b.until("the first topics", func() bool { return created() > 0 })
		time.Sleep(kafka.BusyAtMost / 2)
		if n := created(); n > full {
			t.Errorf("%d topics were created while brokers show none of them, want at most %d", n, full)
		}
		for _, broker := range k.Brokers() {
			k.ReleaseMetadata(broker.ID)
		}
		began := time.Now()
		run.Wait()
		if n, took := created(), time.Since(began); n != len(all) || took > kafka.BusyAtMost {
			t.Errorf("%d of %d topics were created in %s once brokers showed them", n, len(all), took)
		}
		for _, batch := range b.taken(&b.batches) {
			if n, _ := strconv.Atoi(strings.TrimPrefix(batch, KindCreate+" ")); n > full {
				t.Errorf("a request created %d topics, want at most %d", n, full)
			}
		}
	})
}

// Creates that no listing shows yet are load to the next batch all the same.
func TestCreatesNotYetVisibleAreLoad(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bed) {
		k, c := b.connect("a", kafkatest.Options{})
		for _, broker := range k.Brokers() {
			k.HoldMetadata(broker.ID)
		}
		all := names("t", 12)
		declare(c, all...)
		for some := range slices.Chunk(all, 4) {
			var steps []plan.Step
			for _, name := range some {
				s := create(name)
				s.Partitions = 1
				steps = append(steps, s)
			}
			for _, err := range execute(t, c, steps...) {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		checkEven(t, k, all)
		if again := execute(t, c, create(all[0])); reason(again[0]) != v1alpha1.ReasonCreating {
			t.Errorf("a second create of a confirmed topic: %v", again[0])
		}
		if n := k.TopicWrites()[all[0]]; n != 1 {
			t.Errorf("it was sent %d times", n)
		}
	})
}

func TestOneBadTopicHarmsNoOther(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bed) {
		k, c := b.connect("a", kafkatest.Options{})
		k.CreateTopicByHand("a_b", [][]int32{{1, 3, 5}}, nil)
		k.Deny(kafkatest.Denial{Operation: kmsg.ACLOperationCreate, Resource: kmsg.ACLResourceTypeCluster},
			kafkatest.Denial{Operation: kmsg.ACLOperationCreate, Resource: kmsg.ACLResourceTypeTopic, Name: "t058"})
		all := names("t", 100)
		declare(c, all...)
		declare(c, "a.b")
		var steps []plan.Step
		for i, name := range all {
			s := create(name)
			if i == 57 {
				s.Config = map[string]string{"retention.ms": "soon"}
			}
			steps = append(steps, s)
		}
		steps = append(steps, create("a.b"))
		errs := execute(t, c, steps...)
		want := map[int]string{
			57: v1alpha1.ReasonConfigRejected, 58: v1alpha1.ReasonNotAuthorized, 100: v1alpha1.ReasonTopicNameCollision,
		}
		for i, err := range errs {
			if reason(err) != want[i] {
				t.Errorf("step %d: %v, want reason %q", i, err, want[i])
			}
		}
		got, ok := k.Topic("t057")
		if !ok || got.Configs[topic.MinInSyncReplicas].Value != "2" {
			t.Errorf("the topic with a bad config was not created with its locks: %+v", got)
		}
		if !errors.Is(errs[57], plan.ErrCreated) || fault.As(errs[57]).Class != fault.Invalid {
			t.Errorf("the fault does not tell that the topic was created: %v", errs[57])
		}
		if n := k.Requests().WriteTotal(); n > 8 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestCollisionInsideABatch(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bed) {
		k, c := b.connect("a", kafkatest.Options{})
		declare(c, "first", "x_y", "x.y")
		// The first create keeps the lane busy, so that the others share a batch.
		hang := k.Fail(kafkatest.Fault{APIKey: kmsg.CreateTopics, Topic: "first", Hang: true, Applied: true})
		errs := execute(t, c, create("first"), create("x_y"), create("x.y"))
		if hang.Hits() != 1 || !fault.As(errs[0]).Uncertain {
			t.Fatalf("the first create did not hang: %v", errs[0])
		}
		if errs[1] != nil || reason(errs[2]) != v1alpha1.ReasonTopicNameCollision {
			t.Errorf("got %v, want the one that came first to win", errs[1:])
		}
		if _, ok := k.Topic("x.y"); ok {
			t.Error("the loser was created")
		}
		if diff := cmp.Diff([]string{"create 1", "create 2"}, b.taken(&b.batches)); diff != "" {
			t.Errorf("batches (-want +got):\n%s", diff)
		}
	})
}

func TestShortageIsItsOwnFault(t *testing.T) {
	tests := map[string]struct {
		racks []string
		fence []int32
		rule  placement.Rule
		want  string
		class fault.Class
	}{
		"racks":   {racks: []string{"a", "a", "b", "b"}, rule: rule, want: v1alpha1.ReasonInsufficientRacks, class: fault.Blocked},
		"brokers": {racks: []string{"a", "b"}, rule: rule, want: v1alpha1.ReasonInsufficientBrokers, class: fault.Blocked},
		"restart": {racks: []string{"a", "b", "c"}, fence: []int32{3}, rule: rule, want: v1alpha1.ReasonWaitingForBrokers, class: fault.Waiting},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, b *bed) {
				k, c := b.connect("a", kafkatest.Options{Racks: tc.racks})
				k.Fence(tc.fence...)
				declare(c, "strict", "loose")
				loose := create("loose")
				loose.Rule = placement.Rule{ReplicationFactor: 2, MinInSyncReplicas: 1, BestEffort: true}
				strict := create("strict")
				strict.Rule = tc.rule
				errs := execute(t, c, strict, loose)
				if reason(errs[0]) != tc.want || fault.As(errs[0]).Class != tc.class {
					t.Errorf("got %v", errs[0])
				}
				if errs[1] != nil {
					t.Errorf("a shortage of one topic harmed another: %v", errs[1])
				}
				if n := k.TopicWrites()["strict"]; n != 0 {
					t.Error("a topic that cannot be placed was sent")
				}
			})
		})
	}
}

// An answer that is lost says nothing: the topic is read again and not created twice.
func TestLostAnswer(t *testing.T) {
	tests := map[string]struct {
		fault       kafkatest.Fault
		wantPresent topic.Presence
		wantAgain   string // reason when the same is asked again
		wantSent    int
	}{
		"applied": {fault: kafkatest.Fault{Drop: true}, wantPresent: topic.Present, wantAgain: v1alpha1.ReasonCreating, wantSent: 1},
		"lost":    {fault: kafkatest.Fault{Lose: true}, wantPresent: topic.Missing, wantSent: 2},
		"hung":    {fault: kafkatest.Fault{Hang: true, Applied: true}, wantPresent: topic.Present, wantAgain: v1alpha1.ReasonCreating, wantSent: 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, b *bed) {
				k, c := b.connect("a", kafkatest.Options{})
				declare(c, "orders")
				tc.fault.APIKey = kmsg.CreateTopics
				k.Fail(tc.fault)
				errs := execute(t, c, create("orders"))
				if f := fault.As(errs[0]); f == nil || !f.Uncertain {
					t.Fatalf("a lost answer gave %v", errs[0])
				}
				if got := c.View("orders").Presence; got != tc.wantPresent {
					t.Errorf("after it the topic is known as %v, want %v", got, tc.wantPresent)
				}
				if again := execute(t, c, create("orders")); reason(again[0]) != tc.wantAgain {
					t.Errorf("again: %v, want reason %q", again[0], tc.wantAgain)
				}
				if n := k.TopicWrites()["orders"]; n != tc.wantSent {
					t.Errorf("the create was sent %d times, want %d", n, tc.wantSent)
				}
			})
		})
	}
}

func TestTopicExistsAlready(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bed) {
		k, c := b.connect("a", kafkatest.Options{})
		declare(c, "orders")
		b.until("read", func() bool { return c.View("orders").Presence == topic.Missing })
		k.Fail(kafkatest.Fault{APIKey: kmsg.CreateTopics, Code: kerr.TopicAlreadyExists.Code})
		errs := execute(t, c, create("orders"))
		if f := fault.As(errs[0]); f == nil || f.Class != fault.Waiting {
			t.Errorf("TOPIC_ALREADY_EXISTS gave %v", errs[0])
		}
		id := k.CreateTopicByHand("orders", [][]int32{{1, 2, 3}}, nil)
		time.Sleep(2 * listingAge) // the listing of the first batch is not used again
		errs = execute(t, c, create("orders"))
		if f := fault.As(errs[0]); f == nil || f.Class != fault.Waiting {
			t.Errorf("a topic that exists gave %v", errs[0])
		}
		if v := c.View("orders"); v.Topic == nil || v.Topic.ID != id {
			t.Errorf("the topic was not read again: %+v", v)
		}
		if n := k.TopicWrites()["orders"]; n != 1 {
			t.Errorf("%d creates were sent", n)
		}
	})
}

// A topic that was created, seen and deleted by somebody else within a minute is created again.
func TestCreateAgainSoonAfterDeletion(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bed) {
		k, c := b.connect("a", kafkatest.Options{})
		declare(c, "orders")
		if errs := execute(t, c, create("orders")); errs[0] != nil {
			t.Fatal(errs)
		}
		k.DeleteTopicByHand("orders")
		b.until("absence", func() bool { return c.View("orders").Presence == topic.Absent })
		time.Sleep(2 * listingAge)
		if errs := execute(t, c, create("orders")); errs[0] != nil {
			t.Errorf("again: %v", errs[0])
		}
		if _, ok := k.Topic("orders"); !ok {
			t.Error("it was not created")
		}
	})
}

// What Kafka has confirmed is expected while no broker shows it, so that nobody takes the old facts for drift.
func TestConfirmedWritesAreExpected(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bed) {
		k, c := b.connect("a", kafkatest.Options{})
		existing := [][]int32{{1, 3, 5}}
		k.CreateTopicByHand("orders", existing, nil)
		declare(c, "orders", "new")
		b.until("topic", func() bool { return c.View("orders").Presence == topic.Present })
		for _, broker := range k.Brokers() {
			k.HoldMetadata(broker.ID)
		}
		errs := execute(t, c, create("new"), alter("orders", topic.MinInSyncReplicas, "2"),
			plan.AddPartitions{Name: "orders", From: 1, To: 4, Existing: existing, Rule: rule})
		for i, err := range errs {
			if err != nil {
				t.Errorf("step %d: %v", i, err)
			}
		}
		if e := c.View("new").Expected; !e.Created || e.Partitions != 3 {
			t.Errorf("new topic: expected %+v", e)
		}
		if e := c.View("orders").Expected; !e.Config(topic.MinInSyncReplicas, "2") || e.Partitions != 4 {
			t.Errorf("changed topic: expected %+v", e)
		}
	})
}
