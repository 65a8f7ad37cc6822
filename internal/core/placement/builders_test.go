package placement_test

import (
	"slices"
	"strings"

	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/topic"
)

// Rules of the two replication factors that profiles can ask for.
var (
	three = placement.Rule{ReplicationFactor: 3, MinInSyncReplicas: 2}
	five  = placement.Rule{ReplicationFactor: 5, MinInSyncReplicas: 3}
)

// bestEffort is the rule for clusters without enough racks.
func bestEffort(r placement.Rule) placement.Rule {
	r.BestEffort = true
	return r
}

// cluster reads a rack for each broker, from broker 1 on: "a a b! -" are brokers 1 and 2 in rack a, 3 fenced in rack b,
// 4 without rack.
func cluster(racks string) []topic.Broker {
	var out []topic.Broker
	for i, word := range strings.Fields(racks) {
		rack, fenced := strings.CutSuffix(word, "!")
		if rack == "-" {
			rack = ""
		}
		out = append(out, topic.Broker{ID: int32(i + 1), Rack: rack, Fenced: fenced})
	}
	return out
}

// sizes makes a cluster with so many brokers in racks a, b, c and so on.
func sizes(n ...int) []topic.Broker {
	var words []string
	for i, brokers := range n {
		for range brokers {
			words = append(words, string(rune('a'+i)))
		}
	}
	return cluster(strings.Join(words, " "))
}

// freshCart are the nine topics of the example shop, in the order of their names.
func freshCart(partitions int32) []placement.Wish {
	var out []placement.Wish
	for _, name := range []string{
		"account-permissions", "app-clickstream", "delivery-van-locations", "freezer-temperatures", "invoice-ledger",
		"orders", "page-views", "payments", "stock-levels",
	} {
		out = append(out, placement.Wish{Topic: name, Partitions: partitions, Rule: three})
	}
	return out
}

// counts are replicas and preferred leaders by broker.
type counts struct{ replicas, leaders map[int32]int }

// count adds up replica lists.
func count(lists ...[][]int32) counts {
	c := counts{replicas: map[int32]int{}, leaders: map[int32]int{}}
	for _, replicas := range lists {
		c.add(replicas)
	}
	return c
}

func (c counts) add(lists [][]int32) {
	for _, r := range lists {
		c.leaders[r[0]]++
		for _, id := range r {
			c.replicas[id]++
		}
	}
}

// spread is the largest minus the smallest count of the brokers for which in holds.
func spread(brokers []topic.Broker, by map[int32]int, in func(topic.Broker) bool) int {
	var counted []int
	for _, b := range brokers {
		if in(b) {
			counted = append(counted, by[b.ID])
		}
	}
	if len(counted) == 0 {
		return 0
	}
	return slices.Max(counted) - slices.Min(counted)
}

// available holds for brokers that can take replicas.
func available(b topic.Broker) bool { return !b.Fenced }

// inRack holds for available brokers of one rack.
func inRack(rack string) func(topic.Broker) bool {
	return func(b topic.Broker) bool { return !b.Fenced && b.Rack == rack }
}

// replicaLists are the lists of all wishes that were met.
func replicaLists(placed []placement.Placed) [][][]int32 {
	var out [][][]int32
	for _, p := range placed {
		if p.Shortage == nil {
			out = append(out, p.Replicas)
		}
	}
	return out
}
