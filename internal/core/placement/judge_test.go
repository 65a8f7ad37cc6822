package placement_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/topic"
)

func TestJudge(t *testing.T) {
	six := cluster("a a b b c c")
	tests := map[string]struct {
		brokers []topic.Broker
		rule    placement.Rule
		lists   [][]int32
		want    []placement.Violation
	}{
		"one replica in each rack": {six, three, [][]int32{{1, 3, 5}, {6, 2, 4}}, nil},
		"no partitions":            {six, three, nil, nil},
		"a whole rack is fenced": {
			cluster("a b c! a b c! a b c!"), three, [][]int32{{1, 2, 3}, {6, 4, 5}}, nil,
		},
		"raised from two replicas, then moved into one rack by hand": {
			cluster("a b a c"), three, [][]int32{{1, 2}, {1, 2, 3}, {1, 2, 4}},
			[]placement.Violation{
				{Partition: 0, Kind: placement.TooFewReplicas, Brokers: []int32{1, 2}, Message: "partition 0 has 2 replicas instead of 3"},
				{Partition: 1, Kind: placement.RackRule, Brokers: []int32{1, 3}, Racks: []string{"a"}, Message: "partition 1 has 2 in rack a (brokers 1, 3), at most 1 allowed"},
			},
		},
		"another number in each partition": {
			cluster("a b c a"), three, [][]int32{{1, 2, 3}, {1, 2, 3, 4}, {1}},
			[]placement.Violation{
				{Partition: 1, Kind: placement.TooManyReplicas, Brokers: []int32{1, 2, 3, 4}, Message: "partition 1 has 4 replicas instead of 3"},
				{Partition: 2, Kind: placement.TooFewReplicas, Brokers: []int32{1}, Message: "partition 2 has 1 replica instead of 3"},
			},
		},
		"too few and in one rack": {
			six, three, [][]int32{{2, 1}},
			[]placement.Violation{
				{Kind: placement.TooFewReplicas, Brokers: []int32{1, 2}, Message: "partition 0 has 2 replicas instead of 3"},
				{Kind: placement.RackRule, Brokers: []int32{1, 2}, Racks: []string{"a"}, Message: "partition 0 has 2 in rack a (brokers 1, 2), at most 1 allowed"},
			},
		},
		"four replicas in two racks": {
			six, three, [][]int32{{1, 2, 3, 4}},
			[]placement.Violation{
				{Kind: placement.TooManyReplicas, Brokers: []int32{1, 2, 3, 4}, Message: "partition 0 has 4 replicas instead of 3"},
			},
		},
		"a broker has left": {
			six, three, [][]int32{{1, 9, 5}},
			[]placement.Violation{{Kind: placement.MissingBroker, Brokers: []int32{9}, Message: "partition 0 has a replica on broker 9, not registered"}},
		},
		"a broker three times": {
			six, three, [][]int32{{1, 1, 1}},
			[]placement.Violation{
				{Kind: placement.TooFewReplicas, Brokers: []int32{1}, Message: "partition 0 has 1 replica instead of 3"},
				{Kind: placement.DuplicateBroker, Brokers: []int32{1}, Message: "partition 0 lists broker 1 more than once"},
			},
		},
		"brokers without rack": {
			cluster("a - b -"), three, [][]int32{{4, 1, 2}},
			[]placement.Violation{{Kind: placement.BrokerWithoutRack, Brokers: []int32{2, 4}, Message: "partition 0 has a replica on brokers 2, 4, without broker.rack"}},
		},
		"no replica at all": {
			six, three, [][]int32{{}},
			[]placement.Violation{{Kind: placement.TooFewReplicas, Message: "partition 0 has 0 replicas instead of 3"}},
		},
		"five replicas, two and two and one": {six, five, [][]int32{{1, 2, 3, 4, 5}}, nil},
		"five replicas, three in one rack": {
			sizes(3, 2, 1), five, [][]int32{{1, 2, 3, 4, 6}},
			[]placement.Violation{{Kind: placement.RackRule, Brokers: []int32{1, 2, 3}, Racks: []string{"a"}, Message: "partition 0 has 3 in rack a (brokers 1, 2, 3), at most 2 allowed"}},
		},
		"best effort: two racks, two and one": {sizes(2, 2), bestEffort(three), [][]int32{{1, 2, 3}}, nil},
		"best effort: two racks, all in one": {
			sizes(3, 2), bestEffort(three), [][]int32{{1, 2, 3}},
			[]placement.Violation{{Kind: placement.RackRule, Brokers: []int32{1, 2, 3}, Racks: []string{"a"}, Message: "partition 0 has 3 in rack a (brokers 1, 2, 3), at most 2 allowed"}},
		},
		"best effort: three racks, two and one": {
			six, bestEffort(three), [][]int32{{1, 2, 3}},
			[]placement.Violation{{Kind: placement.RackRule, Brokers: []int32{1, 2}, Racks: []string{"a"}, Message: "partition 0 has 2 in rack a (brokers 1, 2), at most 1 allowed"}},
		},
		"best effort: two and one while the third rack is away": {cluster("a a b b c! c!"), bestEffort(three), [][]int32{{1, 2, 3}}, nil},
		"best effort: nothing is available":                     {cluster("a! a! a! b!"), bestEffort(three), [][]int32{{1, 2, 3}}, nil},
		"best effort: no racks":                                 {cluster("- - -"), bestEffort(three), [][]int32{{1, 2, 3}}, nil},
		"best effort: rackless brokers are one rack": {
			cluster("a b - -"), bestEffort(three), [][]int32{{1, 3, 4}},
			[]placement.Violation{{Kind: placement.RackRule, Brokers: []int32{3, 4}, Racks: []string{""}, Message: "partition 0 has 2 without rack (brokers 3, 4), at most 1 allowed"}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := placement.Judge(tt.brokers, placement.Numbered(0, tt.lists), tt.rule)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestJudgeKeepsInputs(t *testing.T) {
	brokers, list := cluster("c b a"), []int32{3, 3, 1}
	placement.Judge(brokers, []placement.PartitionReplicas{{Partition: 7, Replicas: list}}, three)
	if diff := cmp.Diff([]int32{3, 3, 1}, list); diff != "" {
		t.Errorf("replica list (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(cluster("c b a"), brokers); diff != "" {
		t.Errorf("brokers (-before +after):\n%s", diff)
	}
}

// A running reassignment is judged by where it leads.
func TestJudgeTargets(t *testing.T) {
	orders := &topic.Topic{Name: "orders", Partitions: []topic.Partition{
		{Index: 0, Replicas: []int32{1, 3, 5}},
		{Index: 1, Replicas: []int32{1, 3, 4, 5}, Adding: []int32{5}, Removing: []int32{4}},
	}}
	want := []placement.PartitionReplicas{{Partition: 0, Replicas: []int32{1, 3, 5}}, {Partition: 1, Replicas: []int32{1, 3, 5}}}
	got := placement.Targets(orders)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	if found := placement.Judge(cluster("a a b b c c"), got, three); len(found) > 0 {
		t.Errorf("violations: %v", found)
	}
}

func TestRackSpread(t *testing.T) {
	tests := map[string]struct {
		brokers []topic.Broker
		rule    placement.Rule
		lists   [][]int32
		want    placement.Spread
	}{
		"three racks": {
			sizes(2, 2, 2), three, [][]int32{{1, 3, 5}, {6, 4, 2}},
			placement.Spread{Racks: []string{"a", "b", "c"}, FewestRacks: 3, Covered: true},
		},
		"each partition in other racks": {
			cluster("a b c d"), three, [][]int32{{1, 2, 3}, {2, 3, 4}},
			placement.Spread{Racks: []string{"a", "b", "c", "d"}, FewestRacks: 3, Covered: true},
		},
		"one partition in two racks": {
			sizes(2, 2, 2), three, [][]int32{{1, 3, 5}, {1, 2, 3}},
			placement.Spread{Racks: []string{"a", "b", "c"}, FewestRacks: 2},
		},
		"five replicas": {
			sizes(2, 2, 2), five, [][]int32{{1, 2, 3, 4, 5}},
			placement.Spread{Racks: []string{"a", "b", "c"}, FewestRacks: 3, Covered: true},
		},
		"too few replicas": {
			sizes(2, 2, 2), three, [][]int32{{1, 3}},
			placement.Spread{Racks: []string{"a", "b"}, FewestRacks: 2},
		},
		"one replica of which the rack is not known": {
			cluster("a b -"), three, [][]int32{{1, 2, 3}},
			placement.Spread{Racks: []string{"a", "b"}, FewestRacks: 2},
		},
		"no racks":      {cluster("- - -"), three, [][]int32{{1, 2, 3}}, placement.Spread{}},
		"no partitions": {sizes(1, 1, 1), three, nil, placement.Spread{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := placement.RackSpread(tt.brokers, placement.Numbered(0, tt.lists), tt.rule)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("spread (-want +got):\n%s", diff)
			}
		})
	}
}
