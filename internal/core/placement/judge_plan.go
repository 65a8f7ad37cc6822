package placement

import (
	"cmp"
	"fmt"
	"slices"

	"durabletopic.io/operator/internal/core/topic"
)

// Objection is one way in which a plan is wrong.
type Objection struct {
	Topic     string
	Partition int32
	Message   string
}

// String names the partition and what is wrong.
func (o Objection) String() string { return fmt.Sprintf("%s/%d: %s", o.Topic, o.Partition, o.Message) }

// JudgePlan checks a plan against what it was made of and gives all that is wrong with it. It shares no code with Repair:
// what breaks a rule is for Judge to say, on the brokers that stay; what is minimal comes from counting by rack. The
// objections are in the order of topics and partitions.
func JudgePlan(on Brokers, topics []Managed, p Plan) []Objection {
	j := planJudge{
		registered: on.Registered, leaving: map[int32]bool{}, byID: map[int32]topic.Broker{},
		moves: map[partitionKey]*Move{}, left: map[partitionKey]*Left{},
	}
	for _, id := range on.Leaving {
		j.leaving[id] = true
	}
	for _, b := range on.Registered {
		if !j.leaving[b.ID] {
			j.staying = append(j.staying, b)
			j.byID[b.ID] = b
		}
	}
	j.collect(p)
	for i := range topics {
		t := &topics[i]
		j.terms(t.Rule)
		for k := range t.Partitions {
			j.at = partitionKey{t.Name, t.Partitions[k].Index}
			j.partition(t, &t.Partitions[k], t.bytes(k))
			delete(j.moves, j.at)
			delete(j.left, j.at)
		}
	}
	for at := range j.moves {
		j.at = at
		j.object("a move of a partition that was not given")
	}
	for at := range j.left {
		j.at = at
		j.object("a word on a partition that was not given")
	}
	slices.SortFunc(j.found, func(a, b Objection) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Message, b.Message))
	})
	return j.found
}

type partitionKey struct {
	topic     string
	partition int32
}

type planJudge struct {
	registered, staying []topic.Broker
	leaving             map[int32]bool
	byID                map[int32]topic.Broker // those that stay
	moves               map[partitionKey]*Move
	left                map[partitionKey]*Left
	at                  partitionKey // being judged
	rule                Rule
	perRack             int
	found               []Objection
}

func (j *planJudge) object(format string, args ...any) {
	j.found = append(j.found, Objection{j.at.topic, j.at.partition, fmt.Sprintf(format, args...)})
}

func (j *planJudge) collect(p Plan) {
	for i := range p.Moves {
		j.at = partitionKey{p.Moves[i].Topic, p.Moves[i].Partition}
		if j.moves[j.at] != nil {
			j.object("moved twice")
		}
		j.moves[j.at] = &p.Moves[i]
	}
	for i := range p.Left {
		j.at = partitionKey{p.Left[i].Topic, p.Left[i].Partition}
		if j.moves[j.at] != nil || j.left[j.at] != nil {
			j.object("moved and left, or left twice")
		}
		j.left[j.at] = &p.Left[i]
	}
}

// terms takes up a rule.
func (j *planJudge) terms(rule Rule) {
	j.rule = rule
	j.perRack = max(int(rule.ReplicationFactor-rule.MinInSyncReplicas), unavoidable(j.staying, rule))
}

func (j *planJudge) partition(t *Managed, p *topic.Partition, bytes int64) {
	move, left := j.moves[j.at], j.left[j.at]
	wrong := Judge(j.staying, []PartitionReplicas{{p.Index, p.Target()}}, t.Rule)
	switch {
	case p.Reassigning():
		if move != nil || left == nil || left.Reason != Reassigning {
			j.object("is being reassigned: it is to be left and called so")
		}
	case len(wrong) == 0:
		if move != nil || left != nil {
			j.object("is as wished and still in the plan")
		}
	case move == nil && left == nil:
		j.object("is forgotten: %s", wrong[0].Message)
	case move != nil:
		j.move(p, move, bytes)
		j.why(move, wrong)
	default:
		j.leftOut(p, left)
	}
}

// why compares the reasons of a move with the violations.
func (j *planJudge) why(m *Move, wrong []Violation) {
	want := map[ViolationKind]bool{}
	for _, v := range wrong {
		if v.Kind != MissingBroker {
			want[v.Kind] = true
			continue
		}
		for _, id := range v.Brokers {
			if j.leaving[id] && j.isRegistered(id) {
				want[LeavingBroker] = true
			} else {
				want[MissingBroker] = true
			}
		}
	}
	for _, kind := range m.Why {
		if !want[kind] {
			j.object("gives %s as a reason, wrongly or twice", kind)
		}
		delete(want, kind)
	}
	for kind := range want {
		j.object("does not give %s as a reason", kind)
	}
}

