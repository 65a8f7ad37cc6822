package placement

import (
	"slices"

	"durabletopic.io/operator/internal/core/topic"
)

// inspect makes a job of each partition of a topic that can be repaired, and notes those that are to be left.
func (r *repair) inspect(at int32) {
	m := &r.topics[at]
	t, order := r.terms(m.Rule), byIndex(m.Partitions)
	for i := range m.Partitions {
		position := int32(i)
		if order != nil {
			position = order[i]
		}
		p := &m.Partitions[position]
		if p.Reassigning() {
			r.leave(at, p, Left{Reason: Reassigning})
			continue
		}
		from := len(r.members)
		wrong := r.read(p, t)
		if wrong == 0 {
			r.members = r.members[:from]
			continue
		}
		if left, ok := r.obstacle(p, t, r.members[from:]); ok {
			r.leave(at, p, left)
			r.members = r.members[:from]
			continue
		}
		r.jobs = append(r.jobs, job{
			topic: at, partition: position, from: int32(from), to: int32(len(r.members)), wrong: wrong, preferred: -1,
		})
	}
}

func (r *repair) leave(at int32, p *topic.Partition, l Left) {
	l.Topic, l.Partition = r.topics[at].Name, p.Index
	r.left = append(r.left, l)
}

// read adds the replicas of a partition to the members and tells what is wrong with them.
func (r *repair) read(p *topic.Partition, t *terms) wrong {
	var found wrong
	from, fullest := len(r.members), int32(0)
	for i, id := range p.Replicas {
		if slices.ContainsFunc(r.members[from:], func(m member) bool { return m.id == id }) {
			found |= duplicateBroker
			continue
		}
		m := member{id: id, slot: r.slot(id), leads: id == p.Leader, first: i == 0}
		m.fate = r.fate(m, t)
		if m.fate == stays {
			r.inRack[r.rack[m.slot]]++
			fullest = max(fullest, r.inRack[r.rack[m.slot]])
		}
		found |= fateIsWrong[m.fate]
		r.members = append(r.members, m)
	}
	members := r.members[from:]
	r.forget(members)
	n := int32(len(members))
	if n < t.rule.ReplicationFactor {
		found |= tooFew
	} else if n > t.rule.ReplicationFactor {
		found |= tooMany
	}
	// Of a list that is too long, as many may be in one rack as leave min.insync.replicas elsewhere.
	if fullest > max(t.perRack, n-t.rule.MinInSyncReplicas) {
		found |= rackRule
	}
	if found != 0 {
		for i := range members {
			members[i].inSync = slices.Contains(p.ISR, members[i].id)
		}
	}
	return found
}

var fateIsWrong = [...]wrong{stays: 0, missing: missingBroker, leaving: leavingBroker, rackless: withoutRack}

// fate tells whether a replica may stay where it is, racks and numbers aside.
func (r *repair) fate(m member, t *terms) fate {
	if m.slot >= 0 {
		if t.rule.BestEffort || r.brokers[m.slot].Rack != "" {
			return stays
		}
		return rackless
	}
	if _, ok := slices.BinarySearch(r.gone, m.id); ok {
		return leaving
	}
	return missing
}

// forget sets the counts of the partition's racks back to zero.
func (r *repair) forget(members []member) {
	for _, m := range members {
		if m.slot >= 0 {
			r.inRack[r.rack[m.slot]] = 0
		}
	}
}

// obstacle tells why a partition cannot be repaired now, if so.
func (r *repair) obstacle(p *topic.Partition, t *terms, members []member) (Left, bool) {
	switch {
	case p.Leader == topic.NoLeader:
		return Left{Reason: Leaderless}, true
	case len(p.ISR) == 0:
		return Left{Reason: NothingInSync}, true
	case t.perhaps && !r.fits(t, members):
		return Left{Reason: NoRoom, Shortage: t.shortage, Leaving: r.gone}, true
	}
	if waits := r.waitsFor(t, members); len(waits) > 0 {
		return Left{Reason: CatchingUp, Brokers: waits}, true
	}
	return Left{}, false
}

// fits tells whether there is a right list for a partition although the targets alone do not suffice: replicas that it has
// on fenced brokers may make up for it.
func (r *repair) fits(t *terms, members []member) bool {
	if !t.rule.possible() {
		return false
	}
	for _, m := range members {
		if m.fate == stays && r.brokers[m.slot].Fenced {
			r.inRack[r.rack[m.slot]]++
		}
	}
	n := fit(t.room, r.inRack, t.perRack)
	r.forget(members)
	return n >= t.rule.ReplicationFactor
}

// waitsFor lists the replicas out of sync of which some would stay when a partition only loses replicas. Kafka would not
// end that before they are in sync. Nil when there are none, or something is to be added: then the copy is worth it, even
// if the reassignment ends later.
func (r *repair) waitsFor(t *terms, members []member) []int32 {
	if int32(len(members)) <= t.rule.ReplicationFactor {
		return nil
	}
	inSync := r.countFitting(t, members, true)
	var waits []int32
	for _, m := range members {
		if !m.inSync && m.fate == stays && r.inRack[r.rack[m.slot]] < t.perRack {
			waits = append(waits, m.id)
		}
	}
	all := inSync + r.countFitting(t, members, false)
	r.forget(members)
	if inSync >= t.rule.ReplicationFactor || all < t.rule.ReplicationFactor {
		return nil
	}
	slices.Sort(waits)
	return waits
}

// countFitting counts the replicas, in sync or not, that may stay beside those in the counts of racks, and adds them.
func (r *repair) countFitting(t *terms, members []member, inSync bool) int32 {
	n := int32(0)
	for _, m := range members {
		if m.inSync == inSync && m.fate == stays && r.inRack[r.rack[m.slot]] < t.perRack {
			r.inRack[r.rack[m.slot]]++
			n++
		}
	}
	return n
}
