// Package profile turns a declaration into guarantees and guarantees into the topic that is wanted. minISR is derived
// here and nowhere else: no declaration can choose it.
package profile

import (
	"maps"
	"strconv"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/topic"
)

// DefaultReplicationFactor holds where neither topic nor cluster says otherwise.
const DefaultReplicationFactor int32 = 3

// Desired is the topic a declaration asks for.
type Desired struct {
	Topic   string
	Profile v1alpha1.Profile
	// Partitions; 0: as many as there are, and the brokers' num.partitions at creation.
	Partitions int32
	Rule       placement.Rule
	// Unclean is the wanted unclean.leader.election.enable.
	Unclean bool
	// Config holds the declared other topic configs.
	Config map[string]string
	// ByBroker leaves new assignments to Kafka and only judges them.
	ByBroker bool
	// Mode is the topic's enforcement under the ceiling of its cluster.
	Mode v1alpha1.Enforcement
}

// MinInSyncReplicas derives minISR from the replication factor: a majority, so that one failure is tolerated and a
// confirmed record is on more than one disk. RF 3 gives 2, RF 5 gives 3.
func MinInSyncReplicas(replicationFactor int32) int32 { return replicationFactor/2 + 1 }

// Desire derives the wanted topic from a declaration and the settings of its cluster.
func Desire(t *v1alpha1.DurableTopic, cluster v1alpha1.KafkaClusterSpec) Desired {
	rf := replicationFactor(t.Spec, cluster.Profiles)
	return Desired{
		Topic:      t.KafkaTopicName(),
		Profile:    t.Spec.Profile,
		Partitions: t.Spec.Partitions,
		Rule: placement.Rule{
			ReplicationFactor: rf,
			MinInSyncReplicas: MinInSyncReplicas(rf),
			BestEffort:        cluster.RackAwareness == v1alpha1.RackAwarenessBestEffort,
		},
		Unclean:  t.Spec.Profile == v1alpha1.ProfileTelemetry,
		Config:   declarable(t.Spec.Config),
		ByBroker: cluster.Placement == v1alpha1.PlacementBroker,
		Mode:     Stricter(t.Spec.Enforcement, cluster.Enforcement),
	}
}

// declarable leaves out the keys that no declaration may set. Admission refuses them; whatever got past it never reaches
// Kafka, so that the profile wins.
func declarable(config map[string]string) map[string]string {
	kept := maps.Clone(config)
	maps.DeleteFunc(kept, func(key, _ string) bool { return topic.IsReserved(key) })
	return kept
}

func replicationFactor(spec v1alpha1.DurableTopicSpec, profiles v1alpha1.Profiles) int32 {
	if spec.ReplicationFactor != 0 {
		return spec.ReplicationFactor
	}
	settings := profiles.Critical
	if spec.Profile == v1alpha1.ProfileTelemetry {
		settings = profiles.Telemetry
	}
	if settings.ReplicationFactor != 0 {
		return settings.ReplicationFactor
	}
	return DefaultReplicationFactor
}

// Stricter is the mode that does less: the cluster's enforcement is a ceiling for every topic.
func Stricter(a, b v1alpha1.Enforcement) v1alpha1.Enforcement {
	rank := map[v1alpha1.Enforcement]int{v1alpha1.EnforcementObserve: 1, v1alpha1.EnforcementSuspended: 2}
	if rank[a] == 0 && rank[b] == 0 {
		return v1alpha1.EnforcementEnforce
	}
	if rank[a] >= rank[b] {
		return a
	}
	return b
}

// MovesReplicas tells whether the operator moves the topic's replicas to where they should be.
func (d Desired) MovesReplicas() bool { return d.Mode == v1alpha1.EnforcementEnforce && !d.ByBroker }

// Locks are the two profile keys with their wanted values, in Kafka's spelling.
func (d Desired) Locks() map[string]string {
	return map[string]string{
		topic.MinInSyncReplicas:     strconv.Itoa(int(d.Rule.MinInSyncReplicas)),
		topic.UncleanLeaderElection: strconv.FormatBool(d.Unclean),
	}
}

// Value is the wanted value of a key and whether the declaration owns the key.
func (d Desired) Value(key string) (string, bool) {
	if v, ok := d.Locks()[key]; ok {
		return v, true
	}
	v, ok := d.Config[key]
	return v, ok
}
