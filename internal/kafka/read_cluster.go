package kafka

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

// How long what a broker said about itself is used before it is asked again. Features may change while brokers run
// (kafka-features), so they are asked for more often.
const (
	versionsLife = time.Minute
	configsLife  = 5 * time.Minute
)

const (
	keyNumPartitions = "num.partitions"
	purposeDefaults  = "to see the brokers' num.partitions"
)

// required are the APIs and their lowest versions that the operator needs; all are in Apache Kafka 4.0.
var required = []struct {
	key   kmsg.Key
	least int16
	since string
}{
	{kmsg.DescribeCluster, 2, "to see fenced brokers (KIP-1073)"},
	{kmsg.DescribeTopicPartitions, 0, "to see eligible leader replicas (KIP-966)"},
	{kmsg.DescribeConfigs, 3, "to see the types of configs (KIP-569)"},
	{kmsg.IncrementalAlterConfigs, 0, "to change single configs (KIP-339)"},
	{kmsg.CreateTopics, 7, "to learn topic IDs (KIP-516)"},
	{kmsg.CreatePartitions, 0, "to add partitions"},
	{kmsg.ListPartitionReassignments, 0, "to see reassignments (KIP-455)"},
}

// brokerFacts are what one broker said about itself and its cluster.
type brokerFacts struct {
	versionsAt time.Time
	features   map[string]int16
	missing    []string
	noCluster  bool // DescribeCluster itself is missing

	configsAt         time.Time
	defaultPartitions int32
}

// Cluster reads brokers, racks, features and num.partitions as one broker shows them, which may be AnyBroker. It takes
// one request; two more now and then.
func (c *Client) Cluster(ctx context.Context, broker int32) (*topic.Cluster, error) {
	facts, err := c.versions(ctx, broker)
	if err != nil {
		return nil, err
	}
	if facts.noCluster {
		return nil, refusal(describeCluster, "", kerr.UnsupportedVersion.Code, nil)
	}
	req := kmsg.NewPtrDescribeClusterRequest()
	req.IncludeFencedBrokers = true
	answer, err := c.read(ctx, broker, 0, req)
	if err != nil {
		return nil, err
	}
	resp, ok := answer.(*kmsg.DescribeClusterResponse)
	if !ok {
		return nil, wrongAnswer(req)
	}
	if resp.ErrorCode != 0 {
		return nil, refusal(describeCluster, "", resp.ErrorCode, resp.ErrorMessage)
	}
	cluster := &topic.Cluster{ID: resp.ClusterID, Brokers: brokersOf(resp), Features: facts.features, Missing: facts.missing}
	if len(facts.missing) == 0 {
		cluster.DefaultPartitions = c.defaults(ctx, broker, cluster)
	}
	return cluster, nil
}

func brokersOf(resp *kmsg.DescribeClusterResponse) []topic.Broker {
	brokers := make([]topic.Broker, 0, len(resp.Brokers))
	for i := range resp.Brokers {
		b := &resp.Brokers[i]
		broker := topic.Broker{ID: b.NodeID, Fenced: b.IsFenced}
		if b.Rack != nil {
			broker.Rack = *b.Rack
		}
		brokers = append(brokers, broker)
	}
	slices.SortFunc(brokers, func(a, b topic.Broker) int { return int(a.ID) - int(b.ID) })
	return brokers
}

