package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Bounds of a DurableTopic's status, which keep the whole object small however
// large the topic is. A writer must cut to them: the API server refuses a
// status beyond them.
const (
	// MaxDriftChanges is the most changes that status.lastDrift holds.
	MaxDriftChanges = 10
	// MaxDriftValueLength is the longest value in status.lastDrift, in characters.
	MaxDriftValueLength = 256
	// MaxPlanSteps is the most steps that status.plan holds.
	MaxPlanSteps = 10
	// MaxPlanStepLength is the longest step in status.plan, in characters.
	MaxPlanStepLength = 256
	// MaxOwnedConfig is the most keys that status.ownedConfig holds: the profile's
	// two, those in spec.config, and as many removed ones that still wait for
	// their default.
	MaxOwnedConfig = 100
)

// TopicOrigin tells how a topic came under its DurableTopic.
//
// +kubebuilder:validation:Enum=Created;Adopted
type TopicOrigin string

const (
	// TopicOriginCreated is a topic that this object created.
	TopicOriginCreated TopicOrigin = "Created"
	// TopicOriginAdopted is a topic that was there before this object.
	TopicOriginAdopted TopicOrigin = "Adopted"
)

// UncleanLeaderElection tells whether an out-of-sync replica may become
// leader, at the price of lost records.
//
// +kubebuilder:validation:Enum=Enabled;Disabled
type UncleanLeaderElection string

const (
	// UncleanLeaderElectionEnabled lets an out-of-sync replica become leader.
	UncleanLeaderElectionEnabled UncleanLeaderElection = "Enabled"
	// UncleanLeaderElectionDisabled lets a partition wait for a replica that has
	// all confirmed records.
	UncleanLeaderElectionDisabled UncleanLeaderElection = "Disabled"
)

// DurableTopicStatus is what Kafka shows of the topic.
//
// +kubebuilder:validation:MinProperties=1
type DurableTopicStatus struct {
	// conditions are Ready (Kafka satisfies the spec), Durable (the guarantees of
	// the profile hold now) and, only while they are True, Drifted (a difference
	// remains), Reconciling (on the way) and Stalled (a person is needed;
	// re-checked all the same).
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status speaks
	// about; -1 until it is first judged.
	//
	// +optional
	// +kubebuilder:validation:Minimum=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// topicName is the name of the topic in Kafka that this status speaks about.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=249
	TopicName string `json:"topicName,omitempty"`

	// topicID is the topic's ID in Kafka, in Kafka's URL-safe form. A topic that
	// is deleted and created again has another.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=36
	TopicID string `json:"topicID,omitempty"`

	// origin tells whether this object created the topic or found it there.
	//
	// +optional
	Origin TopicOrigin `json:"origin,omitempty"`

	// partitions is the number of partitions that Kafka shows.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	Partitions int32 `json:"partitions,omitempty"`

	// replicationFactor is the number of replicas that Kafka shows, of the
	// partition with the fewest.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	ReplicationFactor int32 `json:"replicationFactor,omitempty"`

	// maxReplicationFactor is the number of replicas of the partition with the
	// most. Present only if it differs from replicationFactor.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxReplicationFactor int32 `json:"maxReplicationFactor,omitempty"`

	// minInSyncReplicas is the effective min.insync.replicas that Kafka shows.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	MinInSyncReplicas int32 `json:"minInSyncReplicas,omitempty"`

	// uncleanLeaderElection is the effective unclean.leader.election.enable that
	// Kafka shows.
	//
	// +optional
	UncleanLeaderElection UncleanLeaderElection `json:"uncleanLeaderElection,omitempty"`

	// racks is the number of racks that the replicas of a partition are spread
	// over, of the partition with the fewest. Brokers without a rack count as
	// none.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	Racks int32 `json:"racks,omitempty"`

	// ownedConfig are the topic configs that this object has set and keeps.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=80
	OwnedConfig []string `json:"ownedConfig,omitempty"`

	// lastDrift is the latest difference that was found in Kafka and corrected.
	//
	// +optional
	LastDrift *DriftRecord `json:"lastDrift,omitempty"`

	// plan tells in words what would be done, while enforcement keeps it from
	// being done.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	Plan []string `json:"plan,omitempty"`
}

// DriftRecord is a difference that was found in Kafka and corrected.
type DriftRecord struct {
	// time is when the difference was found.
	//
	// +required
	Time metav1.Time `json:"time,omitempty,omitzero"`

	// changes are what differed, at most 10.
	//
	// +required
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	Changes []DriftChange `json:"changes,omitempty"`
}

// DriftChange is one thing that differed.
type DriftChange struct {
	// key is what differed: a topic config by Kafka's name, or topic, partitions,
	// or replicas.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=80
	Key string `json:"key,omitempty"`

	// from is the value found in Kafka; absent if there was none.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	From string `json:"from,omitempty"`

	// to is the value it was set to; absent if it was removed.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	To string `json:"to,omitempty"`
}
