package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SecurityProtocol is how the operator talks to brokers, in Kafka's own words.
//
// +kubebuilder:validation:Enum=PLAINTEXT
type SecurityProtocol string

// SecurityProtocolPlaintext neither encrypts nor authenticates. The default.
const SecurityProtocolPlaintext SecurityProtocol = "PLAINTEXT"

// PlacementPolicy tells who chooses the brokers of a replica.
//
// +kubebuilder:validation:Enum=Operator;Broker
type PlacementPolicy string

const (
	// PlacementOperator assigns every replica explicitly, by racks and load. The
	// default.
	PlacementOperator PlacementPolicy = "Operator"
	// PlacementBroker leaves the choice to the brokers, for managed services that
	// refuse explicit assignments. The result is judged by the same rules.
	PlacementBroker PlacementPolicy = "Broker"
)

// RackAwareness tells whether the loss of any one rack must be survived.
//
// +kubebuilder:validation:Enum=Required;BestEffort
type RackAwareness string

const (
	// RackAwarenessRequired demands that writes go on after the loss of any one
	// rack. The default.
	RackAwarenessRequired RackAwareness = "Required"
	// RackAwarenessBestEffort spreads replicas as widely as the racks allow and
	// says what is not covered.
	RackAwarenessBestEffort RackAwareness = "BestEffort"
)

// KafkaClusterSpec declares how a Kafka cluster is reached and what holds for
// all of its topics.
type KafkaClusterSpec struct {
	// bootstrapServers are the brokers to contact first, each as host:port (an
	// IPv6 address in square brackets). The others are learnt from them. Name
	// several, in different racks, so that one lost broker does not hide the
	// cluster. From 1 to 32, each once.
	//
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=3
	// +kubebuilder:validation:items:MaxLength=262
	// +kubebuilder:validation:XValidation:rule=`self.all(s, s.matches('^([0-9A-Za-z_][0-9A-Za-z._-]*|\\[[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\\]):[0-9]+$'))`,message="every entry of `bootstrapServers` must have the form host:port, with an IPv6 address in square brackets and without a scheme, such as kafka-1.example:9092 or [2001:db8::1]:9092"
	// +kubebuilder:validation:XValidation:rule=`self.all(s, !s.matches(':[0-9]+$') || s.matches(':([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$'))`,message="every port in `bootstrapServers` must be from 1 to 65535"
	BootstrapServers []string `json:"bootstrapServers,omitempty"`

	// clusterID pins the Kafka cluster that this object may talk to: its cluster
	// ID, as shown by "kafka-cluster.sh cluster-id". When unset, the object is
	// bound to the first cluster ID it reads, shown in status.clusterID. Nothing
	// is written to a cluster with another ID.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule=`self.matches('^[A-Za-z0-9._=+/-]+$')`,message="`clusterID` must be a Kafka cluster ID: letters, digits and the characters . _ - = + / only"
	ClusterID string `json:"clusterID,omitempty"`

	// securityProtocol is how brokers are spoken to, in Kafka's words. PLAINTEXT
	// neither encrypts nor authenticates.
	//
	// +optional
	// +default="PLAINTEXT"
	SecurityProtocol SecurityProtocol `json:"securityProtocol,omitempty"`

	// enforcement is the ceiling for every topic of this cluster. Enforce: topics
	// are created and corrected. Observe: differences are reported with a plan in
	// words, nothing is written to Kafka. Suspended: hands off.
	//
	// +optional
	// +default="Enforce"
	Enforcement Enforcement `json:"enforcement,omitempty"`

	// checkIntervalSeconds is how often declared topics are compared with Kafka,
	// in seconds, from 2 to 3600.
	//
	// +optional
	// +default=10
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=3600
	CheckIntervalSeconds int32 `json:"checkIntervalSeconds,omitempty"`

	// placement tells who chooses the brokers of a replica. Operator: the operator
	// assigns each one, by racks and load. Broker: the brokers choose, for managed
	// services that refuse explicit assignments; the result is judged all the
	// same.
	//
	// +optional
	// +default="Operator"
	Placement PlacementPolicy `json:"placement,omitempty"`

	// rackAwareness tells whether the loss of any one rack (broker.rack, usually a
	// zone) must be survived. Required: a topic that cannot be spread so is not
	// created, and one that is not spread so is not Ready. BestEffort, for
	// clusters without enough racks: replicas are spread as widely as possible,
	// and the condition Durable says what is not covered.
	//
	// +optional
	// +default="Required"
	RackAwareness RackAwareness `json:"rackAwareness,omitempty"`

	// profiles are this cluster's settings of the two profiles.
	//
	// +optional
	// +default={"critical":{"replicationFactor":3},"telemetry":{"replicationFactor":3}}
	Profiles Profiles `json:"profiles,omitempty,omitzero"`

	// reassignment bounds how replicas of existing topics are moved to where their
	// profile wants them.
	//
	// +optional
	// +default={"maxConcurrentPartitionMoves":10,"throttle":{"mode":"Limited","bytesPerSecond":52428800},"stallTimeoutSeconds":600}
	Reassignment Reassignment `json:"reassignment,omitempty,omitzero"`
}

