package placement

// writer turns jobs into moves. All their lists come out of two pieces of memory.
type writer struct {
	*repair
	ids      []int32
	removals []Removal
	kinds    map[wrong][]ViolationKind
}

// plan writes down what was decided.
func (r *repair) plan() Plan {
	p := Plan{Left: r.left}
	if len(r.jobs) == 0 {
		return p
	}
	w := writer{repair: r, kinds: map[wrong][]ViolationKind{}}
	// Of each member its ID is written once, but for the held ones; of each added replica twice.
	n, removed := 2*len(r.added), 0
	for _, m := range r.members {
		switch m.fate {
		case stays:
			n++
		case held:
			n += 2
		default:
			removed++
		}
	}
	w.ids, w.removals = make([]int32, 0, n), make([]Removal, 0, removed)
	p.Moves = make([]Move, len(r.jobs))
	for i := range r.jobs {
		w.move(&r.jobs[i], &p.Moves[i])
	}
	return p
}

func (w *writer) move(j *job, out *Move) {
	m := &w.topics[j.topic]
	p := &m.Partitions[j.partition]
	members, added := w.members[j.from:j.to], w.added[j.added:j.added+j.adds]
	out.Topic, out.Partition, out.Critical, out.From = m.Name, p.Index, m.Critical, p.Replicas
	out.Why = w.why(j.wrong)
	out.Bytes = m.bytes(int(j.partition)) * int64(j.adds)
	out.InSync, out.InSyncRacks = w.inSync(members)

	from := len(w.ids)
	w.ids = append(w.ids, w.repair.ids[j.preferred])
	w.write(members, stays, j.preferred)
	for _, slot := range added {
		if slot != j.preferred {
			w.ids = append(w.ids, w.repair.ids[slot])
		}
	}
	at := len(w.ids)
	w.write(members, held, -1)
	out.Held = w.since(at)
	out.Replicas = w.ids[from:len(w.ids):len(w.ids)]
	at = len(w.ids)
	for _, id := range out.Replicas[:len(out.Replicas)-len(out.Held)] {
		for _, slot := range added {
			if id == w.repair.ids[slot] {
				w.ids = append(w.ids, id)
			}
		}
	}
	out.Added = w.since(at)
	out.Removed = w.removed(members)
}

// write adds the members of one fate to the IDs, but for one slot.
func (w *writer) write(members []member, f fate, but int32) {
	for _, m := range members {
		if m.fate == f && m.slot != but {
			w.ids = append(w.ids, m.id)
		}
	}
}

// since gives the IDs written from a point on; nil when none were.
func (w *writer) since(at int) []int32 {
	if at == len(w.ids) {
		return nil
	}
	return w.ids[at:len(w.ids):len(w.ids)]
}

func (w *writer) removed(members []member) []Removal {
	at := len(w.removals)
	for _, m := range members {
		if m.fate != stays && m.fate != held {
			w.removals = append(w.removals, Removal{Broker: m.id, Why: removalKinds[m.fate]})
		}
	}
	if at == len(w.removals) {
		return nil
	}
	return w.removals[at:len(w.removals):len(w.removals)]
}

var removalKinds = map[fate]ViolationKind{
	missing: MissingBroker, leaving: LeavingBroker, rackless: BrokerWithoutRack, crowded: RackRule, surplus: TooManyReplicas,
}

// why names what is wrong; moves with the same trouble share the names.
func (w *writer) why(found wrong) []ViolationKind {
	if names, ok := w.kinds[found]; ok {
		return names
	}
	var names []ViolationKind
	for bit, kind := range kinds {
		if found&(1<<bit) != 0 {
			names = append(names, kind)
		}
	}
	w.kinds[found] = names
	return names
}

// inSync counts the in-sync replicas on brokers that stay, and their racks.
func (w *writer) inSync(members []member) (replicas, racks int32) {
	for _, m := range members {
		if !m.inSync || m.slot < 0 {
			continue
		}
		replicas++
		rack := &w.inRack[w.rack[m.slot]]
		if *rack == 0 && w.brokers[m.slot].Rack != "" {
			racks++
		}
		*rack++
	}
	w.forget(members)
	return replicas, racks
}
