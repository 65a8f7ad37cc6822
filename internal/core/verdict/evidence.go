package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

// evidence records what Kafka shows, never what was asked for. Of a topic that is gone the last ID stays, so that its
// return as another one is noticed.
func (v *builder) evidence() {
	s := &v.status
	s.OwnedConfig = v.ownedConfig()
	v.lastDrift()
	if v.Did.Created {
		s.Origin = v1alpha1.TopicOriginCreated
	}
	if v.View.Presence == topic.Absent {
		s.Partitions, s.ReplicationFactor, s.MaxReplicationFactor, s.Racks = 0, 0, 0, 0
		s.MinInSyncReplicas, s.UncleanLeaderElection = 0, ""
	}
	if !v.View.Shown() {
		return
	}
	t := v.View.Topic
	if v.Did.Replaced || s.Origin == "" {
		s.Origin = v1alpha1.TopicOriginAdopted
	}
	s.TopicID = t.ID.String()
	s.Partitions = int32(len(t.Partitions))
	s.ReplicationFactor, s.MaxReplicationFactor = t.MinReplicas(), t.MaxReplicas()
	if s.MaxReplicationFactor == s.ReplicationFactor {
		s.MaxReplicationFactor = 0
	}
	s.MinInSyncReplicas = minInSyncReplicas(t)
	s.UncleanLeaderElection = uncleanElection(t)
	s.Racks = plan.Spread(v.View.Cluster, t, v.Desired.Rule).FewestRacks
}

// lastDrift records a correction, be the topic shown again already or not.
func (v *builder) lastDrift() {
	if len(v.Did.Drift) == 0 {
		return
	}
	at := v.DoneAt
	if at.IsZero() {
		at = v.Now
	}
	v.status.LastDrift = &v1alpha1.DriftRecord{Time: metav1.NewTime(at).Rfc3339Copy(), Changes: bounded(v.Did.Drift)}
}

// ownedConfig gives the owned keys, cut to the bound of the API; declared ones are kept before those that have to go.
func (v *builder) ownedConfig() []string {
	keys := slices.Compact(slices.Sorted(slices.Values(v.Owned)))
	if len(keys) > v1alpha1.MaxOwnedConfig {
		slices.SortStableFunc(keys, func(a, b string) int {
			return cmp.Compare(v.undeclared(a), v.undeclared(b))
		})
		keys = keys[:v1alpha1.MaxOwnedConfig]
		slices.Sort(keys)
	}
	return keys
}

func (v *builder) undeclared(key string) int {
	if _, ok := v.Desired.Value(key); ok {
		return 0
	}
	return 1
}

func minInSyncReplicas(t *topic.Topic) int32 {
	n, err := strconv.ParseInt(strings.TrimSpace(t.Configs[topic.MinInSyncReplicas].Value), 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

func uncleanElection(t *topic.Topic) v1alpha1.UncleanLeaderElection {
	switch strings.ToLower(t.Configs[topic.UncleanLeaderElection].Value) {
	case "true":
		return v1alpha1.UncleanLeaderElectionEnabled
	case "false":
		return v1alpha1.UncleanLeaderElectionDisabled
	}
	return ""
}

// bounded cuts a record of drift to the bounds of the API.
func bounded(changes []v1alpha1.DriftChange) []v1alpha1.DriftChange {
	var kept []v1alpha1.DriftChange
	for _, c := range changes {
		if len(kept) == v1alpha1.MaxDriftChanges {
			break
		}
		if slices.ContainsFunc(kept, func(k v1alpha1.DriftChange) bool { return k.Key == c.Key }) {
			continue
		}
		c.From = fault.Cut(c.From, v1alpha1.MaxDriftValueLength)
		c.To = fault.Cut(c.To, v1alpha1.MaxDriftValueLength)
		kept = append(kept, c)
	}
	return kept
}

func (v *builder) ready() {
	s := v.status
	v.remove(v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled)
	racks := "over racks: " + strconv.Itoa(int(s.Racks))
	if s.Racks == 0 {
		racks = "without racks"
	}
	v.set(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonCompliant, fmt.Sprintf(
		"topic %q is as declared: partitions %d, replication factor %d %s, min.insync.replicas %d, unclean leader election %s",
		s.TopicName, s.Partitions, s.ReplicationFactor, racks, s.MinInSyncReplicas,
		strings.ToLower(string(s.UncleanLeaderElection))), "")
	v.status.ObservedGeneration = v.Generation
}