func (j *planJudge) isRegistered(id int32) bool {
	return slices.ContainsFunc(j.registered, func(b topic.Broker) bool { return b.ID == id })
}

// move judges the new list of one partition.
func (j *planJudge) move(p *topic.Partition, m *Move, bytes int64) {
	if p.Leader == topic.NoLeader || len(p.ISR) == 0 {
		j.object("has no leader or nothing in sync: it is not to be moved")
	}
	if slices.Equal(m.Replicas, m.From) {
		j.object("is moved to where it is")
	}
	final := minus(m.Replicas, m.Held)
	for _, v := range Judge(j.staying, []PartitionReplicas{{p.Index, final}}, j.rule) {
		j.object("%v is still wrong: %s", m.Replicas, v.Message)
	}
	j.books(p, m, final)
	for _, id := range m.Added {
		if !j.mayGet(id) {
			j.object("adds broker %d, which may get nothing", id)
		}
	}
	best := j.countKept(p)
	if want := max(0, int(j.rule.ReplicationFactor)-best.kept); len(m.Added) != want {
		j.object("adds %v, %d would do", m.Added, want)
	}
	if m.Bytes != bytes*int64(len(m.Added)) {
		j.object("copies %d bytes, not %d", m.Bytes, bytes*int64(len(m.Added)))
	}
	j.sameRack(m, final)
	j.safety(p, m, final, best)
	if len(m.From) > 0 && slices.Index(final, m.From[0]) > 0 {
		j.object("changes the preferred leader %d, which stays, to %d", m.From[0], m.Replicas[0])
	}
}

// mayGet tells whether a broker may get a new replica.
func (j *planJudge) mayGet(id int32) bool {
	b, ok := j.byID[id]
	return ok && !b.Fenced && (b.Rack != "" || j.rule.BestEffort)
}

// books checks that what is added, removed and held adds up.
func (j *planJudge) books(p *topic.Partition, m *Move, final []int32) {
	removed := make([]int32, 0, len(m.Removed))
	for _, r := range m.Removed {
		removed = append(removed, r.Broker)
	}
	switch {
	case !slices.Equal(m.From, p.Target()):
		j.object("comes from %v, not %v", p.Target(), m.From)
	case !slices.Equal(m.Added, minus(m.Replicas, m.From)):
		j.object("adds %v, said to be %v", minus(m.Replicas, m.From), m.Added)
	case !slices.Equal(removed, distinct(minus(m.From, m.Replicas))):
		j.object("removes %v, said to be %v", minus(m.From, m.Replicas), removed)
	case !slices.Equal(m.Replicas, append(slices.Clone(final), m.Held...)):
		j.object("%v does not end with the held %v", m.Replicas, m.Held)
	}
	for _, id := range m.Replicas {
		if _, ok := j.byID[id]; !ok {
			j.object("%v has broker %d, which Kafka may refuse", m.Replicas, id)
		}
	}
	for _, r := range m.Removed {
		if want := j.removable(r.Broker); !slices.Contains(want, r.Why) {
			j.object("removes broker %d for %s, not %v", r.Broker, r.Why, want)
		}
	}
}

// removable gives the reasons for which a replica could be removed.
func (j *planJudge) removable(id int32) []ViolationKind {
	b, stays := j.byID[id]
	switch {
	case stays && (b.Rack != "" || j.rule.BestEffort):
		return []ViolationKind{RackRule, TooManyReplicas}
	case stays:
		return []ViolationKind{BrokerWithoutRack}
	case j.isRegistered(id):
		return []ViolationKind{LeavingBroker}
	}
	return []ViolationKind{MissingBroker}
}

// sameRack checks that replicas on brokers to be left are replaced in their racks where these have room.
func (j *planJudge) sameRack(m *Move, final []int32) {
	added, in, lost := j.byRack(m.Added), j.byRack(final), map[string]int{}
	for _, b := range j.registered {
		if j.leaving[b.ID] && slices.Contains(m.From, b.ID) {
			lost[b.Rack]++
		}
	}
	elsewhere := 0
	for rack, n := range added {
		elsewhere += max(0, n-lost[rack])
	}
	for rack, n := range lost {
		if added[rack] < n && in[rack] < j.perRack && elsewhere > 0 && j.hasFree(rack, m) {
			j.object("replaces in other racks what rack %s has room for", rack)
		}
	}
}

