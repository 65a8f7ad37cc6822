package kafkatest

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/core/topic"
)

func (k *call) describeConfigs(req *kmsg.DescribeConfigsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
	for _, asked := range req.Resources {
		res := kmsg.NewDescribeConfigsResponseResource()
		res.ResourceType, res.ResourceName = asked.ResourceType, asked.ResourceName
		configs, v := k.describedConfigs(asked, req.IncludeSynonyms)
		if v != nil {
			res.ErrorCode, res.ErrorMessage = v.code, v.message
		}
		res.Configs = configs
		resp.Resources = append(resp.Resources, res)
	}
	return resp
}

func (k *call) describedConfigs(asked kmsg.DescribeConfigsRequestResource, synonyms bool) ([]kmsg.DescribeConfigsResponseResourceConfig, *verdict) {
	switch asked.ResourceType {
	case kmsg.ConfigResourceTypeTopic:
		return k.describedTopicConfigs(asked, synonyms)
	case kmsg.ConfigResourceTypeBroker:
		return k.describedBrokerConfigs(asked, synonyms)
	default:
		return nil, refuse(kerr.InvalidRequest, fmt.Sprintf("Unsupported resource type: %s", asked.ResourceType))
	}
}

func (k *call) describedTopicConfigs(asked kmsg.DescribeConfigsRequestResource, synonyms bool) ([]kmsg.DescribeConfigsResponseResourceConfig, *verdict) {
	name := asked.ResourceName
	if !k.mayTopic(kmsg.ACLOperationDescribeConfigs, name) {
		return nil, notAllowed()
	}
	if why := invalidName(name); why != "" {
		return nil, refuse(kerr.InvalidTopicException, string(why))
	}
	r := k.topic(name)
	if r == nil {
		return nil, refuse(kerr.UnknownTopicOrPartition, "")
	}
	var out []kmsg.DescribeConfigsResponseResourceConfig
	for _, key := range filtered(topicConfigNames, asked.ConfigNames) {
		out = append(out, k.topicEntry(r, key, synonyms))
	}
	return out, nil
}

// filtered are the names that were asked for; asking for none means all.
func filtered(all, asked []string) []string {
	if len(asked) == 0 {
		return all
	}
	var out []string
	for _, name := range asked {
		if _, ok := slices.BinarySearch(all, name); ok && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// topicEntry is one config of a topic. What topics inherit is the same for all of them and looked up once a request.
func (k *call) topicEntry(r *record, key string, synonyms bool) kmsg.DescribeConfigsResponseResourceConfig {
	_, own := r.configs[key]
	if e, ok := k.inherited[key]; ok && !own {
		return e
	}
	d := topicConfigs[key]
	e := entry(key, k.see.topicSynonyms(&k.c.opts, k.broker, r, key), d.fallback, synonyms)
	e.ConfigType = kmsg.ConfigType(d.kind)
	e.ReadOnly = k.c.fixed[key]
	if !own {
		if k.inherited == nil {
			k.inherited = map[string]kmsg.DescribeConfigsResponseResourceConfig{}
		}
		k.inherited[key] = e
	}
	return e
}

// entry is one config whose value comes from the first synonym, or is the default when there is none.
func entry(key string, from []synonym, fallback string, synonyms bool) kmsg.DescribeConfigsResponseResourceConfig {
	e := kmsg.NewDescribeConfigsResponseResourceConfig()
	e.Name, e.Source, e.Value = key, kmsg.ConfigSourceDefaultConfig, &fallback
	if len(from) > 0 {
		e.Source, e.Value = from[0].source, &from[0].value
	}
	e.IsDefault = e.Source == kmsg.ConfigSourceDefaultConfig
	if !synonyms {
		return e
	}
	for i := range from {
		s := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
		s.Name, s.Value, s.Source = from[i].name, &from[i].value, from[i].source
		e.ConfigSynonyms = append(e.ConfigSynonyms, s)
	}
	return e
}

// describedBrokerConfigs answers for the broker itself, or for the cluster-level defaults when no broker is named.
func (k *call) describedBrokerConfigs(asked kmsg.DescribeConfigsRequestResource, synonyms bool) ([]kmsg.DescribeConfigsResponseResourceConfig, *verdict) {
	if !k.mayCluster(kmsg.ACLOperationDescribeConfigs) {
		return nil, refuse(kerr.ClusterAuthorizationFailed, "Cluster authorization failed.")
	}
	var out []kmsg.DescribeConfigsResponseResourceConfig
	if asked.ResourceName == "" {
		for _, key := range filtered(sortedKeys(k.see.defaults), asked.ConfigNames) {
			out = append(out, entry(key, []synonym{{key, k.see.defaults[key], kmsg.ConfigSourceDynamicDefaultBrokerConfig}}, "", synonyms))
		}
		return out, nil
	}
	if v := k.notThisBroker(asked.ResourceName, " or empty string"); v != nil {
		return nil, v
	}
	for _, key := range filtered(k.brokerKeys(), asked.ConfigNames) {
		e := entry(key, k.see.brokerSynonyms(&k.c.opts, k.broker, key), serverDefaults[key], synonyms)
		e.ReadOnly, e.ConfigType = !dynamicServerConfig(key), brokerType(key)
		out = append(out, e)
	}
	return out, nil
}

// notThisBroker refuses configs of another broker, which only that broker has.
func (k *call) notThisBroker(name, or string) *verdict {
	id, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return refuse(kerr.InvalidRequest, "Broker id must be an integer, but it is: "+name)
	}
	if int32(id) != k.broker {
		return refuse(kerr.InvalidRequest, fmt.Sprintf("Unexpected broker id, expected %d%s, but received %s", k.broker, or, name))
	}
	return nil
}

// brokerKeys are all configs a broker shows.
func (k *call) brokerKeys() []string {
	keys := map[string]string{}
	for _, m := range []map[string]string{serverDefaults, k.c.opts.Static, k.see.defaults, k.see.nodes[k.broker]} {
		for name := range m {
			keys[name] = ""
		}
	}
	return sortedKeys(keys)
}

func brokerType(key string) kmsg.ConfigType {
	for _, d := range topicConfigs {
		if d.server == key {
			return kmsg.ConfigType(d.kind)
		}
	}
	switch key {
	case "auto.create.topics.enable", "auto.leader.rebalance.enable", "delete.topic.enable":
		return kmsg.ConfigTypeBoolean
	case "num.partitions", "default.replication.factor", "replication.quota.window.num", "replication.quota.window.size.seconds":
		return kmsg.ConfigTypeInt
	case "replica.lag.time.max.ms", "follower.replication.throttled.rate", "leader.replication.throttled.rate":
		return kmsg.ConfigTypeLong
	case cordonedDirs:
		return kmsg.ConfigTypeList
	}
	return kmsg.ConfigType(topic.TypeString)
}
