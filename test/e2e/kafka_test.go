//go:build unix

package e2e_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/testbed/kafkabed"
)

const (
	minISR  = "min.insync.replicas"
	unclean = "unclean.leader.election.enable"
)

// kafka is a bed and an administrator who knows nothing of the operator.
type kafka struct {
	bed    *kafkabed.Cluster
	client *kgo.Client
}

func raiseKafka(ctx context.Context, racks []string) (*kafka, error) {
	bed, err := kafkabed.Start(ctx, kafkabed.Options{Racks: racks})
	if err != nil {
		return nil, err
	}
	k := &kafka{bed: bed}
	k.client, err = kgo.NewClient(kgo.SeedBrokers(bed.Bootstrap()...), kgo.DisableClientMetrics(),
		kgo.MetadataMinAge(100*time.Millisecond), kgo.RequestTimeoutOverhead(2*time.Second))
	if err != nil {
		return k, errors.Join(err, bed.Stop())
	}
	return k, nil
}

func (k *kafka) stop() error {
	if k.client != nil {
		k.client.Close()
	}
	return k.bed.Stop()
}

// asker gives a client that asks one broker only: the first that runs, since requests to a paused one hang.
func (k *kafka) asker() *kgo.Broker {
	for _, n := range k.bed.Nodes() {
		if n.State == kafkabed.Running && n.ID != kafkabed.ControllerID {
			return k.client.Broker(int(n.ID))
		}
	}
	return k.client.Broker(1)
}

// ask sends a request to one running broker.
func ask[R kmsg.Response](ctx context.Context, k *kafka, req kmsg.Request) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var none R
	resp, err := k.asker().RetriableRequest(ctx, req)
	if err != nil {
		return none, fmt.Errorf("%s: %w", kmsg.NameForKey(req.Key()), err)
	}
	typed, ok := resp.(R)
	if !ok {
		return none, fmt.Errorf("%s: answered by %T", kmsg.NameForKey(req.Key()), resp)
	}
	return typed, nil
}

// partitions of the topics with a prefix, by topic. A topic of one request is there wholly or not at all.
func (k *kafka) partitions(ctx context.Context, prefix string) (map[string][]kafkabed.Partition, error) {
	all, err := k.bed.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	topics := map[string][]kafkabed.Partition{}
	for _, p := range all {
		if strings.HasPrefix(p.Topic, prefix) {
			topics[p.Topic] = append(topics[p.Topic], p)
		}
	}
	return topics, nil
}

// ids of the topics with a prefix, in Kafka's URL-safe form.
func (k *kafka) ids(ctx context.Context, prefix string) (map[string]string, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = nil // all
	resp, err := ask[*kmsg.MetadataResponse](ctx, k, req)
	if err != nil {
		return nil, err
	}
	ids := map[string]string{}
	for _, t := range resp.Topics {
		if t.Topic != nil && strings.HasPrefix(*t.Topic, prefix) && t.ErrorCode == 0 {
			ids[*t.Topic] = base64.RawURLEncoding.EncodeToString(t.TopicID[:])
		}
	}
	return ids, nil
}

// onTopic gives the configs that are set on each topic itself; with keys only those.
func (k *kafka) onTopic(ctx context.Context, topics []string, keys ...string) (map[string]map[string]string, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	for _, name := range topics {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeTopic, name, keys
		req.Resources = append(req.Resources, r)
	}
	resp, err := ask[*kmsg.DescribeConfigsResponse](ctx, k, req)
	if err != nil {
		return nil, err
	}
	all := map[string]map[string]string{}
	for _, r := range resp.Resources {
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
			return nil, fmt.Errorf("describe configs of %q: %w", r.ResourceName, err)
		}
		all[r.ResourceName] = map[string]string{}
		for _, c := range r.Configs {
			if c.Source == kmsg.ConfigSourceDynamicTopicConfig && c.Value != nil {
				all[r.ResourceName][c.Name] = *c.Value
			}
		}
	}
	return all, nil
}

// set changes configs of topics in one request, as somebody with the rights could. Pairs are key, value, key, value.
func (k *kafka) set(ctx context.Context, topics []string, pairs ...string) error {
	var changes []kmsg.IncrementalAlterConfigsRequestResourceConfig
	for pair := range slices.Chunk(pairs, 2) {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Op, c.Value = pair[0], kmsg.IncrementalAlterConfigOpSet, &pair[1]
		changes = append(changes, c)
	}
	return k.alter(ctx, topics, changes)
}

