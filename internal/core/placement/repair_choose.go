package placement

import (
	"cmp"
	"slices"
)

// shed chooses which replicas of a partition go: those that may not stay, then of each rack that has too many, then those
// above the replication factor. Unless it is final it leaves alone a partition for which the load of the brokers decides,
// and tells so with false.
func (r *repair) shed(j *job, final bool) bool {
	t, members := r.rules[r.topics[j.topic].Rule], r.members[j.from:j.to]
	n := int32(0)
	for _, m := range members {
		if m.fate == stays {
			r.inRack[r.rack[m.slot]]++
			n++
		}
	}
	decided := true
	for decided {
		worst, fate, sure := r.worst(members, t, n)
		if worst < 0 {
			break
		}
		decided = sure || final
		members[worst].fate = fate
		r.inRack[r.rack[members[worst].slot]]--
		n--
	}
	r.forget(members)
	if !decided {
		for i := range members {
			if members[i].fate == crowded || members[i].fate == surplus {
				members[i].fate = stays
			}
		}
		return false
	}
	j.adds = t.rule.ReplicationFactor - n
	r.hold(t, members)
	r.countOut(members)
	return true
}

// worst finds the replica that is to go next; -1 when all may stay. It is sure when the load of brokers plays no part.
func (r *repair) worst(members []member, t *terms, n int32) (worst int, why fate, sure bool) {
	worst, why, sure = -1, r.excess(members, t, n), true
	if why == stays {
		return worst, why, sure
	}
	for i, m := range members {
		if m.fate != stays || why == crowded && r.inRack[r.rack[m.slot]] <= t.perRack {
			continue
		}
		if worst < 0 {
			worst = i
			continue
		}
		switch c := r.worth(m, members[worst]); {
		case c < 0:
			worst, sure = i, true
		case c == 0:
			sure = false
			if r.lighter(m.slot, members[worst].slot) > 0 {
				worst = i
			}
		}
	}
	return worst, why, sure
}

// excess tells whether replicas must go, of n that may stay, and why: stays when none must.
func (r *repair) excess(members []member, t *terms, n int32) fate {
	for _, m := range members {
		if m.fate == stays && r.inRack[r.rack[m.slot]] > t.perRack {
			return crowded
		}
	}
	if n > t.rule.ReplicationFactor {
		return surplus
	}
	return stays
}

// worth orders two replicas of one partition by how much they are to be kept, the load of their brokers aside.
func (r *repair) worth(a, b member) int {
	return cmp.Or(
		boolOrder(a.leads, b.leads),
		boolOrder(a.inSync, b.inSync),
		cmp.Compare(r.inRack[r.rack[b.slot]], r.inRack[r.rack[a.slot]]), // fewer in its rack is worth more
		boolOrder(a.first, b.first),
	)
}

// lighter orders two brokers by load, then ID.
func (r *repair) lighter(a, b int32) int {
	return cmp.Or(cmp.Compare(r.replicas[a], r.replicas[b]), cmp.Compare(a, b))
}

// hold keeps as many in-sync replicas that go as it takes for the floor: min.insync.replicas, or all that are in sync now
// if they are fewer. Replicas on brokers to be left, or not registered, cannot be held: Kafka refuses lists with a fully
// cordoned or unregistered broker (ReplicationControlManager.validateManualPartitionAssignment).
func (r *repair) hold(t *terms, members []member) {
	kept, holdable := int32(0), int32(0)
	for _, m := range members {
		if m.inSync && m.slot >= 0 {
			holdable++
			if m.fate == stays {
				kept++
			}
		}
	}
	for lacking := min(t.rule.MinInSyncReplicas, holdable) - kept; lacking > 0; lacking-- {
		members[nextHeld(members)].fate = held
	}
}

// nextHeld finds an in-sync replica that goes and can be held, the leader if it is one: to keep it spares an election while
// the others are copied.
func nextHeld(members []member) int {
	best := -1
	for i, m := range members {
		if !m.inSync || m.slot < 0 || m.fate == stays || m.fate == held {
			continue
		}
		if best < 0 || m.leads {
			best = i
		}
	}
	return best
}

