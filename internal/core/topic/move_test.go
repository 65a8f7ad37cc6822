package topic_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"durabletopic.io/operator/internal/core/topic"
)

func TestParseThrottled(t *testing.T) {
	tests := map[string]struct {
		raw  string
		all  bool
		want []topic.ThrottledReplica
	}{
		"empty":       {"", false, nil},
		"all":         {"*", true, nil},
		"none":        {"none", false, nil},
		"one":         {"0:1", false, []topic.ThrottledReplica{{Partition: 0, Broker: 1}}},
		"spaces":      {" 0:1 , 12:3 ", false, []topic.ThrottledReplica{{Partition: 0, Broker: 1}, {Partition: 12, Broker: 3}}},
		"not numbers": {"0:1,a:2,3:b,4,5:6:7,99999999999:1", false, []topic.ThrottledReplica{{Partition: 0, Broker: 1}}},
		"twice":       {"0:1,00:1", false, []topic.ThrottledReplica{{Partition: 0, Broker: 1}, {Partition: 0, Broker: 1}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			want := topic.ThrottledList{Set: true, Raw: tt.raw, All: tt.all, Entries: tt.want}
			if diff := cmp.Diff(want, topic.ParseThrottled(tt.raw)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What is written is read as the same entries, each of which is throttled, and no other.
func TestThrottledRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		replica := rapid.Custom(func(t *rapid.T) topic.ThrottledReplica {
			return topic.ThrottledReplica{Partition: rapid.Int32Min(0).Draw(t, "partition"), Broker: rapid.Int32Min(0).Draw(t, "broker")}
		})
		entries := rapid.SliceOfDistinct(replica, func(r topic.ThrottledReplica) topic.ThrottledReplica { return r }).Draw(t, "entries")
		list := topic.ParseThrottled(topic.FormatThrottled(entries))
		if !slices.Equal(entries, list.Entries) || list.All {
			t.Fatalf("%v became %+v", entries, list)
		}
		if r := replica.Draw(t, "replica"); list.Has(r) != slices.Contains(entries, r) {
			t.Fatalf("has %v: %v", r, list.Has(r))
		}
	})
}

func TestThrottledAll(t *testing.T) {
	if !topic.ParseThrottled("*").Has(topic.ThrottledReplica{Partition: 7, Broker: 9}) {
		t.Error("* leaves a replica out")
	}
	if (topic.ThrottledList{}).Has(topic.ThrottledReplica{}) {
		t.Error("a list that is not set throttles")
	}
}

func TestTopicPartitionOrder(t *testing.T) {
	list := []topic.TopicPartition{{Topic: "b", Partition: 0}, {Topic: "a", Partition: 10}, {Topic: "a", Partition: 9}}
	slices.SortFunc(list, topic.TopicPartition.Compare)
	want := []string{"a-9", "a-10", "b-0"}
	for i, p := range list {
		if p.String() != want[i] {
			t.Errorf("%d is %v, want %s", i, p, want[i])
		}
	}
}

func TestReassignmentTarget(t *testing.T) {
	r := topic.Reassignment{Replicas: []int32{4, 1, 2}, Adding: []int32{4}, Removing: []int32{2}}
	if diff := cmp.Diff([]int32{4, 1}, r.Target()); diff != "" {
		t.Error(diff)
	}
}

func TestRates(t *testing.T) {
	if (topic.Rates{}).Any() || !(topic.Rates{Follower: topic.RateOf(0)}).Any() {
		t.Error("a rate of 0 that is set counts, none does not")
	}
}
