//go:build unix

package kafkabed

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// requestTimeout bounds one question to one broker.
const requestTimeout = 3 * time.Second

// Broker is what Kafka says about one registered broker.
type Broker struct {
	ID     int32
	Rack   string
	Fenced bool
}

// Partition is what Kafka says about one partition.
type Partition struct {
	Topic        string
	Partition    int32
	Leader       int32 // -1: none
	LeaderEpoch  int32
	Replicas     []int32 // in order: the first is the preferred leader
	ISR          []int32
	ELR          []int32 // eligible leader replicas, empty when the feature is off
	LastKnownELR []int32
}

// FullISR tells whether the partition has a leader and every replica is in sync.
func (p Partition) FullISR() bool { return p.Leader >= 0 && len(p.ISR) == len(p.Replicas) }

func (p Partition) String() string {
	return fmt.Sprintf("%s-%d leader %d epoch %d replicas %v isr %v elr %v",
		p.Topic, p.Partition, p.Leader, p.LeaderEpoch, p.Replicas, p.ISR, p.ELR)
}

// observer asks single brokers, so that one that is paused never delays an answer.
type observer struct {
	client *kgo.Client
	seeds  []*kgo.Broker // by broker id, from 1
}

func (c *Cluster) observe() (*observer, error) {
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(c.Bootstrap()...),
		kgo.DialTimeout(requestTimeout),
		kgo.RetryTimeout(requestTimeout),
	}, c.opts.ClientOptions...)...)
	if err != nil {
		return nil, fmt.Errorf("make kafka client: %w", err)
	}
	return &observer{client: client, seeds: client.SeedBrokers()}, nil
}

func ask[R kmsg.Response](ctx context.Context, o *observer, id int32, req kmsg.Request) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	resp, err := o.seeds[id-1].RetriableRequest(ctx, req)
	if err != nil {
		var none R
		return none, fmt.Errorf("ask broker %d: %w", id, err)
	}
	return resp.(R), nil // kgo answers a request with the response of its kind
}

// brokers returns the registered brokers in the view of broker id.
func (o *observer) brokers(ctx context.Context, id int32) (map[int32]Broker, error) {
	req := kmsg.NewPtrDescribeClusterRequest()
	req.IncludeFencedBrokers = true
	resp, err := ask[*kmsg.DescribeClusterResponse](ctx, o, id, req)
	if err != nil {
		return nil, err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, fmt.Errorf("describe cluster: %w", err)
	}
	brokers := map[int32]Broker{}
	for _, b := range resp.Brokers {
		broker := Broker{ID: b.NodeID, Fenced: b.IsFenced}
		if b.Rack != nil {
			broker.Rack = *b.Rack
		}
		brokers[b.NodeID] = broker
	}
	return brokers, nil
}

// partitions returns the partitions of the named topics, or of all topics, in the view of broker id.
func (o *observer) partitions(ctx context.Context, id int32, topics []string) ([]Partition, error) {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	for _, name := range topics {
		topic := kmsg.NewDescribeTopicPartitionsRequestTopic()
		topic.Topic = name
		req.Topics = append(req.Topics, topic)
	}
	var found []Partition
	for {
		resp, err := ask[*kmsg.DescribeTopicPartitionsResponse](ctx, o, id, req)
		if err != nil {
			return nil, err
		}
		for _, t := range resp.Topics {
			page, err := partitionsOf(t)
			if err != nil {
				return nil, err
			}
			found = append(found, page...)
		}
		if resp.NextCursor == nil {
			return found, nil
		}
		cursor := kmsg.NewDescribeTopicPartitionsRequestCursor()
		cursor.Topic, cursor.Partition = resp.NextCursor.Topic, resp.NextCursor.Partition
		req.Cursor = &cursor
	}
}

// askController has broker id ask the controller for the state of the metadata quorum.
func (o *observer) askController(ctx context.Context, id int32) error {
	req := kmsg.NewPtrDescribeQuorumRequest()
	topic := kmsg.NewDescribeQuorumRequestTopic()
	topic.Topic = "__cluster_metadata"
	topic.Partitions = []kmsg.DescribeQuorumRequestTopicPartition{kmsg.NewDescribeQuorumRequestTopicPartition()}
	req.Topics = append(req.Topics, topic)
	resp, err := ask[*kmsg.DescribeQuorumResponse](ctx, o, id, req)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return fmt.Errorf("describe quorum: %w", err)
	}
	return nil
}

func partitionsOf(t kmsg.DescribeTopicPartitionsResponseTopic) ([]Partition, error) {
	name := ""
	if t.Topic != nil {
		name = *t.Topic
	}
	if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
		return nil, fmt.Errorf("describe topic %q: %w", name, err)
	}
	partitions := make([]Partition, 0, len(t.Partitions))
	for _, p := range t.Partitions {
		partitions = append(partitions, Partition{
			Topic: name, Partition: p.Partition,
			Leader: p.LeaderID, LeaderEpoch: p.LeaderEpoch,
			Replicas: p.Replicas, ISR: p.ISR,
			ELR: p.EligibleLeaderReplicas, LastKnownELR: p.LastKnownELR,
		})
	}
	return partitions, nil
}

// running returns the ids of the brokers whose process runs and is not paused.
func (c *Cluster) running() []int32 {
	var ids []int32
	for _, n := range c.brokers {
		if n.state() == Running {
			ids = append(ids, n.id)
		}
	}
	return ids
}

// View returns the registered brokers, fenced ones too, in the view of the first running broker that answers.
func (c *Cluster) View(ctx context.Context) (map[int32]Broker, error) {
	return first(c, func(o *observer, id int32) (map[int32]Broker, error) { return o.brokers(ctx, id) })
}

// Partitions returns the partitions of the named topics, or of all topics, in the view of the first running broker
// that answers.
func (c *Cluster) Partitions(ctx context.Context, topics ...string) ([]Partition, error) {
	return first(c, func(o *observer, id int32) ([]Partition, error) { return o.partitions(ctx, id, topics) })
}

func first[T any](c *Cluster, query func(*observer, int32) (T, error)) (answer T, err error) {
	o, err := c.observe()
	if err != nil {
		return answer, err
	}
	defer o.client.Close()
	err = errNobodyRuns
	for _, id := range c.running() {
		if answer, err = query(o, id); err == nil {
			return answer, nil
		}
	}
	return answer, err
}

// describe renders brokers for a message: "1/a 2/a(fenced)".
func describe(brokers map[int32]Broker) string {
	var words []string
	for _, id := range slices.Sorted(maps.Keys(brokers)) {
		word := fmt.Sprintf("%d/%s", id, brokers[id].Rack)
		if brokers[id].Fenced {
			word += "(fenced)"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}
