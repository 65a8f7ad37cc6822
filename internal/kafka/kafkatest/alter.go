package kafkatest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/core/topic"
)

// alteration is one resource of a request that passed all checks: the value to write for each key, nil to delete it.
type alteration struct {
	kind    kmsg.ConfigResourceType
	name    string
	keys    []string
	values  map[string]*string
	records int
}

func (k *call) alterConfigs(req *kmsg.IncrementalAlterConfigsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	times := map[string]int{}
	for _, res := range req.Resources {
		times[res.ResourceType.String()+res.ResourceName]++
	}
	var altered []alteration
	records := 0
	for _, res := range req.Resources {
		a, v := k.alteration(res, times[res.ResourceType.String()+res.ResourceName] > 1)
		if v == nil {
			altered = append(altered, a)
			records += a.records
			v = &verdict{}
		}
		resp.Resources = append(resp.Resources, alteredError(res, *v))
	}
	if records > maxRecords {
		return errorResponse(req, *refuse(kerr.PolicyViolation, "Unable to perform excessively large batch operation."))
	}
	for _, a := range altered {
		if !req.ValidateOnly {
			k.alter(a)
		}
	}
	return resp
}

func (k *call) alter(a alteration) {
	for _, key := range a.keys {
		switch {
		case a.kind == kmsg.ConfigResourceTypeTopic:
			k.w.setTopicConfig(a.name, key, a.values[key])
		case a.name == "":
			k.w.setDefault(key, a.values[key])
		default:
			k.w.setNode(k.broker, key, a.values[key])
		}
	}
}

// alteration checks one resource. The asked broker looks first, then the controller.
func (k *call) alteration(res kmsg.IncrementalAlterConfigsRequestResource, twice bool) (alteration, *verdict) {
	if twice {
		return alteration{}, refuse(kerr.InvalidRequest, "Each resource must appear at most once.")
	}
	if v := preprocess(res); v != nil {
		return alteration{}, v
	}
	switch res.ResourceType {
	case kmsg.ConfigResourceTypeTopic:
		return k.topicAlteration(res)
	case kmsg.ConfigResourceTypeBroker:
		return k.brokerAlteration(res)
	default:
		return alteration{}, refuse(kerr.InvalidRequest, fmt.Sprintf("Unknown resource type %d", res.ResourceType))
	}
}

func preprocess(res kmsg.IncrementalAlterConfigsRequestResource) *verdict {
	var empty []string
	seen := map[string]bool{}
	for _, cfg := range res.Configs {
		if seen[cfg.Name] {
			return refuse(kerr.InvalidRequest, "Error due to duplicate config keys")
		}
		seen[cfg.Name] = true
		if cfg.Op != kmsg.IncrementalAlterConfigOpDelete && cfg.Value == nil {
			empty = append(empty, cfg.Name)
		}
	}
	if len(empty) > 0 {
		return refuse(kerr.InvalidRequest, "Null value not supported for : "+strings.Join(empty, ","))
	}
	return nil
}

func (k *call) topicAlteration(res kmsg.IncrementalAlterConfigsRequestResource) (alteration, *verdict) {
	if !k.mayTopic(kmsg.ACLOperationAlterConfigs, res.ResourceName) {
		return alteration{}, refuse(kerr.TopicAuthorizationFailed, "Authorization failed.")
	}
	r := k.w.topics[res.ResourceName]
	var own map[string]string
	if r != nil {
		own = r.configs
	}
	a, v := computed(res, own)
	if v != nil {
		return alteration{}, v
	}
	after := maps.Clone(own)
	if after == nil {
		after = map[string]string{}
	}
	for _, key := range a.keys {
		assign(after, key, a.values[key])
		if k.c.fixed[key] {
			return alteration{}, refuse(kerr.PolicyViolation, "Config property '"+key+"' is not allowed to be modified.")
		}
		if differs(own, key, a.values[key]) {
			a.records++
		}
	}
	return a, k.topicObjection(res.ResourceName, r, after)
}

// differs tells whether writing a value (nil deletes it) changes a topic's own configs.
func differs(own map[string]string, key string, value *string) bool {
	old, had := own[key]
	if value == nil {
		return had
	}
	return !had || old != *value
}

