package mover

import (
	"context"
	"errors"
	"slices"

	"durabletopic.io/operator/internal/core/moves"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
	"durabletopic.io/operator/internal/kafka"
)

// do carries out a decision. The order is what makes it safe to stop anywhere: a move is in the journal before anything of
// it is in Kafka, and leaves the journal when nothing of it is there any more.
func (m *Mover) do(ctx context.Context, s scene, d moves.Decision) (err error) {
	if err := m.cancel(ctx, s, d.Cancel); err != nil {
		return err
	}
	if err := m.unthrottle(ctx, s, d.Clean); err != nil {
		return err
	}
	next := m.content
	if d.DropRates {
		if err := m.dropRates(ctx, s, next.Rates); err != nil {
			return err
		}
		next.Rates = moves.Rates{}
	}
	m.elect(ctx, s, d.Elect)
	if d.Begin, err = m.claim(ctx, s, d.Begin); err != nil {
		return err
	}
	next.Moves = append(rest(next.Moves, d.Clean), d.Begin...)
	next.Rates = with(next.Rates, d.SetRates)
	if err := m.save(ctx, next); err != nil {
		return err
	}
	if err := m.setRates(ctx, s, d.SetRates); err != nil {
		return err
	}
	return m.begin(ctx, s, d.Begin)
}

// rest are the moves that are not over.
func rest(all []moves.Move, over []moves.Ended) []moves.Move {
	return slices.DeleteFunc(slices.Clone(all), func(mv moves.Move) bool {
		return slices.ContainsFunc(over, func(e moves.Ended) bool { return e.Move.Key() == mv.Key() })
	})
}

func with(have, set moves.Rates) moves.Rates {
	if set.Leader != 0 {
		have.Leader = set.Leader
	}
	if set.Follower != 0 {
		have.Follower = set.Follower
	}
	return have
}

// save writes the journal if it has changed. After an error it is opened anew.
func (m *Mover) save(ctx context.Context, next moves.Journal) error {
	if next.Rates == m.content.Rates && slices.EqualFunc(next.Moves, m.content.Moves, func(a, b moves.Move) bool {
		return a.Key() == b.Key() && a.Began.Equal(b.Began)
	}) {
		return nil
	}
	if err := m.journal.Save(ctx, next); err != nil {
		m.journal = nil
		return err
	}
	m.content = next
	return nil
}

// guard is asked for anew before every write: cluster, lease and permission may have changed within the round.
func (m *Mover) guard(ctx context.Context, s scene) (int32, error) {
	broker, c, err := m.opts.Guard(ctx)
	if err != nil {
		return 0, err
	}
	if c.ID != s.cluster.ID {
		return 0, fault.New(fault.Blocked, "", "the Kafka cluster changed within a round of moves")
	}
	return broker, nil
}

func (m *Mover) cancel(ctx context.Context, s scene, stalled []moves.Stalled) error {
	if len(stalled) == 0 {
		return nil
	}
	broker, err := m.guard(ctx, s)
	if err != nil {
		return err
	}
	list := make([]kafka.Move, 0, len(stalled))
	for _, st := range stalled {
		list = append(list, kafka.Move{TopicPartition: st.Move.Key()})
	}
	return failures(m.opts.Client.Reassign(ctx, broker, list))
}

// unthrottle takes the moves that are over out of the lists of throttled replicas, with a list that is then empty.
func (m *Mover) unthrottle(ctx context.Context, s scene, over []moves.Ended) error {
	var list []moves.Move
	for _, e := range over {
		if e.Move.Throttled && e.State != moves.Gone {
			list = append(list, e.Move)
		}
	}
	if len(list) == 0 {
		return nil
	}
	broker, err := m.guard(ctx, s)
	if err != nil {
		return err
	}
	gone := throttlings(list)
	if err := failures(m.opts.Client.SubtractThrottled(ctx, broker, gone)); err != nil {
		return err
	}
	now, err := m.opts.Client.Throttled(ctx, broker, throttledTopics(gone))
	if err != nil {
		return err
	}
	return m.dropEmptyLists(ctx, broker, gone, now)
}

