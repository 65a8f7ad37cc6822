package mover

import (
	"context"
	"maps"
	"slices"
	"time"

	"durabletopic.io/operator/internal/core/moves"
	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/topic"
)

// listingAge is how old what brokers carry may be when moves are planned.
const listingAge = 5 * time.Second

// scene is what a round decides on.
type scene struct {
	now      time.Time
	broker   int32
	cluster  *topic.Cluster
	settings Settings
	wishes   map[string]moves.Wish
}

// round looks once and does what is due. It tells whether replicas move.
func (m *Mover) round(ctx context.Context) (busy bool, err error) {
	m.mu.Lock()
	s := scene{now: time.Now(), settings: m.settings, wishes: maps.Clone(m.wishes)}
	m.mu.Unlock()
	if s.cluster = m.opts.Facts.View("").Cluster; s.cluster != nil {
		m.watch(s)
	}
	wrong := m.violating(s)
	if m.journal != nil && m.content.Empty() && len(wrong) == 0 {
		m.rest(s)
		return false, nil
	}
	if s.broker, s.cluster, err = m.opts.Guard(ctx); err != nil {
		return false, err
	}
	if err := m.open(ctx, s.cluster.ID); err != nil {
		return false, err
	}
	if m.content.Empty() && len(wrong) == 0 {
		m.rest(s)
		return false, nil
	}
	s.now = time.Now()
	m.watch(s)
	if err := m.opts.Facts.Refresh(ctx, m.named(wrong)...); err != nil {
		return false, err
	}
	in, said, err := m.input(ctx, s, wrong)
	if err != nil {
		return false, err
	}
	d := moves.Decide(in)
	m.count(Counts{
		Running: len(in.Journal.Moves) - len(d.Clean) + len(d.Begin), Waiting: len(d.Waiting), Stalled: len(d.Stuck) + len(d.Cancel),
		Foreign: m.foreign(s.wishes),
	})
	m.say(words(d, in.Foreign, said))
	m.tell(d)
	err = m.do(ctx, s, d)
	return !m.content.Empty(), err
}

// rest is a round in which there is nothing to do.
func (m *Mover) rest(s scene) {
	m.left = left{}
	m.count(Counts{Foreign: m.foreign(s.wishes)})
	m.say(nil)
}

// open reads the journal, once, and again after a write of which nobody knows whether it was done.
func (m *Mover) open(ctx context.Context, clusterID string) (err error) {
	if m.journal == nil {
		m.journal, m.content, err = m.opts.Open(ctx, clusterID)
	}
	return err
}

// violating are the topics, by name, of which some partition has not the replicas it should have.
func (m *Mover) violating(s scene) []string {
	var wrong []string
	leaving := m.leaving(s.settings, s.now)
	for name, w := range s.wishes {
		v := m.opts.Facts.View(name)
		if !v.Shown() || v.Cluster == nil || v.Topic.Internal || v.Problem != nil {
			continue
		}
		if len(placement.Judge(v.Cluster.Brokers, placement.Targets(v.Topic), w.Rule)) > 0 || holds(v.Topic, leaving) {
			wrong = append(wrong, name)
		}
	}
	slices.Sort(wrong)
	return wrong
}

// holds tells whether some replica of a topic is on one of the brokers.
func holds(t *topic.Topic, brokers []int32) bool {
	return len(brokers) > 0 && slices.ContainsFunc(t.Partitions, func(p topic.Partition) bool {
		return slices.ContainsFunc(p.Target(), func(id int32) bool { return slices.Contains(brokers, id) })
	})
}

// foreign counts the partitions of declared topics that somebody else moves.
func (m *Mover) foreign(wishes map[string]moves.Wish) int {
	ours := map[topic.TopicPartition]bool{}
	for _, mv := range m.content.Moves {
		ours[mv.Key()] = true
	}
	n := 0
	for name := range wishes {
		if v := m.opts.Facts.View(name); v.Shown() {
			for _, p := range v.Topic.Partitions {
				if p.Reassigning() && !ours[topic.TopicPartition{Topic: name, Partition: p.Index}] {
					n++
				}
			}
		}
	}
	return n
}

// named are the topics to read anew: those that are wrong and those of the journal, as far as they are declared.
func (m *Mover) named(wrong []string) []string {
	names := slices.Clone(wrong)
	for _, mv := range m.content.Moves {
		if v := m.opts.Facts.View(mv.Topic); v.Presence != topic.NotRead {
			names = append(names, mv.Topic)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// input gathers what is decided on, and what the plan says of topics.
func (m *Mover) input(ctx context.Context, s scene, wrong []string) (in moves.Input, said map[string]string, err error) {
	in = moves.Input{
		Now: s.now, Journal: m.content, Settings: s.settings.Settings, Brokers: s.cluster.Brokers,
		Facts: map[string]moves.Fact{}, Progress: map[topic.TopicPartition]moves.Progress{},
	}
	for _, name := range m.named(wrong) {
		in.Facts[name] = factOf(m.opts.Facts.View(name))
	}
	if err := m.strangers(ctx, s, in.Facts); err != nil {
		return in, nil, err
	}
	if len(wrong) > 0 {
		listing, err := m.opts.Facts.Listing(ctx, listingAge)
		if err != nil {
			return in, nil, err
		}
		m.readSizes(ctx, s, wrong)
		in.Candidates, said = m.plan(s, listing, wrong)
	}
	if err := m.readRates(ctx, s, &in); err != nil {
		return in, nil, err
	}
	m.measure(ctx, s, in)
	for key, p := range m.progress {
		in.Progress[key] = moves.Progress{Last: p.last}
	}
	return in, said, nil
}

func factOf(v topic.View) moves.Fact {
	f := moves.Fact{ReadAt: v.ReadAt, Gone: v.Presence == topic.Absent}
	if v.Shown() && v.Problem == nil {
		f.Topic = v.Topic
	}
	return f
}

// strangers reads the topics of the journal that are no longer declared: their objects were deleted while replicas moved.
func (m *Mover) strangers(ctx context.Context, s scene, facts map[string]moves.Fact) error {
	var asks []topic.Ask
	for _, mv := range m.content.Moves {
		if _, ok := facts[mv.Topic]; !ok && !slices.ContainsFunc(asks, func(a topic.Ask) bool { return a.Name == mv.Topic }) {
			asks = append(asks, topic.Ask{Name: mv.Topic, Keys: []string{topic.MinInSyncReplicas}})
		}
	}
	at := time.Now()
	reads, err := m.opts.Client.Topics(ctx, s.broker, asks)
	if err != nil {
		return err
	}
	for name, r := range reads {
		// One broker's word that a topic is gone is enough here: what there is to clean up is tried all the same.
		facts[name] = moves.Fact{Topic: r.Topic, ReadAt: at, Gone: r.Unknown}
	}
	return nil
}

// tell logs what was decided; who looks after a move that stalls finds the cause.
func (m *Mover) tell(d moves.Decision) {
	for _, st := range d.Cancel {
		m.opts.Log.Info("a move cannot end and is given up", "topic", st.Move.Topic, "partition", st.Move.Partition,
			"to", st.Move.To, "out of service", st.Fenced, "no progress since", st.Since)
	}
	for _, e := range d.Clean {
		m.opts.Log.Info("a move is over", "topic", e.Move.Topic, "partition", e.Move.Partition, "to", e.Move.To,
			"how", e.State.String())
		m.opts.Recorder.MoveEnded(e.State.String())
	}
	for _, mv := range d.Begin {
		m.opts.Log.Info("moving replicas", "topic", mv.Topic, "partition", mv.Partition, "from", mv.From, "to", mv.To)
	}
}
