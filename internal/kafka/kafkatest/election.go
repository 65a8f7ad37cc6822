package kafkatest

import (
	"slices"

	"durabletopic.io/operator/internal/core/topic"
)

// election is how far the controller may go to find a leader.
type election int8

const (
	online    election = iota // an in-sync or eligible replica
	preferred                 // the same, the first of the replica list before the present leader
	unclean                   // at last any live replica
)

// change is what shall become of a partition; the election and the eligible leader replicas follow from it.
type change struct {
	isr, replicas, adding, removing []int32
	unclean                         []int32 // replicas that may have lost records in an unclean shutdown
	election                        election
}

// changeOf is the change that changes nothing, to start from.
func changeOf(p topic.Partition) change {
	return change{isr: p.ISR, replicas: p.Replicas, adding: p.Adding, removing: p.Removing}
}

// ballot is a change on its way to the next state of a partition.
type ballot struct {
	change
	old    topic.Partition
	elr    []int32
	active func(int32) bool
	elrOn  bool
}

// apply does a change as the controller does it: complete a reassignment that can be completed, fill or empty the
// eligible leader replicas, elect, and raise the leader epoch where Kafka does. It tells whether anything changed.
func (w *world) apply(name string, index int32, ch change) bool {
	r := w.topics[name]
	old := r.parts[index]
	b := &ballot{change: ch, old: old, elr: old.ELR, active: w.active, elrOn: w.elr()}
	b.completeReassignment()
	b.populateELR(w.minISR(r))
	next := b.decide()
	if equalPartitions(old, next) {
		return false
	}
	w.keepCopies(r, old, next)
	w.put(r.withPart(next))
	return true
}

func equalPartitions(a, b topic.Partition) bool {
	return a.Leader == b.Leader && a.LeaderEpoch == b.LeaderEpoch && slices.Equal(a.Replicas, b.Replicas) &&
		slices.Equal(a.ISR, b.ISR) && slices.Equal(a.ELR, b.ELR) && slices.Equal(a.LastKnownELR, b.LastKnownELR) &&
		slices.Equal(a.Adding, b.Adding) && slices.Equal(a.Removing, b.Removing)
}

func without(list []int32, drop ...int32) []int32 {
	var out []int32
	for _, v := range list {
		if !slices.Contains(drop, v) {
			out = append(out, v)
		}
	}
	return out
}

func containsAll(list, want []int32) bool { return len(without(want, list...)) == 0 }

// completeReassignment ends a reassignment as soon as every adding replica is in sync, and for one that shrinks the list
// every replica of the target.
func (b *ballot) completeReassignment() {
	if len(b.adding) == 0 && len(b.removing) == 0 {
		return
	}
	isr, replicas := without(b.isr, b.removing...), without(b.replicas, b.removing...)
	if len(isr) == 0 || len(replicas) == 0 || !containsAll(isr, b.adding) {
		return
	}
	if len(b.adding) < len(b.removing) && !containsAll(isr, replicas) {
		return
	}
	b.isr, b.replicas, b.adding, b.removing = isr, replicas, nil, nil
}

// populateELR keeps what leaves ISR eligible while ISR is below the minimum: the high watermark cannot pass it then. The
// minimum is that of the replica list before the change, so that a list which shrinks below it leaves its former
// members eligible, as in Kafka.
func (b *ballot) populateELR(minISR int) {
	if !b.elrOn || len(b.isr) >= minISR {
		b.elr = nil
		return
	}
	elr := without(b.old.ISR, b.isr...)
	elr = append(elr, without(without(b.old.ELR, b.isr...), elr...)...)
	b.elr = without(elr, b.unclean...)
	slices.Sort(b.elr)
}

// eligible tells whether a replica may lead without any loss.
func (b *ballot) eligible(id int32) bool {
	in := slices.Contains(b.isr, id) || len(b.isr) == 0 && slices.Contains(b.elr, id)
	return in && b.active(id)
}

// elect picks the leader and tells whether the choice may lose records.
func (b *ballot) elect() (leader int32, lossy bool) {
	if b.election == preferred && b.eligible(b.replicas[0]) {
		return b.replicas[0], false
	}
	if b.eligible(b.old.Leader) {
		return b.old.Leader, false
	}
	if i := slices.IndexFunc(b.replicas, b.eligible); i >= 0 {
		return b.replicas[i], false
	}
	if b.elrOn && len(b.isr) == 0 && len(b.elr) == 0 && len(b.old.LastKnownELR) == 1 && b.active(b.old.LastKnownELR[0]) {
		return b.old.LastKnownELR[0], true
	}
	if b.election == unclean {
		if i := slices.IndexFunc(b.replicas, b.active); i >= 0 {
			return b.replicas[i], true
		}
	}
	return topic.NoLeader, false
}

// decide elects and gives the next state.
func (b *ballot) decide() topic.Partition {
	next := b.old
	leader, lossy := b.elect()
	switch {
	case leader == b.old.Leader:
	case lossy:
		b.isr, b.elr = []int32{leader}, nil
	case leader != topic.NoLeader && len(b.isr) == 0:
		b.isr, b.elr = []int32{leader}, without(b.elr, leader)
	}
	if leader != b.old.Leader || !containsAll(b.replicas, b.old.Replicas) {
		next.LeaderEpoch++
	}
	next.Leader = leader
	if len(b.isr) > 0 || b.elrOn { // without eligible leader replicas the last in-sync replica stays in ISR
		next.ISR = b.isr
	}
	next.ELR, next.Replicas, next.Adding, next.Removing = b.elr, b.replicas, b.adding, b.removing
	next.LastKnownELR = b.lastKnown(next)
	return next
}

// lastKnown remembers the leader a partition had when it first lost all its in-sync replicas.
func (b *ballot) lastKnown(next topic.Partition) []int32 {
	switch {
	case !b.elrOn:
		return nil
	case next.Leader != topic.NoLeader:
		return nil
	case len(next.ISR) == 0 && b.old.Leader != topic.NoLeader:
		return []int32{b.old.Leader}
	}
	return b.old.LastKnownELR
}
