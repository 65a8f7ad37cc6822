package placement_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/topic"
)

// anyCluster draws at most so many brokers with scattered IDs over up to nine uneven racks, some fenced, some without rack.
func anyCluster(most int) *rapid.Generator[[]topic.Broker] {
	return rapid.Custom(func(t *rapid.T) []topic.Broker {
		racks := rapid.IntRange(0, 9).Draw(t, "racks")
		n := min(most, rapid.SampledFrom([]int{0, 1, 3, 4, 5, 6, 7, 8, 9, 12, 15, 24, 40, 60}).Draw(t, "number"))
		ids := rapid.SliceOfNDistinct(rapid.Int32Range(0, 5000), n, n, rapid.ID[int32]).Draw(t, "ids")
		weights := rapid.SliceOfN(rapid.IntRange(1, 9), racks+1, racks+1).Draw(t, "rack weights")
		weights[racks] = rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "rackless weight")
		var names []string
		for i, n := range weights {
			name := string(rune('a' + i))
			if i == racks {
				name = ""
			}
			for range n {
				names = append(names, name)
			}
		}
		fenced := rapid.SampledFrom([]int{0, 0, 10, 50}).Draw(t, "percent fenced")
		var out []topic.Broker
		for _, id := range ids {
			b := topic.Broker{ID: id}
			if len(names) > 0 {
				b.Rack = rapid.SampledFrom(names).Draw(t, "rack")
			}
			b.Fenced = rapid.IntRange(0, 99).Draw(t, "fenced") < fenced
			out = append(out, b)
		}
		return out
	})
}

func anyRule() *rapid.Generator[placement.Rule] {
	return rapid.SampledFrom([]placement.Rule{three, five, bestEffort(three), bestEffort(five)})
}

// anyLists draws replica lists as a topic may have them: on dead brokers, of any length, empty too.
func anyLists(brokers []topic.Broker) *rapid.Generator[[][]int32] {
	ids := []int32{9998, 9999}
	for _, b := range brokers {
		ids = append(ids, b.ID)
	}
	return rapid.SliceOfN(rapid.SliceOfNDistinct(rapid.SampledFrom(ids), 0, min(6, len(ids)), rapid.ID[int32]), 0, 8)
}

func anyWishes(brokers []topic.Broker) *rapid.Generator[[]placement.Wish] {
	return rapid.Custom(func(t *rapid.T) []placement.Wish {
		var out []placement.Wish
		for i := range rapid.IntRange(0, 8).Draw(t, "wishes") {
			out = append(out, placement.Wish{
				Topic:      fmt.Sprintf("topic-%d", i),
				Partitions: rapid.Int32Range(0, 60).Draw(t, "partitions"),
				Rule:       anyRule().Draw(t, "rule"),
				Existing:   anyLists(brokers).Draw(t, "existing"),
			})
		}
		return out
	})
}

func anyLoad(brokers []topic.Broker) *rapid.Generator[map[int32]topic.Load] {
	return rapid.Custom(func(t *rapid.T) map[int32]topic.Load {
		load := map[int32]topic.Load{}
		even := rapid.Bool().Draw(t, "even load")
		for _, b := range brokers {
			if !even {
				leaders := rapid.IntRange(0, 200).Draw(t, "leaders")
				load[b.ID] = topic.Load{Leaders: leaders, Replicas: leaders + rapid.IntRange(0, 400).Draw(t, "followers")}
			}
		}
		return load
	})
}

