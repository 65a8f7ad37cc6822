package placement_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/topic"
)

// perRack lists how many replicas of a partition each rack has, largest first.
func perRack(brokers []topic.Broker, replicas []int32) []int {
	in := map[string]int{}
	for _, b := range brokers {
		if slices.Contains(replicas, b.ID) {
			in[b.Rack]++
		}
	}
	var out []int
	for _, n := range in {
		out = append(out, n)
	}
	slices.Sort(out)
	slices.Reverse(out)
	return out
}

func TestPlaceSpreadsEachPartition(t *testing.T) {
	tests := map[string]struct {
		brokers     []topic.Broker
		rule        placement.Rule
		wantPerRack []int   // of every partition, largest first
		wantUnused  []int32 // brokers that must hold nothing
	}{
		"six brokers in three racks":                {cluster("a a b b c c"), three, []int{1, 1, 1}, nil},
		"three brokers in three racks":              {cluster("a b c"), three, []int{1, 1, 1}, nil},
		"four racks":                                {sizes(3, 3, 3, 3), three, []int{1, 1, 1}, nil},
		"racks of 1, 5 and 9 brokers":               {sizes(1, 5, 9), three, []int{1, 1, 1}, nil},
		"four uneven racks":                         {sizes(1, 2, 5, 9), three, []int{1, 1, 1}, nil},
		"five replicas in three racks":              {sizes(2, 2, 2), five, []int{2, 2, 1}, nil},
		"five replicas, one rack has one broker":    {sizes(1, 5, 9), five, []int{2, 2, 1}, nil},
		"five replicas in five racks":               {sizes(2, 2, 2, 2, 2), five, []int{1, 1, 1, 1, 1}, nil},
		"five replicas in four racks":               {sizes(2, 2, 2, 2), five, []int{2, 1, 1, 1}, nil},
		"a fenced broker":                           {cluster("a a! b b c c"), three, []int{1, 1, 1}, []int32{2}},
		"a fenced rack of four":                     {cluster("a a b b! b! c c d"), three, []int{1, 1, 1}, []int32{4, 5}},
		"a broker without rack":                     {cluster("a a b b c c -"), three, []int{1, 1, 1}, []int32{7}},
		"best effort: enough racks":                 {sizes(2, 2, 2), bestEffort(three), []int{1, 1, 1}, nil},
		"best effort: two racks":                    {sizes(2, 2), bestEffort(three), []int{2, 1}, nil},
		"best effort: uneven racks":                 {sizes(1, 9), bestEffort(three), []int{2, 1}, nil},
		"best effort: one rack":                     {sizes(4), bestEffort(three), []int{3}, nil},
		"best effort: no racks":                     {cluster("- - - -"), bestEffort(three), []int{3}, nil},
		"best effort: rackless brokers are a rack":  {cluster("a a b b - -"), bestEffort(three), []int{1, 1, 1}, nil},
		"best effort: a fenced rack is not waited":  {cluster("a a b b c! c!"), bestEffort(three), []int{2, 1}, []int32{5, 6}},
		"best effort: five replicas in two racks":   {sizes(4, 4), bestEffort(five), []int{3, 2}, nil},
		"best effort: min.insync.replicas too high": {sizes(2, 2), placement.Rule{ReplicationFactor: 3, MinInSyncReplicas: 3, BestEffort: true}, []int{2, 1}, nil},
		"one replica":                               {sizes(2, 2), placement.Rule{ReplicationFactor: 1}, []int{1}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := placement.Place(tt.brokers, nil, []placement.Wish{{Topic: "orders", Partitions: 24, Rule: tt.rule}})[0]
			if got.Shortage != nil {
				t.Fatalf("not placed: %s", got.Shortage)
			}
			if n := len(got.Replicas); n != 24 {
				t.Fatalf("%d partitions, want 24", n)
			}
			for p, replicas := range got.Replicas {
				if diff := cmp.Diff(tt.wantPerRack, perRack(tt.brokers, replicas)); diff != "" {
					t.Errorf("partition %d %v (-want +got):\n%s", p, replicas, diff)
				}
			}
			c := count(got.Replicas)
			for _, id := range tt.wantUnused {
				if c.replicas[id] > 0 {
					t.Errorf("broker %d holds %d replicas, want none", id, c.replicas[id])
				}
			}
			usable := func(b topic.Broker) bool { return !slices.Contains(tt.wantUnused, b.ID) }
			if d := spread(tt.brokers, c.leaders, usable); d > 1 {
				t.Errorf("leaders differ by %d between brokers: %v", d, c.leaders)
			}
		})
	}
}

