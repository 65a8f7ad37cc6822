package kafkatest

import (
	"math"
	"slices"
	"strconv"

	"durabletopic.io/operator/internal/core/topic"
)

// unthrottled is a speed without a bound.
const unthrottled int64 = math.MaxInt64

// SetSize says how many bytes the log of a partition has. Replicas in sync have them all; others have what they had when
// they fell out of sync, new ones nothing, and cannot get into sync before they have copied the rest: so much a tick as
// Options.CopyBytesPerTick and the throttles allow.
func (c *Cluster) SetSize(name string, partition int32, bytes int64) {
	c.update(func(w *world) {
		w.mustPart(name, partition)
		w.bytes[spot{id: w.topics[name].id, partition: partition}] = bytes
	})
}

// ReplicaSize gives how many bytes of a partition a broker has; 0 if it has no replica.
func (c *Cluster) ReplicaSize(name string, partition, broker int32) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.w.replicaBytes(c.w.mustTopic(name), c.w.mustPart(name, partition), broker)
}

func (w *world) replicaBytes(r *record, p topic.Partition, broker int32) int64 {
	size := w.bytes[spot{id: r.id, partition: p.Index}]
	switch {
	case slices.Contains(p.ISR, broker):
		return size
	case slices.Contains(p.Replicas, broker):
		return min(size, w.copied[spot{r.id, p.Index, broker}])
	}
	return 0
}

// keepCopies notes what replicas have that fell out of sync, and forgets those that are gone.
func (w *world) keepCopies(r *record, old, next topic.Partition) {
	size := w.bytes[spot{id: r.id, partition: next.Index}]
	if size == 0 {
		return
	}
	for _, id := range old.Replicas {
		at := spot{r.id, next.Index, id}
		switch {
		case !slices.Contains(next.Replicas, id) || slices.Contains(next.ISR, id):
			delete(w.copied, at)
		case slices.Contains(old.ISR, id):
			w.copied[at] = size
		}
	}
}

// copies brings a replica that follows its leader closer to it and tells whether it has all. Without a tick only what is
// not bounded is copied.
func (w *world) copies(at spot, tick bool, speeds speeds) bool {
	left := w.bytes[spot{id: at.id, partition: at.partition}] - w.copied[at]
	if left <= 0 {
		return true
	}
	speed := w.speed()
	if s, ok := speeds[at]; ok {
		speed = min(speed, s)
	}
	if speed == unthrottled {
		w.copied[at] += left
		return true
	}
	if !tick {
		return false
	}
	w.copied[at] += min(left, speed)
	return left <= speed
}

// speed is what a replica copies in a tick without a throttle.
func (w *world) speed() int64 {
	if w.opts.CopyBytesPerTick > 0 {
		return w.opts.CopyBytesPerTick
	}
	return unthrottled
}

// speeds are bytes per tick of throttled replicas.
type speeds map[spot]int64

// lane is one side of a broker's throttle, which all its throttled replicas share.
type lane struct {
	broker int32
	key    string
}

// throttles gives the speed of every replica that follows its leader under a throttle. On either side it takes both a
// rate of the broker and an entry in the topic's list, and either side is enough; a tick is a second. Kafka throttles
// only what is not in sync.
func (w *world) throttles() speeds {
	if len(w.bytes) == 0 {
		return nil
	}
	shares := map[lane]int64{}
	lanes := map[spot][]lane{}
	for name := range w.unsettled {
		r := w.topics[name]
		leaders := topic.ParseThrottled(r.configs[topic.LeaderThrottledReplicas])
		followers := topic.ParseThrottled(r.configs[topic.FollowerThrottledReplicas])
		for _, p := range r.parts {
			for _, id := range p.Replicas {
				at := spot{r.id, p.Index, id}
				if !w.following(p, at) {
					continue
				}
				if leaders.Has(topic.ThrottledReplica{Partition: p.Index, Broker: p.Leader}) {
					lanes[at] = append(lanes[at], lane{p.Leader, topic.LeaderThrottledRate})
				}
				if followers.Has(topic.ThrottledReplica{Partition: p.Index, Broker: id}) {
					lanes[at] = append(lanes[at], lane{id, topic.FollowerThrottledRate})
				}
				for _, l := range lanes[at] {
					shares[l]++
				}
			}
		}
	}
	out := speeds{}
	for at, list := range lanes {
		speed := unthrottled
		for _, l := range list {
			if rate, ok := w.rate(l); ok {
				speed = min(speed, rate/shares[l])
			}
		}
		out[at] = speed
	}
	return out
}

// rate is the throttle of one side of a broker: its own, else the cluster's.
func (w *world) rate(l lane) (int64, bool) {
	raw, ok := w.nodes[l.broker][l.key]
	if !ok {
		raw, ok = w.defaults[l.key]
	}
	n, err := strconv.ParseInt(raw, 10, 64)
	return n, ok && err == nil
}
