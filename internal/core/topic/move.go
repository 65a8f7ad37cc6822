package topic

import (
	"slices"
	"strconv"
	"strings"
)

// What throttles the copying of replicas (KIP-73). Kafka throttles a replica whose entry is in the list of its side and
// that is not in sync; each side works alone.
const (
	// Topic configs: lists of "partition:broker", or "*" for all. The leader's list names the brokers that are copied
	// from, the follower's those that are copied to.
	LeaderThrottledReplicas   = "leader.replication.throttled.replicas"
	FollowerThrottledReplicas = "follower.replication.throttled.replicas"
	// Broker configs: bytes per second for all throttled replicas of one broker together.
	LeaderThrottledRate   = "leader.replication.throttled.rate"
	FollowerThrottledRate = "follower.replication.throttled.rate"
)

// MaxThrottledReplicas is the most bytes that a list of throttled replicas may have (ConfigurationControlManager).
const MaxThrottledReplicas = 32767

// TopicPartition names one partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String gives Kafka's form (org.apache.kafka.common.TopicPartition): "orders-3".
func (p TopicPartition) String() string { return p.Topic + "-" + strconv.Itoa(int(p.Partition)) }

// Compare orders by topic, then by partition.
func (p TopicPartition) Compare(q TopicPartition) int {
	if c := strings.Compare(p.Topic, q.Topic); c != 0 {
		return c
	}
	return int(p.Partition) - int(q.Partition)
}

// Reassignment is the running reassignment of one partition (KIP-455), whoever started it.
type Reassignment struct {
	TopicPartition
	Replicas []int32 // the present list: the target, then what is removed
	Adding   []int32
	Removing []int32
}

// Target is the replica list once the reassignment is done.
func (r Reassignment) Target() []int32 {
	return Partition{Replicas: r.Replicas, Removing: r.Removing}.Target()
}

// ThrottledReplica is one entry of a list of throttled replicas.
type ThrottledReplica struct{ Partition, Broker int32 }

// String gives the form of the list: "3:1".
func (r ThrottledReplica) String() string {
	return strconv.Itoa(int(r.Partition)) + ":" + strconv.Itoa(int(r.Broker))
}

// ThrottledList is one of a topic's two lists of throttled replicas.
type ThrottledList struct {
	Set bool   // on the topic, be it empty: subtracting the last entry leaves an empty override
	Raw string // as Kafka shows it
	// All: the list is "*". Kafka refuses to append to it.
	All     bool
	Entries []ThrottledReplica // in order; what is no entry is left out
}

// ParseThrottled reads a list of throttled replicas that is set on a topic.
func ParseThrottled(raw string) ThrottledList {
	list := ThrottledList{Set: true, Raw: raw, All: strings.TrimSpace(raw) == "*"}
	for item := range strings.SplitSeq(raw, ",") {
		partition, broker, ok := strings.Cut(strings.TrimSpace(item), ":")
		if !ok {
			continue
		}
		p, errP := strconv.ParseInt(partition, 10, 32)
		b, errB := strconv.ParseInt(broker, 10, 32)
		if errP == nil && errB == nil {
			list.Entries = append(list.Entries, ThrottledReplica{int32(p), int32(b)})
		}
	}
	return list
}

// Has tells whether a replica is throttled by the list.
func (l ThrottledList) Has(r ThrottledReplica) bool { return l.All || slices.Contains(l.Entries, r) }

// FormatThrottled gives the value of a list of throttled replicas, in the order given.
func FormatThrottled(entries []ThrottledReplica) string {
	var s strings.Builder
	for i, e := range entries {
		if i > 0 {
			s.WriteByte(',')
		}
		s.WriteString(e.String())
	}
	return s.String()
}

// Throttled are a topic's two lists of throttled replicas.
type Throttled struct{ Leader, Follower ThrottledList }

// Rate is a replication throttle in bytes per second. The zero value is none; a rate of 0 that is set stops copying.
type Rate struct {
	Set            bool
	BytesPerSecond int64
}

// RateOf is a rate that is set.
func RateOf(bytesPerSecond int64) Rate { return Rate{Set: true, BytesPerSecond: bytesPerSecond} }

// Rates are the throttles of both sides.
type Rates struct{ Leader, Follower Rate }

// Any tells whether a rate of either side is set.
func (r Rates) Any() bool { return r.Leader.Set || r.Follower.Set }

// ThrottleRates are the dynamic throttle rates of a cluster.
type ThrottleRates struct {
	// Default is the cluster-wide default: it holds at brokers without a rate of their own, those that come later too.
	Default Rates
	// Brokers have rates of their own.
	Brokers map[int32]Rates
	// Unread brokers are out of service or did not answer, by ID: they may have rates of their own, which only they know.
	Unread []int32
}

// ReplicaSize is what one replica takes on its broker's disk.
type ReplicaSize struct {
	Bytes int64
	// OffsetLag is how many records the log end is behind the high watermark that the broker knows, which is never ahead
	// of a follower's own log end: how much a new replica lacks is told by its leader's Bytes.
	OffsetLag int64
}
