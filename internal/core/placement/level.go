package placement

import "slices"

// level exchanges followers inside racks where that makes the brokers of a rack more even: first in replicas placed by
// this call, then, between brokers that may as well swap what they got from this call, in replicas in all. Leaders and
// racks stay. Every exchange lowers the sum of squares of the first counts, or keeps it and lowers that of the second,
// so it ends.
func (l *ledger) level(done []assigned) {
	for l.uneven() {
		if !l.levelOnce(done, 1) && !l.levelOnce(done, 0) {
			return
		}
	}
}

func (l *ledger) uneven() bool {
	return slices.ContainsFunc(l.any, l.crowded)
}

// crowded tells whether another broker of the rack should have one of this broker's replicas.
func (l *ledger) crowded(giver int) bool {
	return slices.ContainsFunc(l.members[l.rack[giver]], func(taker int) bool { return l.worth(giver, taker) })
}

// worth tells whether handing a replica over makes the two brokers more even.
func (l *ledger) worth(giver, taker int) bool {
	batch := l.batch[giver].replicas - l.batch[taker].replicas
	return batch > 1 || batch == 1 && l.all[giver].replicas-l.all[taker].replicas > 1
}

// levelOnce goes through all followers once and tells whether it exchanged any. Margin is how many replicas of the topic
// the giver must have more than the taker: 1 keeps the topic as even as it is, 0 makes it less even, which is not asked of
// a topic that exists.
func (l *ledger) levelOnce(done []assigned, margin int) bool {
	changed := false
	for _, a := range done {
		if margin == 0 && len(a.wish.Existing) > 0 {
			continue
		}
		l.open(a.wish)
		for _, replicas := range a.lists {
			for _, slot := range replicas {
				l.topic[slot].replicas++
			}
		}
		for _, replicas := range a.lists {
			for i := 1; i < len(replicas); i++ {
				changed = l.exchange(replicas, i, margin) || changed
			}
		}
	}
	return changed
}

// exchange hands one follower to the emptiest broker of its rack that may take it.
func (l *ledger) exchange(replicas []int, i, margin int) bool {
	giver, taker := replicas[i], -1
	for _, m := range l.members[l.rack[giver]] {
		if !l.worth(giver, m) || l.topic[giver].replicas-l.topic[m].replicas < margin || slices.Contains(replicas, m) {
			continue
		}
		if taker < 0 || l.emptier(m, taker) {
			taker = m
		}
	}
	if taker < 0 {
		return false
	}
	replicas[i] = taker
	l.hold(giver, -1)
	l.hold(taker, 1)
	return true
}

// emptier compares two brokers of a rack by what level makes even.
func (l *ledger) emptier(a, b int) bool {
	if l.batch[a].replicas != l.batch[b].replicas {
		return l.batch[a].replicas < l.batch[b].replicas
	}
	return l.all[a].replicas < l.all[b].replicas
}
