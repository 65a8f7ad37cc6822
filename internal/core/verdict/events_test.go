package verdict_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/core/topictest"
	"durabletopic.io/operator/internal/fault"
)

// TestEvents: one thing that happens is one event, and its note says what a person must know.
func TestEvents(t *testing.T) {
	tests := map[string]struct {
		scene func(*scene)
		first bool                // never judged before
		want  map[string][]string // parts of the note by kind and reason
	}{
		"nothing happened": {scene: func(*scene) {}},
		"created": {
			scene: func(s *scene) { s.Did.Created, s.Did.Applied = true, drift(minISR, "", "2") }, first: true,
			want: map[string][]string{"Normal TopicCreated": {`created topic "orders": profile critical, replication factor 3, min.insync.replicas 2`}},
		},
		"adopted and set right": {
			scene: func(s *scene) { s.Did.Applied = append(drift(minISR, "1", "2"), drift("segment.ms", "", "1")...) }, first: true,
			want: map[string][]string{"Normal TopicAdopted": {`existing topic "orders" with ID ` + topictest.ID.String(),
				"set right: min.insync.replicas 1 -> 2; segment.ms unset -> 1"}},
		},
		"drift corrected": {
			scene: func(s *scene) { s.Did.Drift = append(drift(minISR, "1", "2"), drift(unclean, "true", "false")...) },
			want: map[string][]string{"Warning DriftCorrected": {`topic "orders" was changed by somebody else and set right`,
				"min.insync.replicas 1 -> 2; unclean.leader.election.enable true -> false"}},
		},
		"drift corrected beside an edit": {
			scene: func(s *scene) { s.Did.Drift, s.Did.Applied = drift(minISR, "1", "2"), drift("segment.ms", "1", "") },
			want: map[string][]string{"Warning DriftCorrected": {"min.insync.replicas 1 -> 2"},
				"Normal TopicConfigured": {`changed topic "orders" as declared: segment.ms 1 -> its default`}},
		},
		"vanished and created again": {
			scene: func(s *scene) {
				s.Did.Created, s.Did.Recreated, s.Did.Drift = true, true, drift("topic", "missing", "created again")
				s.View.Topic.ID = topic.ID{9}
			},
			want: map[string][]string{"Warning TopicRecreated": {"with all its records", "its old ID was " + topictest.ID.String()}},
		},
		"replaced and set right": {
			scene: func(s *scene) {
				s.Did.Replaced, s.Did.Drift, s.View.Topic.ID = true, drift(minISR, "1", "2"), topic.ID{9}
			},
			want: map[string][]string{"Warning TopicReplaced": {"the records of the old one are lost", topictest.ID.String() + " and is " +
				topic.ID{9}.String(), "set right: min.insync.replicas 1 -> 2"}},
		},
		"a key released": {
			scene: func(s *scene) { s.Did.Released = []string{"retention.ms", "cleanup.policy"} },
			want:  map[string][]string{"Normal ConfigReleased": {"left as it stands", "retention.ms, cleanup.policy"}},
		},
		"many long changes": {
			scene: func(s *scene) {
				for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
					s.Did.Drift = append(s.Did.Drift, drift(key, strings.Repeat("x", 1000), strings.Repeat("y", 1000))...)
				}
			},
			want: map[string][]string{"Warning DriftCorrected": {"and 2 more"}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := orders()
			if !tt.first {
				wasWell(s)
			}
			tt.scene(s)
			s.DoneAt = now
			v := s.judge(t)
			if diff := cmp.Diff(slices.Sorted(maps.Keys(tt.want)), slices.Sorted(slices.Values(reasons(v.Events)))); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			for i, reason := range reasons(v.Events) {
				for _, part := range tt.want[reason] {
					if !strings.Contains(v.Events[i].Note, part) {
						t.Errorf("%s lacks %q: %s", reason, part, v.Events[i].Note)
					}
				}
			}
		})
	}
}

// TestGuaranteesComeAndGo: losing them is told once, changing why is not, and their return is.
func TestGuaranteesComeAndGo(t *testing.T) {
	s := orders(wasWell)
	for _, step := range []struct {
		name       string
		change     func(*scene)
		wantEvents []string
	}{
		{"one broker away", func(s *scene) { s.partitions("1 3 5 isr 1 3"); s.reduced(0) }, nil},
		{"two brokers away", func(s *scene) { s.partitions("1 3 5 isr 1") }, []string{"Warning GuaranteesLost"}},
		{"all away", func(s *scene) { s.partitions("1 3 5 isr elr 1") }, nil},
		{"Kafka out of reach", func(s *scene) { s.outOfTouch(time.Hour) }, nil},
		{"in touch, still offline", func(s *scene) { s.View.Contact.InTouch = true }, []string{"Warning GuaranteesLost"}},
		{"two back", func(s *scene) { s.partitions("1 3 5 isr 1 3") }, []string{"Normal GuaranteesRestored"}},
		{"all back", func(s *scene) { s.partitions("1 3 5"); s.View.ReducedSince = time.Time{} }, nil},
	} {
		step.change(s)
		v := s.judge(t)
		if diff := cmp.Diff(step.wantEvents, reasons(v.Events)); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", step.name, diff)
		}
		s.Previous, s.Now = v.Status, s.Now.Add(10*time.Second)
	}
}

