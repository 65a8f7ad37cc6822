package mover

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"durabletopic.io/operator/internal/core/moves"
	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/topic"
)

// rackPatience is how long a broker must have been in its rack before replicas are moved for that: one that comes back
// elsewhere often goes home again.
const rackPatience = 5 * time.Minute

// station is where a broker was seen, and since when.
type station struct {
	rack  string
	since time.Time // zero: since it was first seen
}

// watch notes since when brokers are out of service, and when their racks have changed.
func (m *Mover) watch(s scene) {
	for _, b := range s.cluster.Brokers {
		if _, known := m.fenced[b.ID]; b.Fenced && !known {
			m.fenced[b.ID] = s.now
		}
		switch at, known := m.stations[b.ID]; {
		case !known:
			m.stations[b.ID] = station{rack: b.Rack}
		case at.rack != b.Rack:
			m.stations[b.ID] = station{rack: b.Rack, since: s.now}
		}
	}
	maps.DeleteFunc(m.fenced, func(id int32, _ time.Time) bool {
		b, registered := s.cluster.Broker(id)
		return !registered || !b.Fenced
	})
	maps.DeleteFunc(m.stations, func(id int32, _ station) bool { _, registered := s.cluster.Broker(id); return !registered })
}

// leaving are the brokers that have been out of service for so long that their replicas are made anew elsewhere.
func (m *Mover) leaving(settings Settings, now time.Time) []int32 {
	if settings.ReplaceFencedAfter <= 0 {
		return nil
	}
	var ids []int32
	for id, since := range m.fenced {
		if now.Sub(since) >= settings.ReplaceFencedAfter {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// plan says where the replicas of topics should go, the most endangered first, and what there is to say of those that stay
// where they are.
func (m *Mover) plan(s scene, listing *topic.Listing, wrong []string) ([]moves.Candidate, map[string]string) {
	managed := make([]placement.Managed, 0, len(wrong))
	ids := map[string]string{}
	for _, name := range wrong {
		v, w := m.opts.Facts.View(name), s.wishes[name]
		if !v.Shown() {
			continue
		}
		ids[name] = v.Topic.ID.String()
		managed = append(managed, placement.Managed{
			Name: name, Rule: w.Rule, Critical: w.Critical, Partitions: v.Topic.Partitions, Bytes: m.sizesOf(v.Topic),
		})
	}
	on := placement.Brokers{Registered: s.cluster.Brokers, Load: listing.Load, Leaving: m.leaving(s.settings, s.now)}
	p := placement.Repair(on, managed)
	said := map[string]string{}
	wrongly := map[topic.TopicPartition]bool{}
	for _, o := range placement.JudgePlan(on, managed, p) {
		wrongly[topic.TopicPartition{Topic: o.Topic, Partition: o.Partition}] = true
		said[o.Topic] = "the operator has planned a move that breaks a rule and does not begin it: " + o.String()
	}
	for _, l := range p.Left {
		if l.Reason != placement.Reassigning && said[l.Topic] == "" {
			said[l.Topic] = l.String()
		}
	}
	placement.MostEndangeredFirst(p.Moves)
	candidates := make([]moves.Candidate, 0, len(p.Moves))
	for _, mv := range p.Moves {
		if wrongly[topic.TopicPartition{Topic: mv.Topic, Partition: mv.Partition}] {
			continue
		}
		if id, ok := m.justCame(mv, s.now); ok {
			said[mv.Topic] = fmt.Sprintf("partition %d waits until broker %d has been in rack %q for %s",
				mv.Partition, id, m.stations[id].rack, rackPatience)
			continue
		}
		candidates = append(candidates, moves.Candidate{
			Topic: mv.Topic, TopicID: ids[mv.Topic], Partition: mv.Partition, From: mv.From, To: mv.Replicas,
			MinInSync: int(s.wishes[mv.Topic].Rule.MinInSyncReplicas),
		})
	}
	return candidates, said
}

// sizesEvery is how often the sizes of partitions that are to move are read.
const sizesEvery = time.Minute

// readSizes reads what the partitions of topics take at their leaders, so that where there is a choice the smaller one is
// copied. Brokers that do not answer leave sizes unknown.
func (m *Mover) readSizes(ctx context.Context, s scene, names []string) {
	if s.now.Sub(m.sizesAt) < sizesEvery {
		return
	}
	m.sizesAt, m.sizes = s.now, map[topic.TopicPartition]int64{}
	ask := map[int32][]topic.TopicPartition{}
	for _, name := range names {
		if v := m.opts.Facts.View(name); v.Shown() {
			for _, p := range v.Topic.Partitions {
				if b, ok := s.cluster.Broker(p.Leader); ok && !b.Fenced {
					ask[p.Leader] = append(ask[p.Leader], topic.TopicPartition{Topic: name, Partition: p.Index})
				}
			}
		}
	}
	for _, read := range m.sizesAtBrokers(ctx, ask) {
		for at, size := range read {
			m.sizes[at] = size.Bytes
		}
	}
}

// sizesOf gives the sizes of a topic's partitions, as far as they are known.
func (m *Mover) sizesOf(t *topic.Topic) []int64 {
	bytes := make([]int64, len(t.Partitions))
	for i, p := range t.Partitions {
		bytes[i] = m.sizes[topic.TopicPartition{Topic: t.Name, Partition: p.Index}]
	}
	return bytes
}

// Preview says in words where the replicas of a topic would go, and which stay and why.
func (m *Mover) Preview(ctx context.Context, topicName string, w moves.Wish) []string {
	v := m.opts.Facts.View(topicName)
	if !v.Shown() || v.Cluster == nil {
		return nil
	}
	listing, err := m.opts.Facts.Listing(ctx, 2*time.Minute)
	if err != nil {
		return nil
	}
	p := placement.Repair(placement.Brokers{Registered: v.Cluster.Brokers, Load: listing.Load},
		[]placement.Managed{{Name: topicName, Rule: w.Rule, Partitions: v.Topic.Partitions}})
	said := make([]string, 0, len(p.Moves)+len(p.Left))
	for _, mv := range p.Moves {
		said = append(said, "move "+mv.Text(v.Cluster.Brokers))
	}
	for _, l := range p.Left {
		said = append(said, "not now: "+l.String())
	}
	return said
}

// justCame finds a broker of a move that has changed its rack lately, if racks are why it moves.
func (m *Mover) justCame(mv placement.Move, now time.Time) (int32, bool) {
	if !slices.Contains(mv.Why, placement.RackRule) && !slices.Contains(mv.Why, placement.BrokerWithoutRack) {
		return 0, false
	}
	for _, id := range mv.From {
		if at := m.stations[id]; !at.since.IsZero() && now.Sub(at.since) < rackPatience {
			return id, true
		}
	}
	return 0, false
}
