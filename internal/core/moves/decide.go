package moves

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"durabletopic.io/operator/internal/core/topic"
)

// Candidate is a planned move, not begun.
type Candidate struct {
	Topic     string
	TopicID   string
	Partition int32
	From, To  []int32
	// MinInSync is the min.insync.replicas that the topic should have.
	MinInSync int
}

func (c Candidate) key() topic.TopicPartition {
	return topic.TopicPartition{Topic: c.Topic, Partition: c.Partition}
}

// Progress is how far a move has come, as the mover has measured it.
type Progress struct {
	// Last is when it last came nearer to its end.
	Last time.Time
}

// Input is everything a decision depends on.
type Input struct {
	Now      time.Time
	Journal  Journal
	Settings Settings
	Brokers  []topic.Broker
	// Facts are the newest reads of the topics that the journal and the candidates name.
	Facts map[string]Fact
	// Candidates in the order in which they should begin.
	Candidates []Candidate
	Progress   map[topic.TopicPartition]Progress
	// Foreign are the throttle rates that are set cluster-wide and are not in the journal, zero where there is none.
	Foreign Rates
}

// Ended is a move that is over.
type Ended struct {
	Move  Move
	State State
}

// Stalled is a move that makes no progress.
type Stalled struct {
	Move  Move
	Since time.Time
	// Fenced are the new replicas' brokers that are out of service or gone: the move cannot end.
	Fenced []int32
}

// Waits is a candidate that does not begin now, and why.
type Waits struct {
	Candidate Candidate
	Why       string
}

// Decision is what to do now, in the order of its fields.
type Decision struct {
	// Cancel are moves that cannot end where they go; they are planned anew once they are over.
	Cancel []Stalled
	// Clean are moves that are over: what the throttles say on their behalf has to go, then their entry in the journal.
	Clean []Ended
	// DropRates: no move of the operator's needs the rates that it has set.
	DropRates bool
	// Elect are partitions that have moved and are not led by their preferred leader.
	Elect []topic.TopicPartition
	// Begin are moves to put into the journal, to throttle and to send.
	Begin []Move
	// SetRates are the halves of the throttle rate to set first; zero: that half is there already, or not wanted.
	SetRates Rates

	// Running are the moves under way that are not stalled, Stuck those that make no progress and are left alone.
	Running []Move
	Stuck   []Stalled
	Waiting []Waits
}

// Decide says what to do now.
func Decide(in Input) Decision {
	var d Decision
	moving := map[topic.TopicPartition]bool{}
	for _, m := range in.Journal.Moves {
		moving[m.Key()] = true
		in.settle(m, &d)
	}
	in.begin(moving, &d)
	throttled := slices.ContainsFunc(slices.Concat(in.kept(d), d.Begin), func(m Move) bool { return m.Throttled })
	d.DropRates = !throttled && in.Journal.Rates != Rates{}
	if throttled && in.Settings.BytesPerSecond > 0 {
		d.SetRates = in.rates()
	}
	return d
}

// settle sorts a move of the journal.
func (in Input) settle(m Move, d *Decision) {
	state := StateOf(m, in.Facts[m.Topic])
	if state.Over() {
		d.Clean = append(d.Clean, Ended{m, state})
		if p, ok := in.Facts[m.Topic].partition(m.Partition); ok && state == Done && mayLead(p) {
			d.Elect = append(d.Elect, m.Key())
		}
		return
	}
	last := m.Began
	if p, ok := in.Progress[m.Key()]; ok && p.Last.After(last) {
		last = p.Last
	}
	if state != Running || in.Now.Sub(last) < in.Settings.StallTimeout {
		d.Running = append(d.Running, m)
		return
	}
	s := Stalled{Move: m, Since: last, Fenced: in.unavailable(m.Adding())}
	if len(s.Fenced) > 0 {
		d.Cancel = append(d.Cancel, s)
		return
	}
	d.Stuck = append(d.Stuck, s)
}

// mayLead tells whether the preferred leader is in sync and does not lead. An election of another partition's sort would
// fail.
func mayLead(p topic.Partition) bool {
	return len(p.Replicas) > 0 && p.Leader != p.Replicas[0] && p.Leader != topic.NoLeader && slices.Contains(p.ISR, p.Replicas[0])
}

// unavailable are the brokers of a list that are fenced or not registered.
func (in Input) unavailable(ids []int32) []int32 {
	var out []int32
	for _, id := range ids {
		i := slices.IndexFunc(in.Brokers, func(b topic.Broker) bool { return b.ID == id })
		if i < 0 || in.Brokers[i].Fenced {
			out = append(out, id)
		}
	}
	return out
}

// kept are the moves that stay in the journal. One that is to be cancelled stays until it is seen to be over.
func (in Input) kept(d Decision) []Move {
	kept := slices.Clone(d.Running)
	for _, s := range slices.Concat(d.Stuck, d.Cancel) {
		kept = append(kept, s.Move)
	}
	return kept
}