func TestPlaceSaysWhyNot(t *testing.T) {
	tests := map[string]struct {
		brokers  []topic.Broker
		rule     placement.Rule
		wantKind placement.ShortageKind
		wantText string
	}{
		"no brokers": {
			nil, three, placement.InsufficientBrokers,
			"replication factor 3 needs 3 brokers, registered: 0; add 3 brokers, so that there are 3 racks with at most 1 replica of a partition in each",
		},
		"one broker": {
			cluster("a"), three, placement.InsufficientBrokers,
			"replication factor 3 needs 3 brokers, registered: 1; add 2 brokers, so that there are 3 racks with at most 1 replica of a partition in each",
		},
		"two racks": {
			sizes(2, 2), three, placement.InsufficientRacks,
			"replication factor 3 with min.insync.replicas 2 needs 3 racks or more (at most 1 replica of a partition in one rack), registered: 2 racks: a (2 brokers), b (2 brokers), room for 2 replicas; add 1 broker in further racks, or let the KafkaCluster have rackAwareness BestEffort",
		},
		"one rack": {
			sizes(4), three, placement.InsufficientRacks,
			"replication factor 3 with min.insync.replicas 2 needs 3 racks or more (at most 1 replica of a partition in one rack), registered: 1 rack: a (4 brokers), room for 1 replica; add 2 brokers in further racks (no more than 1 count in one rack), or let the KafkaCluster have rackAwareness BestEffort",
		},
		"no broker has a rack": {
			cluster("- - -"), three, placement.InsufficientRacks,
			"replication factor 3 with min.insync.replicas 2 needs 3 racks or more (at most 1 replica of a partition in one rack), registered: no rack, room for 0 replicas; set broker.rack on brokers 1, 2, 3, or add 3 brokers in further racks (no more than 1 count in one rack), or let the KafkaCluster have rackAwareness BestEffort",
		},
		"the third rack has no name": {
			cluster("a b -"), three, placement.InsufficientRacks,
			"replication factor 3 with min.insync.replicas 2 needs 3 racks or more (at most 1 replica of a partition in one rack), registered: 2 racks: a (1 broker), b (1 broker), room for 2 replicas; set broker.rack on broker 3, or add 1 broker in further racks, or let the KafkaCluster have rackAwareness BestEffort",
		},
		"five replicas, two racks too small": {
			sizes(5, 1, 1), five, placement.InsufficientRacks,
			"replication factor 5 with min.insync.replicas 3 needs 3 racks or more (at most 2 replicas of a partition in one rack), registered: 3 racks: a (5 brokers), b (1 broker), c (1 broker), room for 4 replicas; add 1 broker in further racks or in rack b, c, or let the KafkaCluster have rackAwareness BestEffort",
		},
		"a rack is fenced": {
			cluster("a a b b c! c!"), three, placement.WaitingForBrokers,
			"waits for 1 fenced broker to return, of rack c (brokers 5, 6); replication factor 3 with at most 1 replica of a partition in one rack has room for 2 replicas on the available brokers (4 of 6 registered)",
		},
		"all are fenced": {
			cluster("a! b! c!"), three, placement.WaitingForBrokers,
			"waits for 3 fenced brokers to return, of rack a (broker 1), rack b (broker 2), rack c (broker 3); replication factor 3 with at most 1 replica of a partition in one rack has room for 0 replicas on the available brokers (0 of 3 registered)",
		},
		"five replicas, fenced brokers in two racks": {
			cluster("a a b b! c c! c!"), five, placement.WaitingForBrokers,
			"waits for 1 fenced broker to return, of rack b (broker 4), rack c (brokers 6, 7); replication factor 5 with at most 2 replicas of a partition in one rack has room for 4 replicas on the available brokers (4 of 7 registered)",
		},
		"best effort: too few brokers": {
			sizes(2), bestEffort(three), placement.InsufficientBrokers,
			"replication factor 3 needs 3 brokers, registered: 2; add 1 broker",
		},
		"best effort: too few available": {
			cluster("a b! - c!"), bestEffort(three), placement.WaitingForBrokers,
			"waits for 1 fenced broker to return, of brokers 2, 4; replication factor 3 has room for 2 replicas on the available brokers (2 of 4 registered)",
		},
		"nothing may fail": {
			sizes(3, 3, 3), placement.Rule{ReplicationFactor: 3, MinInSyncReplicas: 3}, placement.InsufficientRacks,
			"no cluster can place replication factor 3 with min.insync.replicas 3: lower min.insync.replicas below the replication factor",
		},
		"no replica": {
			sizes(3, 3, 3), placement.Rule{BestEffort: true}, placement.InsufficientRacks,
			"no cluster can place replication factor 0 with min.insync.replicas 0: lower min.insync.replicas below the replication factor",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := placement.Place(tt.brokers, nil, []placement.Wish{{Topic: "orders", Partitions: 1, Rule: tt.rule}})[0]
			if got.Replicas != nil || got.Shortage == nil {
				t.Fatalf("placed as %v, want a shortage", got.Replicas)
			}
			if diff := cmp.Diff(tt.wantKind, got.Shortage.Kind); diff != "" {
				t.Errorf("kind (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.wantText, got.Shortage.String()); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

func TestShortageFacts(t *testing.T) {
	want := &placement.Shortage{
		Kind: placement.WaitingForBrokers, Rule: three, NeededRacks: 3, Registered: 7, Available: 3, Room: 2,
		Racks: []placement.Rack{
			{Name: "a", Brokers: []int32{1, 2}, Fenced: []int32{2}},
			{Name: "b", Brokers: []int32{3, 4}, Fenced: []int32{4}},
			{Name: "c", Brokers: []int32{5, 6}, Fenced: []int32{5, 6}},
		},
		WithoutRack: []int32{7},
		WaitsFor:    []int32{5, 6}, // not 2 and 4: their racks have another broker
	}
	if diff := cmp.Diff(want, placement.Feasible(cluster("a a! b b! c! c! -"), three)); diff != "" {
		t.Errorf("shortage (-want +got):\n%s", diff)
	}
}

func TestShortageTextIsBounded(t *testing.T) {
	var brokers []topic.Broker
	for i := range int32(300) {
		brokers = append(brokers, topic.Broker{ID: 1000 + i, Rack: fmt.Sprintf("rack-%d", i%2)}, topic.Broker{ID: 5000 + i})
	}
	if text := placement.Feasible(brokers, three).String(); len(text) > 600 {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

// What an outage changes must not change the text of a shortage that only new brokers can end.
func TestShortageTextIgnoresFencing(t *testing.T) {
	calm, outage := placement.Feasible(cluster("a a b b -"), three), placement.Feasible(cluster("a a! b! b! -!"), three)
	if diff := cmp.Diff(calm.String(), outage.String()); diff != "" {
		t.Errorf("text changed (-calm +outage):\n%s", diff)
	}
}

func TestPlaceGivesEveryWishItsOwnAnswer(t *testing.T) {
	brokers := sizes(1, 1, 1)
	got := placement.Place(brokers, nil, []placement.Wish{
		{Topic: "orders", Partitions: 1, Rule: five},
		{Topic: "payments", Partitions: 1, Rule: three},
		{Topic: "page-views", Partitions: 0, Rule: three},
	})
	if got[0].Shortage == nil || got[0].Replicas != nil {
		t.Errorf("five replicas on three brokers: %+v, want a shortage", got[0])
	}
	if got[1].Shortage != nil || len(got[1].Replicas) != 1 {
		t.Errorf("three replicas on three brokers: %+v, want one list", got[1])
	}
	if got[2].Shortage != nil || got[2].Replicas == nil || len(got[2].Replicas) != 0 {
		t.Errorf("no partitions wanted: %+v, want an empty list", got[2])
	}
	if got := placement.Place(brokers, nil, nil); len(got) != 0 {
		t.Errorf("no wish: %v, want no answer", got)
	}
}

func TestPlaceFillsUpExistingTopic(t *testing.T) {
	brokers := sizes(2, 2, 2)
	existing := [][]int32{{1, 3, 5}, {3, 1, 5}, {5, 1, 3}}
	got := placement.Place(brokers, nil, []placement.Wish{{Topic: "orders", Partitions: 3, Rule: three, Existing: existing}})[0]
	c := count(existing, got.Replicas)
	if d := spread(brokers, c.leaders, available); d != 0 {
		t.Errorf("leaders of the whole topic differ by %d: %v", d, got.Replicas)
	}
	if d := spread(brokers, c.replicas, available); d != 0 {
		t.Errorf("replicas of the whole topic differ by %d: %v", d, got.Replicas)
	}
}

func TestPlaceIgnoresExistingReplicasOnLostBrokers(t *testing.T) {
	brokers := cluster("a a! b b c c")
	got := placement.Place(brokers, map[int32]topic.Load{99: {Replicas: 5}}, []placement.Wish{
		{Topic: "orders", Partitions: 5, Rule: three, Existing: [][]int32{{2, 99, 5}, {99, 2}, {}}},
	})[0]
	if found := placement.Judge(brokers, placement.Numbered(3, got.Replicas), three); len(found) > 0 {
		t.Errorf("violations: %v", found)
	}
	if d := spread(brokers, count(got.Replicas).leaders, available); d != 0 {
		t.Errorf("leaders differ by %d: %v", d, got.Replicas)
	}
}

func TestPlacePrefersIdleBrokers(t *testing.T) {
	brokers := sizes(2, 2, 2)
	tests := map[string]struct {
		load       topic.Load // of broker 4; the others have 30 replicas, 10 of them preferred leaders
		wantLeads  bool
		wantMember bool
	}{
		"leads least":             {topic.Load{Replicas: 30, Leaders: 9}, true, true},
		"leads least, holds most": {topic.Load{Replicas: 40, Leaders: 9}, true, true},
		"holds least":             {topic.Load{Replicas: 29, Leaders: 10}, true, true},
		"leads most, holds least": {topic.Load{Replicas: 29, Leaders: 11}, false, true},
		"holds most":              {topic.Load{Replicas: 31, Leaders: 10}, false, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			load := map[int32]topic.Load{}
			for _, b := range brokers {
				load[b.ID] = topic.Load{Replicas: 30, Leaders: 10}
			}
			load[4] = tt.load
			for i := range 20 { // no name may make a difference
				w := placement.Wish{Topic: fmt.Sprintf("topic-%d", i), Partitions: 1, Rule: three}
				got := placement.Place(brokers, load, []placement.Wish{w})[0].Replicas[0]
				if leads := got[0] == 4; leads != tt.wantLeads {
					t.Errorf("%s: replicas %v, broker 4 leads: %t", w.Topic, got, leads)
				}
				// When 3 leads, its rack has its replica.
				if member := slices.Contains(got, 4); got[0] != 3 && member != tt.wantMember {
					t.Errorf("%s: replicas %v, broker 4 holds one: %t", w.Topic, got, member)
				}
			}
		})
	}
}

// Brokers in another order, or named twice, change nothing, down to the exchanges at the end.
func TestPlaceIgnoresOrderOfBrokers(t *testing.T) {
	brokers := sizes(4, 4, 4)
	load := map[int32]topic.Load{}
	for _, b := range brokers {
		load[b.ID] = topic.Load{Replicas: 100 * int(b.ID%5), Leaders: 10 * int(b.ID%3)}
	}
	wishes := manyWishes(40, 5, nil)
	want := placement.Place(brokers, load, wishes)
	backwards := slices.Clone(brokers)
	slices.Reverse(backwards)
	if diff := cmp.Diff(want, placement.Place(backwards, load, wishes)); diff != "" {
		t.Errorf("backwards (-forwards +backwards):\n%s", diff)
	}
	if diff := cmp.Diff(want, placement.Place(append(backwards, brokers...), load, wishes)); diff != "" {
		t.Errorf("named twice (-once +twice):\n%s", diff)
	}
}

// With more racks than replicas, what a call places is even over the racks, and load decides about the last replicas.
func TestPlaceUsesAllRacks(t *testing.T) {
	brokers := sizes(1, 1, 1, 1)
	load := map[int32]topic.Load{}
	for _, b := range brokers {
		load[b.ID] = topic.Load{Replicas: 300, Leaders: 100}
	}
	load[4] = topic.Load{Replicas: 900, Leaders: 100}
	wishes := manyWishes(8, 1, nil)
	c := count(replicaLists(placement.Place(brokers, load, wishes))...)
	if diff := cmp.Diff(map[int32]int{1: 6, 2: 6, 3: 6, 4: 6}, c.replicas); diff != "" {
		t.Errorf("replicas of eight topics (-want +got):\n%s", diff)
	}
	for _, w := range wishes {
		got := placement.Place(brokers, load, []placement.Wish{w})[0].Replicas[0]
		if slices.Contains(got, 4) {
			t.Errorf("%s alone: replicas %v, want none on broker 4, which holds most", w.Topic, got)
		}
	}
}

// One leader must not always have the same followers, or the load of a broker that fails falls on two others.
func TestPlaceMixesFollowers(t *testing.T) {
	brokers := sizes(4, 4, 4)
	pairs := map[[2]int32]int{}
	for _, replicas := range replicaLists(placement.Place(brokers, nil, freshCart(32))) {
		for _, r := range replicas {
			for _, follower := range r[1:] {
				pairs[[2]int32{r[0], follower}]++
			}
		}
	}
	// 288 partitions have 576 pairs; 12 leaders have 8 possible followers each: six of each pair when even.
	for _, leader := range brokers {
		for _, follower := range brokers {
			n := pairs[[2]int32{leader.ID, follower.ID}]
			if leader.Rack != follower.Rack && (n < 3 || n > 9) {
				t.Errorf("broker %d follows %d in %d partitions, want 3 to 9", follower.ID, leader.ID, n)
			}
		}
	}
}

// Between brokers that lead equally much, the rack decides that leads least, of the topic and of the call.
func TestPlaceSpreadsLeadersOverRacks(t *testing.T) {
	brokers := sizes(2, 2, 2)
	one := func(name string, existing ...[]int32) placement.Wish {
		return placement.Wish{Topic: name, Partitions: 1, Rule: three, Existing: existing}
	}
	for i := range 20 { // no name may make a difference
		name := func(what string) string { return fmt.Sprintf("%s-%d", what, i) }
		tests := map[string]struct {
			wishes []placement.Wish
			also   []int32 // preferred leaders that are there already
		}{
			"one topic of three partitions":    {[]placement.Wish{{Topic: name("orders"), Partitions: 3, Rule: three}}, nil},
			"a topic gets a third partition":   {[]placement.Wish{one(name("orders"), []int32{1, 3, 5}, []int32{4, 2, 6})}, []int32{1, 4}},
			"three topics of a partition each": {[]placement.Wish{one(name("orders")), one(name("payments")), one(name("page-views"))}, nil},
		}
		for what, tt := range tests {
			leaders := slices.Clone(tt.also)
			for _, replicas := range replicaLists(placement.Place(brokers, nil, tt.wishes)) {
				for _, r := range replicas {
					leaders = append(leaders, r[0])
				}
			}
			if got := perRack(brokers, leaders); !slices.Equal(got, []int{1, 1, 1}) {
				t.Errorf("%s: leaders %v are %v in each rack, want one", what, leaders, got)
			}
		}
	}
}
