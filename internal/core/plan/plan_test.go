package plan_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/core/topictest"
	"durabletopic.io/operator/internal/statuscheck"
)

var update = flag.Bool("update", false, "write the golden files anew")

func text(s string) *string { return &s }

func TestMake(t *testing.T) {
	three := placement.Rule{ReplicationFactor: 3, MinInSyncReplicas: 2}
	locks := map[string]string{minISR: "2", unclean: "false"}
	tests := map[string]struct {
		change func(*situation)
		want   []plan.Step
	}{
		"converged: nothing to do": {},
		"converged with foreign keys and throttles": {change: func(s *situation) {
			s.set("leader.replication.throttled.replicas", topic.TypeList, "*")
			s.set("segment.ms", topic.TypeLong, "1")
		}},
		"create": {
			change: func(s *situation) { s.missing(); s.declare("segment.ms", "1") },
			want: []plan.Step{plan.CreateTopic{Name: "orders", Partitions: 3, Rule: three, Locks: locks,
				Config: map[string]string{"segment.ms": "1"}}},
		},
		"create by the broker with its number of partitions": {
			change: func(s *situation) { s.missing(); s.Desired.ByBroker, s.Desired.Partitions = true, 0 },
			want:   []plan.Step{plan.CreateTopic{Name: "orders", Rule: three, Locks: locks, ByBroker: true}},
		},
		"locks first and in a request of their own": {
			change: func(s *situation) {
				s.set(minISR, topic.TypeInt, "1")
				s.set(unclean, topic.TypeBoolean, "true")
				s.declare("segment.ms", "2")
				s.declare("segment.bytes", "2")
				s.set("segment.ms", topic.TypeLong, "1")
				s.inherit("segment.bytes", topic.TypeInt, "2")
				s.Owned = append(s.Owned, "segment.jitter.ms")
				s.set("segment.jitter.ms", topic.TypeLong, "7")
				s.Desired.Partitions = 4
			},
			want: []plan.Step{
				plan.AlterConfigs{Name: "orders", Lane: plan.Locks, Changes: []plan.ConfigChange{
					{Key: minISR, From: "1", To: text("2")}, {Key: unclean, From: "true", To: text("false")}}},
				plan.AddPartitions{Name: "orders", From: 3, To: 4, Rule: three,
					Existing: [][]int32{{1, 3, 5}, {3, 5, 1}, {5, 1, 3}}},
				plan.AlterConfigs{Name: "orders", Lane: plan.Declared, Changes: []plan.ConfigChange{
					{Key: "segment.bytes", From: "2", To: text("2")}, {Key: "segment.ms", From: "1", To: text("2")},
					{Key: "segment.jitter.ms", From: "7"}}},
			},
		},
		"an equal lock is not written along with the other": {
			change: func(s *situation) { s.Desired.Unclean = true },
			want: []plan.Step{plan.AlterConfigs{Name: "orders", Lane: plan.Locks, Changes: []plan.ConfigChange{
				{Key: unclean, From: "false", To: text("true")}}}},
		},
		"a declared empty value is set, not removed": {
			change: func(s *situation) {
				s.declare("cleanup.policy", "")
				s.set("cleanup.policy", topic.TypeList, "delete")
			},
			want: []plan.Step{plan.AlterConfigs{Name: "orders", Lane: plan.Declared, Changes: []plan.ConfigChange{
				{Key: "cleanup.policy", From: "delete", To: text("")}}}},
		},
		"new partitions get the replication factor of the first one": {
			change: func(s *situation) { s.partitions("1 3"); s.Desired.Partitions = 2 },
			want: []plan.Step{plan.AddPartitions{Name: "orders", From: 1, To: 2, Existing: [][]int32{{1, 3}},
				Rule: placement.Rule{ReplicationFactor: 2, MinInSyncReplicas: 1, BestEffort: true}}},
		},
		"new partitions by the broker": {
			change: func(s *situation) { s.Desired.Partitions, s.Desired.ByBroker = 4, true },
			want: []plan.Step{plan.AddPartitions{Name: "orders", From: 3, To: 4, Rule: three, ByBroker: true,
				Existing: [][]int32{{1, 3, 5}, {3, 5, 1}, {5, 1, 3}}}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			in := given(tt.change)
			p := plan.Make(in)
			if diff := cmp.Diff(tt.want, p.Steps); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(p, plan.Make(in)); diff != "" {
				t.Errorf("the same facts give another plan:\n%s", diff)
			}
			for _, step := range p.Steps {
				if step.TopicName() != "orders" {
					t.Errorf("%v is for topic %q", step, step.TopicName())
				}
			}
		})
	}
}

