package kafkatest

import (
	"slices"

	"durabletopic.io/operator/internal/core/topic"
)

// noBroker stands for no broker in a departure.
const noBroker int32 = -1

// departure is what one broker's going does to partitions.
type departure struct {
	leaves int32 // leaves ISR
	dirty  int32 // leaves ISR and ELR: it may have lost records
}

// depart changes every partition that concerns. Names are walked in order, so that equal runs give equal states.
func (w *world) depart(d departure, concerns func(topic.Partition) bool) {
	for _, name := range w.sortedNames() {
		for i := range w.topics[name].parts {
			p := w.topics[name].parts[i]
			if !concerns(p) {
				continue
			}
			ch := changeOf(p)
			ch.isr = without(p.ISR, d.leaves, d.dirty)
			if d.dirty != noBroker {
				ch.unclean = []int32{d.dirty}
			}
			ch.election = w.mode(w.topics[name])
			w.apply(name, int32(i), ch)
		}
	}
}

func inISR(id int32) func(topic.Partition) bool {
	return func(p topic.Partition) bool { return slices.Contains(p.ISR, id) }
}

func inELR(id int32) func(topic.Partition) bool {
	return func(p topic.Partition) bool { return slices.Contains(p.ELR, id) }
}

func leaderless(p topic.Partition) bool { return p.Leader == topic.NoLeader }

// fence takes a broker out of service: it leaves every ISR and leads nothing.
func (w *world) fence(id int32) {
	b, ok := w.brokers[id]
	if !ok || b.Fenced {
		return
	}
	b.Fenced = true
	w.putBroker(b)
	w.depart(departure{leaves: id, dirty: noBroker}, inISR(id))
}

// unfence brings a broker back. After an unclean shutdown it registers first, which costs it ISR and ELR membership.
func (w *world) unfence(id int32) {
	b, ok := w.brokers[id]
	if !ok {
		return
	}
	if w.dirty[id] {
		delete(w.dirty, id)
		if w.elr() {
			w.depart(departure{leaves: noBroker, dirty: id}, inISR(id))
			w.depart(departure{leaves: noBroker, dirty: id}, inELR(id))
		}
	}
	if !b.Fenced {
		return
	}
	b.Fenced = false
	w.putBroker(b)
	w.depart(departure{leaves: noBroker, dirty: noBroker}, leaderless)
}

// unregister removes a broker; replica lists keep naming it.
func (w *world) unregister(id int32) {
	if _, ok := w.brokers[id]; !ok {
		return
	}
	w.dropBroker(id)
	delete(w.dirty, id)
	w.depart(departure{leaves: id, dirty: noBroker}, inISR(id))
	w.depart(departure{leaves: noBroker, dirty: id}, inELR(id))
}

// settle lets replicas catch up and holds the elections that wait for the controller's periodic run. With tick unset it
// does only what needs no time.
func (w *world) settle(tick bool) {
	seen := map[spot]int{}
	limits := w.throttles()
	for _, name := range sortedKeys(w.unsettled) {
		for i := range w.topics[name].parts {
			w.catchUp(name, int32(i), tick, seen, limits)
		}
	}
	w.progress = seen
}

// catchUp brings the live replicas of one partition into ISR that have had the time they need.
func (w *world) catchUp(name string, index int32, tick bool, seen map[spot]int, limits speeds) {
	r := w.topics[name]
	if tick && leaderless(r.parts[index]) && w.uncleanAllowed(r) {
		ch := changeOf(r.parts[index])
		ch.election = unclean
		w.apply(name, index, ch)
	}
	p := w.topics[name].parts[index]
	for _, id := range p.Replicas {
		at := spot{r.id, index, id}
		if !w.following(p, at) {
			continue
		}
		need := w.opts.CatchUpTicks
		if slices.Contains(p.Adding, id) {
			need = w.opts.MoveTicks
		}
		done := w.progress[at]
		if tick {
			done++
		}
		whole := w.copies(at, tick, limits)
		if need == Never || done < need || !whole {
			seen[at] = done
			continue
		}
		w.join(name, index, id)
	}
}

// following tells whether a replica is outside ISR and on its way into it.
func (w *world) following(p topic.Partition, at spot) bool {
	return !leaderless(p) && w.active(at.replica) && !w.stalled[at] && !slices.Contains(p.ISR, at.replica)
}

// join puts a replica that has caught up into ISR.
func (w *world) join(name string, index, id int32) {
	p := w.topics[name].parts[index]
	if !slices.Contains(p.Replicas, id) || slices.Contains(p.ISR, id) {
		return
	}
	ch := changeOf(p)
	ch.isr = append(slices.Clone(p.ISR), id)
	ch.election = w.mode(w.topics[name])
	w.apply(name, index, ch)
}
