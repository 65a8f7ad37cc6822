package placement_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/topic"
)

// shapes are ways in which the three replicas of a partition can lie over racks.
var shapes = map[string][3]int{
	"two in one rack":   {0, 0, 1},
	"three in one rack": {0, 0, 0},
	"as wished":         {0, 1, 2},
}

// large makes 60 brokers in three racks and topics of ten partitions of one shape, which begin perfectly even: racks and
// brokers take turns, so that each broker leads and holds as much as any other.
func large(partitions int, shape string) (placement.Brokers, []placement.Managed) {
	const perRack, perTopic = 20, 10
	on := placement.Brokers{Registered: sizes(perRack, perRack, perRack), Load: map[int32]topic.Load{}}
	next := [3]int{}
	topics := make([]placement.Managed, 0, partitions/perTopic)
	for i := range partitions {
		if i%perTopic == 0 {
			topics = append(topics, placement.Managed{Name: fmt.Sprintf("topic-%06d", len(topics)), Rule: three})
		}
		replicas := make([]int32, 0, 3)
		for k, turn := range shapes[shape] {
			rack := (i + turn) % 3
			// Three steps in a rack are three brokers; now and then one more, so that the same do not always meet.
			id := int32(rack*perRack + next[rack]%perRack + 1)
			next[rack]++
			replicas = append(replicas, id)
			load := on.Load[id]
			load.Replicas++
			if k == 0 {
				load.Leaders++
			}
			on.Load[id] = load
		}
		t := &topics[len(topics)-1]
		t.Partitions = append(t.Partitions, topic.Partition{
			Index: int32(i % perTopic), Leader: replicas[0], Replicas: replicas, ISR: replicas,
		})
		t.Bytes = append(t.Bytes, int64(1+i%7)<<20)
	}
	return on, topics
}

// Every partition of a large cluster breaks its rack rule: it gets the fewest new replicas possible, and the brokers stay
// within one percent of even. What is asserted are counts; for times there are benchmarks.
func TestRepairLarge(t *testing.T) {
	for shape, wantAdded := range map[string]int{"two in one rack": 1, "three in one rack": 2} {
		t.Run(shape, func(t *testing.T) {
			const partitions = 100_000
			on, topics := large(partitions, shape)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			plan := placement.Repair(on, topics)
			runtime.ReadMemStats(&after)
			if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 100 {
				t.Errorf("%d MiB were allocated", mib)
			}
			if len(plan.Moves) != partitions || len(plan.Left) > 0 {
				t.Fatalf("%d moves, %d left of %d partitions", len(plan.Moves), len(plan.Left), partitions)
			}
			s := newSimulation(on, nil)
			added := 0
			for _, m := range plan.Moves {
				added += len(m.Added)
				s.count(m.From, -1)
				s.count(m.Replicas[:3], 1)
			}
			if want := partitions * wantAdded; added != want {
				t.Errorf("%d replicas added, want %d", added, want)
			}
			checkEven(t, s.on, partitions)
			// The judge takes its time, so it looks at a tenth: the moves are in the order of the topics.
			plan.Moves = plan.Moves[:partitions/10]
			if objections := placement.JudgePlan(on, topics[:len(topics)/10], plan); len(objections) > 0 {
				t.Errorf("%d objections, the first is %s", len(objections), objections[0])
			}
		})
	}
}

func checkEven(t *testing.T, on placement.Brokers, partitions int) {
	t.Helper()
	for _, b := range on.Registered {
		l, replicas, leaders := on.Load[b.ID], partitions*3/len(on.Registered), partitions/len(on.Registered)
		if off := max(l.Replicas-replicas, replicas-l.Replicas); off*100 > replicas {
			t.Errorf("broker %d holds %d replicas, even is %d", b.ID, l.Replicas, replicas)
		}
		if off := max(l.Leaders-leaders, leaders-l.Leaders); off*100 > leaders {
			t.Errorf("broker %d leads %d partitions, even is %d", b.ID, l.Leaders, leaders)
		}
	}
}

// The plan allocates for its result and a few flat tables, never for each partition; a plan of what is right hardly at all.
func TestRepairAllocations(t *testing.T) {
	for shape, atMost := range map[string]float64{"two in one rack": 200, "as wished": 60} {
		for _, partitions := range []int{1000, 20_000} {
			on, topics := large(partitions, shape)
			if n := testing.AllocsPerRun(1, func() { placement.Repair(on, topics) }); n > atMost {
				t.Errorf("%d partitions, %s: %v allocations, at most %v", partitions, shape, n, atMost)
			}
		}
	}
}

// One topic is planned again against the load of all, without the others.
func TestRepairOneTopic(t *testing.T) {
	on, topics := large(1000, "two in one rack")
	got := placement.Repair(on, topics[3:4])
	if len(got.Moves) != 10 {
		t.Fatalf("%d moves", len(got.Moves))
	}
	for _, o := range placement.JudgePlan(on, topics[3:4], got) {
		t.Errorf("%s", o)
	}
}

// judgeOnce is the floor that plans are compared with: the time of one look at each partition by the judge of replica
// lists, as the mean of as many as fit into a tenth of a second.
func judgeOnce(on placement.Brokers, topics []placement.Managed) time.Duration {
	lists := make([][]placement.PartitionReplicas, len(topics))
	for i := range topics {
		lists[i] = placement.Targets(&topic.Topic{Partitions: topics[i].Partitions})
	}
	start := time.Now()
	for n := time.Duration(1); ; n++ {
		for i := range topics {
			placement.Judge(on.Registered, lists[i], topics[i].Rule)
		}
		if all := time.Since(start); all > 100*time.Millisecond {
			return all / n
		}
	}
}

func BenchmarkRepair(b *testing.B) {
	for _, shape := range []string{"two in one rack", "three in one rack", "as wished"} {
		for _, partitions := range []int{10_000, 100_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/%d", shape, partitions), func(b *testing.B) {
				on, topics := large(partitions, shape)
				floor := judgeOnce(on, topics)
				b.ReportAllocs()
				for b.Loop() {
					placement.Repair(on, topics)
				}
				each := b.Elapsed() / time.Duration(b.N)
				b.ReportMetric(float64(each)/float64(floor), "x-judge")
				b.ReportMetric(float64(each.Nanoseconds())/float64(partitions), "ns/partition")
			})
		}
	}
}

// One topic of ten partitions in a cluster of 10 000 topics.
func BenchmarkRepairOneTopic(b *testing.B) {
	on, topics := large(100_000, "two in one rack")
	floor := judgeOnce(on, topics[5000:5001])
	b.ReportAllocs()
	for b.Loop() {
		placement.Repair(on, topics[5000:5001])
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(floor), "x-judge")
}
