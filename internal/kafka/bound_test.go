package kafka

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

type weight int

func (w weight) Records() int { return int(w) }

func TestSplit(t *testing.T) {
	many := func(n, w int) []weight {
		items := make([]weight, n)
		for i := range items {
			items[i] = weight(w)
		}
		return items
	}
	tests := map[string]struct {
		items []weight
		want  []int
	}{
		"nothing":                    {nil, nil},
		"one":                        {many(1, 6), []int{1}},
		"500 topics of 3 partitions": {many(500, 6), []int{500}},
		"one topic too many":         {many(501, 6), []int{500, 1}},
		"just as many records":       {many(2, 5000), []int{2}},
		"one record too many":        {[]weight{5000, 5001}, []int{1, 1}},
		"a giant goes alone":         {[]weight{3, 20_000, 3, 4}, []int{1, 1, 2}},
		"giants":                     {many(2, 10_001), []int{1, 1}},
		"4000 partitions, three":     {many(3, 4001), []int{2, 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []int
			var joined []weight
			for _, r := range Split(tt.items) {
				got = append(got, len(r))
				joined = append(joined, r...)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.items, joined); diff != "" {
				t.Errorf("items were lost or turned round: %s", diff)
			}
		})
	}
}

func TestRecords(t *testing.T) {
	tests := map[string]struct {
		item Recorder
		want int
	}{
		"explicit replicas": {NewTopic{Assignments: [][]int32{{1}, {2}, {3}}, Partitions: 9, Configs: map[string]string{"a": "", "b": ""}}, 6},
		"counted":           {NewTopic{Partitions: 12}, 13},
		"left to brokers":   {NewTopic{Partitions: -1}, 101},
		"alteration":        {Alteration{Set: map[string]string{"a": ""}, Delete: []string{"b"}}, 3},
		"added partitions":  {NewPartitions{Total: 12, Assignments: [][]int32{{1}, {2}}}, 3},
		"total partitions":  {NewPartitions{Total: 12}, 13},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.item.Records(); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}
