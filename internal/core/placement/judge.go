package placement

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"durabletopic.io/operator/internal/core/topic"
)

// ViolationKind names how a replica list breaks its rule.
type ViolationKind string

// How a replica list breaks its rule.
const (
	// TooFewReplicas: fewer distinct replicas than the replication factor.
	TooFewReplicas ViolationKind = "TooFewReplicas"
	// TooManyReplicas: more distinct replicas than the replication factor.
	TooManyReplicas ViolationKind = "TooManyReplicas"
	// RackRule: too many replicas in one rack. With best effort: more than the available racks make necessary.
	RackRule ViolationKind = "RackRule"
	// MissingBroker: a replica on a broker that is not registered. A fenced broker is not missing.
	MissingBroker ViolationKind = "MissingBroker"
	// DuplicateBroker: a broker more than once in the list.
	DuplicateBroker ViolationKind = "DuplicateBroker"
	// BrokerWithoutRack: a replica on a broker without broker.rack although the rack rule is required.
	BrokerWithoutRack ViolationKind = "BrokerWithoutRack"
	// LeavingBroker: a replica on a broker that is to be left. Only plans tell; Judge takes each registered broker as good.
	LeavingBroker ViolationKind = "LeavingBroker"
)

// PartitionReplicas is the replica list of one partition.
type PartitionReplicas struct {
	Partition int32
	Replicas  []int32
}

// Targets gives the replica lists of a topic as they will be when running reassignments are done.
func Targets(t *topic.Topic) []PartitionReplicas {
	out := make([]PartitionReplicas, 0, len(t.Partitions))
	for _, p := range t.Partitions {
		out = append(out, PartitionReplicas{Partition: p.Index, Replicas: p.Target()})
	}
	return out
}

// Numbered gives replica lists the partition indexes from first on; first is the number of existing partitions when new
// ones are added.
func Numbered(first int32, replicas [][]int32) []PartitionReplicas {
	out := make([]PartitionReplicas, 0, len(replicas))
	for i, r := range replicas {
		out = append(out, PartitionReplicas{Partition: first + int32(i), Replicas: r})
	}
	return out
}

// Violation is one way in which the replica list of one partition breaks its rule.
type Violation struct {
	Partition int32
	Kind      ViolationKind
	// Brokers are the brokers concerned, ascending: the missing, repeated or rackless ones, those in the crowded racks;
	// all of the list for a wrong number.
	Brokers []int32
	// Racks are the crowded racks by name; only with RackRule.
	Racks []string
	// Message says it in words, with the partition.
	Message string
}

// Judge checks replica lists against the rule and gives what breaks it, in the order of the partitions, each kind at
// most once a partition. It shares no code with Place. Fenced brokers are as good as others: an outage is not a wrong
// placement. A list longer than the replication factor may have as many replicas in one rack as leaves
// min.insync.replicas elsewhere.
func Judge(brokers []topic.Broker, partitions []PartitionReplicas, rule Rule) []Violation {
	j := judge{rule: rule, racks: make(map[int32]string, len(brokers)), unavoidable: unavoidable(brokers, rule)}
	for _, b := range brokers {
		j.racks[b.ID] = b.Rack
	}
	for _, p := range partitions {
		j.partition(p)
	}
	return j.found
}

type judge struct {
	rule        Rule
	racks       map[int32]string // by registered broker
	unavoidable int              // replicas in one rack that best effort cannot avoid; 0 with a required rule
	found       []Violation
}

func (j *judge) partition(p PartitionReplicas) {
	distinct := append([]int32(nil), p.Replicas...)
	slices.Sort(distinct)
	var repeated, missing, rackless []int32
	for i, id := range distinct {
		if i > 0 && distinct[i-1] == id {
			repeated = append(repeated, id)
		}
	}
	distinct, repeated = slices.Compact(distinct), slices.Compact(repeated)
	for _, id := range distinct {
		switch rack, ok := j.racks[id]; {
		case !ok:
			missing = append(missing, id)
		case rack == "":
			rackless = append(rackless, id)
		}
	}
	j.number(p.Partition, distinct)
	j.rack(p.Partition, distinct)
	if len(missing) > 0 {
		j.add(p.Partition, MissingBroker, missing, nil, "has a replica on %s, not registered", brokersWord(missing))
	}
	if len(repeated) > 0 {
		j.add(p.Partition, DuplicateBroker, repeated, nil, "lists %s more than once", brokersWord(repeated))
	}
	if len(rackless) > 0 && !j.rule.BestEffort {
		j.add(p.Partition, BrokerWithoutRack, rackless, nil, "has a replica on %s, without broker.rack", brokersWord(rackless))
	}
}