// placeSoundly is the property that whatever the input, every wish gets either lists that the judge accepts, on
// available brokers only, or a shortage; the same for any order of the brokers, with the inputs untouched.
func placeSoundly(t *rapid.T) {
	brokers := anyCluster(60).Draw(t, "brokers")
	load := anyLoad(brokers).Draw(t, "load")
	wishes := anyWishes(brokers).Draw(t, "wishes")
	before := fmt.Sprint(brokers, load, wishes)
	got := placement.Place(brokers, load, wishes)
	if after := fmt.Sprint(brokers, load, wishes); after != before {
		t.Fatalf("inputs changed:\n%s\n%s", before, after)
	}
	shuffled := slices.Clone(brokers)
	seed := rapid.Uint64().Draw(t, "shuffle")
	rand.New(rand.NewPCG(seed, seed)).Shuffle(len(shuffled), func(i, k int) {
		shuffled[i], shuffled[k] = shuffled[k], shuffled[i]
	})
	if diff := cmp.Diff(got, placement.Place(shuffled, load, wishes)); diff != "" {
		t.Fatalf("another order of brokers gives another result:\n%s", diff)
	}
	if len(got) != len(wishes) {
		t.Fatalf("%d answers for %d wishes", len(got), len(wishes))
	}
	for i, w := range wishes {
		checkAnswer(t, brokers, w, got[i])
	}
}

func checkAnswer(t *rapid.T, brokers []topic.Broker, w placement.Wish, got placement.Placed) {
	if (got.Replicas == nil) == (got.Shortage == nil) {
		t.Fatalf("%s: %+v, want exactly one of lists and shortage", w.Topic, got)
	}
	if got.Shortage != nil {
		if w.Partitions == 0 {
			t.Fatalf("%s wants nothing and is refused: %s", w.Topic, got.Shortage)
		}
		if room := mostReplicas(brokers, w.Rule, false); room >= w.Rule.ReplicationFactor {
			t.Fatalf("%s refused although there is room for %d: %s", w.Topic, room, got.Shortage)
		}
		return
	}
	if n := int32(len(got.Replicas)); n != w.Partitions {
		t.Fatalf("%s: %d lists for %d partitions", w.Topic, n, w.Partitions)
	}
	if found := placement.Judge(brokers, placement.Numbered(0, got.Replicas), w.Rule); len(found) > 0 {
		t.Fatalf("%s: %v", w.Topic, found)
	}
	for _, b := range brokers {
		if n := count(got.Replicas).replicas[b.ID]; b.Fenced && n > 0 {
			t.Fatalf("%s: %d replicas on fenced broker %d", w.Topic, n, b.ID)
		}
	}
}

// mostReplicas counts by plain reasoning how many replicas of one partition the rule lets be placed.
func mostReplicas(brokers []topic.Broker, rule placement.Rule, fencedToo bool) int32 {
	in, n := map[string]int32{}, int32(0)
	for _, b := range brokers {
		if b.Fenced && !fencedToo {
			continue
		}
		if !rule.BestEffort && (b.Rack == "" || in[b.Rack] == rule.MaxPerRack()) {
			continue
		}
		in[b.Rack]++
		n++
	}
	return n
}

func TestPlaceSoundly(t *testing.T) { rapid.Check(t, placeSoundly) }

func FuzzPlace(f *testing.F) {
	for seed := range uint64(8) {
		data, chance := make([]byte, 1<<14), rand.NewPCG(seed, 0)
		for i := 0; i < len(data); i += 8 {
			binary.LittleEndian.PutUint64(data[i:], chance.Uint64())
		}
		f.Add(data)
	}
	f.Fuzz(rapid.MakeFuzz(placeSoundly))
}

// On small clusters every possible replica list is tried: a shortage is right when none is good, and the racks of a
// placed partition are as even as any list could make them.
func TestPlaceAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		brokers := anyCluster(8).Draw(t, "brokers")
		rule := anyRule().Draw(t, "rule")
		now, registered := bestList(brokers, rule, false), bestList(brokers, rule, true)
		got := placement.Place(brokers, nil, []placement.Wish{{Topic: "orders", Partitions: 9, Rule: rule}})[0]
		if s := got.Shortage; s != nil {
			want := placement.InsufficientRacks
			switch {
			case registered > 0:
				want = placement.WaitingForBrokers
			case int32(len(brokers)) < rule.ReplicationFactor:
				want = placement.InsufficientBrokers
			}
			if now > 0 || s.Kind != want {
				t.Fatalf("%s: %s, want %s; best list now has %d in one rack", s.Kind, s, want, now)
			}
			return
		}
		for p, replicas := range got.Replicas {
			if n := perRack(brokers, replicas)[0]; n != now {
				t.Fatalf("partition %d %v has %d replicas in one rack, %d is possible", p, replicas, n, now)
			}
		}
	})
}

