package observer

import (
	"context"
	"fmt"
	"testing"
	"time"

	"durabletopic.io/operator/internal/core/topic"
)

// instant answers at once with facts that are equal and newly made each time.
type instant struct{ reads map[string]topic.Read }

func (i *instant) Cluster(context.Context, int32) (*topic.Cluster, error) {
	return &topic.Cluster{ID: "cluster-1", Brokers: []topic.Broker{{ID: 1}, {ID: 2}, {ID: 3}}}, nil
}

func (i *instant) Topics(context.Context, int32, []topic.Ask) (map[string]topic.Read, error) {
	return i.reads, nil
}

func (i *instant) Listing(context.Context, int32) (*topic.Listing, error) {
	return &topic.Listing{}, nil
}

// fill makes reads of n topics of three partitions; equal ones each time.
func (i *instant) fill(names []string) {
	i.reads = make(map[string]topic.Read, len(names))
	for _, name := range names {
		t := &topic.Topic{Name: name, ID: topic.ID{1}, Configs: map[string]topic.Config{
			topic.MinInSyncReplicas:     {Value: "2", OnTopic: true},
			topic.UncleanLeaderElection: {Value: "false", OnTopic: true},
		}}
		for p := range int32(3) {
			t.Partitions = append(t.Partitions, topic.Partition{
				Index: p, Leader: 1, LeaderEpoch: 3, Replicas: []int32{1, 2, 3}, ISR: []int32{1, 2, 3},
			})
		}
		i.reads[name] = topic.Read{Topic: t}
	}
}

func quiet(n int) (*Observer, *instant, []string) {
	r := &instant{}
	o := New(r, Options{Interval: time.Second, ClusterID: "cluster-1"})
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("topic-%05d", i)
		o.Declare(names[i], []string{topic.MinInSyncReplicas, topic.UncleanLeaderElection}, true)
	}
	r.fill(names)
	return o, r, names
}

// BenchmarkSweep is what a sweep of 5 000 unchanged topics of three partitions costs without Kafka and the network.
func BenchmarkSweep(b *testing.B) {
	o, r, names := quiet(5000)
	o.sweep(b.Context())
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		r.fill(names)
		b.StartTimer()
		o.sweep(b.Context())
	}
}

// BenchmarkView is a view while sweeps go on.
func BenchmarkView(b *testing.B) {
	o, _, names := quiet(5000)
	o.sweep(b.Context())
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			if o.View(names[i%len(names)]).Topic == nil {
				b.Error("topic is not shown")
			}
		}
	})
}

// An unchanged topic costs no allocation, however many there are.
func TestQuietSweepAllocatesLittle(t *testing.T) {
	o, _, _ := quiet(5000)
	o.sweep(t.Context())
	urgent, _ := o.pace.takeUrgent()
	if len(urgent) != 5000 {
		t.Fatalf("%d topics told by the first sweep, want 5000", len(urgent))
	}
	if got := testing.AllocsPerRun(5, func() { o.sweep(t.Context()) }); got > 500 {
		t.Errorf("%.0f allocations for a sweep of 5 000 unchanged topics", got)
	}
	if urgent, _ = o.pace.takeUrgent(); len(urgent)+len(o.pace.takeCalm()) > 0 {
		t.Error("a quiet sweep told somebody")
	}
}
