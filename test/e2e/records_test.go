//go:build unix

package e2e_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// writer writes numbered records to a topic, round its partitions, and keeps those that Kafka has confirmed.
type writer struct {
	t      *testing.T
	topic  string
	client *kgo.Client
	end    context.CancelFunc
	ended  sync.WaitGroup

	mu        sync.Mutex
	next      int
	confirmed map[int]int32 // number: partition
	failed    map[string]int
	refused   int // answers NOT_ENOUGH_REPLICAS, be they followed by success
	last      map[int32]time.Time
}

// write begins to write with acks "all" or "1", so many records a second to each of the partitions.
func (w *world) write(topicName, acks string, partitions int32, perSecond int) *writer {
	w.t.Helper()
	r := &writer{t: w.t, topic: topicName, confirmed: map[int]int32{}, failed: map[string]int{}, last: map[int32]time.Time{}}
	opts := []kgo.Opt{
		kgo.SeedBrokers(w.main.bed.Bootstrap()...), kgo.DisableClientMetrics(), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.MetadataMinAge(200 * time.Millisecond), kgo.RecordDeliveryTimeout(2 * time.Minute), kgo.WithLogger(r),
		kgo.ProduceRequestTimeout(3 * time.Second), kgo.RequestTimeoutOverhead(2 * time.Second), kgo.UnknownTopicRetries(-1),
	}
	if acks == "1" {
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	}
	client, err := kgo.NewClient(opts...)
	w.must(err)
	r.client = client
	ctx, end := context.WithCancel(context.Background())
	r.end = end
	for p := range partitions {
		r.ended.Go(func() { r.fill(ctx, p, perSecond) })
	}
	w.t.Cleanup(r.stop)
	return r
}

// fill writes to one partition until ctx ends.
func (r *writer) fill(ctx context.Context, partition int32, perSecond int) {
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		r.mu.Lock()
		number := r.next
		r.next++
		r.mu.Unlock()
		value := []byte(strconv.Itoa(number)) // its own key, too: a compacted topic keeps them all
		r.client.TryProduce(context.Background(), &kgo.Record{Topic: r.topic, Partition: partition, Key: value, Value: value},
			func(_ *kgo.Record, err error) { r.answered(number, partition, err) })
	}
}

func (r *writer) answered(number int, partition int32, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.failed[err.Error()]++
		return
	}
	r.confirmed[number] = partition
	r.last[partition] = time.Now()
}

// stop ends the writing and waits for the answers.
func (r *writer) stop() {
	r.end()
	r.ended.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = r.client.Flush(ctx)
	r.client.Close()
}

// count gives the number of confirmed records.
func (r *writer) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.confirmed)
}

// since tells which partitions have had a record confirmed after a time.
func (r *writer) since(at time.Time) map[int32]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	goes := map[int32]bool{}
	for p, last := range r.last {
		goes[p] = last.After(at)
	}
	return goes
}

// Level and Log make the writer the client's logger: the client repeats what was refused for now, and only its log tells.
func (*writer) Level() kgo.LogLevel { return kgo.LogLevelDebug }

// Log looks for refusals.
func (r *writer) Log(_ kgo.LogLevel, msg string, keyvals ...any) {
	if text := fmt.Sprint(msg, keyvals); strings.Contains(text, "NOT_ENOUGH_REPLICAS") {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.refused++
	}
}

// lost reads the topic from the start and gives the confirmed records that are not in it.
func (w *world) lost(r *writer) []int {
	w.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(w.main.bed.Bootstrap()...), kgo.DisableClientMetrics(),
		kgo.ConsumeTopics(r.topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	w.must(err)
	defer client.Close()
	r.mu.Lock()
	missing := make(map[int]bool, len(r.confirmed))
	for number := range r.confirmed {
		missing[number] = true
	}
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	for len(missing) > 0 {
		round, stop := context.WithTimeout(ctx, 5*time.Second)
		fetched := client.PollFetches(round)
		stop()
		if fetched.NumRecords() == 0 {
			break
		}
		fetched.EachRecord(func(rec *kgo.Record) {
			if number, err := strconv.Atoi(string(rec.Value)); err == nil {
				delete(missing, number)
			}
		})
	}
	var lost []int
	for number := range missing {
		lost = append(lost, number)
	}
	return lost
}

func (r *writer) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%d records of %d confirmed, %d times refused, failures %v", len(r.confirmed), r.next, r.refused, r.failed)
}
