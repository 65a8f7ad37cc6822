package verdict_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/durability"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/core/topictest"
	"durabletopic.io/operator/internal/core/verdict"
	"durabletopic.io/operator/internal/fault"
)

// TestAnyView follows a topic through views at random. Whatever is seen, in whatever order: the status keeps its
// invariants (judge checks them), Ready=True means that no check finds a difference, Durable=True means that the
// guarantees hold, and no plan breaks a safety rule.
func TestAnyView(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := orders()
		s.damped = map[string]plan.Fight{}
		for range rapid.IntRange(1, 4).Draw(t, "passes") {
			shuffle(t, s)
			in := s.input()
			v := judge(t, s, in)
			wantReadyToBeTrue(t, in, v)
			wantDurableToBeTrue(t, in, v)
			wantDriftToBeTrue(t, in, v)
			wantSafe(t, in)
			s.Previous = v.Status
		}
	})
}

func some(t *rapid.T, what string, percent int) bool {
	return rapid.IntRange(0, 99).Draw(t, what) < percent
}

// shuffle lets time pass and anything happen; mostly things stay as declared, so that good situations come too.
func shuffle(t *rapid.T, s *scene) {
	s.Now = s.Now.Add(time.Duration(rapid.IntRange(0, 700).Draw(t, "seconds")) * time.Second)
	s.Did, s.Failures, s.Refusal, s.refused = verdict.Deeds{}, nil, nil, nil
	s.Fights, s.DoneAt = nil, time.Time{}
	if some(t, "edit", 20) {
		s.Generation++
	}
	s.Desired.Mode = rapid.SampledFrom([]v1alpha1.Enforcement{"Enforce", "Enforce", "Enforce", "Observe", "Suspended"}).Draw(t, "mode")
	s.Desired.Unclean = some(t, "telemetry", 20)
	s.Desired.Rule.BestEffort = some(t, "best effort", 20)
	s.Desired.Rule.ReplicationFactor, s.Desired.Rule.MinInSyncReplicas = 3, 2
	if some(t, "five replicas", 10) {
		s.Desired.Rule.ReplicationFactor, s.Desired.Rule.MinInSyncReplicas = 5, 3
	}
	s.View = topictest.View(anyCluster(t), anyTopic(t, s))
	s.View.ReadAt, s.View.Contact.Last = s.Now, s.Now
	s.Desired.Partitions = int32(len(s.View.Topic.Partitions))
	if some(t, "partitions", 10) {
		s.Desired.Partitions = rapid.Int32Range(0, 5).Draw(t, "declared partitions")
	}
	anyConfig(t, s)
	anyContact(t, s)
	anyTrouble(t, s)
}

func anyCluster(t *rapid.T) *topic.Cluster {
	racks := []string{"a", "a", "b", "b", "c", "c"}
	if some(t, "other cluster", 30) {
		racks = rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "a!", "b!", "c!", "-", "-!", "x"}), 1, 7).Draw(t, "racks")
	}
	c := topictest.Cluster(strings.Join(racks, " "))
	if some(t, "elr", 50) {
		topictest.WithELR(c)
	}
	return c
}

func anyTopic(t *rapid.T, s *scene) *topic.Topic {
	o := topictest.Topic()
	for i := range rapid.IntRange(0, 4).Draw(t, "partitions") {
		p := topictest.Partition("1 3 5")
		if s.Desired.Rule.ReplicationFactor == 5 {
			p = topictest.Partition("1 2 3 4 5")
		}
		if some(t, "other replicas", 20) {
			p.Replicas = rapid.Permutation([]int32{1, 2, 3, 4, 5, 6, 7}).Draw(t, "replicas")[:rapid.IntRange(1, 6).Draw(t, "rf")]
		}
		p.Index, p.ISR = int32(i), p.Replicas
		if some(t, "behind", 25) {
			cut := func(what string) []int32 { return p.Replicas[:rapid.IntRange(0, len(p.Replicas)).Draw(t, what)] }
			p.ISR, p.ELR, p.LastKnownELR = cut("isr"), cut("elr"), cut("known")
		}
		if p.Leader = topic.NoLeader; len(p.ISR) > 0 && some(t, "leader", 90) {
			p.Leader = p.ISR[0]
		}
		if some(t, "moving", 10) {
			p.Adding, p.Removing = p.Replicas[len(p.Replicas)-1:], p.Replicas[:rapid.IntRange(0, len(p.Replicas)-1).Draw(t, "removing")]
		}
		o.Partitions = append(o.Partitions, p)
	}
	if some(t, "another ID", 10) {
		o.ID = topic.ID{rapid.Byte().Draw(t, "id") | 1}
	}
	return o
}