// Profiles holds one cluster's settings of each profile.
//
// +kubebuilder:validation:MinProperties=1
type Profiles struct {
	// critical are the settings of topics with profile critical.
	//
	// +optional
	// +default={"replicationFactor":3}
	Critical ProfileSettings `json:"critical,omitempty,omitzero"`

	// telemetry are the settings of topics with profile telemetry.
	//
	// +optional
	// +default={"replicationFactor":3}
	Telemetry ProfileSettings `json:"telemetry,omitempty,omitzero"`
}

// ProfileSettings are one cluster's settings of a profile.
//
// +kubebuilder:validation:MinProperties=1
type ProfileSettings struct {
	// replicationFactor is the number of replicas of a topic that does not choose
	// its own: 3 or 5. min.insync.replicas follows from it: 2 with 3 replicas, 3
	// with 5.
	//
	// +optional
	// +default=3
	// +kubebuilder:validation:Enum=3;5
	// +kubebuilder:validation:Minimum=3
	// +kubebuilder:validation:Maximum=5
	ReplicationFactor int32 `json:"replicationFactor,omitempty"`
}

// KafkaCluster declares an Apache Kafka cluster whose topics are kept durable:
// how to reach it and what holds for all of its DurableTopics. It belongs to
// the platform team.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories=kafka
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Brokers",type=integer,JSONPath=`.status.brokers.available`,description="Brokers that are up"
// +kubebuilder:printcolumn:name="Racks",type=integer,JSONPath=`.status.brokers.racks`,description="Racks of the registered brokers"
// +kubebuilder:printcolumn:name="Cluster ID",type=string,JSONPath=`.status.clusterID`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Enforcement",type=string,priority=1,JSONPath=`.spec.enforcement`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type KafkaCluster struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object's metadata. DurableTopics name the cluster
	// by metadata.name; those that name none belong to the cluster called default.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec declares how the Kafka cluster is reached and what holds for all of its
	// topics.
	//
	// +required
	Spec KafkaClusterSpec `json:"spec,omitempty,omitzero"`

	// status is what the operator has found out. Written by the operator only.
	//
	// +optional
	// +default={"observedGeneration":-1}
	Status KafkaClusterStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the status conditions.
func (c *KafkaCluster) GetConditions() []metav1.Condition {
	return c.Status.Conditions
}

// SetConditions replaces the status conditions.
func (c *KafkaCluster) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// ReplicationFactor returns the number of replicas that the cluster gives to
// topics of a profile that do not choose their own: what the spec says, else
// DefaultReplicationFactor (an object read from the API server always says).
func (c *KafkaCluster) ReplicationFactor(profile Profile) int32 {
	settings := c.Spec.Profiles.Telemetry
	if profile == ProfileCritical {
		settings = c.Spec.Profiles.Critical
	}
	if settings.ReplicationFactor == 0 {
		return DefaultReplicationFactor
	}
	return settings.ReplicationFactor
}

// KafkaClusterList is a list of KafkaClusters.
//
// +kubebuilder:object:root=true
type KafkaClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the KafkaClusters.
	Items []KafkaCluster `json:"items"`
}
