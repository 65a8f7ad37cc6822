package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Bounds of a KafkaCluster's status. A writer must cut to them: the API server
// refuses a status beyond them.
const (
	// MaxFeatures is the most feature levels that status.features holds.
	MaxFeatures = 32
	// MaxRacks is the most racks that status.racks holds.
	MaxRacks = 128
	// MaxRackNameLength is the longest rack name in status.racks, in characters.
	MaxRackNameLength = 256
	// MaxMissingPermissions is the most entries that status.missingPermissions
	// holds.
	MaxMissingPermissions = 32
	// MaxMissingPermissionLength is the longest entry of
	// status.missingPermissions, in characters.
	MaxMissingPermissionLength = 256
)

// KafkaClusterStatus is what the operator has found out about the Kafka
// cluster.
//
// +kubebuilder:validation:MinProperties=1
type KafkaClusterStatus struct {
	// conditions are Ready (the cluster can be reached, is the right one and can
	// be worked with) and, only while they are True, Reconciling (the operator is
	// still trying, or waits) and Stalled (a person is needed; re-checked all the
	// same).
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

	// clusterID is the ID of the Kafka cluster that this object is bound to.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	ClusterID string `json:"clusterID,omitempty"`

	// features are the feature levels that the Kafka cluster has finalised and the
	// operator makes use of.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Features []Feature `json:"features,omitempty"`

	// brokers counts the cluster's brokers.
	//
	// +optional
	Brokers *BrokerCounts `json:"brokers,omitempty"`

	// racks are the racks (broker.rack) of the registered brokers, by name.
	//
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=128
	Racks []RackStatus `json:"racks,omitempty"`

	// topics counts the DurableTopics of this cluster by profile and state.
	//
	// +optional
	// +listType=map
	// +listMapKey=profile
	// +kubebuilder:validation:MaxItems=2
	Topics []TopicCount `json:"topics,omitempty"`

	// moves counts the partitions whose replicas are moved; unset while none is.
	//
	// +optional
	Moves *MoveCounts `json:"moves,omitempty"`

	// missingPermissions are the rights that the operator was refused in Kafka,
	// each as operation and resource, such as "AlterConfigs on Topic orders".
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=256
	MissingPermissions []string `json:"missingPermissions,omitempty"`
}

// Feature is a finalised feature level of the Kafka cluster.
type Feature struct {
	// name is Kafka's name of the feature, such as metadata.version or
	// eligible.leader.replicas.version.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name,omitempty"`

	// level is the finalised level; 0 means that the feature is off.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	Level int32 `json:"level"`
}

// BrokerCounts tells how many brokers the Kafka cluster has.
type BrokerCounts struct {
	// registered counts the brokers registered with the cluster, those that are
	// down included.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	Registered int32 `json:"registered"`

	// available counts the registered brokers that are up (not fenced).
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	Available int32 `json:"available"`

	// withoutRack counts the registered brokers that have no broker.rack. With
	// rackAwareness Required they get no replica.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	WithoutRack int32 `json:"withoutRack"`

	// racks counts the racks of the registered brokers.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	Racks int32 `json:"racks"`
}

// RackStatus tells how many brokers a rack has.
type RackStatus struct {
	// name is the rack's name, the broker.rack of its brokers.
	//
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Name string `json:"name,omitempty"`

	// registered counts the rack's registered brokers, those that are down
	// included.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	Registered int32 `json:"registered"`

	// available counts the rack's registered brokers that are up (not fenced).
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	Available int32 `json:"available"`
}

// TopicCount counts the DurableTopics of one profile by state.
type TopicCount struct {
	// profile is the profile of the topics counted.
	//
	// +required
	Profile Profile `json:"profile,omitempty"`

	// total counts all topics of the profile.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	Total int32 `json:"total"`

	// ready counts the topics whose condition Ready is True.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	Ready int32 `json:"ready"`

	// durable counts the topics whose condition Durable is True.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	Durable int32 `json:"durable"`

	// drifted counts the topics whose condition Drifted is True.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	Drifted int32 `json:"drifted"`

	// stalled counts the topics whose condition Stalled is True.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	Stalled int32 `json:"stalled"`
}