func anyConfig(t *rapid.T, s *scene) {
	c := s.View.Topic.Configs
	c[unclean] = topic.Config{Value: fmt.Sprint(s.Desired.Unclean), Type: topic.TypeBoolean, OnTopic: true}
	c[minISR] = topic.Config{Value: fmt.Sprint(s.Desired.Rule.MinInSyncReplicas), Type: topic.TypeInt, OnTopic: true}
	s.Desired.Config, s.Owned = nil, []string{minISR, unclean}
	if some(t, "spec.config", 30) {
		s.Desired.Config = map[string]string{"segment.ms": "1"}
		c["segment.ms"] = topic.Config{Value: "1", Type: topic.TypeLong, OnTopic: true}
		s.Owned = append(s.Owned, "segment.ms")
	}
	if some(t, "left", 10) {
		s.Owned = append(s.Owned, "segment.bytes", "retention.ms")
		c["segment.bytes"], c["retention.ms"] = topic.Config{Value: "1", OnTopic: true}, topic.Config{Value: "1", OnTopic: true}
	}
	for _, key := range []string{minISR, unclean, "segment.ms"} {
		if !some(t, key, 15) {
			continue
		}
		c[key] = topic.Config{
			Value: rapid.SampledFrom([]string{"1", "2", "3", "true", "false", "", "a\nb\xff"}).Draw(t, "value"), Type: topic.TypeInt,
			OnTopic: rapid.Bool().Draw(t, "on topic"), ReadOnly: some(t, "read-only", 20),
		}
		switch rapid.IntRange(0, 5).Draw(t, "fate") {
		case 0:
			delete(c, key)
			s.View.Incomplete = rapid.Bool().Draw(t, "incomplete")
		case 1:
			if want, ok := s.Desired.Value(key); ok {
				s.View.Expected.Configs = map[string]*string{key: &want}
				s.DoneAt = s.Now.Add(-time.Duration(rapid.IntRange(0, 5).Draw(t, "done")) * time.Second)
				s.Did.Drift = drift(key, "1", want)
			}
		case 2:
			f := s.damped[key]
			for range rapid.IntRange(1, 5).Draw(t, "corrections") {
				f = f.Found(s.Now).Corrected(s.Now)
			}
			s.damped[key] = f.Found(s.Now)
		}
	}
}

func anyContact(t *rapid.T, s *scene) {
	since := time.Duration(rapid.IntRange(0, 200).Draw(t, "since")) * time.Second
	faults := []error{nil, fmt.Errorf("EOF"), fault.New(fault.Transient, "ConnectionTimedOut", "no answer; check firewalls"),
		fault.New(fault.Blocked, "ClusterIDChanged", "another Kafka cluster").WithDetail("x")}
	switch rapid.IntRange(0, 19).Draw(t, "contact") {
	case 0:
		s.View.Contact.InTouch, s.View.Contact.Since = false, s.Now.Add(-since)
		s.View.Contact.Fault = rapid.SampledFrom(faults).Draw(t, "fault")
	case 1:
		s.View.Problem, s.View.ReadAt = rapid.SampledFrom(faults).Draw(t, "problem"), s.Now.Add(-since)
	case 2:
		s.View.Presence, s.View.Topic = topic.NotRead, nil
	case 3:
		s.View.Presence, s.View.ReadAt = topic.Missing, s.Now.Add(-since)
		s.View.Expected.Created = rapid.Bool().Draw(t, "created")
	case 4:
		s.View.Presence, s.View.Topic = topic.Absent, nil
	case 5:
		s.View.Presence, s.View.Problem = topic.Hidden, rapid.SampledFrom(faults).Draw(t, "hidden")
	}
	s.View.ReducedSince = s.Now.Add(-time.Duration(rapid.IntRange(0, 600).Draw(t, "reduced")) * time.Second)
}