// dropEmptyLists deletes lists of throttled replicas in which nothing is left. A broker that still shows what was there
// before says nothing: then the moves stay in the journal for another round.
func (m *Mover) dropEmptyLists(ctx context.Context, broker int32, gone []kafka.Throttling, now map[string]kafka.ThrottledRead) error {
	var empty []kafka.Alteration
	for _, t := range gone {
		read := now[t.Topic]
		if read.Err != nil {
			return read.Err
		}
		if still(read.Leader, t.Leader) || still(read.Follower, t.Follower) {
			return fault.New(fault.Transient, "", "broker %d does not show yet that topic %q is no longer throttled", broker, t.Topic)
		}
		if keys := emptyLists(read.Throttled); len(keys) > 0 {
			empty = append(empty, kafka.Alteration{Topic: t.Topic, Delete: keys})
		}
	}
	if len(empty) == 0 {
		return nil
	}
	return failures(m.opts.Client.AlterConfigs(ctx, broker, empty))
}

// still tells whether a list names any of these entries.
func still(list topic.ThrottledList, gone []topic.ThrottledReplica) bool {
	return !list.All && slices.ContainsFunc(gone, list.Has)
}

// emptyLists are the keys of the lists that are set and name nothing.
func emptyLists(t topic.Throttled) (keys []string) {
	if t.Leader.Set && t.Leader.Raw == "" {
		keys = append(keys, topic.LeaderThrottledReplicas)
	}
	if t.Follower.Set && t.Follower.Raw == "" {
		keys = append(keys, topic.FollowerThrottledReplicas)
	}
	return keys
}

// dropRates deletes the rates that are still as the operator has set them; others are somebody else's by now.
func (m *Mover) dropRates(ctx context.Context, s scene, ours moves.Rates) error {
	broker, err := m.guard(ctx, s)
	if err != nil {
		return err
	}
	now, err := m.opts.Client.ThrottleRates(ctx, s.cluster.Brokers)
	if err != nil {
		return err
	}
	var drop topic.Rates
	if ours.Leader != 0 && now.Default.Leader == topic.RateOf(ours.Leader) {
		drop.Leader = now.Default.Leader
	}
	if ours.Follower != 0 && now.Default.Follower == topic.RateOf(ours.Follower) {
		drop.Follower = now.Default.Follower
	}
	if !drop.Any() {
		return nil
	}
	return m.opts.Client.DeleteDefaultRates(ctx, broker, drop)
}

func (m *Mover) setRates(ctx context.Context, s scene, r moves.Rates) error {
	if r == (moves.Rates{}) {
		return nil
	}
	broker, err := m.guard(ctx, s)
	if err != nil {
		return err
	}
	var set topic.Rates
	if r.Leader != 0 {
		set.Leader = topic.RateOf(r.Leader)
	}
	if r.Follower != 0 {
		set.Follower = topic.RateOf(r.Follower)
	}
	return m.opts.Client.SetDefaultRates(ctx, broker, set)
}

// elect makes the preferred leaders of moved partitions lead. That one does not is no reason to keep anything waiting.
func (m *Mover) elect(ctx context.Context, s scene, partitions []topic.TopicPartition) {
	if len(partitions) == 0 {
		return
	}
	broker, err := m.guard(ctx, s)
	if err != nil {
		return
	}
	each, err := m.opts.Client.ElectPreferred(ctx, broker, partitions)
	if err := errors.Join(err, failures(each)); err != nil {
		m.opts.Log.V(1).Info("not every moved partition is led by its preferred leader", "reason", err.Error())
	}
}

// claim finds out which entries moves have to put on the lists of throttled replicas. Those that are there already are
// somebody else's and stay when the move is over, and so does "*", which throttles every replica.
func (m *Mover) claim(ctx context.Context, s scene, list []moves.Move) ([]moves.Move, error) {
	names := topicsOf(list, func(mv moves.Move) bool { return mv.Throttled })
	if len(names) == 0 {
		return list, nil
	}
	now, err := m.opts.Client.Throttled(ctx, s.broker, names)
	if err != nil {
		return nil, err
	}
	claimed := make([]moves.Move, 0, len(list))
	for _, mv := range list {
		if !mv.Throttled {
			claimed = append(claimed, mv)
			continue
		}
		read := now[mv.Topic]
		if read.Err != nil {
			m.opts.Log.Info("a topic is not moved, since its throttle cannot be read", "topic", mv.Topic, "reason", read.Err.Error())
			continue
		}
		named := func(by topic.ThrottledList) func(int32) bool {
			return func(id int32) bool { return by.Has(topic.ThrottledReplica{Partition: mv.Partition, Broker: id}) }
		}
		mv.Sources = slices.DeleteFunc(slices.Clone(mv.From), named(read.Leader))
		mv.Targets = slices.DeleteFunc(mv.Adding(), named(read.Follower))
		claimed = append(claimed, mv)
	}
	return claimed, nil
}

