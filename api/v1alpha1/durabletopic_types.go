package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Bounds of a DurableTopic's spec, as the API server enforces them.
const (
	// MaxTopicNameLength is the longest name that Kafka allows a topic, in
	// characters.
	MaxTopicNameLength = 249
	// MaxConfigEntries is the most keys that spec.config holds.
	MaxConfigEntries = 48
	// MaxConfigKeyLength is the longest key in spec.config, in characters.
	MaxConfigKeyLength = 80
)

// DeletionPolicy tells what becomes of the topic when its DurableTopic is
// deleted.
//
// +kubebuilder:validation:Enum=Retain
type DeletionPolicy string

// DeletionPolicyRetain leaves the topic and its records as they are. The
// default.
const DeletionPolicyRetain DeletionPolicy = "Retain"

// ClusterReference names a KafkaCluster.
//
// +kubebuilder:validation:MinProperties=1
type ClusterReference struct {
	// name is the metadata.name of the KafkaCluster. It may not change once the
	// object exists.
	//
	// +optional
	// +default="default"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`!format.dns1123Subdomain().validate(self).hasValue()`,message="`clusterRef.name` must be the name of a KafkaCluster: lower case letters, digits, '-' and '.', with a letter or digit at both ends"
	Name string `json:"name,omitempty"`
}