func anyTrouble(t *rapid.T, s *scene) {
	switch rapid.IntRange(0, 19).Draw(t, "trouble") {
	case 0:
		s.Refusal = fault.New(fault.Class(rapid.IntRange(0, 3).Draw(t, "class")), "KafkaClusterNotReady", "the KafkaCluster is not ready")
	case 1:
		s.Refusal = fault.New(fault.Blocked, "TopicOwnedByAnother", "the topic belongs to shop/orders")
	case 2:
		s.Failures = []*fault.Fault{fault.As(fmt.Errorf("EOF"))}
	case 3:
		s.refused = map[string]*fault.Fault{minISR: fault.New(fault.Invalid, "ConfigRejected", "refused").WithDetail("words")}
	case 4:
		s.Did.Created, s.Did.Recreated = true, s.Previous.TopicID != ""
	case 6:
		s.Fights = []string{"somebody keeps setting segment.ms to 1, declared is 2"}
	case 5:
		s.Did.Replaced = s.Previous.TopicID != ""
	}
}

func is(v verdict.Verdict, kind string, status metav1.ConditionStatus) bool {
	return slices.ContainsFunc(v.Status.Conditions, func(c metav1.Condition) bool { return c.Type == kind && c.Status == status })
}

// judgedNow tells whether the verdict comes from facts of now.
func judgedNow(in verdict.Input, v verdict.Verdict) bool {
	return !v.Quiet && in.Refusal == nil && in.Desired.Mode != v1alpha1.EnforcementSuspended && in.View.Contact.InTouch &&
		(in.View.Problem == nil || in.View.Presence == topic.Hidden)
}

func wantReadyToBeTrue(t *rapid.T, in verdict.Input, v verdict.Verdict) {
	ready := is(v, v1alpha1.ConditionReady, metav1.ConditionTrue)
	if !judgedNow(in, v) {
		if ready && !v.Quiet {
			t.Fatalf("Ready without facts: %+v", in.View)
		}
		return
	}
	differences := durability.Differences(durability.Input{Desired: in.Desired, View: in.View, Owned: in.Owned})
	differences = slices.DeleteFunc(differences, func(d durability.Difference) bool { return slices.Contains(in.Remaining.Released, d.Key) })
	if want := len(differences) == 0 && len(in.Failures) == 0; ready != want && (ready || len(in.Failures) == 0) {
		t.Fatalf("Ready=True is %v with the differences %v", ready, differences)
	}
}

// wantDurableToBeTrue states the guarantees anew, without the code that judges them.
func wantDurableToBeTrue(t *rapid.T, in verdict.Input, v verdict.Verdict) {
	if !judgedNow(in, v) || !is(v, v1alpha1.ConditionDurable, metav1.ConditionTrue) {
		return
	}
	rule, o := in.Desired.Rule, in.View.Topic
	if o == nil || value(in, unclean) != "false" && !in.Desired.Unclean {
		t.Fatalf("Durable without a topic or with unclean election: %+v", o)
	}
	var confirms int
	if _, err := fmt.Sscan(value(in, minISR), &confirms); err != nil || confirms < int(rule.MinInSyncReplicas) {
		t.Fatalf("Durable with min.insync.replicas %q", value(in, minISR))
	}
	for _, p := range o.Partitions {
		if p.Leader == topic.NoLeader || len(p.ISR) < min(int(rule.MinInSyncReplicas), len(p.Replicas)) || len(p.Target()) < int(rule.ReplicationFactor) {
			t.Fatalf("Durable with partition %+v", p)
		}
		for _, rack := range []string{"a", "b", "c"} {
			left := 0
			for _, id := range p.Target() {
				if b, ok := in.View.Cluster.Broker(id); ok && b.Rack != "" && b.Rack != rack {
					left++
				}
			}
			if left < int(rule.MinInSyncReplicas) && !rule.BestEffort {
				t.Fatalf("Durable, but without rack %s partition %+v has %d replicas", rack, p, left)
			}
		}
	}
}

