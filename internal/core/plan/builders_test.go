package plan_test

import (
	"time"

	"durabletopic.io/operator/internal/core/durability"
	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/core/profile"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/core/topictest"
)

const (
	minISR  = topic.MinInSyncReplicas
	unclean = topic.UncleanLeaderElection
)

var now = topictest.Now

// situation is what a plan is made for: orders as FreshCart declares it on the standard cluster, then spoilt.
type situation struct {
	plan.Input
}

func given(change func(*situation)) plan.Input {
	s := situation{plan.Input{
		Input: durability.Input{
			Desired: profile.Desired{
				Topic: "orders", Profile: "critical", Mode: "Enforce", Partitions: 3,
				Rule: placement.Rule{ReplicationFactor: 3, MinInSyncReplicas: 2},
			},
			View:  topictest.View(topictest.Cluster("a a b b c c"), topictest.Topic("1 3 5", "3 5 1", "5 1 3")),
			Owned: []string{minISR, unclean},
		},
		Fights: map[string]plan.Fight{}, Now: now,
	}}
	if change != nil {
		change(&s)
	}
	s.Differences = durability.Differences(s.Input.Input)
	return s.Input
}

func (s *situation) set(key string, kind topic.ConfigType, value string) {
	topictest.Config(s.View.Topic, key, kind, value)
}

func (s *situation) inherit(key string, kind topic.ConfigType, value string) {
	s.View.Topic.Configs[key] = topic.Config{Value: value, Type: kind}
}

// partitions replaces the partitions and leaves the configs.
func (s *situation) partitions(words ...string) {
	configs := s.View.Topic.Configs
	s.View.Topic = topictest.Topic(words...)
	s.View.Topic.Configs = configs
	s.Desired.Partitions = int32(len(words))
}

// missing: a broker does not know the topic.
func (s *situation) missing() { s.View.Presence, s.View.Topic = topic.Missing, nil }

func (s *situation) declare(key, value string) {
	if s.Desired.Config == nil {
		s.Desired.Config = map[string]string{}
	}
	s.Desired.Config[key] = value
}

// fought: the key was undone and set right three times within ten minutes, and differs again now.
func (s *situation) fought(key string) {
	var f plan.Fight
	for i := range 3 {
		at := now.Add(time.Duration(i-3) * time.Minute)
		f = f.Found(at).Corrected(at)
	}
	s.Fights[key] = f.Found(now)
}
