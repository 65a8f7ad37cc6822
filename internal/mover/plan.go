package mover

import (
	"slices"

	"durabletopic.io/operator/internal/core/moves"
	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/topic"
)

type plans struct{}

func (m *Mover) plan(s scene, listing *topic.Listing, wrong []string) []moves.Candidate {
	var out []moves.Candidate
	for _, name := range wrong {
		v := m.opts.Facts.View(name)
		w := s.wishes[name]
		for _, p := range v.Topic.Partitions {
			if p.Reassigning() || len(placement.Judge(s.cluster.Brokers, []placement.PartitionReplicas{{Partition: p.Index, Replicas: p.Replicas}}, w.Rule)) == 0 {
				continue
			}
			to := naive(s.cluster.Brokers, p, w.Rule)
			if to != nil {
				out = append(out, moves.Candidate{Topic: name, TopicID: v.Topic.ID.String(), Partition: p.Index, From: p.Replicas, To: to})
			}
		}
	}
	return out
}

func naive(brokers []topic.Broker, p topic.Partition, rule placement.Rule) []int32 {
	rack := map[int32]string{}
	for _, b := range brokers {
		rack[b.ID] = b.Rack
	}
	in := map[string]int32{}
	var to []int32
	for _, id := range p.Replicas {
		if r, ok := rack[id]; ok && in[r] < rule.MaxPerRack() && int32(len(to)) < rule.ReplicationFactor {
			in[r]++
			to = append(to, id)
		}
	}
	for _, b := range brokers {
		if !b.Fenced && in[b.Rack] < rule.MaxPerRack() && int32(len(to)) < rule.ReplicationFactor && !slices.Contains(to, b.ID) {
			in[b.Rack]++
			to = append(to, b.ID)
		}
	}
	if int32(len(to)) < rule.ReplicationFactor {
		return nil
	}
	return to
}

func (m *Mover) onLeft(t *topic.Topic) bool { return false }
