package plan

import (
	"time"

	"durabletopic.io/operator/internal/core/durability"
	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

// Input is everything a plan depends on.
type Input struct {
	durability.Input
	Differences []durability.Difference
	// Known: this object's topic was seen before, so its absence must be proven before it is created anew.
	Known bool
	// Fights by config key.
	Fights map[string]Fight
	// Refused holds what a broker refused lately, by config key ("topic" and "partitions" too); the same is not
	// asked again until it is forgotten.
	Refused map[string]*fault.Fault
	// Moves says what keeps the moves of the topic's replicas; empty: nothing.
	Moves string
	Now   time.Time
}

// Held is a difference that is not corrected now, and why.
type Held struct {
	Difference durability.Difference
	Why        *fault.Fault
	// Until is when to look again; zero: when the facts change.
	Until time.Time
}

// Plan is what to do now, in order, and what is held back.
type Plan struct {
	Steps []Step
	// Due are the differences that Steps correct.
	Due  []durability.Difference
	Held []Held
	// Moves says in words where replicas would be moved, while enforcement Observe keeps them from it.
	Moves []string
	// Released are keys that are left as they stand and no longer owned, since their default may delete data.
	Released []string
}

// Make decides. Locks come before anything else, and a held change holds back nothing but itself.
func Make(in Input) Plan {
	var p Plan
	var locks, declared []ConfigChange
	for _, d := range in.Differences {
		if d.Kind == durability.ConfigLeft && keepsAsItStands(d) {
			p.Released = append(p.Released, d.Key)
			continue
		}
		if held := in.hold(d); held != nil {
			p.Held = append(p.Held, *held)
			continue
		}
		p.Due = append(p.Due, d)
		switch d.Kind {
		case durability.TopicMissing:
			p.Steps = append(p.Steps, in.create())
		case durability.MinInSyncReplicasDiffers, durability.UncleanElectionDiffers:
			locks = append(locks, change(d))
		case durability.ConfigDiffers, durability.ConfigLeft:
			declared = append(declared, change(d))
		case durability.PartitionsDiffer:
			p.Steps = append(p.Steps, in.addPartitions())
		case durability.ReplicasMoving, durability.ReplicasViolate:
		}
	}
	p.Steps = in.alterations(p.Steps, locks, declared)
	return p
}

func (in Input) alterations(others []Step, locks, declared []ConfigChange) []Step {
	var steps []Step
	if len(locks) > 0 {
		steps = append(steps, AlterConfigs{Name: in.Desired.Topic, Lane: Locks, Changes: locks})
	}
	steps = append(steps, others...)
	if len(declared) > 0 {
		steps = append(steps, AlterConfigs{Name: in.Desired.Topic, Lane: Declared, Changes: declared})
	}
	return steps
}

func change(d durability.Difference) ConfigChange {
	c := ConfigChange{Key: d.Key, From: d.From}
	if d.Kind != durability.ConfigLeft {
		c.To = &d.To
	}
	return c
}

func (in Input) create() CreateTopic {
	return CreateTopic{
		Name: in.Desired.Topic, Partitions: in.Desired.Partitions, Rule: in.Desired.Rule, ByBroker: in.Desired.ByBroker,
		Locks: in.Desired.Locks(), Config: in.Desired.Config,
	}
}

func (in Input) addPartitions() AddPartitions {
	t := in.View.Topic
	existing := make([][]int32, 0, len(t.Partitions))
	for _, p := range t.Partitions {
		existing = append(existing, p.Target())
	}
	return AddPartitions{
		Name: t.Name, From: int32(len(t.Partitions)), To: in.Desired.Partitions, Existing: existing,
		Rule: in.ruleForNewPartitions(), ByBroker: in.Desired.ByBroker,
	}
}

// ruleForNewPartitions: Kafka refuses new partitions whose replication factor is not that of the first one
// (ReplicationControlManager.createPartitions). A topic with another factor than declared gets the best spread it can.
func (in Input) ruleForNewPartitions() placement.Rule {
	rule := in.Desired.Rule
	partitions := in.View.Topic.Partitions
	if len(partitions) == 0 {
		return rule
	}
	if rf := int32(len(partitions[0].Replicas)); rf != rule.ReplicationFactor {
		return placement.Rule{ReplicationFactor: rf, MinInSyncReplicas: rf - 1, BestEffort: true}
	}
	return rule
}

// keepsAsItStands tells whether a key that is no longer declared stays as it is: its default may delete data, or nobody
// may change it.
func keepsAsItStands(d durability.Difference) bool {
	return d.ReadOnly || topic.DefaultMayDeleteData(d.Key)
}
