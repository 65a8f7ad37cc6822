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

// seldom draws true with so many percent. Small numbers come more often than their share, so it takes the largest.
func seldom(percent int) *rapid.Generator[bool] {
	return rapid.Custom(func(t *rapid.T) bool { return rapid.IntRange(0, 99).Draw(t, "chance") >= 100-percent })
}

// anyBrokers draws a cluster that can mostly hold what is asked of it, or any cluster at all.
func anyBrokers(most int) *rapid.Generator[[]topic.Broker] {
	return rapid.Custom(func(t *rapid.T) []topic.Broker {
		if seldom(20).Draw(t, "any cluster") {
			return anyCluster(most).Draw(t, "cluster")
		}
		var out []topic.Broker
		fenced := rapid.SampledFrom([]int{0, 10, 30}).Draw(t, "percent fenced")
		racks := rapid.SampledFrom([]string{"aabbcc", "aabbccdd", "aaabbbccc", "abc", "abcde", "aaabbc", "aabb", "aabbc-"}).Draw(t, "racks")
		for i := range min(most, len(racks)) {
			rack := racks[i : i+1]
			if rack == "-" {
				rack = ""
			}
			out = append(out, topic.Broker{ID: int32(3*i + 1), Rack: rack, Fenced: seldom(fenced).Draw(t, "fenced")})
		}
		return out
	})
}

// anyLeaving draws brokers to be left, registered or not.
func anyLeaving(brokers []topic.Broker) *rapid.Generator[[]int32] {
	ids := []int32{9999}
	for _, b := range brokers {
		ids = append(ids, b.ID)
	}
	return rapid.SliceOfNDistinct(rapid.SampledFrom(ids), 0, min(3, len(ids)), rapid.ID[int32])
}

// anyPartition draws a partition as Kafka may show it after any history: lists of any length, on dead and unregistered
// brokers; fenced ones are never in sync; now and then one that is being reassigned or has no leader.
func anyPartition(brokers []topic.Broker) *rapid.Generator[topic.Partition] {
	ids := []int32{9999}
	alive := map[int32]bool{}
	for _, b := range brokers {
		ids = append(ids, b.ID)
		alive[b.ID] = !b.Fenced
	}
	return rapid.Custom(func(t *rapid.T) topic.Partition {
		p := topic.Partition{Leader: topic.NoLeader}
		p.Replicas = rapid.Permutation(ids).Draw(t, "replicas")
		p.Replicas = p.Replicas[:min(len(ids), rapid.SampledFrom([]int{3, 3, 2, 4, 1, 5, 6, 0}).Draw(t, "number"))]
		lag := rapid.SampledFrom([]int{0, 0, 30, 60}).Draw(t, "percent out of sync")
		for _, id := range p.Replicas {
			if alive[id] && !seldom(lag).Draw(t, "lags") {
				p.ISR = append(p.ISR, id)
			}
		}
		if len(p.ISR) > 0 && !seldom(5).Draw(t, "leaderless") {
			p.Leader = rapid.SampledFrom(p.ISR).Draw(t, "leader")
		}
		if len(p.Replicas) > 1 && seldom(5).Draw(t, "reassigning") {
			p.Adding = p.Replicas[:1]
			p.Removing = p.Replicas[1:2]
		}
		return p
	})
}

func anyManaged(brokers []topic.Broker, most int) *rapid.Generator[[]placement.Managed] {
	return rapid.Custom(func(t *rapid.T) []placement.Managed {
		var out []placement.Managed
		for i := range rapid.IntRange(0, 5).Draw(t, "topics") {
			m := placement.Managed{
				Name: fmt.Sprintf("topic-%d", i), Rule: anyRule().Draw(t, "rule"), Critical: rapid.Bool().Draw(t, "critical"),
				Partitions: rapid.SliceOfN(anyPartition(brokers), 0, most).Draw(t, "partitions"),
			}
			for k := range m.Partitions {
				m.Partitions[k].Index = int32(k)
				if rapid.Bool().Draw(t, "size known") {
					m.Bytes = append(m.Bytes, int64(rapid.IntRange(0, 1<<30).Draw(t, "bytes")))
				}
			}
			out = append(out, m)
		}
		return out
	})
}

// shuffled gives the same in another order: brokers, leaving ones, topics, partitions with their sizes, in-sync replicas.
func shuffled(on placement.Brokers, topics []placement.Managed, seed uint64) (placement.Brokers, []placement.Managed) {
	chance := rand.New(rand.NewPCG(seed, 1))
	on.Registered, on.Leaving = slices.Clone(on.Registered), slices.Clone(on.Leaving)
	chance.Shuffle(len(on.Registered), func(i, k int) {
		on.Registered[i], on.Registered[k] = on.Registered[k], on.Registered[i]
	})
	chance.Shuffle(len(on.Leaving), func(i, k int) { on.Leaving[i], on.Leaving[k] = on.Leaving[k], on.Leaving[i] })
	topics = slices.Clone(topics)
	for i := range topics {
		t := &topics[i]
		t.Partitions = slices.Clone(t.Partitions)
		bytes := make([]int64, len(t.Partitions))
		copy(bytes, t.Bytes)
		t.Bytes = bytes
		chance.Shuffle(len(t.Partitions), func(i, k int) {
			t.Partitions[i], t.Partitions[k] = t.Partitions[k], t.Partitions[i]
			bytes[i], bytes[k] = bytes[k], bytes[i]
		})
		for k := range t.Partitions {
			isr := slices.Clone(t.Partitions[k].ISR)
			chance.Shuffle(len(isr), func(i, k int) { isr[i], isr[k] = isr[k], isr[i] })
			t.Partitions[k].ISR = isr
		}
	}
	chance.Shuffle(len(topics), func(i, k int) { topics[i], topics[k] = topics[k], topics[i] })
	return on, topics
}