// value is what a config is in Kafka: what Kafka has confirmed, else what it shows.
func value(in verdict.Input, key string) string {
	if v := in.View.Expected.Configs[key]; v != nil {
		return *v
	}
	return in.View.Topic.Configs[key].Value
}

func wantDriftToBeTrue(t *rapid.T, in verdict.Input, v verdict.Verdict) {
	drifted := is(v, v1alpha1.ConditionDrifted, metav1.ConditionTrue)
	if !judgedNow(in, v) || !drifted {
		return
	}
	differences := durability.Differences(durability.Input{Desired: in.Desired, View: in.View, Owned: in.Owned})
	remains := slices.ContainsFunc(differences, func(d durability.Difference) bool { return !d.Expected })
	if !remains && len(in.Fights) == 0 {
		t.Fatalf("Drifted without a difference: %+v", v.Status.Conditions)
	}
}

// wantSafe checks the plan against the safety rules, stated anew.
func wantSafe(t *rapid.T, in verdict.Input) {
	for i, step := range in.Remaining.Steps {
		switch step := step.(type) {
		case plan.CreateTopic:
			if in.View.Presence != topic.Missing && in.View.Presence != topic.Absent || in.View.Expected.Created ||
				in.Previous.TopicID != "" && in.View.Presence != topic.Absent {
				t.Fatalf("creates a topic that may exist: %+v", in.View)
			}
		case plan.AddPartitions:
			if int(step.To) <= len(in.View.Topic.Partitions) {
				t.Fatalf("takes partitions away: %+v", step)
			}
		case plan.AlterConfigs:
			if (step.Lane == plan.Locks) != (i == 0 && isLock(step.Changes[0].Key)) {
				t.Fatalf("step %d is %+v", i, step)
			}
			for _, c := range step.Changes {
				wantSafeChange(t, in, c)
			}
		}
	}
}

// raisesReplicas: some partition is to get more replicas, by the operator.
func raisesReplicas(in verdict.Input) bool {
	return !in.Desired.ByBroker && in.Desired.Mode == "Enforce" && slices.ContainsFunc(in.View.Topic.Partitions, func(p topic.Partition) bool {
		return len(p.Replicas)-len(p.Adding) < int(in.Desired.Rule.ReplicationFactor)
	})
}

func isLock(key string) bool { return key == minISR || key == unclean }

func wantSafeChange(t *rapid.T, in verdict.Input, c plan.ConfigChange) {
	want, declared := in.Desired.Value(c.Key)
	switch {
	case c.Key == minISR && c.To != nil && *c.To != want && raisesReplicas(in):
		from, _ := strconv.Atoi(c.From)
		if to, err := strconv.Atoi(*c.To); err != nil || to < 1 || to >= from {
			t.Fatalf("holds down %+v", c)
		}
	case declared && (c.To == nil || *c.To != want):
		t.Fatalf("sets %+v, declared is %q", c, want)
	case !declared && (c.To != nil || !slices.Contains(in.Owned, c.Key) || topic.DefaultMayDeleteData(c.Key)):
		t.Fatalf("touches %+v, which is not its own or may delete data", c)
	case in.View.Topic.Configs[c.Key].ReadOnly:
		t.Fatalf("changes %+v, which is read-only", c)
	}
	for _, p := range in.View.Topic.Partitions {
		recorded := in.View.Cluster.ELR() && len(p.ELR)+len(p.LastKnownELR) > 0
		if c.Key == minISR && recorded && len(p.ISR) < int(in.Desired.Rule.MinInSyncReplicas) {
			t.Fatalf("changes %+v and erases the eligible leaders of %+v", c, p)
		}
		if c.Key == unclean && want == "true" && p.Leader == topic.NoLeader {
			t.Fatalf("changes %+v and elects a leader of %+v", c, p)
		}
	}
}
