package durability_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/internal/core/durability"
	"durabletopic.io/operator/internal/core/topictest"
)

func TestExamine(t *testing.T) {
	offline := func(inSync int, safe bool, waits ...int32) durability.Health {
		return durability.Health{Offline: []durability.Weak{{InSync: inSync, WaitsFor: waits, Safe: safe}}}
	}
	under := func(inSync int, waits ...int32) durability.Health {
		return durability.Health{UnderMinISR: []durability.Weak{{InSync: inSync, WaitsFor: waits}}}
	}
	reduced := func(inSync int, waits ...int32) durability.Health {
		return durability.Health{Reduced: []durability.Weak{{InSync: inSync, WaitsFor: waits}}}
	}
	tests := map[string]struct {
		partition string
		minISR    int32
		want      durability.Health
	}{
		"all in sync":                              {"1 3 5", 2, durability.Health{}},
		"one behind":                               {"5 3 1 isr 3 1", 2, reduced(2, 5)},
		"two behind":                               {"5 3 1 isr 3", 2, under(1, 1, 5)},
		"one behind where Kafka wants three":       {"1 3 5 isr 1 3", 3, under(2, 5)},
		"Kafka wants no more than there are":       {"1 isr 1", 2, durability.Health{}},
		"two of five behind":                       {"1 2 3 4 5 isr 1 3 5", 3, reduced(3, 2, 4)},
		"three of five behind":                     {"1 2 3 4 5 isr 1 3", 3, under(2, 2, 4, 5)},
		"offline, eligible leaders":                {"1 3 5 isr elr 5 3", 2, offline(0, true, 3, 5)},
		"offline, in sync as last":                 {"1 3 5 isr 3 leader -", 2, offline(1, true, 3)},
		"offline, in sync and eligible":            {"1 3 5 isr 5 elr 1 leader -", 2, offline(1, true, 1, 5)},
		"offline, only the last leader known":      {"1 3 5 isr known 5", 2, offline(0, false, 5)},
		"offline, nobody known":                    {"5 3 1 isr", 2, offline(0, false, 1, 3, 5)},
		"offline, all in sync: leader just lost":   {"1 3 5 leader -", 2, offline(3, true, 1, 3, 5)},
		"a third replica is not in sync yet":       {"1 3 5 isr 1 3 adding 5", 2, reduced(2, 5)},
		"a replica is being replaced":              {"1 3 5 6 isr 1 3 5 adding 6 removing 5", 2, durability.Health{}},
		"a dead replica is being replaced":         {"1 3 5 6 isr 1 3 adding 6 removing 5", 2, reduced(2, 5, 6)},
		"a replica whose broker has left the rack": {"1 3 9 isr 1 3", 2, reduced(2, 9)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := topictest.Topic(tt.partition)
			got := durability.Examine(o, tt.minISR)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("health (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(topictest.Topic(tt.partition), o); diff != "" {
				t.Errorf("the topic was changed:\n%s", diff)
			}
		})
	}
}

func TestExamineSortsPartitions(t *testing.T) {
	o := topictest.Topic("1 3 5", "1 3 5 isr elr 3", "3 5 1 isr 3", "5 1 3 isr 5 1", "1 3 5 isr 5")
	got := durability.Examine(o, 2)
	want := durability.Health{
		Offline:     []durability.Weak{{Partition: 1, WaitsFor: []int32{3}, Safe: true}},
		UnderMinISR: []durability.Weak{{Partition: 2, InSync: 1, WaitsFor: []int32{1, 5}}, {Partition: 4, InSync: 1, WaitsFor: []int32{1, 3}}},
		Reduced:     []durability.Weak{{Partition: 3, InSync: 2, WaitsFor: []int32{3}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("health (-want +got):\n%s", diff)
	}
}
