package placement

import "cmp"

// lead chooses the preferred leader of each partition whose own goes. It goes over them until no choice would be better
// made otherwise: each change makes the numbers of leaders on two brokers differ less, so it ends.
func (r *repair) lead() {
	for i := range r.jobs {
		j := &r.jobs[i]
		for _, m := range r.members[j.from:j.to] {
			if m.first && m.fate == stays {
				j.preferred = m.slot
			}
		}
		if j.preferred < 0 {
			j.chosen = true
			j.preferred = r.leader(j)
			r.countLeader(j.preferred, 1)
		}
	}
	for changed := true; changed; {
		changed = false
		for i := range r.jobs {
			j := &r.jobs[i]
			if !j.chosen {
				continue
			}
			if best := r.leader(j); r.leaders[j.preferred]-r.leaders[best] > 1 {
				r.countLeader(j.preferred, -1)
				r.countLeader(best, 1)
				j.preferred, changed = best, true
			}
		}
	}
}

func (r *repair) countLeader(slot, n int32) {
	r.leaders[slot] += n
	r.rackLeaders[r.rack[slot]] += n
}

// leader finds the best preferred leader: a replica in sync, or a new one, because those are in sync when the move ends;
// on the broker with the fewest preferred leaders, then in the rack with the fewest. Among equals the present leader, then
// the others as they come.
func (r *repair) leader(j *job) int32 {
	best, bestRank := int32(-1), 0
	consider := func(slot int32, rank int) {
		if best < 0 || cmp.Or(
			cmp.Compare(rank/2, bestRank/2),
			cmp.Compare(r.leaders[slot], r.leaders[best]),
			cmp.Compare(r.rackLeaders[r.rack[slot]], r.rackLeaders[r.rack[best]]),
			cmp.Compare(rank, bestRank),
		) < 0 {
			best, bestRank = slot, rank
		}
	}
	for _, m := range r.members[j.from:j.to] {
		switch {
		case m.fate != stays:
		case m.leads:
			consider(m.slot, 0)
		case m.inSync:
			consider(m.slot, 1)
		default:
			consider(m.slot, 2)
		}
	}
	for _, slot := range r.added[j.added : j.added+j.adds] {
		consider(slot, 1)
	}
	return best
}
