package kafkatest_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

// populated makes a cluster with so many topics of three partitions.
func populated(tb testing.TB, topics int) *kafkatest.Cluster {
	tb.Helper()
	c := kafkatest.New(elr())
	for at := 0; at < topics; at += 500 {
		req := kmsg.NewPtrCreateTopicsRequest()
		for i := at; i < min(at+500, topics); i++ {
			req.Topics = append(req.Topics, createRequest(fmt.Sprintf("t-%05d", i)).Topics...)
			req.Topics[i-at].NumPartitions = 3
		}
		if _, err := c.Wire().Request(tb.Context(), 1, req); err != nil {
			tb.Fatal(err)
		}
	}
	return c
}

// TestManyTopics: 5 000 topics are read in pages, and a lost rack concerns them all.
func TestManyTopics(t *testing.T) {
	const topics = 5000
	c := populated(t, topics)
	c.Fence(1, 2)
	partitions, below := 0, 0
	req := describeRequest()
	for {
		resp := ask[*kmsg.DescribeTopicPartitionsResponse](t, c, 3, req)
		for _, x := range resp.Topics {
			for _, p := range x.Partitions {
				partitions++
				if len(p.ISR) < len(p.Replicas) {
					below++
				}
			}
		}
		if resp.NextCursor == nil {
			break
		}
		next := kmsg.NewDescribeTopicPartitionsRequestCursor()
		next.Topic, next.Partition = resp.NextCursor.Topic, resp.NextCursor.Partition
		req.Cursor = &next
	}
	equal(t, "partitions", 3*topics, partitions)
	equal(t, "partitions without all replicas", 3*topics, below)
	c.Unfence(1, 2)
	last := fmt.Sprintf("t-%05d", topics-1)
	equal(t, "replicas in sync again", 3, len(isr(c, last)))
}

// TestEqualRunsAreEqual: the model has no chance in it.
func TestEqualRunsAreEqual(t *testing.T) {
	run := func() []topic.Topic {
		c := populated(t, 50)
		c.Kill(3)
		c.Fence(1, 5)
		c.Start(3)
		c.Unfence(5)
		c.Tick()
		var out []topic.Topic
		for _, name := range c.TopicNames() {
			x, _ := c.Topic(name)
			out = append(out, x)
		}
		return out
	}
	if diff := cmp.Diff(run(), run()); diff != "" {
		t.Errorf("two runs differ (-one +other):\n%s", diff)
	}
}

// TestConcurrentUse is for the race detector: requests, controls and looks at the same time.
func TestConcurrentUse(t *testing.T) {
	c := populated(t, 20)
	var all sync.WaitGroup
	for i := range 4 {
		name := fmt.Sprintf("t-%05d", i)
		for _, do := range []func(){
			func() { describeCodes(t, c, 2, name) },
			func() { alterCode(t, c, name, "retention.ms", fmt.Sprint(i)) },
			func() { createCodes(t, c, "new-"+name) },
			func() { c.Fence(6); c.Unfence(6) },
			func() { c.HoldMetadata(2); c.Tick(); c.ReleaseMetadata(2) },
			func() { c.Topic(name); c.Writes(); c.TopicWrites(); c.Requests() },
			func() { c.SetISR(name, 0, c.Partition(name, 0).Replicas[0]); c.CatchUp(name) },
			func() { c.Fail(kafkatest.Fault{APIKey: kmsg.DeleteTopics}).Remove() },
		} {
			all.Go(func() {
				for range 20 {
					do()
				}
			})
		}
	}
	all.Wait()
	for i := range 4 {
		if _, ok := c.Topic(fmt.Sprintf("new-t-%05d", i)); !ok {
			t.Errorf("topic %d was not made", i)
		}
	}
}

func BenchmarkDescribe500(b *testing.B) {
	c := populated(b, 5000)
	var names []string
	for i := range 500 {
		names = append(names, fmt.Sprintf("t-%05d", i))
	}
	w := c.Wire()
	for b.Loop() {
		if _, err := w.Request(b.Context(), 1, describeRequest(names...)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDescribeConfigs500(b *testing.B) {
	c := populated(b, 5000)
	req := kmsg.NewPtrDescribeConfigsRequest()
	for i := range 500 {
		one := describeConfigsRequest(fmt.Sprintf("t-%05d", i), topic.MinInSyncReplicas, topic.UncleanLeaderElection, "retention.ms", "cleanup.policy")
		req.Resources = append(req.Resources, one.Resources...)
	}
	w := c.Wire()
	for b.Loop() {
		if _, err := w.Request(b.Context(), 1, req); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAlterOne(b *testing.B) {
	c := populated(b, 5000)
	w := c.Wire()
	i := 0
	for b.Loop() {
		i++
		if _, err := w.Request(b.Context(), 1, alterRequest("t-00007", "retention.ms", fmt.Sprint(i))); err != nil {
			b.Fatal(err)
		}
	}
}