// TestCreateIsToldOnce: a topic that takes a while to show is told when it was created and not again.
func TestCreateIsToldOnce(t *testing.T) {
	s := orders()
	created := s.View.Topic
	s.View.Presence, s.View.Topic, s.View.Expected.Created = topic.Missing, nil, true
	s.Did.Created, s.DoneAt = true, now.Add(-3*time.Second)
	v := s.judge(t)
	if diff := cmp.Diff([]string{"Normal TopicCreated"}, reasons(v.Events)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	s.Previous, s.Did.Created, s.DoneAt = v.Status, false, time.Time{}
	s.View.Presence, s.View.Topic, s.View.Expected.Created = topic.Present, created, false
	v = s.judge(t)
	if got := show(t, s.object(v.Status)); got != well || len(v.Events) > 0 || v.Status.Origin != "Created" {
		t.Errorf("once it shows: %+v, origin %s, events %v", got, v.Status.Origin, reasons(v.Events))
	}
}

// TestStalledIsToldOnce: while the reason stays there is no further event, however the message changes.
func TestStalledIsToldOnce(t *testing.T) {
	s := orders(wasWell)
	s.Refusal = fault.New(fault.Blocked, "TopicOwnedByAnother", "the topic belongs to shop/a")
	v := s.judge(t)
	if diff := cmp.Diff([]string{"Warning TopicOwnedByAnother"}, reasons(v.Events)); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	s.Previous = v.Status
	s.Refusal = fault.New(fault.Blocked, "TopicOwnedByAnother", "the topic belongs to shop/b")
	if v = s.judge(t); len(v.Events) > 0 || message(v.Status, "Ready") != "the topic belongs to shop/b" {
		t.Errorf("events %v, Ready says %q", reasons(v.Events), message(v.Status, "Ready"))
	}
}

// TestFightIsFolded plays somebody who lowers min.insync.replicas again as soon as it is corrected: after three corrections
// there is one event more, and Drifted says so all the time, with both values, until the fight is forgotten.
func TestFightIsFolded(t *testing.T) {
	s := orders(wasWell)
	s.damped = map[string]plan.Fight{}
	events := map[string]int{}
	pass := func() shown {
		v := s.judge(t)
		for _, reason := range reasons(v.Events) {
			events[reason]++
		}
		s.Previous, s.Did.Drift = v.Status, nil
		return show(t, s.object(v.Status))
	}
	for i := range 8 {
		s.Now = s.Now.Add(time.Second)
		s.set(minISR, topic.TypeInt, "1")
		s.damped[minISR] = s.damped[minISR].Found(s.Now)
		fight := s.damped[minISR].Lasts(s.Now)
		if fight {
			s.Fights = []string{s.input().Remaining.Held[0].Why.Message}
			if got := pass(); got.Ready != "False DriftFight" || got.Progress != "Stalled DriftFight" || got.Drifted != "DriftFight" {
				t.Errorf("round %d: %+v while it is held", i, got)
			}
			s.Now = s.damped[minISR].Until()
		}
		s.set(minISR, topic.TypeInt, "2")
		s.damped[minISR] = s.damped[minISR].Corrected(s.Now)
		s.Did.Drift, s.DoneAt = drift(minISR, "1", "2"), s.Now
		if got := pass(); got.Ready != "True Compliant" || (got.Drifted == "DriftFight") != fight || fight != (i >= 3) {
			t.Errorf("round %d: %+v after the correction", i, got)
		}
		said := message(s.Previous, "Drifted")
		if fight && (!strings.HasPrefix(said, "somebody keeps setting min.insync.replicas to 1, declared is 2;") || strings.Count(said, "keeps") != 1) {
			t.Errorf("round %d: Drifted says %q", i, said)
		}
		if !s.Previous.LastDrift.Time.Time.Equal(s.Now) {
			t.Errorf("round %d: the last drift was at %v, want %v", i, s.Previous.LastDrift.Time, s.Now)
		}
	}
	if events["Warning DriftCorrected"] != 3 || events["Warning DriftFight"] != 1 {
		t.Errorf("events %v, want DriftCorrected 3 times and DriftFight once", events)
	}
	s.Fights, s.DoneAt = nil, time.Time{}
	if got := pass(); got != well {
		t.Errorf("after the fight: %+v", got)
	}
}