// begin takes candidates in their order while there is room: in the cluster, and at every broker, which carries its part
// as source and as target.
func (in Input) begin(moving map[topic.TopicPartition]bool, d *Decision) {
	room := in.Settings.MaxConcurrent - len(in.kept(*d))
	share := newShare(in.Settings.MaxConcurrent, in.Brokers)
	for _, m := range in.kept(*d) {
		share.take(in.sources(m.Topic, m.Partition, m.From), m.Adding())
	}
	for _, c := range in.Candidates {
		m := Move{Topic: c.Topic, TopicID: c.TopicID, Partition: c.Partition, From: c.From, To: c.To, Began: in.Now,
			Throttled: in.Settings.BytesPerSecond > 0 && len(without(c.To, c.From)) > 0}
		sources := in.sources(c.Topic, c.Partition, c.From)
		why := in.notYet(c, moving)
		switch {
		case why != "":
		case in.Settings.Suspended:
			why = "enforcement Suspended begins no move"
		case room <= 0:
			why = fmt.Sprintf("%d partitions move already", in.Settings.MaxConcurrent)
		case !share.free(sources, m.Adding()):
			why = "a broker that it reads from or writes to has its part of the moves already"
		}
		if why != "" {
			d.Waiting = append(d.Waiting, Waits{c, why})
			continue
		}
		share.take(sources, m.Adding())
		room--
		moving[c.key()] = true
		d.Begin = append(d.Begin, m)
	}
}

// notYet gives the reason of the partition itself not to begin.
func (in Input) notYet(c Candidate, moving map[topic.TopicPartition]bool) string {
	f := in.Facts[c.Topic]
	p, ok := f.partition(c.Partition)
	switch {
	case moving[c.key()]:
		return "its last move is being cleaned up after"
	case !ok || f.Topic.ID.String() != c.TopicID:
		return "the topic is about to be read again"
	case p.Reassigning():
		return "somebody else's reassignment of this partition runs"
	case !slices.Equal(p.Replicas, c.From):
		return "its replicas have changed since it was planned"
	case p.Leader == topic.NoLeader:
		return "the partition has no leader"
	case stopsProducers(f.Topic, p, c.To):
		return "min.insync.replicas has to be held down first"
	case len(c.To) < len(p.Replicas) && higher(f.Topic, c.MinInSync):
		return "min.insync.replicas has to be lowered first"
	}
	return ""
}

// higher tells whether min.insync.replicas is higher than it should be, or not known: with fewer replicas than it was made
// for, the loss of one more would stop acks=all producers.
func higher(t *topic.Topic, wanted int) bool {
	minISR, err := strconv.Atoi(strings.TrimSpace(t.Configs[topic.MinInSyncReplicas].Value))
	return err != nil || minISR > wanted
}

// stopsProducers tells whether beginning the move would raise the number of replicas that acks=all waits for above those
// that are in sync. Kafka never asks for more than the replica list is long, and counts the adding ones at once
// (Partition.effectiveMinIsr, Kafka 3.7 and newer).
func stopsProducers(t *topic.Topic, p topic.Partition, to []int32) bool {
	minISR, err := strconv.Atoi(strings.TrimSpace(t.Configs[topic.MinInSyncReplicas].Value))
	if err != nil {
		return true // not known: not risked
	}
	before := min(minISR, len(p.Replicas))
	during := min(minISR, len(p.Replicas)+len(without(to, p.Replicas)))
	return during > before && during > len(p.ISR)
}

// sources are the brokers that new replicas copy from: the leader.
func (in Input) sources(name string, partition int32, from []int32) []int32 {
	if p, ok := in.Facts[name].partition(partition); ok && p.Leader != topic.NoLeader {
		return []int32{p.Leader}
	}
	return from[:min(1, len(from))]
}

// rates are the halves to set: those that neither we nor anybody else has set. Rates of single brokers win over
// cluster-wide ones there, which then count for the other brokers (BrokerConfigHandler).
func (in Input) rates() Rates {
	want := Rates{Leader: in.Settings.BytesPerSecond, Follower: in.Settings.BytesPerSecond}
	if in.Foreign.Leader != 0 || in.Journal.Rates.Leader == want.Leader {
		want.Leader = 0
	}
	if in.Foreign.Follower != 0 || in.Journal.Rates.Follower == want.Follower {
		want.Follower = 0
	}
	return want
}

// share bounds the moves that one broker takes part in, so that a few brokers do not carry all of them.
type share struct {
	most           int
	source, target map[int32]int
}

// newShare: with moves spread evenly each broker would carry most/brokers of them as a source and as a target; twice that,
// and one at least, lets a single new broker fill.
func newShare(most int, brokers []topic.Broker) share {
	up := 0
	for _, b := range brokers {
		if !b.Fenced {
			up++
		}
	}
	return share{most: max(1, 2*most/max(1, up)), source: map[int32]int{}, target: map[int32]int{}}
}

func (s share) free(sources, targets []int32) bool {
	full := func(n map[int32]int) func(int32) bool { return func(id int32) bool { return n[id] >= s.most } }
	return !slices.ContainsFunc(sources, full(s.source)) && !slices.ContainsFunc(targets, full(s.target))
}

func (s share) take(sources, targets []int32) {
	for _, id := range sources {
		s.source[id]++
	}
	for _, id := range targets {
		s.target[id]++
	}
}
