//go:build unix

package contract

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/testbed/kafkabed"
)

// brokersBed is a bed of real brokers.
type brokersBed struct {
	bed    *kafkabed.Cluster
	client *kgo.Client
}

func (r brokersBed) Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	return r.client.Broker(int(broker)).RetriableRequest(ctx, req)
}

func (r brokersBed) Do(ctx context.Context, d deed, brokers ...int32) error {
	does := map[deed]func(...int32) error{pause: r.bed.Pause, resume: r.bed.Resume, kill: r.bed.Kill, start: r.bed.Start}
	if err := does[d](brokers...); err != nil {
		return err
	}
	if d == pause || d == kill {
		return r.bed.WaitFenced(ctx, brokers...)
	}
	return r.bed.WaitUnfenced(ctx, brokers...)
}

// Produce sends records of 64 KiB, one batch each, until Kafka refuses one.
func (r brokersBed) Produce(ctx context.Context, topic string, bytes int64) error {
	producer, err := kgo.NewClient(kgo.SeedBrokers(r.bed.Bootstrap()...), kgo.DisableClientMetrics(), kgo.RecordRetries(0),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.DisableIdempotentWrite())
	if err != nil {
		return err
	}
	defer producer.Close()
	const size = 64 << 10
	var records []*kgo.Record
	for ; bytes > 0; bytes -= size {
		records = append(records, &kgo.Record{Topic: topic, Value: make([]byte, size)})
	}
	return producer.ProduceSync(ctx, records...).FirstErr()
}

// Wait is the pause between two polls.
func (r brokersBed) Wait() { time.Sleep(30 * time.Millisecond) }

func TestRealKafka(t *testing.T) {
	if testing.Short() {
		t.Skip("needs real Kafka")
	}
	bed, err := kafkabed.Start(t.Context(), kafkabed.Options{
		Racks:                racks,
		ControllerProperties: map[string]string{"min.insync.replicas": minISR, "unclean.leader.election.interval.ms": "500"},
		Log:                  t.Logf,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bed.Stop(); err != nil {
			t.Errorf("stop the bed: %v", err)
		}
	})
	client, err := kgo.NewClient(kgo.SeedBrokers(bed.Bootstrap()...), kgo.DisableClientMetrics(), kgo.RequestRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if err := client.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	runSuite(t, brokersBed{bed: bed, client: client})
}
