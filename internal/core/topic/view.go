package topic

import "time"

// Presence says what is known about the existence of a topic.
type Presence int8

// What is known about the existence of a topic, by lookups *by name*; a topic that is merely not listed is none of these.
const (
	// NotRead: no read has named the topic yet.
	NotRead Presence = iota
	// Present: the newest accepted read shows it.
	Present
	// Missing: the newest read answered UNKNOWN_TOPIC_OR_PARTITION. Enough to create a topic that was never seen,
	// not enough to call a known one gone.
	Missing
	// Absent: two brokers answered UNKNOWN_TOPIC_OR_PARTITION in two reads, and no create of ours is still to be seen.
	Absent
	// Hidden: reading it is not allowed, so nothing can be said.
	Hidden
)

// Contact says how fresh the facts of a cluster are.
type Contact struct {
	// InTouch: the latest attempt to read succeeded. Only then may a new claim be made or a write be tried.
	InTouch bool
	// Last complete sweep; zero when there was none.
	Last time.Time
	// Since the present InTouch value holds.
	Since time.Time
	// Fault says why there is no contact; nil while there is.
	Fault error
	// Grace is how long facts stay good without contact: max(3 check intervals, 120 s).
	Grace time.Duration
}

// Lost tells whether facts are too old to be shown as the present.
func (c Contact) Lost(now time.Time) bool { return !c.InTouch && now.Sub(c.Since) > c.Grace }

// View is all that is known about one declared topic at one moment.
type View struct {
	Cluster  *Cluster // nil before the first sweep
	Contact  Contact
	Presence Presence
	// Topic is the newest accepted read; also kept (stale) while Presence is Missing or Hidden; nil when never seen or
	// Absent.
	Topic *Topic
	// ReadAt is when Topic was read.
	ReadAt time.Time
	// Incomplete: config keys were declared that Topic was not yet asked for. A key that Topic lacks says nothing then;
	// without it, it means that Kafka does not know the key.
	Incomplete bool
	// Problem says why the topic cannot be read although the cluster can; nil otherwise.
	Problem error
	// Expected are facts that Kafka has confirmed to us but no read has shown yet. A difference that is expected to
	// vanish is stale reading, not drift.
	Expected Expected
	// ReducedSince is when some partition was first seen with fewer in-sync replicas than replicas, without a break
	// since; zero when none is.
	ReducedSince time.Time
	// Collision is another topic of the cluster whose name is the same to Kafka (CollisionKey); empty if none.
	Collision string
}

// Shown tells whether Topic is what Kafka shows now. A topic without partitions is none: no topic of Kafka is like that, so
// such a read says nothing.
func (v View) Shown() bool {
	return v.Presence == Present && v.Topic != nil && len(v.Topic.Partitions) > 0
}

// Expected are confirmed writes that reads have not shown yet, each for at most half a minute (creation: a minute).
type Expected struct {
	Created    bool               // a create was answered with success
	Configs    map[string]*string // nil value: deleted
	Partitions int32              // 0: none
}

// Config tells whether key is expected to become value soon.
func (e Expected) Config(key, value string) bool {
	v, ok := e.Configs[key]
	return ok && v != nil && *v == value
}

// Deleted tells whether the override of key is expected to go soon.
func (e Expected) Deleted(key string) bool {
	v, ok := e.Configs[key]
	return ok && v == nil
}