// number checks how many replicas there are.
func (j *judge) number(partition int32, distinct []int32) {
	n, want := int32(len(distinct)), j.rule.ReplicationFactor
	kind := TooFewReplicas
	switch {
	case n == want:
		return
	case n > want:
		kind = TooManyReplicas
	}
	j.add(partition, kind, distinct, nil, "has %s instead of %d", count(n, "replica"), want)
}

// rack checks how the replicas are spread. A replica on a missing broker is in no rack, and neither is one without
// broker.rack unless the rule is best effort.
func (j *judge) rack(partition int32, distinct []int32) {
	byRack := map[string][]int32{}
	for _, id := range distinct {
		if rack, ok := j.racks[id]; ok && (rack != "" || j.rule.BestEffort) {
			byRack[rack] = append(byRack[rack], id)
		}
	}
	allowed := max(len(distinct), int(j.rule.ReplicationFactor)) - int(j.rule.MinInSyncReplicas)
	allowed = max(allowed, j.unavoidable)
	var crowded []string
	var ids []int32
	for rack, members := range byRack {
		if len(members) > allowed {
			crowded = append(crowded, rack)
			ids = append(ids, members...)
		}
	}
	if len(crowded) == 0 {
		return
	}
	slices.Sort(crowded)
	slices.Sort(ids)
	names := make([]string, 0, len(crowded))
	for _, rack := range crowded {
		where := "in rack " + rack
		if rack == "" {
			where = "without rack"
		}
		names = append(names, fmt.Sprintf("%d %s (%s)", len(byRack[rack]), where, brokersWord(byRack[rack])))
	}
	j.add(partition, RackRule, ids, crowded, "has %s, at most %d allowed", list(names), max(0, allowed))
}

func (j *judge) add(partition int32, kind ViolationKind, ids []int32, racks []string, format string, args ...any) {
	j.found = append(j.found, Violation{
		Partition: partition, Kind: kind, Brokers: ids, Racks: racks,
		Message: fmt.Sprintf("partition %d ", partition) + fmt.Sprintf(format, args...),
	})
}

// unavoidable is the number of replicas that the fullest rack must hold at least on the brokers available now. When they
// are too few for one partition, nothing is too much.
func unavoidable(brokers []topic.Broker, rule Rule) int {
	if !rule.BestEffort {
		return 0
	}
	size, total := map[string]int32{}, int32(0)
	for _, b := range brokers {
		if !b.Fenced {
			size[b.Rack]++
			total++
		}
	}
	if total < rule.ReplicationFactor {
		return math.MaxInt
	}
	for m := int32(1); ; m++ {
		room := int32(0)
		for _, n := range size {
			room += min(n, m)
		}
		if room >= rule.ReplicationFactor {
			return int(m)
		}
	}
}

// Spread says how a topic lies over racks.
type Spread struct {
	// Racks are the racks that hold a replica, by name; the empty one is not named.
	Racks []string
	// FewestRacks is the smallest number of racks that the replicas of any one partition are in.
	FewestRacks int32
	// Covered: whichever one rack is lost, every partition keeps MinInSyncReplicas replicas. A replica of which the rack
	// is not known could be in any rack.
	Covered bool
}

// RackSpread finds how replica lists lie over the racks of the registered brokers.
func RackSpread(brokers []topic.Broker, partitions []PartitionReplicas, rule Rule) Spread {
	rackOf := make(map[int32]string, len(brokers))
	for _, b := range brokers {
		rackOf[b.ID] = b.Rack
	}
	all := map[string]bool{}
	s := Spread{Covered: len(partitions) > 0}
	for i, p := range partitions {
		in, unknown, fullest := map[string]int{}, 0, 0
		for _, id := range p.Replicas {
			rack := rackOf[id]
			if rack == "" {
				unknown++
				continue
			}
			in[rack]++
			all[rack] = true
			fullest = max(fullest, in[rack])
		}
		if n := int32(len(in)); i == 0 || n < s.FewestRacks {
			s.FewestRacks = n
		}
		s.Covered = s.Covered && len(p.Replicas)-fullest-unknown >= int(rule.MinInSyncReplicas)
	}
	for rack := range all {
		s.Racks = append(s.Racks, rack)
	}
	slices.SortFunc(s.Racks, cmp.Compare[string])
	return s
}
