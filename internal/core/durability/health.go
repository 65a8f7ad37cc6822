package durability

import (
	"slices"

	"durabletopic.io/operator/internal/core/topic"
)

// Weak is a partition that has less than all its replicas in service.
type Weak struct {
	Partition int32
	InSync    int
	// WaitsFor are the brokers whose return restores the partition: for an offline one those that hold every confirmed
	// record, else the replicas that are not in sync.
	WaitsFor []int32
}

// Health sorts the weak partitions of a topic by how bad it is; a partition is in one list only.
type Health struct {
	Offline     []Weak // no leader: nobody reads or writes
	UnderMinISR []Weak // acks=all producers wait
	Reduced     []Weak // one more failure is tolerated less
}

// Examine looks at every partition. minISR is the profile's.
func Examine(t *topic.Topic, minISR int32) Health {
	var h Health
	for _, p := range t.Partitions {
		w := Weak{Partition: p.Index, InSync: len(p.ISR)}
		switch {
		case p.Leader == topic.NoLeader:
			w.WaitsFor = safeLeaders(p)
			h.Offline = append(h.Offline, w)
		case len(p.ISR) < int(minISR):
			w.WaitsFor = without(p.Replicas, p.ISR)
			h.UnderMinISR = append(h.UnderMinISR, w)
		case len(p.ISR) < len(p.Replicas):
			w.WaitsFor = without(p.Replicas, p.ISR)
			h.Reduced = append(h.Reduced, w)
		}
	}
	return h
}

// safeLeaders are the replicas that can lead a leaderless partition without loss: the eligible leader replicas, else the
// last in-sync ones, else the last known leader (KIP-966 and the election order of PartitionChangeBuilder).
func safeLeaders(p topic.Partition) []int32 {
	for _, candidates := range [][]int32{p.ELR, p.ISR, p.LastKnownELR} {
		if len(candidates) > 0 {
			return slices.Sorted(slices.Values(candidates))
		}
	}
	return slices.Sorted(slices.Values(p.Replicas))
}

func without(all, some []int32) []int32 {
	var rest []int32
	for _, id := range all {
		if !slices.Contains(some, id) {
			rest = append(rest, id)
		}
	}
	slices.Sort(rest)
	return rest
}