// versions gives what a broker supports, asked for anew when it is old.
func (c *Client) versions(ctx context.Context, broker int32) (brokerFacts, error) {
	if f := c.facts(broker); time.Since(f.versionsAt) < versionsLife {
		return f, nil
	}
	req := kmsg.NewPtrApiVersionsRequest()
	// Brokers refuse the request without; the wire puts the operator's version in.
	req.ClientSoftwareName, req.ClientSoftwareVersion = softwareName, unknownVersion
	answer, err := c.read(ctx, broker, 0, req)
	if err != nil {
		return brokerFacts{}, err
	}
	resp, ok := answer.(*kmsg.ApiVersionsResponse)
	if !ok {
		return brokerFacts{}, wrongAnswer(req)
	}
	if resp.ErrorCode != 0 {
		return brokerFacts{}, refusal(apiVersions, "", resp.ErrorCode, nil)
	}
	features := make(map[string]int16, len(resp.FinalizedFeatures))
	for _, f := range resp.FinalizedFeatures {
		features[f.Name] = f.MaxVersionLevel
	}
	missing, noCluster := missingOf(resp)
	return c.setFacts(broker, func(f *brokerFacts) {
		f.versionsAt, f.features, f.missing, f.noCluster = time.Now(), features, missing, noCluster
	}), nil
}

func missingOf(resp *kmsg.ApiVersionsResponse) (missing []string, noCluster bool) {
	has := make(map[int16]int16, len(resp.ApiKeys))
	for _, k := range resp.ApiKeys {
		has[k.ApiKey] = k.MaxVersion
	}
	for _, r := range required {
		version, ok := has[r.key.Int16()]
		switch {
		case !ok && r.key == kmsg.DescribeCluster:
			noCluster = true
			missing = append(missing, r.key.Name())
		case !ok:
			missing = append(missing, r.key.Name())
		case version < r.least:
			missing = append(missing, fmt.Sprintf("%s version %d", r.key.Name(), r.least))
		}
	}
	return missing, noCluster
}

// defaults gives num.partitions; 0 if it cannot be had. It is read from a broker that is asked for its own configs: the
// given one, or any in service.
func (c *Client) defaults(ctx context.Context, broker int32, cluster *topic.Cluster) int32 {
	if broker == AnyBroker {
		i := slices.IndexFunc(cluster.Brokers, func(b topic.Broker) bool { return !b.Fenced })
		if i < 0 {
			return 0
		}
		broker = cluster.Brokers[i].ID
	}
	f := c.facts(broker)
	if time.Since(f.configsAt) < configsLife {
		return f.defaultPartitions
	}
	n, refused := c.numPartitions(ctx, broker)
	denied := refused != nil && refused.Reason == v1alpha1.ReasonNotAuthorized
	if refused != nil && !denied {
		return f.defaultPartitions
	}
	c.setGap(describeBroker, purposeDefaults, denied)
	return c.setFacts(broker, func(f *brokerFacts) { f.configsAt, f.defaultPartitions = time.Now(), n }).defaultPartitions
}

func (c *Client) numPartitions(ctx context.Context, broker int32) (int32, *fault.Fault) {
	name := strconv.Itoa(int(broker))
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Resources = []kmsg.DescribeConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: name, ConfigNames: []string{keyNumPartitions},
	}}
	answer, err := c.read(ctx, broker, 0, req)
	if err != nil {
		return 0, fault.As(err)
	}
	resp, ok := answer.(*kmsg.DescribeConfigsResponse)
	if !ok {
		return 0, wrongAnswer(req)
	}
	for i := range resp.Resources {
		r := &resp.Resources[i]
		if r.ErrorCode != 0 {
			return 0, refusal(describeBroker, name, r.ErrorCode, r.ErrorMessage)
		}
		for j := range r.Configs {
			if e := &r.Configs[j]; e.Name == keyNumPartitions && e.Value != nil {
				return count(*e.Value), nil
			}
		}
	}
	return 0, nil
}

// count reads a number of partitions; 0 if it is none.
func count(text string) int32 {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

func (c *Client) facts(broker int32) brokerFacts {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.brokers[broker]; f != nil {
		return *f
	}
	return brokerFacts{}
}

func (c *Client) setFacts(broker int32, change func(*brokerFacts)) brokerFacts {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.brokers[broker]
	if f == nil {
		f = &brokerFacts{}
		c.brokers[broker] = f
	}
	change(f)
	return *f
}
