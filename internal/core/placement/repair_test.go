package placement_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/core/topictest"
)

// orders is one topic with these partitions, as topictest.Partition reads them, each of 1 GiB.
func orders(rule placement.Rule, partitions ...string) placement.Managed {
	m := placement.Managed{Name: "orders", Rule: rule, Partitions: topictest.Topic(partitions...).Partitions}
	for range partitions {
		m.Bytes = append(m.Bytes, 1<<30)
	}
	return m
}

// words are a plan as people read it.
func words(on placement.Brokers, p placement.Plan) []string {
	var out []string
	for _, m := range p.Moves {
		out = append(out, m.Text(on.Registered))
	}
	for _, l := range p.Left {
		out = append(out, l.String())
	}
	return out
}

// loaded makes a load of so many replicas, and a third as many leaders, for each broker from 1 on.
func loaded(replicas ...int) map[int32]topic.Load {
	load := map[int32]topic.Load{}
	for i, n := range replicas {
		load[int32(i+1)] = topic.Load{Replicas: n, Leaders: n / 3}
	}
	return load
}

const twoRacks = "replication factor 3 with min.insync.replicas 2 needs 3 racks or more (at most 1 replica of a partition in one " +
	"rack), registered: 2 racks: a (2 brokers), b (2 brokers), room for 2 replicas; add 1 broker in further racks, or let the " +
	"KafkaCluster have rackAwareness BestEffort; broker 5 not counted, to be left"

