package placement_test

import (
	"maps"
	"slices"

	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/topic"
)

// simulation is a cluster that does at once what it is told, and keeps count. Kafka's own rules on what it refuses and
// when it ends a reassignment are in apply.
type simulation struct {
	on     placement.Brokers
	topics []placement.Managed
	// copied counts replicas and bytes that were copied.
	copied      int
	copiedBytes int64
}

func newSimulation(on placement.Brokers, topics []placement.Managed) *simulation {
	s := &simulation{on: on, topics: slices.Clone(topics)}
	s.on.Registered, s.on.Load = slices.Clone(on.Registered), maps.Clone(on.Load)
	if s.on.Load == nil {
		s.on.Load = map[int32]topic.Load{}
	}
	for i := range s.topics {
		s.topics[i].Partitions = slices.Clone(s.topics[i].Partitions)
	}
	return s
}

// counted counts the replicas of all topics as load.
func (s *simulation) counted() *simulation {
	for i := range s.topics {
		for _, p := range s.topics[i].Partitions {
			s.count(p.Replicas, 1)
		}
	}
	return s
}

func (s *simulation) count(replicas []int32, n int) {
	for i, id := range replicas {
		l := s.on.Load[id]
		l.Replicas += n
		if i == 0 {
			l.Leaders += n
		}
		s.on.Load[id] = l
	}
}

func (s *simulation) plan() placement.Plan { return placement.Repair(s.on, s.topics) }

func (s *simulation) partition(name string, index int32) (*placement.Managed, *topic.Partition) {
	for i := range s.topics {
		for k := range s.topics[i].Partitions {
			if p := &s.topics[i].Partitions[k]; s.topics[i].Name == name && p.Index == index {
				return &s.topics[i], p
			}
		}
	}
	panic("no such partition: " + name)
}

// apply carries out a move. New replicas are in sync at the end, a leader that goes is followed by the first in-sync
// replica.
func (s *simulation) apply(m placement.Move) {
	t, p := s.partition(m.Topic, m.Partition)
	s.count(p.Replicas, -1)
	s.count(m.Replicas, 1)
	isr := m.Added
	for _, id := range m.Replicas {
		if slices.Contains(p.ISR, id) {
			isr = append(slices.Clone(isr), id)
		}
	}
	p.Replicas, p.ISR = m.Replicas, isr
	if !slices.Contains(p.Replicas, p.Leader) {
		p.Leader = p.Replicas[slices.IndexFunc(p.Replicas, func(id int32) bool { return slices.Contains(isr, id) })]
	}
	s.copied += len(m.Added)
	s.copiedBytes += m.Bytes
	_ = t
}
