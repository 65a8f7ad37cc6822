package kafka

import (
	"context"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/core/topic"
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
