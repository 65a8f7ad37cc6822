package placement_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/internal/core/placement"
)

func TestMostEndangeredFirst(t *testing.T) {
	want := []placement.Move{
		{Topic: "z", Partition: 7, InSync: 1, InSyncRacks: 1},
		{Topic: "z", Partition: 1, InSync: 2, InSyncRacks: 1, Critical: true},
		{Topic: "a", Partition: 2, InSync: 2, InSyncRacks: 1},
		{Topic: "a", Partition: 10, InSync: 2, InSyncRacks: 1},
		{Topic: "b", Partition: 0, InSync: 2, InSyncRacks: 1},
		{Topic: "a", Partition: 0, InSync: 2, InSyncRacks: 2, Critical: true},
		{Topic: "a", Partition: 0, InSync: 3, InSyncRacks: 1, Critical: true},
	}
	for range 20 {
		got := slices.Clone(want)
		rand.Shuffle(len(got), func(i, k int) { got[i], got[k] = got[k], got[i] })
		placement.MostEndangeredFirst(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("order (-want +got):\n%s", diff)
		}
	}
}
