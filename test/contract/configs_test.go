package contract

import (
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	topicSource   = kmsg.ConfigSourceDynamicTopicConfig
	brokerSource  = kmsg.ConfigSourceDynamicBrokerConfig
	clusterSource = kmsg.ConfigSourceDynamicDefaultBrokerConfig
	defaultSource = kmsg.ConfigSourceDefaultConfig
)

// setting is a config value and where it comes from.
type setting struct {
	Value  string
	Source kmsg.ConfigSource
}

func configsRequest(kind kmsg.ConfigResourceType, name string, keys ...string) *kmsg.DescribeConfigsRequest {
	req := kmsg.NewPtrDescribeConfigsRequest()
	res := kmsg.NewDescribeConfigsRequestResource()
	res.ResourceType, res.ResourceName = kind, name
	res.ConfigNames = keys
	req.Resources = append(req.Resources, res)
	return req
}

// configs reads configs of a topic; without keys all of them.
func (b *bench) configs(topic string, keys ...string) map[string]setting {
	b.Helper()
	return b.settings(asked, configsRequest(kmsg.ConfigResourceTypeTopic, topic, keys...))
}

func (b *bench) settings(broker int32, req *kmsg.DescribeConfigsRequest) map[string]setting {
	b.Helper()
	res := askBroker[*kmsg.DescribeConfigsResponse](b, broker, req).Resources[0]
	if res.ErrorCode != 0 {
		b.Fatalf("describe configs of %q: %s", res.ResourceName, code(res.ErrorCode))
	}
	out := map[string]setting{}
	for _, c := range res.Configs {
		s := setting{Source: c.Source}
		if c.Value != nil {
			s.Value = *c.Value
		}
		out[c.Name] = s
	}
	return out
}

// configIs waits until a topic config is as wanted.
func (b *bench) configIs(topic, key string, want setting) {
	b.Helper()
	b.eventually(topic+" has "+key+"="+want.Value, func() (any, bool) {
		got := b.configs(topic, key)[key]
		return got, got == want
	})
}

// edit is one operation on one config; nil values are sent as null.
type edit struct {
	key   string
	op    kmsg.IncrementalAlterConfigOp
	value *string
}

func set(key, value string) edit { return edit{key, kmsg.IncrementalAlterConfigOpSet, &value} }
func drop(key string) edit       { return edit{key, kmsg.IncrementalAlterConfigOpDelete, nil} }

func alterRequest(kind kmsg.ConfigResourceType, name string, edits ...edit) *kmsg.IncrementalAlterConfigsRequest {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	addResource(req, kind, name, edits...)
	return req
}

func addResource(req *kmsg.IncrementalAlterConfigsRequest, kind kmsg.ConfigResourceType, name string, edits ...edit) {
	res := kmsg.NewIncrementalAlterConfigsRequestResource()
	res.ResourceType, res.ResourceName = kind, name
	for _, e := range edits {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Op, c.Value = e.key, e.op, e.value
		res.Configs = append(res.Configs, c)
	}
	req.Resources = append(req.Resources, res)
}

// alterCodes sends edits and gives one code per resource, in the request's order of first mention.
func (b *bench) alterCodes(broker int32, req *kmsg.IncrementalAlterConfigsRequest) map[string]string {
	b.Helper()
	out := map[string]string{}
	for _, r := range askBroker[*kmsg.IncrementalAlterConfigsResponse](b, broker, req).Resources {
		out[r.ResourceName] = code(r.ErrorCode)
	}
	return out
}

func (b *bench) alterTopic(name string, edits ...edit) string {
	b.Helper()
	return b.alterCodes(asked, alterRequest(kmsg.ConfigResourceTypeTopic, name, edits...))[name]
}

func (b *bench) alterBroker(via int32, name string, edits ...edit) string {
	b.Helper()
	return b.alterCodes(via, alterRequest(kmsg.ConfigResourceTypeBroker, name, edits...))[name]
}

