package fleet

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

func TestPartitionsOfANewTopic(t *testing.T) {
	denied := kafkatest.Denial{Operation: kmsg.ACLOperationDescribeConfigs, Resource: kmsg.ACLResourceTypeCluster}
	tests := map[string]struct {
		step       plan.CreateTopic
		deny       []kafkatest.Denial
		want       int
		wantReason string
	}{
		"declared": {step: plan.CreateTopic{Partitions: 5}, want: 5},
		"default":  {want: 4},
		"unknown":  {deny: []kafkatest.Denial{denied}, wantReason: v1alpha1.ReasonNotAuthorized},
		"broker":   {step: plan.CreateTopic{ByBroker: true}, deny: []kafkatest.Denial{denied}, want: 4},
		"counted":  {step: plan.CreateTopic{ByBroker: true, Partitions: 2}, want: 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, Options{}, func(t *testing.T, b *bed) {
				k := kafkatest.New(kafkatest.Options{DefaultPartitions: 4})
				k.Deny(tc.deny...)
				b.kafkas["a"] = k
				c := b.fleet.Ensure("a", settings("a", k.ClusterID()))
				b.inTouch(c)
				declare(c, "orders")
				tc.step.Name, tc.step.Rule, tc.step.Locks = "orders", rule, locks
				errs := execute(t, c, tc.step)
				if reason(errs[0]) != tc.wantReason {
					t.Fatalf("got %v, want %q", errs[0], tc.wantReason)
				}
				got, _ := k.Topic("orders")
				if len(got.Partitions) != tc.want {
					t.Errorf("%d partitions, want %d", len(got.Partitions), tc.want)
				}
			})
		})
	}
}

func TestAddPartitions(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bed) {
		k, c := b.connect("a", kafkatest.Options{})
		existing := [][]int32{{1, 3, 5}, {2, 4, 6}}
		k.CreateTopicByHand("orders", existing, nil)
		declare(c, "orders")
		b.until("topic", func() bool { return c.View("orders").Presence == topic.Present })
		step := plan.AddPartitions{Name: "orders", From: 2, To: 6, Existing: existing, Rule: rule}
		if errs := execute(t, c, step); errs[0] != nil {
			t.Fatal(errs)
		}
		if got := c.View("orders").Topic; len(got.Partitions) != 6 {
			t.Errorf("after Execute %d partitions are known", len(got.Partitions))
		}
		checkEven(t, k, []string{"orders"})
		if again := execute(t, c, step); reason(again[0]) != v1alpha1.ReasonAddingPartitions {
			t.Errorf("the same again: %v", again[0])
		}
	})
}

func TestAlterConfigs(t *testing.T) {
	inBubble(t, Options{}, func(t *testing.T, b *bed) {
		k, c := b.connect("a", kafkatest.Options{})
		for _, name := range []string{"orders", "payments"} {
			k.CreateTopicByHand(name, [][]int32{{1, 3, 5}}, map[string]string{"retention.ms": "1000"})
		}
		declare(c, "orders", "payments")
		b.until("topics", func() bool { return c.View("payments").Presence == topic.Present })
		bad := alter("payments", "retention.ms", "soon")
		bad.Lane = plan.Declared
		removed := plan.AlterConfigs{Name: "orders", Lane: plan.Declared, Changes: []plan.ConfigChange{{Key: "retention.ms"}}}
		errs := execute(t, c, bad, removed, alter("orders", topic.MinInSyncReplicas, "2"), alter("payments", topic.MinInSyncReplicas, "2"))
		want := []string{v1alpha1.ReasonConfigRejected, "", "", ""}
		for i, err := range errs {
			if reason(err) != want[i] {
				t.Errorf("step %d: %v", i, err)
			}
		}
		for _, w := range k.Writes() {
			if keys := alteredKeys(w.Request); len(keys) != 1 {
				t.Errorf("one request altered %v: locks must not share theirs", keys)
			}
		}
		if _, ok := k.TopicConfig("orders", "retention.ms"); ok {
			t.Error("a removed key is still there")
		}
		for _, name := range []string{"orders", "payments"} {
			if got := c.View(name).Topic.Configs[topic.MinInSyncReplicas]; got.Value != "2" || !got.OnTopic {
				t.Errorf("after Execute %q shows %+v", name, got)
			}
		}
	})
}

// alteredKeys are the config keys that a request alters, each once.
func alteredKeys(req kmsg.Request) []string {
	var keys []string
	for _, r := range req.(*kmsg.IncrementalAlterConfigsRequest).Resources {
		for _, c := range r.Configs {
			keys = append(keys, c.Name)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
