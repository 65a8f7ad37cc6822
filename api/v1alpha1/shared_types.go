package v1alpha1

// Defaults that hold where a field is unset.
const (
	// DefaultClusterName is the name of the KafkaCluster of a DurableTopic that names none.
	DefaultClusterName = "default"
	// DefaultReplicationFactor is the number of replicas where neither the topic nor its cluster's profile chooses one.
	DefaultReplicationFactor int32 = 3
	// DefaultCheckIntervalSeconds is how often topics are compared with Kafka where the cluster does not choose.
	DefaultCheckIntervalSeconds int32 = 10
)

// Profile names the guarantees that a topic gets. Every durability setting of the topic follows from it.
//
// +kubebuilder:validation:Enum=critical;telemetry
type Profile string

const (
	// ProfileCritical never loses a confirmed record: min.insync.replicas 2 (3 with replication factor 5), unclean leader
	// election off, replicas spread over racks. On the worst day a partition waits offline rather than lose a record.
	ProfileCritical Profile = "critical"
	// ProfileTelemetry stays available: as critical, but unclean leader election is on. On the worst day a partition gets
	// a leader at once and may lose its newest records.
	ProfileTelemetry Profile = "telemetry"
)

// Enforcement tells how far the operator may go.
//
// +kubebuilder:validation:Enum=Enforce;Observe;Suspended
type Enforcement string

const (
	// EnforcementEnforce creates topics and corrects every difference from what is declared. The default.
	EnforcementEnforce Enforcement = "Enforce"
	// EnforcementObserve reads and reports, with a plan in words, and writes nothing to Kafka.
	EnforcementObserve Enforcement = "Observe"
	// EnforcementSuspended keeps hands off: nothing is judged or written.
	EnforcementSuspended Enforcement = "Suspended"
)
