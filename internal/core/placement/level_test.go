package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/internal/core/topic"
)

// Placements that the keys alone rarely leave behind, on brokers 0 and 1 in rack a, 2 and 3 in rack b.
func TestLevel(t *testing.T) {
	// Broker 0 leads two topics alone and follows in the third, as 1 leads there: three replicas to one. Only the
	// third topic has a follower to give.
	skewed := func() [][][]int { return [][][]int{{{0, 2}}, {{0, 3}}, {{1, 2}, {3, 0}}} }
	tests := map[string]struct {
		load     map[int32]topic.Load
		lists    [][][]int // of each topic
		existing [][]int32 // of the last topic
		want     [][][]int
	}{
		"even": {lists: [][][]int{{{0, 2}, {3, 1}}}, want: [][][]int{{{0, 2}, {3, 1}}}},
		"a topic can be more even too": {
			lists: [][][]int{{{2, 0}, {3, 0}}}, want: [][][]int{{{2, 1}, {3, 0}}},
		},
		"a new topic becomes a little less even":     {lists: skewed(), want: [][][]int{{{0, 2}}, {{0, 3}}, {{1, 2}, {3, 1}}}},
		"a topic that exists does not":               {lists: skewed(), existing: [][]int32{{2, 3}}, want: skewed()},
		"the emptier broker gets what one must have": {map[int32]topic.Load{0: {Replicas: 2}}, [][][]int{{{2, 0}}}, nil, [][][]int{{{2, 1}}}},
		"nearly as empty is not worth it":            {map[int32]topic.Load{0: {Replicas: 0}}, [][][]int{{{2, 0}}}, nil, [][][]int{{{2, 0}}}},
		"other racks do not matter":                  {lists: [][][]int{{{2, 0}, {2, 1}, {2, 0}}}, want: [][][]int{{{2, 0}, {2, 1}, {2, 0}}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLedger([]topic.Broker{{ID: 0, Rack: "a"}, {ID: 1, Rack: "a"}, {ID: 2, Rack: "b"}, {ID: 3, Rack: "b"}}, tt.load)
			var done []assigned
			for i, lists := range tt.lists {
				done = append(done, assigned{lists: lists})
				if i == len(tt.lists)-1 {
					done[i].wish.Existing = tt.existing
				}
				for _, replicas := range lists {
					l.lead(replicas[0])
					l.hold(replicas[1], 1)
				}
			}
			l.level(done)
			var got [][][]int
			for _, a := range done {
				got = append(got, a.lists)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("lists (-want +got):\n%s", diff)
			}
		})
	}
}