// described is what Kafka 4.4 shows of the topic configs of a topic that has none of its own: type and default.
var described = map[string]string{
	"cleanup.policy": "LIST delete", "compression.gzip.level": "INT -1", "compression.lz4.level": "INT 9",
	"compression.type": "STRING producer", "compression.zstd.level": "INT 3", "delete.retention.ms": "LONG 86400000",
	"errors.deadletterqueue.group.enable": "BOOLEAN false",
	"file.delete.delay.ms":                "LONG 60000", "flush.messages": "LONG 9223372036854775807",
	"flush.ms": "LONG 9223372036854775807", "follower.replication.throttled.replicas": "LIST ",
	"index.interval.bytes": "INT 4096", "leader.replication.throttled.replicas": "LIST ",
	"local.retention.bytes": "LONG -2", "local.retention.ms": "LONG -2",
	"max.compaction.lag.ms": "LONG 9223372036854775807", "max.decompressed.message.bytes": "INT 2147483639",
	"max.message.bytes": "INT 1048588", "message.timestamp.after.max.ms": "LONG 3600000",
	"message.timestamp.before.max.ms": "LONG 9223372036854775807", "message.timestamp.type": "STRING CreateTime",
	"min.cleanable.dirty.ratio": "DOUBLE 0.5", "min.compaction.lag.ms": "LONG 0", "min.insync.replicas": "INT 2",
	"preallocate": "BOOLEAN false", "remote.copy.lag.bytes": "LONG -1", "remote.copy.lag.ms": "LONG 0",
	"remote.log.copy.disable": "BOOLEAN false", "remote.log.delete.on.disable": "BOOLEAN false",
	"remote.storage.enable": "BOOLEAN false", "retention.bytes": "LONG -1", "retention.ms": "LONG 604800000",
	"segment.jitter.ms": "LONG 0", "segment.ms": "LONG 604800000", "unclean.leader.election.enable": "BOOLEAN false",
}

func allConfigs(b *bench) {
	b.create(assigned("ac-plain", nil, []int32{1}))
	res := ask[*kmsg.DescribeConfigsResponse](b, configsRequest(kmsg.ConfigResourceTypeTopic, "ac-plain")).Resources[0]
	got := map[string]string{}
	for _, c := range res.Configs {
		if c.ReadOnly || c.IsSensitive || c.Value == nil {
			b.Errorf("%s: read only %t, sensitive %t, value %v", c.Name, c.ReadOnly, c.IsSensitive, c.Value)
			continue
		}
		if c.Name != "segment.bytes" && c.Name != "segment.index.bytes" { // a test bed makes these small
			got[c.Name] = c.ConfigType.String() + " " + *c.Value
		}
	}
	equal(b, "topic configs", described, got)
}

func configSources(b *bench) {
	b.create(assigned("cs-own", map[string]string{"retention.ms": "1000"}, []int32{1, 2}))
	equal(b, "asked by name", map[string]setting{
		"retention.ms":                   {"1000", topicSource},
		"min.insync.replicas":            {"2", clusterSource},
		"unclean.leader.election.enable": {"false", defaultSource},
	}, b.configs("cs-own", "retention.ms", "min.insync.replicas", "unclean.leader.election.enable", "bogus.key"))

	equal(b, "set equal to the inherited value", "NONE", b.alterTopic("cs-own", set("min.insync.replicas", "2")))
	b.configIs("cs-own", "min.insync.replicas", setting{"2", topicSource})
	equal(b, "delete", "NONE", b.alterTopic("cs-own", drop("min.insync.replicas"), drop("retention.ms")))
	b.configIs("cs-own", "min.insync.replicas", setting{"2", clusterSource})
	b.configIs("cs-own", "retention.ms", setting{"604800000", defaultSource})
	equal(b, "delete what is not set", "NONE", b.alterTopic("cs-own", drop("segment.ms")))

	equal(b, "set again", "NONE", b.alterTopic("cs-own", set("min.insync.replicas", "1")))
	b.configIs("cs-own", "min.insync.replicas", setting{"1", topicSource})
	req := configsRequest(kmsg.ConfigResourceTypeTopic, "cs-own", "min.insync.replicas")
	req.IncludeSynonyms = true
	var synonyms []setting
	for _, s := range ask[*kmsg.DescribeConfigsResponse](b, req).Resources[0].Configs[0].ConfigSynonyms {
		synonyms = append(synonyms, setting{*s.Value, s.Source})
	}
	equal(b, "synonyms", []setting{{"1", topicSource}, {"2", clusterSource}, {"1", defaultSource}}, synonyms)

	unknown := ask[*kmsg.DescribeConfigsResponse](b, configsRequest(kmsg.ConfigResourceTypeTopic, "cs-none", "retention.ms")).Resources[0]
	equal(b, "unknown topic", "UNKNOWN_TOPIC_OR_PARTITION", code(unknown.ErrorCode))
	bad := ask[*kmsg.DescribeConfigsResponse](b, configsRequest(kmsg.ConfigResourceTypeTopic, "cs/none", "retention.ms")).Resources[0]
	equal(b, "impossible topic", "INVALID_TOPIC_EXCEPTION", code(bad.ErrorCode))
}