// TestPlanGolden shows every kind of step and of hold as people read it in plans, conditions, events and logs.
func TestPlanGolden(t *testing.T) {
	cases := []struct {
		name   string
		change func(*situation)
	}{
		{"new topic", func(s *situation) { s.missing(); s.declare("retention.ms", "604800000") }},
		{"new topic without a number of partitions", func(s *situation) { s.missing(); s.Desired.Partitions = 0 }},
		{"everything differs", func(s *situation) {
			s.set(minISR, topic.TypeInt, "1")
			s.inherit(unclean, topic.TypeBoolean, "false")
			s.declare("retention.ms", "604800000")
			s.declare("cleanup.policy", "compact,delete")
			s.declare("segment.msec", "1")
			s.set("retention.ms", topic.TypeLong, "1000")
			s.set("cleanup.policy", topic.TypeList, "")
			s.Owned = append(s.Owned, "segment.ms")
			s.set("segment.ms", topic.TypeLong, "1000")
			s.Desired.Partitions = 12
		}},
		{"replicas first", func(s *situation) { s.set(minISR, topic.TypeInt, "1"); s.partitions("1", "3 5") }},
		{"eligible leaders", func(s *situation) {
			topictest.WithELR(s.View.Cluster)
			s.set(minISR, topic.TypeInt, "1")
			s.partitions("1 3 5 isr 1 elr 3 5")
		}},
		{"no leader", func(s *situation) { s.Desired.Unclean = true; s.partitions("1 3 5 isr elr 3") }},
		{"fight", func(s *situation) { s.set(minISR, topic.TypeInt, "1"); s.fought(minISR) }},
		{"read-only", func(s *situation) {
			s.View.Topic.Configs[unclean] = topic.Config{Value: "true", Type: topic.TypeBoolean, ReadOnly: true}
		}},
		{"too many partitions", func(s *situation) { s.Desired.Partitions = 1 }},
		{"moving to a wrong rack", func(s *situation) { s.partitions("1 3 5 2 adding 2 removing 5"); s.Desired.Partitions = 2 }},
		{"missing broker", func(s *situation) { s.View.Cluster = topictest.Cluster("a a b b x c") }},
		{"missing broker, no room", func(s *situation) { s.View.Cluster = topictest.Cluster("a x b x x x") }},
		{"two racks", func(s *situation) { s.partitions("1 3 4"); s.View.Cluster = topictest.Cluster("a a b b") }},
		{"two racks, new topic", func(s *situation) { s.missing(); s.View.Cluster = topictest.Cluster("a a b b") }},
		{"rack down, new topic", func(s *situation) { s.missing(); s.View.Cluster = topictest.Cluster("a a b b c! c!") }},
		{"vanished at one broker", func(s *situation) { s.missing(); s.Known = true }},
		{"collision", func(s *situation) { s.missing(); s.View.Collision = "or.ders" }},
	}
	var out strings.Builder
	for _, c := range cases {
		fmt.Fprintf(&out, "# %s\n", c.name)
		p := plan.Make(given(c.change))
		for _, step := range p.Steps {
			fmt.Fprintf(&out, "do   %s\n", check(t, step.String()))
		}
		for _, h := range p.Held {
			fmt.Fprintf(&out, "hold %s: %s\n", h.Why.Reason, check(t, h.Why.Message))
		}
		for _, key := range p.Released {
			fmt.Fprintf(&out, "free %s\n", key)
		}
	}
	golden := filepath.Join("testdata", "plan.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Errorf("the words changed; with -update the file follows (-want +got):\n%s", diff)
	}
}

func check(t *testing.T, words string) string {
	t.Helper()
	for _, err := range statuscheck.Message(words) {
		t.Error(err)
	}
	return words
}

func TestSpread(t *testing.T) {
	in := given(func(s *situation) { s.partitions("1 3 5", "1 2 6") })
	want := placement.Spread{Racks: []string{"a", "b", "c"}, FewestRacks: 2}
	if diff := cmp.Diff(want, plan.Spread(in.View.Cluster, in.View.Topic, in.Desired.Rule)); diff != "" {
		t.Errorf("spread (-want +got):\n%s", diff)
	}
}
