package kafkatest

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"durabletopic.io/operator/internal/core/topic"
)

// maxConfigValue is the longest config value in bytes: of a string in the protocol, and of what appending may lead to.
const maxConfigValue = 32767

// configDef is one topic config of Kafka's LogConfig.
type configDef struct {
	kind     topic.ConfigType
	fallback string // Kafka's own default
	server   string // the broker config it is inherited from; empty: none
	lo, hi   float64
	oneOf    []string
	also     string // a value outside the range that is allowed
	list     *regexp.Regexp
}

var noLimit = math.Inf(1)

// throttled is the form of the lists of throttled replicas.
var throttled = regexp.MustCompile(`^(\*|none|\d+:\d+(,\d+:\d+)*)?$`)

// throttledRate is the form of the two rates of brokers (QuotaConfig).
var throttledRate = ranged(topic.TypeLong, "9223372036854775807", "", 0, noLimit)

// topicConfigs are the topic configs of Kafka 4.4 (org.apache.kafka.storage.internals.log.LogConfig).
var topicConfigs = map[string]configDef{
	"cleanup.policy":                          {kind: topic.TypeList, fallback: "delete", server: "log.cleanup.policy", oneOf: []string{"compact", "delete"}},
	"compression.gzip.level":                  ranged(topic.TypeInt, "-1", "compression.gzip.level", 1, 9, "-1"),
	"compression.lz4.level":                   ranged(topic.TypeInt, "9", "compression.lz4.level", 1, 17),
	"compression.type":                        {kind: topic.TypeString, fallback: "producer", server: "compression.type", oneOf: []string{"uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"}},
	"compression.zstd.level":                  ranged(topic.TypeInt, "3", "compression.zstd.level", -131072, 22),
	"delete.retention.ms":                     ranged(topic.TypeLong, "86400000", "log.cleaner.delete.retention.ms", 0, noLimit),
	"errors.deadletterqueue.group.enable":     boolean(""),
	"file.delete.delay.ms":                    ranged(topic.TypeLong, "60000", "log.segment.delete.delay.ms", 0, noLimit),
	"flush.messages":                          ranged(topic.TypeLong, "9223372036854775807", "log.flush.interval.messages", 1, noLimit),
	"flush.ms":                                ranged(topic.TypeLong, "9223372036854775807", "log.flush.interval.ms", 0, noLimit),
	"follower.replication.throttled.replicas": {kind: topic.TypeList, list: throttled},
	"index.interval.bytes":                    ranged(topic.TypeInt, "4096", "log.index.interval.bytes", 0, noLimit),
	"leader.replication.throttled.replicas":   {kind: topic.TypeList, list: throttled},
	"local.retention.bytes":                   ranged(topic.TypeLong, "-2", "log.local.retention.bytes", -2, noLimit),
	"local.retention.ms":                      ranged(topic.TypeLong, "-2", "log.local.retention.ms", -2, noLimit),
	"max.compaction.lag.ms":                   ranged(topic.TypeLong, "9223372036854775807", "log.cleaner.max.compaction.lag.ms", 1, noLimit),
	"max.decompressed.message.bytes":          ranged(topic.TypeInt, "2147483639", "", 1, 2147483639),
	"max.message.bytes":                       ranged(topic.TypeInt, "1048588", "message.max.bytes", 0, noLimit),
	"message.timestamp.after.max.ms":          ranged(topic.TypeLong, "3600000", "log.message.timestamp.after.max.ms", 0, noLimit),
	"message.timestamp.before.max.ms":         ranged(topic.TypeLong, "9223372036854775807", "log.message.timestamp.before.max.ms", 0, noLimit),
	"message.timestamp.type":                  {kind: topic.TypeString, fallback: "CreateTime", server: "log.message.timestamp.type", oneOf: []string{"CreateTime", "LogAppendTime"}},
	"min.cleanable.dirty.ratio":               ranged(topic.TypeDouble, "0.5", "log.cleaner.min.cleanable.ratio", 0, 1),
	"min.compaction.lag.ms":                   ranged(topic.TypeLong, "0", "log.cleaner.min.compaction.lag.ms", 0, noLimit),
	"min.insync.replicas":                     ranged(topic.TypeInt, "1", "min.insync.replicas", 1, noLimit),
	"preallocate":                             boolean("log.preallocate"),
	"remote.copy.lag.bytes":                   ranged(topic.TypeLong, "-1", "", -1, noLimit),
	"remote.copy.lag.ms":                      ranged(topic.TypeLong, "0", "", -1, noLimit),
	"remote.log.copy.disable":                 boolean(""),
	"remote.log.delete.on.disable":            boolean(""),
	"remote.storage.enable":                   boolean(""),
	"retention.bytes":                         ranged(topic.TypeLong, "-1", "log.retention.bytes", math.Inf(-1), noLimit),
	"retention.ms":                            ranged(topic.TypeLong, "604800000", "log.retention.ms", -1, noLimit),
	"segment.bytes":                           ranged(topic.TypeInt, "1073741824", "log.segment.bytes", 1048576, noLimit),
	"segment.index.bytes":                     ranged(topic.TypeInt, "10485760", "log.index.size.max.bytes", 4, noLimit),
	"segment.jitter.ms":                       ranged(topic.TypeLong, "0", "log.roll.jitter.ms", 0, noLimit),
	"segment.ms":                              ranged(topic.TypeLong, "604800000", "log.roll.ms", 1, noLimit),
	"unclean.leader.election.enable":          boolean("unclean.leader.election.enable"),
}

