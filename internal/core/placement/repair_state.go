package placement

import (
	"math"
	"slices"

	"durabletopic.io/operator/internal/core/topic"
)

// fate is what becomes of a replica.
type fate uint8

const (
	stays    fate = iota
	missing       // the broker is not registered
	leaving       // the broker is to be left
	rackless      // the broker has no rack and the rule asks for one
	crowded       // there are too many in its rack
	surplus       // there are too many
	held          // has no place in the end, but goes later
)

// wrong collects what is wrong with a partition: bit k stands for kinds[k].
type wrong uint8

const (
	tooFew wrong = 1 << iota
	tooMany
	rackRule
	missingBroker
	leavingBroker
	duplicateBroker
	withoutRack
)

var kinds = []ViolationKind{
	TooFewReplicas, TooManyReplicas, RackRule, MissingBroker, LeavingBroker, DuplicateBroker, BrokerWithoutRack,
}

// member is one replica of a partition that is repaired.
type member struct {
	id     int32
	slot   int32 // -1: may not stay even for a while
	fate   fate
	leads  bool
	inSync bool
	first  bool // the preferred leader
}

// job is one partition that is repaired.
type job struct {
	topic, partition int32 // positions in the input
	from, to         int32 // its members
	added, adds      int32 // where its new replicas begin, how many they are
	preferred        int32 // slot of the preferred leader in the end
	wrong            wrong
	open             bool // which replicas go is still to be chosen
	chosen           bool // the preferred leader is a choice
}

// terms are what a rule means on these brokers.
type terms struct {
	rule     Rule
	perRack  int32   // replicas of a partition that may be in one rack
	targets  []int32 // slots that may get replicas
	perhaps  bool    // the targets alone may not suffice for a partition
	room     []int32 // of each rack: its targets
	shortage *Shortage
}

// repair is the state of one call. Brokers that stay are known by their slot: their index in order of IDs.
type repair struct {
	topics []Managed
	order  []int32 // of topics

	brokers []topic.Broker // by slot
	ids     []int32
	rack    []int32 // of each slot: index of its rack
	gone    []int32 // registered brokers to be left, ascending
	goneIn  []int32 // of each of them: index of its rack; -1: nobody stays in it
	rules   map[Rule]*terms

	replicas, leaders []int32 // of each slot, as they will be
	incoming          []int64 // of each slot: bytes this plan copies to it
	rackLeaders       []int32 // of each rack
	inTopic           []int32 // of each slot: replicas of the current topic
	inRack            []int32 // of each rack: replicas of the current partition that stay; zero between partitions
	owed              []int32 // of each rack: replicas of the current partition on brokers to be left; zero in between
	taken             []int32 // of each slot: the last job, from 1, whose partition is or was on it

	jobs    []job
	members []member
	added   []int32 // slots
	left    []Left
}

func newRepair(on Brokers, topics []Managed) *repair {
	r := &repair{topics: topics, order: inOrder(topics), brokers: on.staying(), rules: map[Rule]*terms{}}
	n := len(r.brokers)
	r.ids, r.rack, r.taken = make([]int32, n), make([]int32, n), make([]int32, n)
	r.replicas, r.leaders, r.inTopic, r.incoming = make([]int32, n), make([]int32, n), make([]int32, n), make([]int64, n)
	racks := map[string]int32{}
	for slot, b := range r.brokers {
		at, ok := racks[b.Rack]
		if !ok {
			at = int32(len(racks))
			racks[b.Rack] = at
			r.rackLeaders = append(r.rackLeaders, 0)
		}
		load := on.Load[b.ID]
		r.ids[slot], r.rack[slot] = b.ID, at
		r.replicas[slot], r.leaders[slot] = int32(load.Replicas), int32(load.Leaders)
		r.rackLeaders[at] += int32(load.Leaders)
	}
	r.inRack, r.owed = make([]int32, len(racks)), make([]int32, len(racks))
	for _, b := range sorted(on.Registered) {
		if !slices.Contains(on.Leaving, b.ID) {
			continue
		}
		at, ok := racks[b.Rack]
		if !ok {
			at = -1
		}
		r.gone, r.goneIn = append(r.gone, b.ID), append(r.goneIn, at)
	}
	return r
}

// slot finds a broker that stays; -1 when it does not.
func (r *repair) slot(id int32) int32 {
	// By hand: slices.BinarySearch takes three times as long, and this is most of the work on partitions that are right.
	lo, hi := 0, len(r.ids)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); r.ids[mid] < id {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(r.ids) && r.ids[lo] == id {
		return int32(lo)
	}
	return -1
}

// terms works out once what a rule means here.
func (r *repair) terms(rule Rule) *terms {
	if t, ok := r.rules[rule]; ok {
		return t
	}
	t := &terms{rule: rule, room: make([]int32, len(r.inRack)), perRack: rule.MaxPerRack()}
	for slot, b := range r.brokers {
		if !b.Fenced && (rule.BestEffort || b.Rack != "") {
			t.targets = append(t.targets, int32(slot))
			t.room[r.rack[slot]]++
		}
	}
	if rule.BestEffort {
		t.perRack = max(t.perRack, t.fullest())
	}
	t.shortage = Feasible(r.brokers, rule)
	t.perhaps = t.shortage != nil
	r.rules[rule] = t
	return t
}

// fullest is the smallest number of replicas in the fullest rack with which a partition fits on the targets. When it does
// not fit at all, no number is too large.
func (t *terms) fullest() int32 {
	if int32(len(t.targets)) < t.rule.ReplicationFactor {
		return math.MaxInt32
	}
	for most := int32(1); ; most++ {
		if fit(t.room, nil, most) >= t.rule.ReplicationFactor {
			return most
		}
	}
}

// fit counts how many replicas go into racks with so many places each, and more, when a rack takes most at most.
func fit(places, more []int32, most int32) int32 {
	n := int32(0)
	for rack, have := range places {
		if more != nil {
			have += more[rack]
		}
		n += min(have, most)
	}
	return n
}