// bestList tries every set of brokers and gives the smallest number of replicas in the fullest rack; 0 when no set
// meets the rule.
func bestList(brokers []topic.Broker, rule placement.Rule, fencedToo bool) int {
	best := 0
	for set := range 1 << len(brokers) {
		var replicas []int32
		allowed := true
		for i, b := range brokers {
			if set&(1<<i) != 0 {
				replicas = append(replicas, b.ID)
				allowed = allowed && (fencedToo || !b.Fenced) && (rule.BestEffort || b.Rack != "")
			}
		}
		if !allowed || int32(len(replicas)) != rule.ReplicationFactor {
			continue
		}
		most := perRack(brokers, replicas)[0]
		if !rule.BestEffort && rule.ReplicationFactor-int32(most) < rule.MinInSyncReplicas {
			continue
		}
		if best == 0 || most < best {
			best = most
		}
	}
	return best
}

// What a shortage waits for is enough: when those brokers return, the partition can be placed. And what it counts is so.
func TestShortageIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		brokers := anyCluster(60).Draw(t, "brokers")
		rule := anyRule().Draw(t, "rule")
		s := placement.Feasible(brokers, rule)
		if s == nil {
			return
		}
		waiting := s.Kind == placement.WaitingForBrokers
		if room := mostReplicas(brokers, rule, !waiting); s.Room != room || room >= rule.ReplicationFactor {
			t.Fatalf("room for %d, want %d: %s", s.Room, room, s)
		}
		returned := slices.Clone(brokers)
		for i, b := range returned {
			if slices.Contains(s.WaitsFor, b.ID) {
				if !b.Fenced {
					t.Fatalf("waits for broker %d, which is available: %s", b.ID, s)
				}
				returned[i].Fenced = false
			}
		}
		if left := placement.Feasible(returned, rule); waiting && left != nil {
			t.Fatalf("brokers %v are back, still: %s", s.WaitsFor, left)
		}
		if !waiting && len(s.WaitsFor) > 0 {
			t.Fatalf("%s waits for brokers %v", s.Kind, s.WaitsFor)
		}
	})
}

// New topics, whatever the brokers carry already: leaders differ by at most one between brokers, in the batch and in each
// topic; replicas by at most one between the brokers of a rack when a partition has one replica in a rack.
func TestPlaceEvenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		perRack := rapid.SliceOfN(rapid.IntRange(1, 9), 3, 9).Draw(t, "brokers per rack")
		brokers := sizes(perRack...)
		rule := rapid.SampledFrom([]placement.Rule{three, five}).Draw(t, "rule")
		if placement.Feasible(brokers, rule) != nil {
			t.Skip("too few brokers")
		}
		var wishes []placement.Wish
		for i := range rapid.IntRange(1, 20).Draw(t, "topics") {
			partitions := rapid.Int32Range(1, 40).Draw(t, "partitions")
			wishes = append(wishes, placement.Wish{Topic: fmt.Sprintf("topic-%d", i), Partitions: partitions, Rule: rule})
		}
		lists := replicaLists(placement.Place(brokers, anyLoad(brokers).Draw(t, "load"), wishes))
		batch := count(lists...)
		if d := spread(brokers, batch.leaders, available); d > 1 {
			t.Fatalf("leaders of the batch differ by %d: %v", d, batch.leaders)
		}
		for i, replicas := range lists {
			if d := spread(brokers, count(replicas).leaders, available); d > 1 {
				t.Fatalf("leaders of topic %d differ by %d: %v", i, d, replicas)
			}
		}
		atMost := 1
		if int(rule.ReplicationFactor) > len(perRack) {
			atMost = 2
		}
		for i := range perRack {
			rack := string(rune('a' + i))
			if d := spread(brokers, batch.replicas, inRack(rack)); d > atMost {
				t.Fatalf("replicas in rack %s differ by %d: %v", rack, d, batch.replicas)
			}
			for k, replicas := range lists {
				if d := spread(brokers, count(replicas).replicas, inRack(rack)); d > atMost+3 { // seldom more than atMost
					t.Fatalf("replicas of topic %d in rack %s differ by %d: %v", k, rack, d, replicas)
				}
			}
		}
	})
}