// begin throttles and then sends moves that are in the journal. A topic that cannot be throttled does not move.
func (m *Mover) begin(ctx context.Context, s scene, list []moves.Move) error {
	if len(list) == 0 {
		return nil
	}
	broker, err := m.guard(ctx, s)
	if err != nil {
		return err
	}
	entries, throttled := throttlings(list), map[string]error{}
	if len(entries) > 0 {
		throttled = m.opts.Client.AppendThrottled(ctx, broker, entries)
	}
	send := make([]kafka.Move, 0, len(list))
	for _, mv := range list {
		if throttled[mv.Topic] == nil {
			send = append(send, kafka.Move{TopicPartition: mv.Key(), Replicas: mv.To})
		}
	}
	if err := m.shown(ctx, broker, entries, throttled); err != nil {
		return err
	}
	if broker, err = m.guard(ctx, s); err != nil {
		return err
	}
	return errors.Join(failures(throttled), failures(m.opts.Client.Reassign(ctx, broker, send)))
}

// shown waits until a broker shows moves as throttled, though not for long: a move that is not is not begun, and is planned
// anew when its entry in the journal has been cleaned up after.
func (m *Mover) shown(ctx context.Context, broker int32, all []kafka.Throttling, failed map[string]error) error {
	missing := func(t kafka.Throttling, now topic.Throttled) bool {
		absent := func(list topic.ThrottledList) func(topic.ThrottledReplica) bool {
			return func(r topic.ThrottledReplica) bool { return !list.Has(r) }
		}
		return failed[t.Topic] == nil &&
			(slices.ContainsFunc(t.Leader, absent(now.Leader)) || slices.ContainsFunc(t.Follower, absent(now.Follower)))
	}
	if len(all) == 0 {
		return nil
	}
	names := throttledTopics(all)
	for try := range 10 {
		if try > 0 {
			pause(ctx, roundGap)
		}
		now, err := m.opts.Client.Throttled(ctx, broker, names)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(t kafka.Throttling) bool { return missing(t, now[t.Topic].Throttled) }) {
			return nil
		}
	}
	return fault.New(fault.Transient, "", "broker %d does not show the throttles of %d topics; they are not moved yet", broker, len(all))
}

// throttlings are the entries of moves in the lists of throttled replicas: whoever has a replica may be copied from, whoever
// gets one is copied to. Kafka throttles no replica that is in sync.
func throttlings(list []moves.Move) []kafka.Throttling {
	var all []kafka.Throttling
	for _, name := range topicsOf(list, func(mv moves.Move) bool { return len(mv.Sources)+len(mv.Targets) > 0 }) {
		t := kafka.Throttling{Topic: name}
		for _, mv := range list {
			if mv.Topic != name {
				continue
			}
			for _, id := range mv.Sources {
				t.Leader = append(t.Leader, topic.ThrottledReplica{Partition: mv.Partition, Broker: id})
			}
			for _, id := range mv.Targets {
				t.Follower = append(t.Follower, topic.ThrottledReplica{Partition: mv.Partition, Broker: id})
			}
		}
		all = append(all, t)
	}
	return all
}

// throttledTopics are the topics that entries are for.
func throttledTopics(all []kafka.Throttling) []string {
	names := make([]string, 0, len(all))
	for _, t := range all {
		names = append(names, t.Topic)
	}
	return names
}

// topicsOf are the topics of those moves that count, by name.
func topicsOf(list []moves.Move, counts func(moves.Move) bool) []string {
	var names []string
	for _, mv := range list {
		if counts(mv) {
			names = append(names, mv.Topic)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// failuresTold bounds the items whose failures an error tells.
const failuresTold = 3

// failures joins what went wrong with single items.
func failures[K comparable](each map[K]error) error {
	var all []error
	for _, err := range each {
		if err != nil {
			all = append(all, err)
		}
	}
	return errors.Join(all[:min(failuresTold, len(all))]...)
}
