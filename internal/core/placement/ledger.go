package placement

import (
	"cmp"
	"hash/fnv"
	"slices"

	"durabletopic.io/operator/internal/core/topic"
)

// tally counts what one broker carries.
type tally struct{ replicas, leaders int }

// ledger keeps count while wishes are placed. Available brokers are known by their slot: their index in order of IDs.
type ledger struct {
	ids   []int32
	slots map[int32]int // by broker ID
	rack  []int         // of each slot: index of its rack
	// any are all slots, racked those of brokers with a rack.
	any, racked []int

	all, batch, topic    []tally // of each slot: in all, by this call, of the current topic
	rackBatch, rackTopic []int   // of each rack: preferred leaders by this call, of the current topic
	pairs                [][]int // by leader, then follower: partitions of this call that join them
	inRack               []int   // of each rack: replicas of the current partition
	members              [][]int // of each rack: its slots
	seed                 uint64  // of the tie-break: topic and partition
}

func newLedger(brokers []topic.Broker, load map[int32]topic.Load) *ledger {
	l := &ledger{slots: map[int32]int{}}
	racks := map[string]int{}
	for _, b := range brokers {
		if b.Fenced {
			continue
		}
		slot := len(l.ids)
		r, ok := racks[b.Rack]
		if !ok {
			r = len(l.members)
			racks[b.Rack] = r
			l.members = append(l.members, nil)
		}
		l.members[r] = append(l.members[r], slot)
		l.ids, l.rack, l.any = append(l.ids, b.ID), append(l.rack, r), append(l.any, slot)
		if b.Rack != "" {
			l.racked = append(l.racked, slot)
		}
		l.slots[b.ID] = slot
		l.all = append(l.all, tally{replicas: load[b.ID].Replicas, leaders: load[b.ID].Leaders})
	}
	l.batch, l.topic = make([]tally, len(l.ids)), make([]tally, len(l.ids))
	l.pairs = make([][]int, len(l.ids))
	l.rackBatch, l.rackTopic, l.inRack = make([]int, len(l.members)), make([]int, len(l.members)), make([]int, len(l.members))
	return l
}

// open starts counting for a topic with what it has already. Brokers that are fenced or gone do not matter.
func (l *ledger) open(w Wish) {
	clear(l.topic)
	clear(l.rackTopic)
	for _, replicas := range w.Existing {
		for i, id := range replicas {
			slot, ok := l.slots[id]
			if !ok {
				continue
			}
			l.topic[slot].replicas++
			if i == 0 {
				l.topic[slot].leaders++
				l.rackTopic[l.rack[slot]]++
			}
		}
	}
}

// place meets one wish that is known to be feasible. Leaders come first, so that followers can even out what the leaders
// left uneven.
func (l *ledger) place(w Wish) [][]int {
	eligible := l.racked
	if w.Rule.BestEffort {
		eligible = l.any
	}
	l.open(w)
	name := nameSeed(w.Topic)
	rf := int(w.Rule.ReplicationFactor)
	flat := make([]int, 0, int(w.Partitions)*rf)
	lists := make([][]int, w.Partitions)
	for p := range lists {
		lists[p] = flat[p*rf : p*rf : (p+1)*rf]
		l.seed = mix(name + uint64(len(w.Existing)+p))
		leader := least(eligible, func(int) bool { return true }, l.leaderOrder)
		l.lead(leader)
		lists[p] = append(lists[p], leader)
	}
	for p := range lists {
		l.seed = mix(name - uint64(len(w.Existing)+p+1))
		lists[p] = l.follow(lists[p], eligible, rf)
	}
	return lists
}

// follow adds followers to a list that holds its leader. The rack with the fewest replicas of the partition always comes
// first, which gives the smallest possible maximum per rack; no other bound is needed to meet the rack rule.
func (l *ledger) follow(replicas, eligible []int, rf int) []int {
	leader := replicas[0]
	if l.pairs[leader] == nil {
		l.pairs[leader] = make([]int, len(l.ids))
	}
	pairs := l.pairs[leader]
	clear(l.inRack)
	l.inRack[l.rack[leader]]++
	free := func(slot int) bool { return !slices.Contains(replicas, slot) }
	order := func(a, b int) int { return l.followerOrder(pairs, a, b) }
	for len(replicas) < rf {
		slot := least(eligible, free, order)
		l.hold(slot, 1)
		l.inRack[l.rack[slot]]++
		pairs[slot]++
		replicas = append(replicas, slot)
	}
	return replicas
}

func (l *ledger) leaderOrder(a, b int) int {
	ra, rb := l.rack[a], l.rack[b]
	if c := cmp.Or(
		l.topic[a].leaders-l.topic[b].leaders,
		l.batch[a].leaders-l.batch[b].leaders,
		l.all[a].leaders-l.all[b].leaders,
		l.rackTopic[ra]-l.rackTopic[rb],
		l.rackBatch[ra]-l.rackBatch[rb],
		l.all[a].replicas-l.all[b].replicas,
	); c != 0 {
		return c
	}
	return l.tieBreak(a, b)
}

func (l *ledger) followerOrder(pairs []int, a, b int) int {
	if c := cmp.Or(
		l.inRack[l.rack[a]]-l.inRack[l.rack[b]],
		l.topic[a].replicas-l.topic[b].replicas,
		l.batch[a].replicas-l.batch[b].replicas,
		l.all[a].replicas-l.all[b].replicas,
		l.all[b].leaders-l.all[a].leaders,
		pairs[a]-pairs[b],
	); c != 0 {
		return c
	}
	return l.tieBreak(a, b)
}

// tieBreak orders brokers differently for every partition, so that partitions do not share their brokers by habit.
func (l *ledger) tieBreak(a, b int) int {
	return cmp.Or(
		cmp.Compare(mix(l.seed^uint64(uint32(l.ids[a]))), mix(l.seed^uint64(uint32(l.ids[b])))),
		cmp.Compare(a, b),
	)
}

// lead counts a replica that is a preferred leader.
func (l *ledger) lead(slot int) {
	l.hold(slot, 1)
	l.topic[slot].leaders++
	l.batch[slot].leaders++
	l.all[slot].leaders++
	l.rackTopic[l.rack[slot]]++
	l.rackBatch[l.rack[slot]]++
}

// hold counts n replicas more.
func (l *ledger) hold(slot, n int) {
	l.topic[slot].replicas += n
	l.batch[slot].replicas += n
	l.all[slot].replicas += n
}

// brokerIDs turns lists of slots into lists of broker IDs.
func (l *ledger) brokerIDs(lists [][]int) [][]int32 {
	out := make([][]int32, len(lists))
	for i, slots := range lists {
		out[i] = make([]int32, len(slots))
		for k, slot := range slots {
			out[i][k] = l.ids[slot]
		}
	}
	return out
}

// least finds the smallest allowed slot by order. There must be one.
func least(slots []int, allowed func(int) bool, order func(a, b int) int) int {
	best := -1
	for _, s := range slots {
		if allowed(s) && (best < 0 || order(s, best) < 0) {
			best = s
		}
	}
	return best
}

// nameSeed hashes a topic name (FNV-1a).
func nameSeed(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash never fails to write
	return h.Sum64()
}

// mix spreads the bits of x (the finaliser of SplitMix64).
func mix(x uint64) uint64 {
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}
