package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// kafka looks at the brokers and changes things behind the operator's back, as anyone with the rights could.
type kafka struct {
	client *kgo.Client
	admin  *kadm.Client
	racks  map[int32]string
}

// facts are what the brokers say about one topic.
type facts struct {
	id                   kadm.TopicID
	partitions           int
	minReplicas          int
	maxReplicas          int
	fewestRacks          int
	leaders              map[int32]int
	minISR, unclean      string
	minISRSet, uncleanOn bool // set on the topic itself
	configs              map[string]string
}

func dial(ctx context.Context, bootstrap []string) (*kafka, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap...), kgo.DisableClientMetrics(), kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		return nil, err
	}
	k := &kafka{client: client, admin: kadm.NewClient(client), racks: map[int32]string{}}
	brokers, err := k.admin.ListBrokers(ctx)
	if err != nil {
		return nil, fmt.Errorf("list brokers: %w", err)
	}
	for _, b := range brokers {
		if b.Rack != nil {
			k.racks[b.NodeID] = *b.Rack
		}
	}
	return k, nil
}

// topic asks the brokers, never a cache. A topic that is not there gives nil.
func (k *kafka) topic(ctx context.Context, name string) (*facts, error) {
	req := kmsg.NewPtrMetadataRequest()
	asked := kmsg.NewMetadataRequestTopic()
	asked.Topic = &name
	req.Topics = append(req.Topics, asked)
	resp, err := req.RequestWith(ctx, k.client)
	if err != nil {
		return nil, fmt.Errorf("describe topic %q: %w", name, err)
	}
	if len(resp.Topics) != 1 || resp.Topics[0].ErrorCode != 0 {
		return nil, nil
	}
	f := k.layout(resp.Topics[0])
	described, err := k.admin.DescribeTopicConfigs(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("describe configs of topic %q: %w", name, err)
	}
	config, err := described.On(name, nil)
	if err != nil || config.Err != nil {
		return nil, fmt.Errorf("describe configs of topic %q: %w", name, errors.Join(err, config.Err))
	}
	for _, c := range config.Configs {
		f.configs[c.Key] = c.MaybeValue()
		onTopic := c.Source == kmsg.ConfigSourceDynamicTopicConfig
		switch c.Key {
		case minISRKey:
			f.minISR, f.minISRSet = c.MaybeValue(), onTopic
		case uncleanKey:
			f.unclean, f.uncleanOn = c.MaybeValue(), onTopic
		}
	}
	return f, nil
}

func (k *kafka) layout(t kmsg.MetadataResponseTopic) *facts {
	f := &facts{id: t.TopicID, partitions: len(t.Partitions), leaders: map[int32]int{}, configs: map[string]string{}}
	for i, p := range t.Partitions {
		racks := map[string]bool{}
		for _, r := range p.Replicas {
			racks[k.racks[r]] = true
		}
		if i == 0 {
			f.minReplicas, f.fewestRacks = len(p.Replicas), len(racks)
		}
		f.minReplicas, f.maxReplicas = min(f.minReplicas, len(p.Replicas)), max(f.maxReplicas, len(p.Replicas))
		f.fewestRacks = min(f.fewestRacks, len(racks))
		f.leaders[p.Leader]++
	}
	return f
}

// set changes configs of a topic as another administrator would.
func (k *kafka) set(ctx context.Context, topic string, pairs ...string) error {
	var changes []kadm.AlterConfig
	for pair := range slices.Chunk(pairs, 2) {
		changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: pair[0], Value: &pair[1]})
	}
	responses, err := k.admin.AlterTopicConfigs(ctx, changes, topic)
	if err != nil {
		return fmt.Errorf("alter topic %q: %w", topic, err)
	}
	for _, r := range responses {
		if r.Err != nil {
			return fmt.Errorf("alter topic %q: %w", topic, r.Err)
		}
	}
	return nil
}

func (k *kafka) remove(ctx context.Context, topic string) error {
	responses, err := k.admin.DeleteTopics(ctx, topic)
	if err != nil {
		return fmt.Errorf("delete topic %q: %w", topic, err)
	}
	return responses[topic].Err
}
