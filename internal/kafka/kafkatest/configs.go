package kafkatest

import (
	"maps"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/core/topic"
)

// synonym is one place a config value can come from.
type synonym struct {
	name   string
	value  string
	source kmsg.ConfigSource
}

// cordonedDirs is the broker config that takes log directories out of placement (KIP-1066); "*" means all.
const cordonedDirs = "cordoned.log.dirs"

// brokerSynonyms gives the values a broker has for one of its configs, the one that counts first.
func (im *image) brokerSynonyms(o *Options, broker int32, name string) []synonym {
	var out []synonym
	if v, ok := im.nodes[broker][name]; ok {
		out = append(out, synonym{name, v, kmsg.ConfigSourceDynamicBrokerConfig})
	}
	if v, ok := im.defaults[name]; ok {
		out = append(out, synonym{name, v, kmsg.ConfigSourceDynamicDefaultBrokerConfig})
	}
	if v, ok := o.static(name); ok {
		out = append(out, synonym{name, v, kmsg.ConfigSourceStaticBrokerConfig})
	}
	if v, ok := serverDefaults[name]; ok {
		out = append(out, synonym{name, v, kmsg.ConfigSourceDefaultConfig})
	}
	return out
}

// static is an entry of server.properties.
func (o *Options) static(name string) (string, bool) {
	if v, ok := o.Static[name]; ok {
		return v, true
	}
	switch name {
	case topic.MinInSyncReplicas:
		return o.MinInSyncReplicas, o.MinInSyncReplicas != "" && !o.ELR
	case "num.partitions":
		return strconv.Itoa(int(o.DefaultPartitions)), true
	case "default.replication.factor":
		return strconv.Itoa(int(o.DefaultReplicationFactor)), true
	case "delete.topic.enable":
		return "false", o.DeleteDisabled
	}
	return "", false
}

// topicSynonyms gives the values of a topic config as a broker sees them, the effective one first; the broker only
// decides about configs that are inherited from it.
func (im *image) topicSynonyms(o *Options, broker int32, r *record, name string) []synonym {
	d := topicConfigs[name]
	var out []synonym
	if v, ok := r.configs[name]; ok {
		out = append(out, synonym{name, v, kmsg.ConfigSourceDynamicTopicConfig})
	}
	if d.server != "" {
		out = append(out, im.brokerSynonyms(o, broker, d.server)...)
	}
	for i := range out {
		if v, why := d.parse(name, out[i].value); why == "" {
			out[i].value = v
		}
	}
	return out
}

// value is the effective value of a topic config at the controller.
func (w *world) value(r *record, name string) string {
	d := topicConfigs[name]
	raw, ok := r.configs[name]
	if !ok {
		raw, ok = w.defaults[d.server]
	}
	if !ok {
		raw, ok = w.opts.static(d.server)
	}
	if !ok {
		raw = d.fallback
	}
	if v, why := d.parse(name, raw); why == "" {
		return v
	}
	return d.fallback
}

// minISR is the effective minimum: never more than the replicas of the topic's first partition.
func (w *world) minISR(r *record) int {
	n, _ := strconv.Atoi(w.value(r, topic.MinInSyncReplicas))
	if len(r.parts) > 0 {
		n = min(n, len(r.parts[0].Replicas))
	}
	return n
}

func (w *world) uncleanAllowed(r *record) bool {
	return w.value(r, topic.UncleanLeaderElection) == "true"
}

// mode is the election the controller holds by itself on a topic.
func (w *world) mode(r *record) election {
	if w.uncleanAllowed(r) {
		return unclean
	}
	return online
}

func (w *world) cordoned(id int32) bool { return w.nodes[id][cordonedDirs] == "*" }

// clearELR forgets the eligible leader replicas of a topic, as every change of min.insync.replicas does.
func (w *world) clearELR(name string) {
	if !w.elr() {
		return
	}
	for i := range w.topics[name].parts {
		p := w.topics[name].parts[i]
		if len(p.ELR) == 0 && len(p.LastKnownELR) == 0 {
			continue
		}
		p.ELR, p.LastKnownELR = nil, nil
		w.put(w.topics[name].withPart(p))
	}
}

// setTopicConfig writes one override (nil deletes it) if it differs from the topic's own value, and clears ELR as Kafka
// does.
func (w *world) setTopicConfig(name, key string, value *string) {
	r := w.topics[name]
	if !differs(r.configs, key, value) {
		return
	}
	configs := maps.Clone(r.configs)
	if configs == nil {
		configs = map[string]string{}
	}
	if value == nil {
		delete(configs, key)
	} else {
		configs[key] = *value
	}
	w.put(r.withConfigs(configs))
	if key == topic.MinInSyncReplicas {
		w.clearELR(name)
	}
}

// setDefault writes a cluster-level dynamic config; equal values are written again, with the same effect.
func (w *world) setDefault(key string, value *string) {
	w.defaults = maps.Clone(w.defaults)
	assign(w.defaults, key, value)
	w.pending.defaults = w.defaults
	if key == topic.MinInSyncReplicas {
		for _, name := range w.sortedNames() {
			w.clearELR(name)
		}
	}
}

func (w *world) setNode(id int32, key string, value *string) {
	w.nodes = maps.Clone(w.nodes)
	node := maps.Clone(w.nodes[id])
	if node == nil {
		node = map[string]string{}
	}
	assign(node, key, value)
	w.nodes[id] = node
	w.pending.nodes = w.nodes
}

func assign(m map[string]string, key string, value *string) {
	if value == nil {
		delete(m, key)
		return
	}
	m[key] = *value
}

// serverDefaults are the defaults of the broker configs that the model knows.
var serverDefaults = func() map[string]string {
	m := map[string]string{
		"auto.create.topics.enable":             "true",
		"auto.leader.rebalance.enable":          "true",
		"default.replication.factor":            "1",
		"delete.topic.enable":                   "true",
		"num.partitions":                        "1",
		"replica.lag.time.max.ms":               "30000",
		topic.FollowerThrottledRate:             throttledRate.fallback,
		topic.LeaderThrottledRate:               throttledRate.fallback,
		"replication.quota.window.num":          "11",
		"replication.quota.window.size.seconds": "1",
		cordonedDirs:                            "",
	}
	for _, d := range topicConfigs {
		if d.server != "" {
			m[d.server] = d.fallback
		}
	}
	return m
}()

// dynamicServerConfig tells whether a broker config can be changed at run time.
func dynamicServerConfig(name string) bool {
	switch name {
	case "num.partitions", "default.replication.factor", "delete.topic.enable", "auto.create.topics.enable", "broker.rack", "node.id":
		return false
	}
	return true
}