// Topics that come one at a time stay even over all, when each sees the earlier ones as load: leaders exactly, replicas
// within a bound that does not grow. Where few replicas of a rack are followers there is less to even out with.
func TestPlaceEvenlyOneByOne(t *testing.T) {
	tests := map[string]struct {
		sizes        []int
		wantReplicas int // largest difference inside a rack
	}{
		"one broker in each rack": {[]int{1, 1, 1}, 0},
		"two in each rack":        {[]int{2, 2, 2}, 3},
		"four racks":              {[]int{3, 3, 3, 3}, 4},
		"five in each rack":       {[]int{5, 5, 5}, 4},
		"uneven racks":            {[]int{1, 5, 9}, 6},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			brokers := sizes(tt.sizes...)
			rapid.Check(t, func(t *rapid.T) {
				sum := count()
				for i := range rapid.IntRange(1, 25).Draw(t, "topics") {
					load := map[int32]topic.Load{}
					for _, b := range brokers {
						load[b.ID] = topic.Load{Replicas: sum.replicas[b.ID], Leaders: sum.leaders[b.ID]}
					}
					partitions := rapid.Int32Range(1, 12).Draw(t, "partitions")
					w := placement.Wish{Topic: fmt.Sprintf("topic-%d", i), Partitions: partitions, Rule: three}
					sum.add(placement.Place(brokers, load, []placement.Wish{w})[0].Replicas)
				}
				if d := spread(brokers, sum.leaders, available); d > 1 {
					t.Fatalf("leaders differ by %d: %v", d, sum.leaders)
				}
				for i := range tt.sizes {
					if d := spread(brokers, sum.replicas, inRack(string(rune('a'+i)))); d > tt.wantReplicas {
						t.Fatalf("replicas in rack %c differ by %d: %v", rune('a'+i), d, sum.replicas)
					}
				}
			})
		})
	}
}

// The judge finds every single damage done to a good placement.
func TestJudgeFindsDamage(t *testing.T) {
	brokers := cluster("a a b b c c -")
	rapid.Check(t, func(t *rapid.T) {
		partitions := rapid.Int32Range(1, 30).Draw(t, "partitions")
		lists := placement.Place(brokers, nil, []placement.Wish{{Topic: "orders", Partitions: partitions, Rule: three}})[0].Replicas
		p := rapid.IntRange(0, len(lists)-1).Draw(t, "partition")
		i := rapid.IntRange(0, 2).Draw(t, "replica")
		damage := rapid.SampledFrom([]placement.ViolationKind{
			placement.TooFewReplicas, placement.TooManyReplicas, placement.RackRule, placement.MissingBroker,
			placement.DuplicateBroker, placement.BrokerWithoutRack,
		}).Draw(t, "damage")
		rackMate := func(id int32) int32 { return (id - 1) ^ 1 + 1 } // 1-2, 3-4, 5-6
		switch list := lists[p]; damage {
		case placement.TooFewReplicas:
			lists[p] = slices.Delete(list, i, i+1)
		case placement.TooManyReplicas:
			lists[p] = append(list, rackMate(list[i]))
		case placement.RackRule:
			list[i] = rackMate(list[(i+1)%3])
		case placement.MissingBroker:
			list[i] = 8
		case placement.DuplicateBroker:
			lists[p] = append(list, list[i])
		case placement.BrokerWithoutRack:
			list[i] = 7
		default:
		}
		found := placement.Judge(brokers, placement.Numbered(0, lists), three)
		if len(found) != 1 || found[0].Kind != damage || found[0].Partition != int32(p) {
			t.Fatalf("%v, want %s at partition %d of %v", found, damage, p, lists)
		}
	})
}