// repairSoundly is the property that whatever the input, the judge has nothing to say against the plan; the plan is the
// same for any order of the input, which stays untouched; and once carried out nothing is left to do.
func repairSoundly(t *rapid.T) {
	brokers := anyBrokers(30).Draw(t, "brokers")
	on := placement.Brokers{
		Registered: brokers, Load: anyLoad(brokers).Draw(t, "load"), Leaving: anyLeaving(brokers).Draw(t, "leaving"),
	}
	topics := anyManaged(brokers, 12).Draw(t, "topics")
	before := fmt.Sprintf("%+v %+v", on, topics)
	got := placement.Repair(on, topics)
	if after := fmt.Sprintf("%+v %+v", on, topics); after != before {
		t.Fatalf("inputs changed:\n%s\n%s", before, after)
	}
	for _, o := range placement.JudgePlan(on, topics, got) {
		t.Errorf("%s", o)
	}
	if t.Failed() {
		t.Fatalf("brokers %+v\ntopics %+v\nplan %+v", on, topics, got)
	}
	checkLeaders(t, on, topics, got)
	otherOn, otherTopics := shuffled(on, topics, rapid.Uint64().Draw(t, "shuffle"))
	if diff := cmp.Diff(got, placement.Repair(otherOn, otherTopics)); diff != "" {
		t.Fatalf("another order gives another plan:\n%s", diff)
	}
	s := newSimulation(on, topics)
	for range 2 {
		for _, m := range s.plan().Moves {
			s.apply(m)
		}
	}
	if rest := s.plan(); len(rest.Moves) > 0 {
		t.Fatalf("the plan is carried out and what it held is dropped, still: %+v", rest.Moves)
	}
}

// checkLeaders checks that no preferred leader which was chosen anew would better be another replica of its partition: one
// that is in sync, or will be, on a broker with fewer by two or more.
func checkLeaders(t *rapid.T, on placement.Brokers, topics []placement.Managed, p placement.Plan) {
	s := newSimulation(on, topics)
	for _, m := range p.Moves {
		s.count(m.From, -1)
		s.count(m.Replicas, 1)
	}
	for _, m := range p.Moves {
		final := m.Replicas[:len(m.Replicas)-len(m.Held)]
		if len(m.From) > 0 && slices.Contains(final, m.From[0]) {
			continue
		}
		for _, id := range final {
			if !slices.Contains(m.Added, id) && !slices.Contains(s.partition(m.Topic, m.Partition).ISR, id) {
				continue
			}
			if s.on.Load[m.Replicas[0]].Leaders-s.on.Load[id].Leaders > 1 {
				t.Fatalf("%s/%d prefers broker %d, broker %d leads fewer: %v", m.Topic, m.Partition, m.Replicas[0], id, s.on.Load)
			}
		}
	}
}

func TestRepairSoundly(t *testing.T) { rapid.Check(t, repairSoundly) }

func FuzzRepair(f *testing.F) {
	for seed := range uint64(8) {
		data, chance := make([]byte, 1<<13), rand.NewPCG(seed, 0)
		for i := 0; i < len(data); i += 8 {
			binary.LittleEndian.PutUint64(data[i:], chance.Uint64())
		}
		f.Add(data)
	}
	f.Fuzz(rapid.MakeFuzz(repairSoundly))
}

// On small clusters every possible list is tried: the plan adds no more than the best of them, and leaves nothing for want
// of room that some list could repair.
func TestRepairAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		brokers := anyBrokers(8).Draw(t, "brokers")
		on := placement.Brokers{Registered: brokers, Leaving: anyLeaving(brokers).Draw(t, "leaving")}
		topics := anyManaged(brokers, 4).Draw(t, "topics")
		plan := placement.Repair(on, topics)
		added, noRoom := map[string]int{}, map[string]bool{}
		for _, m := range plan.Moves {
			added[fmt.Sprint(m.Topic, m.Partition)] = len(m.Added) + 1
		}
		for _, l := range plan.Left {
			noRoom[fmt.Sprint(l.Topic, l.Partition)] = l.Reason == placement.NoRoom
		}
		for _, m := range topics {
			for _, p := range m.Partitions {
				key := fmt.Sprint(m.Name, p.Index)
				best := fewestAdded(on, p, m.Rule)
				if noRoom[key] != (best < 0) && (noRoom[key] || added[key] > 0) {
					t.Fatalf("%s: no room is %v, brute force adds %d", key, noRoom[key], best)
				}
				if added[key] > 0 && added[key]-1 != best {
					t.Fatalf("%s %v: adds %d, brute force %d", key, p.Replicas, added[key]-1, best)
				}
			}
		}
	})
}

// fewestAdded tries every set of brokers as the new list and gives the smallest number of new replicas; -1: none is right.
func fewestAdded(on placement.Brokers, p topic.Partition, rule placement.Rule) int {
	best := -1
	staying := slices.DeleteFunc(slices.Clone(on.Registered), func(b topic.Broker) bool {
		return slices.Contains(on.Leaving, b.ID)
	})
	for set := range 1 << len(staying) {
		var list []int32
		added := 0
		for i, b := range staying {
			if set&(1<<i) == 0 {
				continue
			}
			list = append(list, b.ID)
			if !slices.Contains(p.Replicas, b.ID) {
				added++
				if b.Fenced {
					added += 100
				}
			}
		}
		if added < 100 && (best < 0 || added < best) &&
			len(placement.Judge(staying, placement.Numbered(0, [][]int32{list}), rule)) == 0 {
			best = added
		}
	}
	return best
}