// topicObjection is what the controller has against the configs a topic would have.
func (k *call) topicObjection(name string, r *record, after map[string]string) *verdict {
	if name == "" {
		return refuse(kerr.InvalidRequest, "Default topic resources are not allowed.")
	}
	if why := invalidName(name); why != "" {
		return refuse(kerr.InvalidTopicException, string(why))
	}
	if why := validateTopicConfigs(after); why != "" {
		return refuse(kerr.InvalidConfig, string(why))
	}
	if r == nil {
		return refuse(kerr.UnknownTopicOrPartition, "The topic '"+name+"' does not exist.")
	}
	if k.c.policy.Alter != nil {
		if err := k.c.policy.Alter(name, after); err != nil {
			return refuse(kerr.PolicyViolation, err.Error())
		}
	}
	return nil
}

// computed works out the values that the operations of a resource lead to.
func computed(res kmsg.IncrementalAlterConfigsRequestResource, own map[string]string) (alteration, *verdict) {
	a := alteration{kind: res.ResourceType, name: res.ResourceName, values: map[string]*string{}}
	for _, cfg := range res.Configs {
		a.keys = append(a.keys, cfg.Name)
		switch cfg.Op {
		case kmsg.IncrementalAlterConfigOpSet:
			a.values[cfg.Name] = cfg.Value
		case kmsg.IncrementalAlterConfigOpDelete:
			a.values[cfg.Name] = nil
		case kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract:
			if topicConfigs[cfg.Name].kind != topic.TypeList {
				return a, refuse(kerr.InvalidConfig, fmt.Sprintf("Can't %s to key %s because its type is not LIST.", strings.ToUpper(cfg.Op.String()), cfg.Name))
			}
			v := edited(own, cfg)
			a.values[cfg.Name] = &v
		default:
			return a, refuse(kerr.InvalidRequest, fmt.Sprintf("Unknown operation %d", cfg.Op))
		}
	}
	slices.Sort(a.keys)
	return a, nil
}

// edited appends to or subtracts from a list; what is not set starts from Kafka's default.
func edited(own map[string]string, cfg kmsg.IncrementalAlterConfigsRequestResourceConfig) string {
	old, ok := own[cfg.Name]
	if !ok {
		old = topicConfigs[cfg.Name].fallback
	}
	items := splitList(old)
	for _, item := range strings.Split(*cfg.Value, ",") {
		at := slices.Index(items, item)
		switch {
		case cfg.Op == kmsg.IncrementalAlterConfigOpAppend && at < 0:
			items = append(items, item)
		case cfg.Op == kmsg.IncrementalAlterConfigOpSubtract && at >= 0:
			items = slices.Delete(items, at, at+1)
		}
	}
	return strings.Join(items, ",")
}

func (k *call) brokerAlteration(res kmsg.IncrementalAlterConfigsRequestResource) (alteration, *verdict) {
	if res.ResourceName != "" {
		if v := k.notThisBroker(res.ResourceName, ""); v != nil {
			return alteration{}, v
		}
	}
	if !k.mayCluster(kmsg.ACLOperationAlterConfigs) {
		return alteration{}, refuse(kerr.ClusterAuthorizationFailed, "Authorization failed.")
	}
	a, v := computed(res, nil)
	if v != nil {
		return a, v
	}
	a.records = len(a.keys)
	for _, key := range a.keys {
		if v := k.brokerObjection(res.ResourceName, key, a.values[key]); v != nil {
			return a, v
		}
	}
	return a, nil
}

func (k *call) brokerObjection(name, key string, value *string) *verdict {
	switch {
	case !dynamicServerConfig(key):
		return refuse(kerr.InvalidRequest, "Cannot update these configs dynamically: Set("+key+")")
	case key == topic.MinInSyncReplicas:
		return k.minimumObjection(name, value)
	case key == topic.LeaderThrottledRate, key == topic.FollowerThrottledRate:
		return badServerValue(throttledRate, key, value)
	}
	return nil
}

// minimumObjection: with eligible leader replicas there is one minimum for the cluster, and always one.
func (k *call) minimumObjection(name string, value *string) *verdict {
	switch {
	case k.w.elr() && name != "" && value != nil:
		return refuse(kerr.InvalidConfig, "Broker-level min.insync.replicas cannot be altered while ELR is enabled.")
	case k.w.elr() && name == "" && value == nil:
		return refuse(kerr.InvalidConfig, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.")
	}
	return badServerValue(topicConfigs[topic.MinInSyncReplicas], topic.MinInSyncReplicas, value)
}

// badServerValue is what a broker has against a value of one of its own configs.
func badServerValue(d configDef, key string, value *string) *verdict {
	if value == nil {
		return nil
	}
	if _, why := d.parse(key, *value); why != "" {
		return refuse(kerr.InvalidRequest, string(why))
	}
	return nil
}
