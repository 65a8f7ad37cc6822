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
	// record, else the replicas that are not in sync. Ascending.
	WaitsFor []int32
	// Safe: Kafka shows that WaitsFor hold every confirmed record. Only of an offline partition.
	Safe bool
}

// Health sorts the weak partitions of a topic by how bad it is; a partition is in one list only.
type Health struct {
	Offline     []Weak // no leader: nobody reads or writes
	UnderMinISR []Weak // acks=all producers wait
	Reduced     []Weak // one failure less is tolerated
}

// Examine looks at every partition. minISR is what Kafka must have in sync to confirm an acks=all record; like Kafka
// (3.7 and newer) it never asks for more replicas than a partition has.
func Examine(t *topic.Topic, minISR int32) Health {
	var h Health
	for _, p := range t.Partitions {
		w := Weak{Partition: p.Index, InSync: len(p.ISR)}
		switch {
		case p.Leader == topic.NoLeader:
			w.WaitsFor, w.Safe = safeLeaders(p)
			h.Offline = append(h.Offline, w)
		case len(p.ISR) < min(int(minISR), len(p.Replicas)):
			w.WaitsFor = without(p.Replicas, p.ISR)
			h.UnderMinISR = append(h.UnderMinISR, w)
		case len(p.ISR) < len(p.Target()): // a replica on its way does not weaken those it is to replace
			w.WaitsFor = without(p.Replicas, p.ISR)
			h.Reduced = append(h.Reduced, w)
		}
	}
	return h
}

// safeLeaders are the replicas that can lead a leaderless partition without loss: the in-sync ones, and the eligible
// leader replicas, of which Kafka takes one when nobody is in sync (KIP-966). If there are neither, nobody knows: then it
// is the last known leader, which Kafka elects when it returns though its records may be incomplete, else any replica.
func safeLeaders(p topic.Partition) (brokers []int32, safe bool) {
	safe = true
	if brokers = union(p.ISR, p.ELR); len(brokers) == 0 {
		brokers, safe = p.LastKnownELR, false
	}
	if len(brokers) == 0 {
		brokers = p.Replicas
	}
	return slices.Sorted(slices.Values(brokers)), safe
}

func union(a, b []int32) []int32 {
	return append(slices.Clone(a), without(b, a)...)
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
