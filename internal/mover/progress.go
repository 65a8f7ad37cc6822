package mover

import (
	"context"
	"maps"
	"slices"
	"time"

	"durabletopic.io/operator/internal/core/moves"
	"durabletopic.io/operator/internal/core/topic"
)

const (
	// measureEvery is how often the sizes of replicas that are made are read.
	measureEvery = 10 * time.Second
	// ratesEvery is how often somebody else's throttle rates are looked for while replicas move.
	ratesEvery = 30 * time.Second
)

// progress is how far a move has come.
type progress struct {
	last time.Time
	left int64 // bytes that the new replicas lacked when they lacked least
}

// left is what there is left to copy, in all, and for how long at the speed between the last two measurements; negative
// if not known.
type left struct {
	bytes int64
	time  time.Duration
	at    time.Time
}

// after takes in a measurement.
func (l left) after(bytes int64, at time.Time) left {
	next := left{bytes: bytes, time: -1, at: at}
	switch copied := l.bytes - bytes; {
	case bytes == 0:
		next.time = 0
	case copied > 0 && !l.at.IsZero():
		next.time = time.Duration(float64(at.Sub(l.at)) * float64(bytes) / float64(copied))
	}
	return next
}

// measure reads what the new replicas of moves lack, and notes which have come nearer. Brokers that do not answer tell
// nothing, which is no progress.
func (m *Mover) measure(ctx context.Context, s scene, in moves.Input) {
	maps.DeleteFunc(m.progress, func(key topic.TopicPartition, _ progress) bool {
		return !slices.ContainsFunc(in.Journal.Moves, func(mv moves.Move) bool { return mv.Key() == key })
	})
	if s.now.Sub(m.measured) < measureEvery || in.Settings.StallTimeout <= 0 {
		return
	}
	m.measured = s.now
	sizes := m.sizesAtBrokers(ctx, copying(s, in))
	var bytes int64
	for _, mv := range in.Journal.Moves {
		bytes += m.advance(s.now, mv, in.Facts[mv.Topic], sizes)
	}
	m.left = m.left.after(bytes, s.now)
}

// copying are the partitions on the move, at their leaders and at the brokers that get them.
func copying(s scene, in moves.Input) map[int32][]topic.TopicPartition {
	ask := map[int32][]topic.TopicPartition{}
	for _, mv := range in.Journal.Moves {
		f := in.Facts[mv.Topic]
		if moves.StateOf(mv, f) != moves.Running {
			continue
		}
		for _, id := range append(mv.Adding(), f.Topic.Partitions[mv.Partition].Leader) {
			if b, ok := s.cluster.Broker(id); ok && !b.Fenced {
				ask[id] = append(ask[id], mv.Key())
			}
		}
	}
	return ask
}

// sizesAtBrokers reads what partitions take at brokers. Brokers that do not answer are left out.
func (m *Mover) sizesAtBrokers(ctx context.Context, ask map[int32][]topic.TopicPartition) map[int32]map[topic.TopicPartition]topic.ReplicaSize {
	sizes := map[int32]map[topic.TopicPartition]topic.ReplicaSize{}
	for id, partitions := range ask {
		if read, err := m.opts.Client.LogDirs(ctx, id, partitions); err == nil {
			sizes[id] = read
		}
	}
	return sizes
}

// advance notes that a move has come nearer to its end: its new replicas lack less than ever before. It gives the bytes that
// they lack.
func (m *Mover) advance(now time.Time, mv moves.Move, f moves.Fact, sizes map[int32]map[topic.TopicPartition]topic.ReplicaSize) int64 {
	if moves.StateOf(mv, f) != moves.Running {
		return 0
	}
	at := mv.Key()
	leader, known := sizes[f.Topic.Partitions[mv.Partition].Leader][at]
	if !known {
		return 0
	}
	var left int64
	for _, id := range mv.Adding() {
		if copied, ok := sizes[id][at]; ok {
			left += max(0, leader.Bytes-copied.Bytes)
		} else {
			left += leader.Bytes
		}
	}
	was, seen := m.progress[mv.Key()]
	if !seen || left < was.left {
		m.progress[mv.Key()] = progress{last: now, left: left}
	}
	return left
}

// readRates finds the throttle rates that somebody else has set.
func (m *Mover) readRates(ctx context.Context, s scene, in *moves.Input) error {
	if in.Settings.BytesPerSecond <= 0 || len(in.Journal.Moves)+len(in.Candidates) == 0 {
		return nil
	}
	if s.now.Sub(m.ratesAt) >= ratesEvery || len(in.Journal.Moves) == 0 {
		rates, err := m.opts.Client.ThrottleRates(ctx, s.cluster.Brokers)
		if err != nil {
			return err
		}
		m.rates, m.ratesAt = rates, s.now
	}
	in.Foreign = moves.Rates{
		Leader:   foreignRate(m.rates.Default.Leader, in.Journal.Rates.Leader),
		Follower: foreignRate(m.rates.Default.Follower, in.Journal.Rates.Follower),
	}
	return nil
}

// foreignRate gives a rate that is set and is not ours.
func foreignRate(set topic.Rate, ours int64) int64 {
	switch {
	case !set.Set || set.BytesPerSecond == ours:
		return 0
	case set.BytesPerSecond == 0: // nothing may be copied, says somebody
		return -1
	}
	return set.BytesPerSecond
}
