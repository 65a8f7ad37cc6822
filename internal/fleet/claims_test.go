package fleet

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/internal/core/topic"
)

func TestClaims(t *testing.T) {
	ask := func(name string, keys ...string) topic.Ask { return topic.Ask{Name: name, Keys: keys} }
	type step struct {
		claimant string
		ask      topic.Ask // without a name: dropped
		known    bool
		want     []string // topics for which something changed
	}
	tests := map[string]struct {
		steps []step
		want  map[string]joint
	}{
		"union of keys": {
			steps: []step{
				{claimant: "x", ask: ask("t", "b", "a"), want: []string{"t"}},
				{claimant: "y", ask: ask("t", "c", "a"), known: true, want: []string{"t"}},
			},
			want: map[string]joint{"t": {keys: []string{"a", "b", "c"}, known: true}},
		},
		"the same again changes nothing": {
			steps: []step{
				{claimant: "x", ask: ask("t", "a"), want: []string{"t"}},
				{claimant: "x", ask: ask("t", "a")},
			},
			want: map[string]joint{"t": {keys: []string{"a"}}},
		},
		"one of two goes": {
			steps: []step{
				{claimant: "x", ask: ask("t", "a"), known: true, want: []string{"t"}},
				{claimant: "y", ask: ask("t", "b"), want: []string{"t"}},
				{claimant: "x", want: []string{"t"}},
			},
			want: map[string]joint{"t": {keys: []string{"b"}}},
		},
		"the last one goes": {
			steps: []step{
				{claimant: "x", ask: ask("t", "a"), want: []string{"t"}},
				{claimant: "x", want: []string{"t"}},
				{claimant: "x"},
			},
			want: map[string]joint{},
		},
		"another topic": {
			steps: []step{
				{claimant: "x", ask: ask("t", "a"), want: []string{"t"}},
				{claimant: "x", ask: ask("u", "a"), want: []string{"u", "t"}},
			},
			want: map[string]joint{"u": {keys: []string{"a"}}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := newClaims()
			for i, s := range tc.steps {
				var got []string
				if s.ask.Name == "" {
					got = c.drop(s.claimant)
				} else {
					got = c.set(s.claimant, s.ask, s.known)
				}
				if diff := cmp.Diff(s.want, got); diff != "" {
					t.Errorf("step %d changed (-want +got):\n%s", i, diff)
				}
			}
			if diff := cmp.Diff(tc.want, c.all(), cmp.AllowUnexported(joint{})); diff != "" {
				t.Errorf("asks (-want +got):\n%s", diff)
			}
		})
	}
}