func TestRepair(t *testing.T) {
	six := cluster("a a b b c c")
	tests := map[string]struct {
		on     placement.Brokers
		orders placement.Managed
		want   []string
	}{
		"as wished": {
			placement.Brokers{Registered: six}, orders(three, "1 3 5", "6 2 4 isr 6"), nil,
		},
		"a restart is no reason to move": {
			placement.Brokers{Registered: cluster("a! a! b b c c")}, orders(three, "1 3 5 isr 3 5", "6 2 4 isr 6 4"), nil,
		},
		"the emptiest broker of the rack that has none": {
			placement.Brokers{Registered: six, Load: loaded(9, 9, 9, 9, 10, 9)}, orders(three, "1 2 3"),
			[]string{"orders/0 from [1 2 3] to [1 3 6]: adds broker 6 in rack c; removes broker 2 of rack a, which has too many; copies 1.0 GiB"},
		},
		"the leader stays, wherever in the list it is": {
			placement.Brokers{Registered: six, Load: loaded(9, 9, 9, 9, 9, 10)}, orders(three, "3 1 2 leader 2"),
			[]string{"orders/0 from [3 1 2] to [3 2 5]: adds broker 5 in rack c; removes broker 1 of rack a, which has too many; copies 1.0 GiB"},
		},
		"in-sync replicas stay, even on the fuller broker": {
			placement.Brokers{Registered: six, Load: loaded(9, 20, 9, 9, 9, 10)}, orders(three, "3 1 2 isr 3 2"),
			[]string{"orders/0 from [3 1 2] to [3 2 5]: adds broker 5 in rack c; removes broker 1 of rack a, which has too many; copies 1.0 GiB"},
		},
		"of equals the one on the fuller broker goes": {
			placement.Brokers{Registered: six, Load: loaded(10, 9, 9, 9, 9, 10)}, orders(three, "3 1 2"),
			[]string{"orders/0 from [3 1 2] to [3 2 5]: adds broker 5 in rack c; removes broker 1 of rack a, which has too many; copies 1.0 GiB"},
		},
		"raised from one": {
			placement.Brokers{Registered: six, Load: loaded(9, 9, 9, 10, 10, 9)}, orders(three, "1"),
			[]string{"orders/0 from [1] to [1 6 3]: adds brokers 6 in rack c, 3 in rack b; copies 2.0 GiB"},
		},
		"all in one rack: what is in sync is held until the copies are": {
			placement.Brokers{Registered: cluster("a a a b c")}, orders(three, "1 2 3", "1 2 5 4"),
			[]string{
				"orders/0 from [1 2 3] to [1 4 5 2]: adds brokers 4 in rack b, 5 in rack c; removes broker 3 of rack a, which has too many; keeps broker 2 until the new ones are in sync; copies 2.0 GiB",
				"orders/1 from [1 2 5 4] to [1 5 4]: removes broker 2 of rack a, which has too many",
			},
		},
		"a shrink drops what is out of sync, not the tail": {
			placement.Brokers{Registered: cluster("a b c d")}, orders(three, "1 2 3 4 isr 1 3 4"),
			[]string{"orders/0 from [1 2 3 4] to [1 3 4]: removes broker 2 in rack b, one more than wanted"},
		},
		"a shrink drops what shares a rack, not the tail": {
			placement.Brokers{Registered: cluster("a b c a")}, orders(three, "2 1 4 3", "4 1 2 3"),
			[]string{
				"orders/0 from [2 1 4 3] to [2 1 3]: removes broker 4 of rack a, which has too many",
				"orders/1 from [4 1 2 3] to [4 2 3]: removes broker 1 of rack a, which has too many",
			},
		},
		"a shrink waits for what stays": {
			placement.Brokers{Registered: cluster("a b c! a")}, orders(three, "1 2 3 4 isr 1 2 4"),
			[]string{"orders/0: waits for broker 3 to be in sync: before that Kafka would not end a reassignment that only removes replicas"},
		},
		"brokers to be left and unregistered ones": {
			placement.Brokers{Registered: topictest.Cluster("a a b x c c").Brokers, Leaving: []int32{1, 9}}, orders(three, "1 3 5", "2 4 5 isr 2 5"),
			[]string{
				"orders/0 from [1 3 5] to [3 5 2]: adds broker 2 in rack a; removes broker 1, which is to be left; copies 1.0 GiB",
				"orders/1 from [2 4 5] to [2 5 3]: adds broker 3 in rack b; removes broker 4, not registered; copies 1.0 GiB",
			},
		},
		"fenced brokers get nothing": {
			placement.Brokers{Registered: cluster("a a b! b c! c"), Load: loaded(9, 9, 0, 9, 0, 9)}, orders(three, "1"),
			[]string{"orders/0 from [1] to [1 6 4]: adds brokers 6 in rack c, 4 in rack b; copies 2.0 GiB"},
		},
		"brokers without rack": {
			placement.Brokers{Registered: cluster("a b c -")}, orders(three, "4 1 2 isr 4 1"),
			[]string{"orders/0 from [4 1 2] to [1 2 3 4]: adds broker 3 in rack c; keeps broker 4 until the new ones are in sync; copies 1.0 GiB"},
		},
		"best effort: two racks": {
			placement.Brokers{Registered: cluster("a a a b b")}, orders(bestEffort(three), "1 2 3", "1", "4 5 1"),
			[]string{
				"orders/0 from [1 2 3] to [1 2 4]: adds broker 4 in rack b; removes broker 3 of rack a, which has too many; copies 1.0 GiB",
				"orders/1 from [1] to [1 5 3]: adds brokers 5 in rack b, 3 in rack a; copies 2.0 GiB",
			},
		},
		"too few racks": {
			placement.Brokers{Registered: cluster("a a b b c"), Leaving: []int32{5}}, orders(three, "1 2 3", "1 3 5"),
			[]string{
				"orders/0: " + twoRacks,
				"orders/1: " + twoRacks,
			},
		},
		"no room but for what is on a fenced broker": {
			placement.Brokers{Registered: cluster("a a b b c! c!")}, orders(three, "1 2 6 isr 1 2", "1 2 3"),
			[]string{
				"orders/0 from [1 2 6] to [1 6 4 2]: adds broker 4 in rack b; keeps broker 2 until the new ones are in sync; copies 1.0 GiB",
				"orders/1: waits for 1 fenced broker to return, of rack c (brokers 5, 6); replication factor 3 with at most 1 replica " +
					"of a partition in one rack has room for 2 replicas on the available brokers (4 of 6 registered)",
			},
		},
		"running and waiting": {
			placement.Brokers{Registered: six}, orders(three, "1 2 3 adding 3 removing 2", "1 2 3 isr leader -", "1 2 3 isr leader 1", "1 3 5 leader -"),
			[]string{
				"orders/0: a reassignment is running", "orders/1: waits for a leader", "orders/2: waits for an in-sync replica",
			},
		},
		"every broker once": {
			placement.Brokers{Registered: six}, orders(three, "1 3 1 5"),
			[]string{"orders/0 from [1 3 1 5] to [1 3 5]: lists every broker once"},
		},
		"a shrink without crowded racks drops what shares one": {
			placement.Brokers{Registered: cluster("a a b c d e")}, orders(five, "3 2 1 4 5 6"),
			[]string{"orders/0 from [3 2 1 4 5 6] to [3 1 4 5 6]: removes broker 2 in rack a, one more than wanted"},
		},
		"the rack of a broker to be left is full without it": {
			placement.Brokers{Registered: cluster("a a a b b c"), Leaving: []int32{1}}, orders(three, "1 2 4"),
			[]string{"orders/0 from [1 2 4] to [2 4 6]: adds broker 6 in rack c; removes broker 1, which is to be left; copies 1.0 GiB"},
		},
		"in the rack of a broker to be left, even on a fuller one": {
			placement.Brokers{Registered: cluster("a a b c d"), Leaving: []int32{1}, Load: loaded(9, 90, 9, 9, 0)},
			orders(three, "3 1 4"),
			[]string{"orders/0 from [3 1 4] to [3 4 2]: adds broker 2 in rack a; removes broker 1, which is to be left; copies 1.0 GiB"},
		},
		"leaders: not one that is out of sync": {
			placement.Brokers{Registered: cluster("a a b c!"), Load: loaded(9, 12, 12, 0), Leaving: []int32{1}}, orders(three, "1 4 3 isr 1 3"),
			[]string{"orders/0 from [1 4 3] to [3 4 2]: adds broker 2 in rack a; removes broker 1, which is to be left; copies 1.0 GiB"},
		},
		"leaders: on the broker with the fewest": {
			placement.Brokers{Registered: six, Load: loaded(9, 12, 12, 0, 9, 9), Leaving: []int32{1}}, orders(three, "1 3 5"),
			[]string{"orders/0 from [1 3 5] to [5 3 2]: adds broker 2 in rack a; removes broker 1, which is to be left; copies 1.0 GiB"},
		},
		"leaders: an earlier choice gives way to later ones": {
			placement.Brokers{Registered: six, Load: loaded(9, 150, 0, 0, 0, 150), Leaving: []int32{1}},
			orders(three, "1 3 5", "1 3 6", "1 3 6"),
			[]string{
				"orders/0 from [1 3 5] to [5 3 2]: adds broker 2 in rack a; removes broker 1, which is to be left; copies 1.0 GiB",
				"orders/1 from [1 3 6] to [3 6 2]: adds broker 2 in rack a; removes broker 1, which is to be left; copies 1.0 GiB",
				"orders/2 from [1 3 6] to [3 6 2]: adds broker 2 in rack a; removes broker 1, which is to be left; copies 1.0 GiB",
			},
		},
		"leaders: the one that goes is followed by the broker with the fewest": {
			placement.Brokers{Registered: six, Load: loaded(9, 9, 30, 9, 15, 9), Leaving: []int32{1}}, orders(three, "1 3 5"),
			[]string{"orders/0 from [1 3 5] to [2 3 5]: adds broker 2 in rack a; removes broker 1, which is to be left; copies 1.0 GiB"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			plan := placement.Repair(tt.on, []placement.Managed{tt.orders})
			if diff := cmp.Diff(tt.want, words(tt.on, plan)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			for _, o := range placement.JudgePlan(tt.on, []placement.Managed{tt.orders}, plan) {
				t.Errorf("%s", o)
			}
		})
	}
}