func configValues(b *bench) {
	b.create(assigned("cv-values", nil, []int32{1}))
	for raw, c := range map[string]struct {
		key, want string // the value shown, or the code
		refused   bool
	}{
		"0.50":                {key: "min.cleanable.dirty.ratio", want: "0.5"},
		"1":                   {key: "min.cleanable.dirty.ratio", want: "1.0"},
		"1.01":                {key: "min.cleanable.dirty.ratio", refused: true},
		"TRUE":                {key: "preallocate", want: "true"},
		"yes":                 {key: "preallocate", refused: true},
		" 5 ":                 {key: "min.insync.replicas", want: "5"},
		"007":                 {key: "min.insync.replicas", want: "7"},
		"0":                   {key: "min.insync.replicas", refused: true},
		"2.5":                 {key: "min.insync.replicas", refused: true},
		"2147483648":          {key: "min.insync.replicas", refused: true},
		"":                    {key: "min.insync.replicas", refused: true},
		"-2":                  {key: "retention.ms", refused: true},
		"-1":                  {key: "retention.ms", want: "-1"},
		"compact, delete":     {key: "cleanup.policy", want: "compact,delete"},
		"compact,compress":    {key: "cleanup.policy", refused: true},
		"GZIP":                {key: "compression.type", refused: true},
		"gzip":                {key: "compression.type", want: "gzip"},
		"0:1,1:2":             {key: "leader.replication.throttled.replicas", want: "0:1,1:2"},
		"*":                   {key: "follower.replication.throttled.replicas", want: "*"},
		"0-1":                 {key: "leader.replication.throttled.replicas", refused: true},
		"9223372036854775807": {key: "min.compaction.lag.ms", want: "9223372036854775807"},
		"10":                  {key: "max.compaction.lag.ms", refused: true}, // below min.compaction.lag.ms of a topic that has one
	} {
		edits := []edit{set(c.key, raw)}
		if c.key == "max.compaction.lag.ms" {
			edits = append(edits, set("min.compaction.lag.ms", "11"))
		}
		want := "NONE"
		if c.refused {
			want = "INVALID_CONFIG"
		}
		shown := raw[:min(len(raw), 30)]
		equal(b, c.key+"="+strconv.Quote(shown), want, b.alterTopic("cv-values", edits...))
		if !c.refused {
			b.configIs("cv-values", c.key, setting{c.want, topicSource})
		}
	}
}

func alterItems(b *bench) {
	b.create(assigned("ai-a", nil, []int32{1}), assigned("ai-b", nil, []int32{1}), assigned("ai-c", nil, []int32{1}))
	topics := kmsg.ConfigResourceTypeTopic
	req := alterRequest(topics, "ai-a", set("retention.ms", "1"))
	addResource(req, topics, "ai-none", set("retention.ms", "1"))
	addResource(req, topics, "ai-b", set("segment.ms", "1"), set("min.insync.replicas", "abc"))
	addResource(req, topics, "ai-c", set("bogus.key", "1"))
	equal(b, "one by one", map[string]string{"ai-a": "NONE", "ai-none": "UNKNOWN_TOPIC_OR_PARTITION", "ai-b": "INVALID_CONFIG", "ai-c": "INVALID_CONFIG"}, b.alterCodes(asked, req))
	b.configIs("ai-a", "retention.ms", setting{"1", topicSource})
	equal(b, "the good half of a bad resource", setting{"604800000", defaultSource}, b.configs("ai-b", "segment.ms")["segment.ms"])

	req = alterRequest(topics, "ai-a", set("retention.ms", "2"))
	addResource(req, topics, "ai-a", set("segment.ms", "2"))
	addResource(req, topics, "ai-b", set("segment.ms", "2"))
	equal(b, "resource twice", map[string]string{"ai-a": "INVALID_REQUEST", "ai-b": "NONE"}, b.alterCodes(asked, req))
	b.configIs("ai-b", "segment.ms", setting{"2", topicSource})
	equal(b, "key twice", "INVALID_REQUEST", b.alterTopic("ai-a", set("retention.ms", "3"), set("retention.ms", "4")))
	equal(b, "null value", "INVALID_REQUEST", b.alterTopic("ai-a", edit{"retention.ms", kmsg.IncrementalAlterConfigOpSet, nil}))
	equal(b, "no name", "INVALID_REQUEST", b.alterTopic("", set("retention.ms", "3")))
	equal(b, "bad value for an unknown topic", "INVALID_CONFIG", b.alterTopic("ai-none", set("min.insync.replicas", "abc")))
	equal(b, "delete an unknown key", "NONE", b.alterTopic("ai-a", drop("bogus.key")))

	dry := alterRequest(topics, "ai-a", set("retention.ms", "5"))
	dry.ValidateOnly = true
	equal(b, "validate only", map[string]string{"ai-a": "NONE"}, b.alterCodes(asked, dry))
	dry = alterRequest(topics, "ai-a", set("retention.ms", "x"))
	dry.ValidateOnly = true
	equal(b, "validate only, bad", map[string]string{"ai-a": "INVALID_CONFIG"}, b.alterCodes(asked, dry))
	b.Wait()
	equal(b, "unchanged", setting{"1", topicSource}, b.configs("ai-a", "retention.ms")["retention.ms"])
}

