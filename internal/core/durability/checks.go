package durability

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/topic"
)

// Check finds the differences of one kind. Checks after the first see an existing topic.
type Check struct {
	Name string
	Find func(Input) []Difference
}

// Chain is the list of checks, in the order in which differences are told. If the topic is missing, nothing else is
// looked at.
var Chain = []Check{
	{"the topic exists", topicExists},
	{"min.insync.replicas is set on the topic to the profile's value", minInSyncReplicasIsPinned},
	{"unclean.leader.election.enable is set on the topic to the profile's value", uncleanElectionIsPinned},
	{"the topic has the declared number of partitions", partitionsAreAsDeclared},
	{"no reassignment runs", replicasAreAtRest},
	{"replica lists have the replication factor and satisfy the rack rule", replicasSatisfyTheRule},
	{"declared configs are set on the topic", configIsAsDeclared},
	{"configs that are no longer declared are gone", nothingIsLeftBehind},
}

// Differences runs the chain.
func Differences(in Input) []Difference {
	var all []Difference
	for _, check := range Chain {
		found := check.Find(in)
		all = append(all, found...)
		if len(found) > 0 && found[0].Kind == TopicMissing {
			return all
		}
	}
	return all
}

func topicExists(in Input) []Difference {
	if in.View.Shown() {
		return nil
	}
	return []Difference{{
		Kind: TopicMissing, Key: "topic", To: in.Desired.Topic, Expected: in.View.Expected.Created,
	}}
}

// minInSyncReplicasIsPinned: while replicas are to be added, the value may not stop producers once they are, though not in
// sync yet; after that it is the profile's.
func minInSyncReplicasIsPinned(in Input) []Difference {
	found := in.pinned(MinInSyncReplicasDiffers, topic.MinInSyncReplicas)
	low, raising := in.heldDown()
	have := in.View.Topic.Configs[topic.MinInSyncReplicas]
	if n, err := strconv.Atoi(strings.TrimSpace(have.Value)); !raising || err != nil || n <= low {
		return found
	}
	want := strconv.Itoa(low)
	return []Difference{{
		Kind: MinInSyncReplicasDiffers, Key: topic.MinInSyncReplicas, From: have.Value, To: want, ReadOnly: have.ReadOnly,
		HeldDown: true, Expected: in.View.Expected.Config(topic.MinInSyncReplicas, want),
	}}
}

// heldDown gives what min.insync.replicas may be at most while the operator raises the replication factor of partitions.
// Kafka waits for no more replicas than a partition has and counts new ones at once, in sync or not
// (Partition.effectiveMinIsr): with a higher value it would refuse acks=all records until the first new one is in sync.
func (in Input) heldDown() (most int, raising bool) {
	d := in.Desired
	if !d.MovesReplicas() || placement.Feasible(in.View.Cluster.Brokers, d.Rule) != nil {
		return 0, false
	}
	most = int(d.Rule.MinInSyncReplicas)
	for _, p := range in.View.Topic.Partitions {
		if settled := len(p.Replicas) - len(p.Adding); settled < int(d.Rule.ReplicationFactor) {
			most, raising = min(most, settled), true
		}
	}
	return max(most, 1), raising
}

func uncleanElectionIsPinned(in Input) []Difference {
	return in.pinned(UncleanElectionDiffers, topic.UncleanLeaderElection)
}

func configIsAsDeclared(in Input) []Difference {
	var found []Difference
	for _, key := range slices.Sorted(maps.Keys(in.Desired.Config)) {
		found = append(found, in.pinned(ConfigDiffers, key)...)
	}
	return found
}

// pinned: the key has the wanted value and is set on the topic itself. A read-only key needs no pin. A key that was not
// asked for yet differs in so far as nobody knows.
func (in Input) pinned(kind Kind, key string) []Difference {
	want, _ := in.Desired.Value(key)
	have, shown := in.View.Topic.Configs[key]
	same := shown && SameValue(have.Type, have.Value, want)
	if same && (have.OnTopic || have.ReadOnly) {
		return nil
	}
	return []Difference{{
		Kind: kind, Key: key, From: have.Value, To: want, Inherited: same, ReadOnly: have.ReadOnly,
		Unread: !shown && in.View.Incomplete, Unshown: !shown && !in.View.Incomplete,
		Expected: in.View.Expected.Config(key, want),
	}}
}

func partitionsAreAsDeclared(in Input) []Difference {
	have, want := int32(len(in.View.Topic.Partitions)), in.Desired.Partitions
	if want == 0 || have == want {
		return nil
	}
	return []Difference{{
		Kind: PartitionsDiffer, Key: "partitions", From: strconv.Itoa(int(have)), To: strconv.Itoa(int(want)),
		Expected: have < want && in.View.Expected.Partitions >= want,
	}}
}

func replicasAreAtRest(in Input) []Difference {
	moving := 0
	for _, p := range in.View.Topic.Partitions {
		if p.Reassigning() {
			moving++
		}
	}
	if moving == 0 {
		return nil
	}
	return []Difference{{
		Kind: ReplicasMoving, Key: "replicas", To: "at rest",
		From: fmt.Sprintf("replicas of %d of %d partitions are moving", moving, len(in.View.Topic.Partitions)),
	}}
}

func replicasSatisfyTheRule(in Input) []Difference {
	t := in.View.Topic
	violations := placement.Judge(in.View.Cluster.Brokers, placement.Targets(t), in.Desired.Rule)
	if len(violations) == 0 {
		return nil
	}
	return []Difference{{
		Kind: ReplicasViolate, Key: "replicas", Violations: violations, From: violationText(violations, len(t.Partitions)),
		To: fmt.Sprintf("replication factor %d, min.insync.replicas %d without any one rack",
			in.Desired.Rule.ReplicationFactor, in.Desired.Rule.MinInSyncReplicas),
	}}
}

// offenders is how many partitions a message names; the others are counted.
const offenders = 3

func violationText(violations []placement.Violation, partitions int) string {
	partitionsAtFault := map[int32]bool{}
	for _, v := range violations {
		partitionsAtFault[v.Partition] = true
	}
	words := make([]string, 0, offenders)
	for _, v := range violations[:min(offenders, len(violations))] {
		words = append(words, v.Message)
	}
	text := fmt.Sprintf("replicas of %d of %d partitions: %s", len(partitionsAtFault), partitions, strings.Join(words, "; "))
	if more := len(violations) - offenders; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

func nothingIsLeftBehind(in Input) []Difference {
	var found []Difference
	for _, key := range slices.Sorted(slices.Values(in.Owned)) {
		have, shown := in.View.Topic.Configs[key]
		if _, declared := in.Desired.Value(key); declared || !shown || !have.OnTopic {
			continue
		}
		found = append(found, Difference{
			Kind: ConfigLeft, Key: key, From: have.Value, ReadOnly: have.ReadOnly, Expected: in.View.Expected.Deleted(key),
		})
	}
	return found
}
