package observer

import (
	"maps"
	"slices"

	"durabletopic.io/operator/internal/core/topic"
)

// change compares two reads of a topic. Keys that are no longer asked for do not count.
func change(old, now *topic.Topic, keys []string) (Urgency, bool) {
	switch {
	case old == now:
		return Calm, false
	case old == nil || now == nil || old.ID != now.ID || old.Internal != now.Internal,
		len(old.Partitions) != len(now.Partitions):
		return Urgent, true
	}
	for _, k := range keys {
		a, hadIt := old.Configs[k]
		b, hasIt := now.Configs[k]
		if hadIt != hasIt || a != b {
			return Urgent, true
		}
	}
	calm := false
	for i := range now.Partitions {
		a, b := &old.Partitions[i], &now.Partitions[i]
		if !samePlacement(a, b) {
			return Urgent, true
		}
		calm = calm || !sameState(a, b)
	}
	return Calm, calm
}

// samePlacement compares where the replicas of a partition belong.
func samePlacement(a, b *topic.Partition) bool {
	return a.Index == b.Index && slices.Equal(a.Replicas, b.Replicas) &&
		slices.Equal(a.Adding, b.Adding) && slices.Equal(a.Removing, b.Removing)
}

// sameState compares how the replicas of a partition are.
func sameState(a, b *topic.Partition) bool {
	return a.Leader == b.Leader && a.LeaderEpoch == b.LeaderEpoch && slices.Equal(a.ISR, b.ISR) &&
		slices.Equal(a.ELR, b.ELR) && slices.Equal(a.LastKnownELR, b.LastKnownELR)
}

// sameTopic compares all facts.
func sameTopic(a, b *topic.Topic) bool {
	return a.ID == b.ID && a.Internal == b.Internal && maps.Equal(a.Configs, b.Configs) &&
		slices.EqualFunc(a.Partitions, b.Partitions, func(x, y topic.Partition) bool {
			return samePlacement(&x, &y) && sameState(&x, &y)
		})
}

// older tells whether a read of the same topic shows less than an earlier one: leader epochs and the number of
// partitions only grow.
func older(old, now *topic.Topic) bool {
	if len(now.Partitions) < len(old.Partitions) {
		return true
	}
	for i := range old.Partitions {
		if now.Partitions[i].LeaderEpoch < old.Partitions[i].LeaderEpoch {
			return true
		}
	}
	return false
}

// reduced tells whether some partition has fewer replicas in sync than replicas.
func reduced(t *topic.Topic) bool {
	return slices.ContainsFunc(t.Partitions, func(p topic.Partition) bool { return len(p.ISR) < len(p.Replicas) })
}