// replicas is a list of throttled replicas: those of so many partitions on one broker.
func replicas(n, broker int) string {
	items := make([]string, n)
	for i := range items {
		items[i] = strconv.Itoa(i) + ":" + strconv.Itoa(broker)
	}
	return strings.Join(items, ",")
}

func alterLists(b *bench) {
	const key = "leader.replication.throttled.replicas"
	list := func(op kmsg.IncrementalAlterConfigOp, key, value string) string {
		return b.alterTopic("al-list", edit{key, op, &value})
	}
	b.create(assigned("al-list", nil, []int32{1, 2}))
	add, subtract := kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract
	equal(b, "append", "NONE", list(add, key, "0:1,0:2"))
	b.configIs("al-list", key, setting{"0:1,0:2", topicSource})
	equal(b, "append what is there", "NONE", list(add, key, "0:2,1:1"))
	b.configIs("al-list", key, setting{"0:1,0:2,1:1", topicSource})
	equal(b, "subtract", "NONE", list(subtract, key, "0:2,9:9"))
	b.configIs("al-list", key, setting{"0:1,1:1", topicSource})
	equal(b, "append to the default", "NONE", list(add, "cleanup.policy", "compact"))
	b.configIs("al-list", "cleanup.policy", setting{"delete,compact", topicSource})
	// What is too long for a string of the protocol is not answered; what appending makes too long is refused.
	equal(b, "append a lot", "NONE", list(add, key, replicas(1000, 10)))
	equal(b, "append too much", "INVALID_CONFIG", list(add, key, replicas(4000, 11)))
	long := replicas(6000, 12)
	if _, err := b.Request(b.ctx, asked, alterRequest(kmsg.ConfigResourceTypeTopic, "al-list", edit{key, kmsg.IncrementalAlterConfigOpSet, &long})); err == nil {
		b.Errorf("a value of %d bytes is answered", len(long))
	}
	equal(b, "append to a number", "INVALID_CONFIG", list(add, "retention.ms", "1"))
	equal(b, "append to an unknown key", "INVALID_CONFIG", list(add, "bogus.key", "1"))
}

func brokerConfigs(b *bench) {
	kind := kmsg.ConfigResourceTypeBroker
	keys := []string{"num.partitions", "min.insync.replicas"}
	equal(b, "of the asked broker", setting{"2", clusterSource}, b.settings(2, configsRequest(kind, "2", keys...))["min.insync.replicas"])
	equal(b, "num.partitions", "1", b.settings(2, configsRequest(kind, "2", keys...))["num.partitions"].Value)
	equal(b, "cluster level", map[string]setting{"min.insync.replicas": {"2", clusterSource}}, b.settings(asked, configsRequest(kind, "", keys...)))
	other := ask[*kmsg.DescribeConfigsResponse](b, configsRequest(kind, "2", keys...)).Resources[0]
	equal(b, "of another broker", "INVALID_REQUEST", code(other.ErrorCode))

	const rate = "follower.replication.throttled.rate"
	equal(b, "set through another broker", "INVALID_REQUEST", b.alterBroker(asked, "2", set(rate, "1000000")))
	equal(b, "set through the broker", "NONE", b.alterBroker(2, "2", set(rate, "1000000")))
	equal(b, "set for the cluster", "NONE", b.alterBroker(asked, "", set(rate, "2000000")))
	b.eventually("rates are visible", func() (any, bool) {
		two := b.settings(2, configsRequest(kind, "2", rate))[rate]
		one := b.settings(asked, configsRequest(kind, "1", rate))[rate]
		return []setting{one, two}, one == setting{"2000000", clusterSource} && two == setting{"1000000", brokerSource}
	})
	equal(b, "delete for the broker", "NONE", b.alterBroker(2, "2", drop(rate)))
	equal(b, "delete for the cluster", "NONE", b.alterBroker(asked, "", drop(rate)))
	for _, bad := range []string{"-1", "1.5", "soon", ""} {
		equal(b, "rate "+strconv.Quote(bad), "INVALID_REQUEST", b.alterBroker(asked, "", set(rate, bad)))
	}
	equal(b, "not dynamic", "INVALID_REQUEST", b.alterBroker(asked, "", set("num.partitions", "3")))

	// With eligible leader replicas there is one minimum for the cluster, and always one.
	equal(b, "minimum of one broker", "INVALID_CONFIG", b.alterBroker(2, "2", set("min.insync.replicas", "1")))
	equal(b, "delete the cluster's minimum", "INVALID_CONFIG", b.alterBroker(asked, "", drop("min.insync.replicas")))
}
