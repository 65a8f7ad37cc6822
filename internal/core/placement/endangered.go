package placement

import (
	"cmp"
	"slices"
)

// MostEndangeredFirst sorts moves by how little it takes to lose the partition: fewest in-sync replicas, fewest racks they
// are in, critical topics before others, then topic and partition.
func MostEndangeredFirst(moves []Move) {
	slices.SortFunc(moves, func(a, b Move) int {
		return cmp.Or(
			cmp.Compare(a.InSync, b.InSync),
			cmp.Compare(a.InSyncRacks, b.InSyncRacks),
			boolOrder(b.Critical, a.Critical),
			cmp.Compare(a.Topic, b.Topic),
			cmp.Compare(a.Partition, b.Partition),
		)
	})
}
