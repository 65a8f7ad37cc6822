package kafka

import (
	"context"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

// configs reads the asked keys of the topics that were found into them. Topics whose configs cannot be read go to reads.
func (c *Client) configs(ctx context.Context, broker int32, asks []topic.Ask, found map[string]*topic.Topic, reads map[string]topic.Read) error {
	wanted := keysByName(asks, found)
	for batch := range slices.Chunk(slices.Sorted(maps.Keys(wanted)), maxNames) {
		req := kmsg.NewPtrDescribeConfigsRequest()
		for _, name := range batch {
			req.Resources = append(req.Resources, kmsg.DescribeConfigsRequestResource{
				ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: name, ConfigNames: wanted[name],
			})
		}
		answer, err := c.read(ctx, broker, len(batch), req)
		if err != nil {
			return err
		}
		resp, ok := answer.(*kmsg.DescribeConfigsResponse)
		if !ok {
			return wrongAnswer(req)
		}
		takeConfigs(resp, found, reads)
		for _, name := range batch {
			if _, failed := reads[name]; !failed && found[name].Configs == nil {
				reads[name] = topic.Read{Err: missingRow(describeConfigs, name)}
			}
		}
	}
	return nil
}

// keysByName gives the keys to ask for. A topic without any is left out, since Kafka takes no keys as all keys.
func keysByName(asks []topic.Ask, found map[string]*topic.Topic) map[string][]string {
	wanted := make(map[string][]string, len(asks))
	for _, a := range asks {
		if found[a.Name] != nil && len(a.Keys) > 0 {
			wanted[a.Name] = append(wanted[a.Name], a.Keys...)
		}
	}
	return wanted
}

func takeConfigs(resp *kmsg.DescribeConfigsResponse, found map[string]*topic.Topic, reads map[string]topic.Read) {
	for i := range resp.Resources {
		r := &resp.Resources[i]
		t := found[r.ResourceName]
		if t == nil || r.ResourceType != kmsg.ConfigResourceTypeTopic {
			continue
		}
		if r.ErrorCode != 0 {
			// Even an unknown topic is no more than an error here: it was there a moment ago.
			reads[t.Name] = topic.Read{Err: refusal(describeConfigs, t.Name, r.ErrorCode, r.ErrorMessage)}
			continue
		}
		t.Configs = make(map[string]topic.Config, len(r.Configs))
		for j := range r.Configs {
			t.Configs[r.Configs[j].Name] = configOf(&r.Configs[j])
		}
	}
}

func configOf(e *kmsg.DescribeConfigsResponseResourceConfig) topic.Config {
	cfg := topic.Config{
		Type:     typeOf(e.ConfigType),
		OnTopic:  e.Source == kmsg.ConfigSourceDynamicTopicConfig,
		ReadOnly: e.ReadOnly,
	}
	if e.Value != nil {
		cfg.Value = *e.Value
	}
	return cfg
}

func typeOf(t kmsg.ConfigType) topic.ConfigType {
	switch t {
	case kmsg.ConfigTypeBoolean:
		return topic.TypeBoolean
	case kmsg.ConfigTypeString:
		return topic.TypeString
	case kmsg.ConfigTypeInt:
		return topic.TypeInt
	case kmsg.ConfigTypeShort:
		return topic.TypeShort
	case kmsg.ConfigTypeLong:
		return topic.TypeLong
	case kmsg.ConfigTypeDouble:
		return topic.TypeDouble
	case kmsg.ConfigTypeList:
		return topic.TypeList
	case kmsg.ConfigTypeClass:
		return topic.TypeClass
	case kmsg.ConfigTypePassword:
		return topic.TypePassword
	case kmsg.ConfigTypeUnknown:
	}
	return topic.TypeUnknown
}

const purposeReassignments = "to see reassignments"

// reassignments are the running ones by topic and partition.
type reassignments map[string]map[int32]*kmsg.ListPartitionReassignmentsResponseTopicPartition

// reassignments lists what runs in the whole cluster. Want of the permission is noted and shows none.
func (c *Client) reassignments(ctx context.Context, broker int32) (reassignments, error) {
	req := kmsg.NewPtrListPartitionReassignmentsRequest()
	req.Topics = nil // all
	req.TimeoutMillis = int32(2 * c.opts.ReadTimeout.Milliseconds())
	answer, err := c.read(ctx, broker, maxNames, req)
	if err != nil {
		return nil, err
	}
	resp, ok := answer.(*kmsg.ListPartitionReassignmentsResponse)
	if !ok {
		return nil, wrongAnswer(req)
	}
	var refused *fault.Fault
	if resp.ErrorCode != 0 {
		refused = refusal(listReassignments, "", resp.ErrorCode, resp.ErrorMessage)
	}
	denied := refused != nil && refused.Reason == v1alpha1.ReasonNotAuthorized
	if refused != nil && !denied {
		return nil, refused
	}
	c.setGap(listReassignments, purposeReassignments, denied)
	running := make(reassignments, len(resp.Topics))
	for i := range resp.Topics {
		t := &resp.Topics[i]
		byPartition := make(map[int32]*kmsg.ListPartitionReassignmentsResponseTopicPartition, len(t.Partitions))
		for j := range t.Partitions {
			byPartition[t.Partitions[j].Partition] = &t.Partitions[j]
		}
		running[t.Topic] = byPartition
	}
	return running, nil
}

// explain marks the partitions that are being reassigned. A row counts only for the replica list that it tells: two
// requests see two moments. It gives false if there is a partition that may be reassigned without being marked: one
// that is lacks replicas in sync, since Kafka ends a reassignment when all have caught up.
func (r reassignments) explain(found map[string]*topic.Topic) bool {
	explained := true
	for name, t := range found {
		rows := r[name]
		for i := range t.Partitions {
			p := &t.Partitions[i]
			row := rows[p.Index]
			switch {
			case row != nil && slices.Equal(row.Replicas, p.Replicas):
				p.Adding, p.Removing = row.AddingReplicas, row.RemovingReplicas
			case len(p.ISR) < len(p.Replicas) && !p.Reassigning():
				explained = false
			}
		}
	}
	return explained
}
