package placement_test

import (
	"slices"
	"strings"
	"testing"

	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/topic"
)

// The judge of plans finds each damage done to a good one.
func TestJudgePlanFindsDamage(t *testing.T) {
	on := placement.Brokers{Registered: cluster("a a b b c c d d! -"), Leaving: []int32{7}}
	topics := []placement.Managed{orders(three,
		"1 2 3",                     // 0: one replica moves
		"1 3 5",                     // 1: as wished
		"1 3 7",                     // 2: leaves broker 7
		"1 3 5 2 isr 1 3 2",         // 3: shrinks, waits for 5
		"1 2 3 isr leader -",        // 4: leaderless
		"1 2 3 adding 3 removing 2", // 5: running
		"1 2 isr 2 1",               // 6: raised, and 2 or 1 is held
		"2 3 4 6",                   // 7: shrinks at once
	)}
	move := func(p *placement.Plan, partition int32) *placement.Move {
		i := slices.IndexFunc(p.Moves, func(m placement.Move) bool { return m.Partition == partition })
		return &p.Moves[i]
	}
	replace := func(p *placement.Plan, partition int32, m placement.Move) {
		was := move(p, partition)
		m.Topic, m.Partition, m.From, m.Why, m.Bytes = was.Topic, was.Partition, was.From, was.Why, int64(len(m.Added))<<30
		*was = m
	}
	crowd := func(ids ...int32) (out []placement.Removal) {
		for _, id := range ids {
			out = append(out, placement.Removal{Broker: id, Why: placement.RackRule})
		}
		return out
	}
	tests := map[string]struct {
		damage func(*placement.Plan)
		want   string
	}{
		"forgotten": {func(p *placement.Plan) { p.Moves = p.Moves[1:] }, "is forgotten"},
		"twice":     {func(p *placement.Plan) { p.Moves = append(p.Moves, p.Moves[0]) }, "moved twice"},
		"unknown":   {func(p *placement.Plan) { p.Moves = append(p.Moves, placement.Move{Topic: "x"}) }, "was not given"},
		"said of one that is not there": {
			func(p *placement.Plan) { p.Left = append(p.Left, placement.Left{Topic: "x"}) }, "was not given",
		},
		"needless": {func(p *placement.Plan) {
			p.Moves = append(p.Moves, placement.Move{Topic: "orders", Partition: 1, From: []int32{1, 3, 5}, Replicas: []int32{3, 1, 5}})
		}, "as wished and still"},
		"one that runs": {func(p *placement.Plan) {
			p.Left = slices.DeleteFunc(p.Left, func(l placement.Left) bool { return l.Partition == 5 })
		}, "is being reassigned"},
		"leaderless": {func(p *placement.Plan) {
			p.Left = slices.DeleteFunc(p.Left, func(l placement.Left) bool { return l.Partition == 4 })
			p.Moves = append(p.Moves, placement.Move{Topic: "orders", Partition: 4, From: []int32{1, 2, 3}, Replicas: []int32{1, 3, 5}})
		}, "no leader"},
		"wrong excuse": {func(p *placement.Plan) {
			p.Left[0].Reason = placement.NoRoom
			p.Left[0].Shortage = &placement.Shortage{}
		}, "does not hold"},
		"room after all": {func(p *placement.Plan) {
			p.Moves = p.Moves[1:]
			p.Left = append(p.Left, placement.Left{Topic: "orders", Reason: placement.NoRoom, Shortage: &placement.Shortage{}})
		}, "does not hold"},
		"no reason": {func(p *placement.Plan) { move(p, 0).Why = nil }, "does not give RackRule"},
		"another reason": {func(p *placement.Plan) {
			move(p, 0).Why = []placement.ViolationKind{placement.RackRule, placement.TooFewReplicas}
		}, "gives TooFewReplicas"},
		"left is not gone":    {func(p *placement.Plan) { move(p, 2).Why = []placement.ViolationKind{placement.MissingBroker} }, "does not give LeavingBroker"},
		"bytes":               {func(p *placement.Plan) { move(p, 0).Bytes++ }, "copies"},
		"where it comes from": {func(p *placement.Plan) { move(p, 0).From = []int32{1, 3, 2} }, "comes from"},
		"added":               {func(p *placement.Plan) { move(p, 0).Added = nil }, "said to be"},
		"removed":             {func(p *placement.Plan) { move(p, 0).Removed = nil }, "said to be"},
		"why it is removed":   {func(p *placement.Plan) { move(p, 2).Removed[0].Why = placement.MissingBroker }, "for MissingBroker"},
		"still wrong": {func(p *placement.Plan) {
			replace(p, 0, placement.Move{Replicas: []int32{1, 3, 4}, Added: []int32{4}, Removed: crowd(2)})
		}, "is still wrong"},
		"too much": {func(p *placement.Plan) {
			replace(p, 0, placement.Move{Replicas: []int32{1, 4, 5}, Added: []int32{4, 5}, Removed: crowd(2, 3)})
		}, "1 would do"},
		"fenced": {func(p *placement.Plan) {
			replace(p, 0, placement.Move{Replicas: []int32{1, 3, 8}, Added: []int32{8}, Removed: crowd(2)})
		}, "may get nothing"},
		"to be left": {func(p *placement.Plan) {
			replace(p, 0, placement.Move{Replicas: []int32{1, 3, 7}, Added: []int32{7}, Removed: crowd(2)})
		}, "may get nothing"},
		"without rack": {func(p *placement.Plan) {
			replace(p, 0, placement.Move{Replicas: []int32{1, 3, 9}, Added: []int32{9}, Removed: crowd(2)})
		}, "may get nothing"},
		"the leader goes": {func(p *placement.Plan) {
			replace(p, 0, placement.Move{Replicas: []int32{2, 3, 5}, Added: []int32{5}, Removed: crowd(1)})
		}, "drops the leader"},
		"another preferred leader": {func(p *placement.Plan) {
			replace(p, 0, placement.Move{Replicas: []int32{3, 1, 5}, Added: []int32{5}, Removed: crowd(2)})
		}, "changes the preferred leader"},
		"below the floor": {func(p *placement.Plan) {
			replace(p, 6, placement.Move{Replicas: []int32{1, 3, 5}, Added: []int32{3, 5}, Removed: crowd(2)})
		}, "the floor is 2"},
		"held for nothing": {func(p *placement.Plan) {
			replace(p, 0, placement.Move{Replicas: []int32{1, 3, 5, 2}, Added: []int32{5}, Held: []int32{2}})
		}, "the floor is 2"},
		"held in the middle": {func(p *placement.Plan) {
			m := move(p, 6)
			m.Replicas = append(slices.Clone(m.Held), m.Replicas[:3]...)
		}, "does not end with the held"},
		"nowhere": {func(p *placement.Plan) {
			replace(p, 0, placement.Move{Replicas: []int32{1, 2, 3}})
		}, "moved to where it is"},
		"a shrink that cannot end": {func(p *placement.Plan) {
			p.Left = slices.DeleteFunc(p.Left, func(l placement.Left) bool { return l.Partition == 3 })
			p.Moves = append(p.Moves, placement.Move{
				Topic: "orders", Partition: 3, From: []int32{1, 3, 5, 2}, Replicas: []int32{1, 3, 5}, Removed: crowd(2),
				Why: []placement.ViolationKind{placement.TooManyReplicas},
			})
		}, "Kafka would not end"},
	}
	good := placement.Repair(on, topics)
	if found := placement.JudgePlan(on, topics, good); len(found) > 0 {
		t.Fatalf("objections against a good plan: %v", found)
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := placement.Repair(on, topics)
			tt.damage(&p)
			found := placement.JudgePlan(on, topics, p)
			if !slices.ContainsFunc(found, func(o placement.Objection) bool { return strings.Contains(o.String(), tt.want) }) {
				t.Errorf("objections %q, want one with %q", found, tt.want)
			}
		})
	}
}

