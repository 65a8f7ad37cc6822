package fleet

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/kafka"
)

func brokers() []topic.Broker {
	return []topic.Broker{{ID: 1, Rack: "a"}, {ID: 2, Rack: "a"}, {ID: 3, Rack: "b"}, {ID: 4, Rack: "b"}, {ID: 5, Rack: "c"}, {ID: 6, Rack: "c"}}
}

// What breaks the rule is refused whoever placed it.
func TestJudged(t *testing.T) {
	tests := map[string]struct {
		placed placement.Placed
		want   string // reason; empty: it is sent
	}{
		"by the rule":   {placed: placement.Placed{Replicas: [][]int32{{1, 3, 5}, {4, 6, 2}}}},
		"one rack":      {placed: placement.Placed{Replicas: [][]int32{{1, 3, 5}, {1, 2, 3}}}, want: v1alpha1.ReasonPlacementViolation},
		"one too few":   {placed: placement.Placed{Replicas: [][]int32{{1, 3, 5}, {1, 3}}}, want: v1alpha1.ReasonPlacementViolation},
		"twice":         {placed: placement.Placed{Replicas: [][]int32{{1, 3, 3}, {1, 3, 5}}}, want: v1alpha1.ReasonPlacementViolation},
		"unknown":       {placed: placement.Placed{Replicas: [][]int32{{1, 3, 7}, {1, 3, 5}}}, want: v1alpha1.ReasonPlacementViolation},
		"one partition": {placed: placement.Placed{Replicas: [][]int32{{1, 3, 5}}}, want: v1alpha1.ReasonPlacementViolation},
		"shortage": {
			placed: placement.Placed{Shortage: placement.Feasible(brokers()[:4], rule)}, want: v1alpha1.ReasonInsufficientRacks,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			wish := placement.Wish{Topic: "orders", Partitions: 2, Rule: rule}
			got, err := judged(&topic.Cluster{Brokers: brokers()}, wish, tc.placed)
			if reason(err) != tc.want {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if (tc.want == "") != (got != nil) {
				t.Errorf("to be sent: %v", got)
			}
		})
	}
}

func TestDraftCreatesNames(t *testing.T) {
	tests := map[string]struct {
		names []string // of the listing
		taken []string
		steps []string
		want  []string // reason for each step
	}{
		"new":                     {steps: []string{"a", "b"}, want: []string{"", ""}},
		"listed":                  {names: []string{"a"}, steps: []string{"a", "b"}, want: []string{v1alpha1.ReasonCreating, ""}},
		"confirmed, not listed":   {taken: []string{"a"}, steps: []string{"a"}, want: []string{v1alpha1.ReasonCreating}},
		"collides with listed":    {names: []string{"a.b"}, steps: []string{"a_b"}, want: []string{v1alpha1.ReasonTopicNameCollision}},
		"collides with confirmed": {taken: []string{"a_b"}, steps: []string{"a.b"}, want: []string{v1alpha1.ReasonTopicNameCollision}},
		"the first of two stays":  {steps: []string{"x_y", "x.y", "x_z"}, want: []string{"", v1alpha1.ReasonTopicNameCollision, ""}},
		"one that is refused takes no name": {
			names: []string{"a.b.c"}, steps: []string{"a_b.c", "a.b_d", "a_b_d"},
			want: []string{v1alpha1.ReasonTopicNameCollision, "", v1alpha1.ReasonTopicNameCollision},
		},
		"listed under a name that collides": {
			names: []string{"a.b", "a_b"}, steps: []string{"a_b"}, want: []string{v1alpha1.ReasonCreating},
		},
		"dots that are alike":   {names: []string{"a.b"}, steps: []string{"a.c"}, want: []string{""}},
		"letters are not alike": {names: []string{"A.b"}, steps: []string{"a.b"}, want: []string{""}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := scene{cluster: &topic.Cluster{Brokers: brokers()}, names: map[string]topic.ID{}, taken: map[string]bool{}}
			for _, n := range tc.names {
				s.names[n] = topic.ID{1}
			}
			for _, n := range tc.taken {
				s.taken[n] = true
			}
			var steps []plan.CreateTopic
			for _, n := range tc.steps {
				steps = append(steps, create(n))
			}
			var got []string
			for _, d := range draftCreates(s, steps) {
				got = append(got, reason(d.fault))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Who came first decides nothing about where replicas go.
func TestDraftCreatesDoesNotDependOnTheOrder(t *testing.T) {
	s := scene{cluster: &topic.Cluster{Brokers: brokers()}, load: map[int32]topic.Load{1: {Replicas: 5, Leaders: 2}}}
	drafts := func(list []string) map[string]kafka.NewTopic {
		var steps []plan.CreateTopic
		for _, n := range list {
			steps = append(steps, create(n))
		}
		sent := map[string]kafka.NewTopic{}
		for i, d := range draftCreates(s, steps) {
			if d.fault != nil || d.send.Name != list[i] {
				t.Fatalf("draft %d is of %q: %v", i, d.send.Name, d.fault)
			}
			sent[d.send.Name] = d.send
		}
		return sent
	}
	forward := names("t", 7)
	backward := slices.Clone(forward)
	slices.Reverse(backward)
	if diff := cmp.Diff(drafts(forward), drafts(backward)); diff != "" {
		t.Errorf("(-forward +backward):\n%s", diff)
	}
}

func TestReservations(t *testing.T) {
	var r reservations
	r.add("listed", [][]int32{{1, 2, 3}}, true, false)
	r.add("confirmed", [][]int32{{2, 3, 1}}, true, false)
	r.add("seen and gone", [][]int32{{2, 3, 1}}, true, false)
	r.add("uncertain", [][]int32{{3, 1, 2}}, true, true)
	r.add("grown", [][]int32{{4, 5, 6}}, false, false)
	r.add("shown", [][]int32{{4, 5, 6}}, false, false)
	listing := &topic.Listing{Names: map[string]topic.ID{"listed": {1}, "grown": {2}, "shown": {3}}, Load: map[int32]topic.Load{1: {Replicas: 10, Leaders: 3}}}
	shown := func(name string, _ [][]int32) bool { return name == "shown" }
	pending := func(name string) bool { return name != "seen and gone" }
	for range 2 { // what is still held stays held
		load, taken := r.over(listing, shown, pending)
		wantLoad := map[int32]topic.Load{
			1: {Replicas: 13, Leaders: 3}, 2: {Replicas: 3, Leaders: 2}, 3: {Replicas: 3, Leaders: 1},
			4: {Replicas: 1, Leaders: 1}, 5: {Replicas: 1}, 6: {Replicas: 1},
		}
		if diff := cmp.Diff(wantLoad, load); diff != "" {
			t.Errorf("load (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]bool{"confirmed": true}, taken); diff != "" {
			t.Errorf("names taken (-want +got):\n%s", diff)
		}
	}
	if listing.Load[2].Replicas != 0 {
		t.Error("the listing was changed")
	}
}