// topicConfigNames are the keys of topicConfigs in order.
var topicConfigNames = slices.Sorted(maps.Keys(topicConfigs))

func ranged(kind topic.ConfigType, fallback, server string, lo, hi float64, also ...string) configDef {
	return configDef{kind: kind, fallback: fallback, server: server, lo: lo, hi: hi, also: strings.Join(also, "")}
}

// boolean is a switch; all of them are off by default.
func boolean(server string) configDef {
	return configDef{kind: topic.TypeBoolean, fallback: "false", server: server}
}

// parse gives the canonical form in which DescribeConfigs shows a value, or why it is not valid.
func (d configDef) parse(name, raw string) (string, objection) {
	value := strings.TrimSpace(raw)
	switch d.kind {
	case topic.TypeBoolean:
		if low := strings.ToLower(value); low == "true" || low == "false" {
			return low, ""
		}
		return "", invalid(name, raw, "Expected value to be either true or false")
	case topic.TypeInt, topic.TypeLong:
		return d.parseInteger(name, raw, value)
	case topic.TypeDouble:
		f, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return "", invalid(name, raw, "Not a number of type DOUBLE")
		}
		return javaDouble(f), d.inRange(name, value, f)
	case topic.TypeList:
		return d.parseList(name, value)
	default:
		if len(d.oneOf) > 0 && !slices.Contains(d.oneOf, value) {
			return "", invalid(name, raw, "String must be one of: "+strings.Join(d.oneOf, ", "))
		}
		return value, ""
	}
}

func (d configDef) parseInteger(name, raw, value string) (string, objection) {
	bits, word := 64, "LONG"
	if d.kind == topic.TypeInt {
		bits, word = 32, "INT"
	}
	n, err := strconv.ParseInt(value, 10, bits)
	if err != nil {
		return "", invalid(name, raw, "Not a number of type "+word)
	}
	canonical := strconv.FormatInt(n, 10)
	if d.also != "" && canonical == d.also {
		return canonical, ""
	}
	return canonical, d.inRange(name, value, float64(n))
}

func (d configDef) inRange(name, value string, n float64) objection {
	if n < d.lo {
		return invalid(name, value, "Value must be at least "+strconv.FormatFloat(d.lo, 'f', -1, 64))
	}
	if n > d.hi {
		return invalid(name, value, "Value must be no more than "+strconv.FormatFloat(d.hi, 'f', -1, 64))
	}
	return ""
}

func (d configDef) parseList(name, value string) (string, objection) {
	if d.list != nil && !d.list.MatchString(value) {
		return "", invalid(name, value, "Must be the literal '*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...")
	}
	items := splitList(value)
	for _, item := range items {
		if len(d.oneOf) > 0 && !slices.Contains(d.oneOf, item) {
			return "", invalid(name, item, "String must be one of: "+strings.Join(d.oneOf, ", "))
		}
	}
	return strings.Join(items, ","), ""
}

func splitList(value string) []string {
	var items []string
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// javaDouble prints a number as Java does: with a fraction always.
func javaDouble(f float64) string {
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

func invalid(name, value, why string) objection {
	return objection(fmt.Sprintf("Invalid value %s for configuration %s: %s", value, name, why))
}

// validateTopicConfigs checks all overrides of a topic as they would be after a change.
func validateTopicConfigs(configs map[string]string) objection {
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		d, ok := topicConfigs[name]
		if !ok {
			return objection("Unknown topic config name: " + name)
		}
		if len(configs[name]) > maxConfigValue {
			return objection(fmt.Sprintf("The configuration value cannot be added because it exceeds the maximum value size of %d bytes.", maxConfigValue))
		}
		if _, why := d.parse(name, configs[name]); why != "" {
			return why
		}
	}
	if lo, hi := number(configs, "min.compaction.lag.ms"), number(configs, "max.compaction.lag.ms"); lo > hi {
		return objection(fmt.Sprintf("conflict topic config setting min.compaction.lag.ms (%d) > max.compaction.lag.ms (%d)", lo, hi))
	}
	if remote, _ := topicConfigs["remote.storage.enable"].parse("", configs["remote.storage.enable"]); remote == "true" {
		return "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
	}
	return ""
}

func number(configs map[string]string, name string) int64 {
	raw, ok := configs[name]
	if !ok {
		raw = topicConfigs[name].fallback
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(raw), 10, 64)
	return n
}