// In-sync replicas that could stay, and the rack of a broker that is left, are judged too.
func TestJudgePlanOfChoices(t *testing.T) {
	tests := map[string]struct {
		racks     string
		leaving   []int32
		partition string
		move      placement.Move
		want      string
	}{
		"keeps what is out of sync": {
			"a b c d", nil, "1 2 3 4 isr 1 2 3",
			placement.Move{Replicas: []int32{1, 2, 4}, Removed: []placement.Removal{{Broker: 3, Why: placement.TooManyReplicas}}},
			"it could keep 3",
		},
		"leaves a rack that has room": {
			"a a b c d", []int32{1}, "3 1 4",
			placement.Move{
				Replicas: []int32{3, 4, 5}, Added: []int32{5}, Removed: []placement.Removal{{Broker: 1, Why: placement.LeavingBroker}},
			},
			"rack a has room for",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			on := placement.Brokers{Registered: cluster(tt.racks), Leaving: tt.leaving}
			topics := []placement.Managed{orders(three, tt.partition)}
			tt.move.Topic, tt.move.From, tt.move.Why = "orders", topics[0].Partitions[0].Replicas, placement.Repair(on, topics).Moves[0].Why
			tt.move.Bytes = int64(len(tt.move.Added)) << 30
			found := placement.JudgePlan(on, topics, placement.Plan{Moves: []placement.Move{tt.move}})
			if !slices.ContainsFunc(found, func(o placement.Objection) bool { return strings.Contains(o.Message, tt.want) }) {
				t.Errorf("objections %q, want one with %q", found, tt.want)
			}
		})
	}
}

// No plan means no objection only where nothing is wrong.
func TestJudgePlanOfNothing(t *testing.T) {
	on := placement.Brokers{Registered: []topic.Broker{}}
	if found := placement.JudgePlan(on, nil, placement.Plan{}); len(found) > 0 {
		t.Errorf("objections %q", found)
	}
}