// unset deletes configs of topics.
func (k *kafka) unset(ctx context.Context, topics []string, keys ...string) error {
	var changes []kmsg.IncrementalAlterConfigsRequestResourceConfig
	for _, key := range keys {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Op = key, kmsg.IncrementalAlterConfigOpDelete
		changes = append(changes, c)
	}
	return k.alter(ctx, topics, changes)
}

// alter makes the same changes to each topic.
func (k *kafka) alter(ctx context.Context, topics []string, changes []kmsg.IncrementalAlterConfigsRequestResourceConfig) error {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	for _, name := range topics {
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName, r.Configs = kmsg.ConfigResourceTypeTopic, name, changes
		req.Resources = append(req.Resources, r)
	}
	resp, err := ask[*kmsg.IncrementalAlterConfigsResponse](ctx, k, req)
	if err != nil {
		return err
	}
	for _, r := range resp.Resources {
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
			return fmt.Errorf("alter %q: %w", r.ResourceName, err)
		}
	}
	return nil
}

// move is somebody else's reassignment of a partition.
func (k *kafka) move(ctx context.Context, name string, partition int32, replicas ...int32) error {
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	t := kmsg.NewAlterPartitionAssignmentsRequestTopic()
	p := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	p.Partition, p.Replicas = partition, replicas
	t.Topic, t.Partitions = name, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.AlterPartitionAssignmentsResponse](ctx, k, req)
	if err != nil {
		return err
	}
	return errors.Join(kerr.ErrorForCode(resp.ErrorCode), kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode))
}

// rates are the throttle rates that are set for all brokers.
func (k *kafka) rates(ctx context.Context) (map[string]string, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType = kmsg.ConfigResourceTypeBroker
	req.Resources = append(req.Resources, r)
	resp, err := ask[*kmsg.DescribeConfigsResponse](ctx, k, req)
	if err != nil {
		return nil, err
	}
	rates := map[string]string{}
	for _, r := range resp.Resources {
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
			return nil, fmt.Errorf("describe configs of the brokers: %w", err)
		}
		for _, c := range r.Configs {
			if strings.HasSuffix(c.Name, ".replication.throttled.rate") && c.Value != nil {
				rates[c.Name] = *c.Value
			}
		}
	}
	return rates, nil
}

// load writes so many bytes to partition 0 of a topic.
func (k *kafka) load(ctx context.Context, name string, bytes int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(k.bed.Bootstrap()...), kgo.DisableClientMetrics(),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		return err
	}
	defer client.Close()
	value := make([]byte, 64<<10)
	var records []*kgo.Record
	for range bytes / len(value) {
		records = append(records, &kgo.Record{Topic: name, Value: value})
	}
	return client.ProduceSync(ctx, records...).FirstErr()
}

// create makes a topic with the given replicas, one list per partition. While a topic of the name is still being
// deleted it tries again.
func (k *kafka) create(ctx context.Context, name string, replicas ...[]int32) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 5000
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, -1, -1
	for i, list := range replicas {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = int32(i), list
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	}
	req.Topics = append(req.Topics, t)
	resp, err := ask[*kmsg.CreateTopicsResponse](ctx, k, req)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.Topics[0].ErrorCode)
}

func (k *kafka) remove(ctx context.Context, names ...string) error {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = 5000
	for _, name := range names {
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = &name
		req.Topics = append(req.Topics, t)
	}
	resp, err := ask[*kmsg.DeleteTopicsResponse](ctx, k, req)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
			return fmt.Errorf("delete %q: %w", *t.Topic, err)
		}
	}
	return nil
}

// removeAll deletes the topics with a prefix.
func (k *kafka) removeAll(ctx context.Context, prefix string) error {
	ids, err := k.ids(ctx, prefix)
	if err != nil || len(ids) == 0 {
		return err
	}
	return k.remove(ctx, slices.Sorted(maps.Keys(ids))...)
}

// racks of the brokers by ID.
func (k *kafka) racks() map[int32]string {
	racks := map[int32]string{}
	for _, n := range k.bed.Nodes() {
		racks[n.ID] = n.Rack
	}
	return racks
}

// placed gives what is wrong with the replicas of a partition: three of them, one per rack.
func (k *kafka) placed(p kafkabed.Partition) string {
	racks, seen := k.racks(), map[string]bool{}
	for _, id := range p.Replicas {
		seen[racks[id]] = true
	}
	if len(p.Replicas) != 3 || len(seen) != 3 {
		return fmt.Sprintf("%s: %d replicas in %d racks, want 3 in 3", p, len(p.Replicas), len(seen))
	}
	return ""
}
