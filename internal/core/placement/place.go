package placement

import "durabletopic.io/operator/internal/core/topic"

// Wish asks for new partitions of one topic.
type Wish struct {
	Topic      string
	Partitions int32 // how many new ones; zero or less: none
	Rule       Rule
	// Existing are the replica lists the topic has already, so that the topic as a whole becomes even. Their load is
	// expected to be in the load given to Place.
	Existing [][]int32
}

// Placed answers one wish: exactly one of its fields is set.
type Placed struct {
	// Replicas has one list for each new partition, the preferred leader first.
	Replicas [][]int32
	// Shortage is why none of the partitions could be placed. Wishes with one rule share it; it is not to be changed.
	Shortage *Shortage
}

// Place chooses brokers for every wish, in the order of the wishes; the earlier ones are load to the later ones. A wish
// that cannot be met gets its Shortage and does not touch the others. Load is what the brokers carry already; brokers
// that are not in it carry nothing.
func Place(brokers []topic.Broker, load map[int32]topic.Load, wishes []Wish) []Placed {
	brokers = sorted(brokers)
	l := newLedger(brokers, load)
	shortages := map[Rule]*Shortage{}
	out := make([]Placed, len(wishes))
	done := make([]assigned, 0, len(wishes))
	for i, w := range wishes {
		if w.Partitions <= 0 {
			out[i].Replicas = [][]int32{}
			continue
		}
		short, known := shortages[w.Rule]
		if !known {
			short = Feasible(brokers, w.Rule)
			shortages[w.Rule] = short
		}
		if short != nil {
			out[i].Shortage = short
			continue
		}
		done = append(done, assigned{wish: w, at: i, lists: l.place(w)})
	}
	l.level(done)
	for _, a := range done {
		out[a.at].Replicas = l.brokerIDs(a.lists)
	}
	return out
}

// assigned is a wish that was met, in terms of ledger slots.
type assigned struct {
	wish  Wish
	at    int // index among the wishes
	lists [][]int
}