// hasFree tells whether a rack has a broker that a partition was never on and could get a replica.
func (j *planJudge) hasFree(rack string, m *Move) bool {
	return slices.ContainsFunc(j.staying, func(b topic.Broker) bool {
		return b.Rack == rack && j.mayGet(b.ID) && !slices.Contains(m.From, b.ID) && !slices.Contains(m.Added, b.ID)
	})
}

// byRack counts brokers that stay by their racks.
func (j *planJudge) byRack(ids []int32) map[string]int {
	in := map[string]int{}
	for _, id := range ids {
		if b, ok := j.byID[id]; ok {
			in[b.Rack]++
		}
	}
	return in
}

// safety checks the leader and the in-sync replicas.
func (j *planJudge) safety(p *topic.Partition, m *Move, final []int32, best keepable) {
	if best.leader && !slices.Contains(final, p.Leader) {
		j.object("drops the leader %d without need", p.Leader)
	}
	kept, holdable := len(both(final, p.ISR, m.From)), 0
	for _, id := range both(distinct(m.From), p.ISR, m.From) {
		if _, ok := j.byID[id]; ok {
			holdable++
		}
	}
	if kept != best.inSync {
		j.object("%v keeps %d in-sync replicas, it could keep %d", final, kept, best.inSync)
	}
	floor := min(int(j.rule.MinInSyncReplicas), holdable)
	if len(m.Held) != max(0, floor-kept) || len(both(m.Held, p.ISR, m.From)) != len(m.Held) {
		j.object("of %d replicas in sync %d stay and %v are held, the floor is %d", holdable, kept, m.Held, floor)
	}
	outOfSync := len(both(m.Replicas, m.From, m.From)) - kept - len(m.Held)
	if len(m.Added) == 0 && len(m.Replicas) < len(distinct(m.From)) && outOfSync > 0 {
		j.object("only removes replicas, which Kafka would not end while %d are out of sync", outOfSync)
	}
}

// keepable is how much of a partition may stay.
type keepable struct {
	kept, inSync int  // in the best list
	leader       bool // may stay
}

func (j *planJudge) countKept(p *topic.Partition) keepable {
	in, inSync := map[string]int{}, map[string]int{}
	k := keepable{}
	for _, id := range distinct(p.Target()) {
		b, ok := j.byID[id]
		if !ok || b.Rack == "" && !j.rule.BestEffort {
			continue
		}
		in[b.Rack]++
		if slices.Contains(p.ISR, id) {
			inSync[b.Rack]++
		}
		k.leader = k.leader || id == p.Leader
	}
	for rack := range in {
		k.kept += min(in[rack], j.perRack)
		k.inSync += min(inSync[rack], j.perRack)
	}
	k.kept, k.inSync = min(k.kept, int(j.rule.ReplicationFactor)), min(k.inSync, int(j.rule.ReplicationFactor))
	return k
}

// leftOut judges why a partition that is wrong is left as it is.
func (j *planJudge) leftOut(p *topic.Partition, l *Left) {
	right := false
	switch l.Reason {
	case Leaderless:
		right = p.Leader == topic.NoLeader
	case NothingInSync:
		right = len(p.ISR) == 0
	case NoRoom:
		right = l.Shortage != nil && !j.hasRoom(p)
	case CatchingUp:
		best := j.countKept(p)
		right = len(l.Brokers) > 0 && best.kept == int(j.rule.ReplicationFactor) && best.inSync < best.kept
	case Reassigning:
	}
	if !right {
		j.object("is left for a reason that does not hold: %s", l)
	}
}

// hasRoom counts what could be kept or added in each rack.
func (j *planJudge) hasRoom(p *topic.Partition) bool {
	in, room := map[string]int{}, 0
	for _, b := range j.staying {
		if (b.Rack != "" || j.rule.BestEffort) && (!b.Fenced || slices.Contains(p.Target(), b.ID)) {
			in[b.Rack]++
		}
	}
	for _, n := range in {
		room += max(0, min(n, j.perRack))
	}
	return room >= int(j.rule.ReplicationFactor) && j.rule.ReplicationFactor > 0
}

// minus gives what is in a and not in b, in the order of a.
func minus(a, b []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(a), func(id int32) bool { return slices.Contains(b, id) })
}

// both gives what of a is in b and in c.
func both(a, b, c []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(a), func(id int32) bool { return !slices.Contains(b, id) || !slices.Contains(c, id) })
}

// distinct gives each ID once, in order of first appearance.
func distinct(ids []int32) []int32 {
	var out []int32
	for _, id := range ids {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}
