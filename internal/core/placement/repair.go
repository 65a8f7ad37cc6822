package placement

import (
	"cmp"
	"slices"

	"durabletopic.io/operator/internal/core/topic"
)

// Brokers are where replicas are and may go.
type Brokers struct {
	Registered []topic.Broker // fenced ones too
	// Load is what each broker carries over all topics of the cluster, those to be repaired included. Brokers that are not
	// in it carry nothing.
	Load map[int32]topic.Load
	// Leaving are the brokers that lose their replicas and get none: cordoned, or fenced for too long.
	Leaving []int32
}

// staying are the registered brokers that are not to be left.
func (b Brokers) staying() []topic.Broker {
	leaving := make(map[int32]bool, len(b.Leaving))
	for _, id := range b.Leaving {
		leaving[id] = true
	}
	return slices.DeleteFunc(sorted(b.Registered), func(b topic.Broker) bool { return leaving[b.ID] })
}

// Managed is a topic that exists, and how its replicas are wished to be.
type Managed struct {
	Name       string // each once
	Rule       Rule
	Critical   bool // goes first where partitions are equally endangered
	Partitions []topic.Partition
	// Bytes is the size of one full replica of each partition, in the order of Partitions. Zero or absent: not known.
	Bytes []int64
}

// bytes is the size of the i-th partition.
func (m *Managed) bytes(i int) int64 {
	if i >= len(m.Bytes) {
		return 0
	}
	return m.Bytes[i]
}

// Plan says for every partition that breaks its rule, or holds a replica on a broker to be left, either where its replicas
// go or why they stay. Partitions that are as wished are not in it.
type Plan struct {
	Moves []Move // by topic, then partition
	Left  []Left // by topic, then partition
}

// Move gives one partition a new replica list. Its slices share memory with those of other moves and with the input: they
// are not to be changed.
type Move struct {
	Topic     string
	Partition int32
	Critical  bool
	Why       []ViolationKind // what is wrong now, each once
	From      []int32         // the list now
	// Replicas is the new list, the preferred leader first. It is longer than the replication factor only by Held.
	Replicas []int32
	Added    []int32   // in the order of Replicas
	Removed  []Removal // in the order of From
	// Held are in-sync replicas that have no place in the end but stay until the added ones are in sync, because without
	// them fewer than min.insync.replicas would be left of those in sync now. The next plan drops them.
	Held []int32
	// Bytes to be copied; 0 when nothing is, or the size is not known.
	Bytes int64
	// InSync counts the in-sync replicas now, InSyncRacks the racks they are in, over brokers that stay.
	InSync, InSyncRacks int32
}

// Removal is a replica that goes, and why: MissingBroker, LeavingBroker, BrokerWithoutRack, RackRule (its rack has too
// many) or TooManyReplicas.
type Removal struct {
	Broker int32
	Why    ViolationKind
}

// LeftReason names why a partition is left as it is.
type LeftReason string

// Why a partition is left as it is.
const (
	// Reassigning: a reassignment runs on the partition, whoever began it. Such partitions are always reported, because
	// whether they break a rule shows when the reassignment ends.
	Reassigning LeftReason = "Reassigning"
	// Leaderless: there is no leader to copy from.
	Leaderless LeftReason = "Leaderless"
	// NothingInSync: a leader is shown but no in-sync replica, so what is read is not to be built on.
	NothingInSync LeftReason = "NothingInSync"
	// CatchingUp: replicas would only be removed, and one that stays is not in sync. Kafka would not end that reassignment
	// before it is (PartitionReassignmentReplicas).
	CatchingUp LeftReason = "CatchingUp"
	// NoRoom: the brokers do not allow a right list; see the shortage.
	NoRoom LeftReason = "NoRoom"
)

// Left is a partition that is left as it is. String says why in words.
type Left struct {
	Topic     string
	Partition int32
	Reason    LeftReason
	Shortage  *Shortage // only with NoRoom; shared, not to be changed
	Brokers   []int32   // only with CatchingUp: those to be waited for, ascending
	Leaving   []int32   // only with NoRoom: brokers that do not count because they are to be left; shared
}

// Repair plans, for each partition of these topics that breaks its rule or is on a broker to be left, the least movement
// that makes it right. It is the same for any order of brokers, topics, partitions and in-sync replicas. The topics may be
// any part of those in the load: to plan one again costs no more than that one.
func Repair(on Brokers, topics []Managed) Plan {
	r := newRepair(on, topics)
	for _, t := range r.order {
		r.inspect(t)
	}
	// Replicas that must go are counted out first, so that every choice is made with the load that will be.
	for i := range r.jobs {
		r.jobs[i].open = !r.shed(&r.jobs[i], false)
	}
	for i := range r.jobs {
		if r.jobs[i].open {
			r.shed(&r.jobs[i], true)
		}
	}
	r.fill()
	r.lead()
	return r.plan()
}

// inOrder gives the indexes of the topics by name.
func inOrder(topics []Managed) []int32 {
	order := make([]int32, len(topics))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(topics[a].Name, topics[b].Name), cmp.Compare(a, b))
	})
	return order
}

// byIndex gives the positions of the partitions in the order of their indexes; nil when they are in order.
func byIndex(partitions []topic.Partition) []int32 {
	compare := func(a, b topic.Partition) int { return cmp.Compare(a.Index, b.Index) }
	if slices.IsSortedFunc(partitions, compare) {
		return nil
	}
	order := make([]int32, len(partitions))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return compare(partitions[a], partitions[b]) })
	return order
}