// countOut takes what goes, and what is held and goes later, off the load.
func (r *repair) countOut(members []member) {
	for _, m := range members {
		if m.slot < 0 || m.fate == stays {
			continue
		}
		r.replicas[m.slot]--
		if m.first {
			r.leaders[m.slot]--
			r.rackLeaders[r.rack[m.slot]]--
		}
	}
}

// fill chooses the brokers of new replicas.
func (r *repair) fill() {
	current := int32(-1)
	for i := range r.jobs {
		j := &r.jobs[i]
		j.added = int32(len(r.added))
		if j.adds == 0 {
			continue
		}
		if j.topic != current {
			current = j.topic
			r.countTopic(i)
		}
		r.fillPartition(j, int32(i+1))
	}
}

func (r *repair) fillPartition(j *job, mark int32) {
	m := &r.topics[j.topic]
	t, members := r.rules[m.Rule], r.members[j.from:j.to]
	for _, m := range members {
		if m.slot >= 0 {
			r.taken[m.slot] = mark
		}
		if m.fate == stays {
			r.inRack[r.rack[m.slot]]++
		}
		if m.fate == leaving {
			r.owe(m.id, 1)
		}
	}
	bytes := m.bytes(int(j.partition))
	seed := mix(nameSeed(m.Name) + uint64(uint32(m.Partitions[j.partition].Index)))
	for range j.adds {
		slot := r.target(t, mark, seed)
		r.taken[slot] = mark
		r.inRack[r.rack[slot]]++
		r.owed[r.rack[slot]] = max(0, r.owed[r.rack[slot]]-1)
		r.replicas[slot]++
		r.inTopic[slot]++
		r.incoming[slot] += bytes
		r.added = append(r.added, slot)
	}
	r.forget(members)
	for _, slot := range r.added[j.added:] {
		r.inRack[r.rack[slot]] = 0
	}
	for _, m := range members {
		if m.fate == leaving {
			r.owe(m.id, 0)
		}
	}
}

// owe notes that a replica on a broker to be left is best replaced in its rack; zero forgets it.
func (r *repair) owe(id, n int32) {
	at, _ := slices.BinarySearch(r.gone, id)
	switch rack := r.goneIn[at]; {
	case rack < 0:
	case n == 0:
		r.owed[rack] = 0
	default:
		r.owed[rack] += n
	}
}

// target finds the broker for one more replica of the current partition: in the rack of a broker to be left, then in the
// rack with the fewest, so that racks fill like water; then by load. It never takes a rack above its share, so room is
// not lost by any choice. There is one, because partitions without room have been left.
func (r *repair) target(t *terms, mark int32, seed uint64) int32 {
	best, least, owed := int32(-1), int32(0), false
	for _, slot := range t.targets {
		rack := r.rack[slot]
		in, owes := r.inRack[rack], r.owed[rack] > 0
		if in == t.perRack || r.taken[slot] == mark {
			continue
		}
		if best < 0 || owes && !owed || owes == owed && (in < least || in == least && r.emptier(slot, best, seed)) {
			best, least, owed = slot, in, owes
		}
	}
	return best
}

// emptier tells whether a new replica is better put on broker a than on b.
func (r *repair) emptier(a, b int32, seed uint64) bool {
	if r.replicas[a] != r.replicas[b] {
		return r.replicas[a] < r.replicas[b]
	}
	if r.inTopic[a] != r.inTopic[b] {
		return r.inTopic[a] < r.inTopic[b]
	}
	if r.incoming[a] != r.incoming[b] {
		return r.incoming[a] < r.incoming[b]
	}
	return mix(seed^uint64(uint32(r.ids[a]))) < mix(seed^uint64(uint32(r.ids[b])))
}

// countTopic counts the replicas that the topic of a job has on each broker, once what goes has gone.
func (r *repair) countTopic(first int) {
	clear(r.inTopic)
	at := r.jobs[first].topic
	for i := range r.topics[at].Partitions {
		for _, id := range r.topics[at].Partitions[i].Replicas {
			if slot := r.slot(id); slot >= 0 {
				r.inTopic[slot]++
			}
		}
	}
	for i := first; i < len(r.jobs) && r.jobs[i].topic == at; i++ {
		for _, m := range r.members[r.jobs[i].from:r.jobs[i].to] {
			if m.slot >= 0 && m.fate != stays {
				r.inTopic[m.slot]--
			}
		}
	}
}
