package placement_test

import (
	"fmt"
	"testing"

	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/topic"
)

func BenchmarkPlace(b *testing.B) {
	brokers := sizes(20, 20, 20)
	for _, size := range []struct{ topics, partitions int }{{1, 3}, {500, 3}, {2000, 12}, {8000, 12}} {
		b.Run(fmt.Sprintf("%dx%d", size.topics, size.partitions), func(b *testing.B) {
			wishes := manyWishes(size.topics, int32(size.partitions), nil)
			b.ReportAllocs()
			for b.Loop() {
				placement.Place(brokers, nil, wishes)
			}
		})
	}
}

// Topics that exist and are as uneven as can be, on brokers as unevenly loaded, leave much to exchange and nothing that
// can be.
func BenchmarkPlaceUneven(b *testing.B) {
	brokers := sizes(4, 16, 40)
	load := map[int32]topic.Load{}
	for _, broker := range brokers {
		load[broker.ID] = topic.Load{Replicas: 100 * int(broker.ID), Leaders: 10 * int(broker.ID)}
	}
	existing := make([][]int32, 12)
	for i := range existing {
		existing[i] = []int32{1, 5, 21}
	}
	wishes := manyWishes(2000, 12, existing)
	b.ReportAllocs()
	for b.Loop() {
		placement.Place(brokers, load, wishes)
	}
}

func BenchmarkJudge(b *testing.B) {
	brokers := sizes(20, 20, 20)
	lists := placement.Place(brokers, nil, manyWishes(1, 12, nil))[0].Replicas
	partitions := placement.Numbered(0, lists)
	b.ReportAllocs()
	for b.Loop() {
		placement.Judge(brokers, partitions, three)
	}
}

func manyWishes(topics int, partitions int32, existing [][]int32) []placement.Wish {
	out := make([]placement.Wish, topics)
	for i := range out {
		out[i] = placement.Wish{Topic: fmt.Sprintf("topic-%d", i), Partitions: partitions, Rule: three, Existing: existing}
	}
	return out
}
