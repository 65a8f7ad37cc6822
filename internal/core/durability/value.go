package durability

import (
	"slices"
	"strconv"
	"strings"

	"durabletopic.io/operator/internal/core/topic"
)

// SameValue tells whether two spellings of a config value mean the same to Kafka, by the type DescribeConfigs reports:
// numbers by value, booleans without case, lists as sets. A value that does not parse equals only itself.
func SameValue(t topic.ConfigType, a, b string) bool {
	if a == b {
		return true
	}
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	switch t {
	case topic.TypeBoolean:
		return strings.EqualFold(a, b)
	case topic.TypeInt, topic.TypeShort, topic.TypeLong:
		x, errX := strconv.ParseInt(a, 10, 64)
		y, errY := strconv.ParseInt(b, 10, 64)
		return errX == nil && errY == nil && x == y
	case topic.TypeDouble:
		x, errX := strconv.ParseFloat(a, 64)
		y, errY := strconv.ParseFloat(b, 64)
		return errX == nil && errY == nil && x == y
	case topic.TypeList:
		return slices.Equal(set(a), set(b))
	default:
		return a == b
	}
}

func set(list string) []string {
	var items []string
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	slices.Sort(items)
	return slices.Compact(items)
}