// DurableTopicSpec declares a topic. `profile: critical` alone is a whole
// declaration.
//
// +kubebuilder:validation:XValidation:rule=`(has(self.clusterRef) && has(self.clusterRef.name) ? self.clusterRef.name : 'default') == (has(oldSelf.clusterRef) && has(oldSelf.clusterRef.name) ? oldSelf.clusterRef.name : 'default')`,message="`clusterRef.name` may not change: to move a topic to another Kafka cluster, create a DurableTopic there",fieldPath=".clusterRef",reason=FieldValueForbidden
type DurableTopicSpec struct {
	// clusterRef names the KafkaCluster that holds the topic. When unset, the
	// KafkaCluster called default. It may not change once the object exists.
	//
	// +optional
	// +default={"name":"default"}
	ClusterRef ClusterReference `json:"clusterRef,omitempty,omitzero"`

	// topicName is the topic's name in Kafka. When unset, metadata.name. Up to 249
	// letters, digits, '.', '_' and '-'; not one of Kafka's internal topics. The
	// name may not change once the object exists.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=249
	// +kubebuilder:validation:XValidation:rule=`self.matches('^[a-zA-Z0-9._-]+$')`,message="`topicName` must consist of letters, digits, '.', '_' and '-' only"
	// +kubebuilder:validation:XValidation:rule=`self != '.' && self != '..'`,message="`topicName` may not be '.' or '..': Kafka refuses these names"
	TopicName string `json:"topicName,omitempty"`

	// profile names the guarantees of the topic. critical: no confirmed record is
	// lost; on the worst day a partition waits offline. telemetry: a partition
	// gets a leader at once and may lose its newest records; producers should use
	// acks=1. Both keep 3 replicas (or 5) over racks, with min.insync.replicas 2
	// (or 3).
	//
	// +required
	Profile Profile `json:"profile,omitempty"`

	// partitions is the number of partitions, from 1 to 10000. It may grow only,
	// since Kafka cannot take partitions away. When unset, the Kafka cluster's
	// num.partitions at creation, and whatever the topic has afterwards.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Partitions int32 `json:"partitions,omitempty"`

	// replicationFactor is the number of replicas of every partition: 3 or 5. When
	// unset, what the KafkaCluster sets for the profile. min.insync.replicas
	// follows from it: 2 with 3 replicas, 3 with 5.
	//
	// +optional
	// +kubebuilder:validation:Enum=3;5
	// +kubebuilder:validation:Minimum=3
	// +kubebuilder:validation:Maximum=5
	ReplicationFactor int32 `json:"replicationFactor,omitempty"`

	// config holds further topic configs, by Kafka's names, each value a string
	// (quote numbers: "604800000"). Only these keys and those of the profile are
	// touched; whatever else is set on the topic stays. min.insync.replicas,
	// unclean.leader.election.enable and the replication throttles may not be
	// given.
	//
	// +optional
	// +mapType=granular
	// +kubebuilder:validation:MaxProperties=48
	// +kubebuilder:validation:XValidation:rule=`!('min.insync.replicas' in self)`,message="`config` may not contain min.insync.replicas: it follows from `profile` and `replicationFactor`; remove the key",reason=FieldValueForbidden
	// +kubebuilder:validation:XValidation:rule=`!('unclean.leader.election.enable' in self)`,message="`config` may not contain unclean.leader.election.enable: it follows from `profile`; remove the key, and choose profile telemetry if availability matters more than the newest records",reason=FieldValueForbidden
	// +kubebuilder:validation:XValidation:rule=`!('leader.replication.throttled.replicas' in self || 'follower.replication.throttled.replicas' in self)`,message="`config` may not contain leader.replication.throttled.replicas or follower.replication.throttled.replicas: they belong to whoever moves replicas; remove the keys",reason=FieldValueForbidden
	// +kubebuilder:validation:XValidation:rule=`self.all(k, k.size() <= 80 && k.matches('^[a-z][a-z0-9]*([._-][a-z0-9]+)*$'))`,message="every key of `config` must be the name of a Kafka topic config: up to 80 lower case letters and digits in words joined by '.', '-' or '_', such as retention.ms"
	// +kubebuilder:validation:XValidation:rule=`self.all(k, self[k].size() <= 1024)`,message="no value of `config` may be longer than 1024 characters"
	// +kubebuilder:validation:XValidation:rule=`self.all(k, !['e+05', 'e+06', 'e+07', 'e+08', 'e+09', 'e+10', 'e+11', 'e+12', 'e+13', 'e+14', 'e+15', 'e+16', 'e+17', 'e+18', 'e+19'].exists(e, self[k].endsWith(e)))`,message="no value of `config` may be a number with an exponent, such as 6.048e+08: write it out in digits and quote it, such as \"604800000\""
	Config map[string]string `json:"config,omitempty"`

	// owner is a contact for people, such as a team or an address. The operator
	// only shows it.
	//
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Owner string `json:"owner,omitempty"`

	// enforcement tells how far the operator may go with this topic; the
	// KafkaCluster's enforcement is the ceiling. Enforce: create and correct.
	// Observe: report differences with a plan in words, write nothing to Kafka.
	// Suspended: hands off.
	//
	// +optional
	// +default="Enforce"
	Enforcement Enforcement `json:"enforcement,omitempty"`

	// deletionPolicy tells what becomes of the topic when this object is deleted.
	// Retain: the topic and its records stay.
	//
	// +optional
	// +default="Retain"
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// DurableTopic declares a Kafka topic and the guarantees it must have. The
// operator creates or adopts the topic, keeps it as declared, and says at any
// time whether the guarantees hold. It belongs to the application team.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=dtopic,categories=kafka
// +kubebuilder:validation:XValidation:rule=`(has(self.spec.topicName) ? self.spec.topicName : self.metadata.name) == (has(oldSelf.spec.topicName) ? oldSelf.spec.topicName : oldSelf.metadata.name)`,message="`topicName` may not change, nor be added or removed where that changes the name: Kafka cannot rename a topic; create another DurableTopic for the other name",fieldPath=".spec.topicName",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`has(self.spec.topicName) || self.metadata.name.size() <= 249`,message="`topicName` must be given when metadata.name is longer than the 249 characters that Kafka allows",fieldPath=".spec.topicName"
// +kubebuilder:validation:XValidation:rule=`!((has(self.spec.topicName) ? self.spec.topicName : self.metadata.name) in ['__consumer_offsets', '__transaction_state', '__share_group_state', '__cluster_metadata', '__remote_log_metadata'])`,message="`topicName` may not be an internal topic of Kafka (__consumer_offsets, __transaction_state, __share_group_state, __cluster_metadata, __remote_log_metadata): these belong to the brokers",fieldPath=".spec.topicName",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule=`!has(self.spec.partitions) || self.spec.?partitions == oldSelf.spec.?partitions || self.spec.partitions >= oldSelf.spec.?partitions.or(oldSelf.?status.?partitions).orValue(0)`,message="`partitions` must be at least what it was, or what the topic has (status.partitions) if it was unset: Kafka cannot take partitions away",fieldPath=".spec.partitions"
// +kubebuilder:validation:XValidation:rule=`has(self.spec.partitions) || !has(oldSelf.spec.partitions) || self.?status.?partitions.orValue(0) >= oldSelf.spec.partitions`,message="`partitions` may not be removed before the topic has that many (see status.partitions): the number would be forgotten, and it may grow only",fieldPath=".spec.partitions",reason=FieldValueForbidden
// +kubebuilder:selectablefield:JSONPath=`.spec.profile`
// +kubebuilder:selectablefield:JSONPath=`.spec.clusterRef.name`
// +kubebuilder:printcolumn:name="Topic",type=string,JSONPath=`.status.topicName`
// +kubebuilder:printcolumn:name="Profile",type=string,JSONPath=`.spec.profile`
// +kubebuilder:printcolumn:name="RF",type=integer,JSONPath=`.status.replicationFactor`,description="Replicas of the partition with the fewest, as Kafka shows"
// +kubebuilder:printcolumn:name="MinISR",type=integer,JSONPath=`.status.minInSyncReplicas`,description="min.insync.replicas as Kafka shows"
// +kubebuilder:printcolumn:name="Durable",type=string,JSONPath=`.status.conditions[?(@.type=="Durable")].status`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Cluster",type=string,priority=1,JSONPath=`.spec.clusterRef.name`
// +kubebuilder:printcolumn:name="Partitions",type=integer,priority=1,JSONPath=`.status.partitions`
// +kubebuilder:printcolumn:name="Racks",type=integer,priority=1,JSONPath=`.status.racks`,description="Racks of the partition with the fewest"
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type DurableTopic struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object's metadata. metadata.name is the topic's
	// name unless spec.topicName gives another.
	//
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec declares the topic.
	//
	// +required
	Spec DurableTopicSpec `json:"spec,omitempty,omitzero"`

	// status is what Kafka shows of the topic. Written by the operator only.
	//
	// +optional
	// +default={"observedGeneration":-1}
	Status DurableTopicStatus `json:"status,omitempty,omitzero"`
}

// KafkaTopicName returns the topic's name in Kafka: spec.topicName, else
// metadata.name.
func (t *DurableTopic) KafkaTopicName() string {
	if t.Spec.TopicName != "" {
		return t.Spec.TopicName
	}
	return t.Name
}

// ClusterName returns the name of the topic's KafkaCluster:
// spec.clusterRef.name, else DefaultClusterName.
func (t *DurableTopic) ClusterName() string {
	if t.Spec.ClusterRef.Name != "" {
		return t.Spec.ClusterRef.Name
	}
	return DefaultClusterName
}

// GetConditions returns the status conditions.
func (t *DurableTopic) GetConditions() []metav1.Condition {
	return t.Status.Conditions
}

// SetConditions replaces the status conditions.
func (t *DurableTopic) SetConditions(conditions []metav1.Condition) {
	t.Status.Conditions = conditions
}

// DurableTopicList is a list of DurableTopics.
//
// +kubebuilder:object:root=true
type DurableTopicList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the DurableTopics.
	Items []DurableTopic `json:"items"`
}
