package kafka

import (
	"errors"
	"regexp"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/fault"
)

// action is what is done to one object, for messages: `create topic "orders"`, and the permission it needs.
type action struct {
	api  string
	verb string // with the kind of object
	// operation and resource are the permission to grant, in the words of Kafka's ACLs.
	operation, resource string
	write               bool
	// partitions means that the action changes the number of partitions of a topic that exists.
	partitions bool
	// own are codes that mean something else here than elsewhere.
	own map[int16]rule
}

var (
	describeCluster   = action{api: "DescribeCluster", verb: "read cluster", operation: "DESCRIBE", resource: "Cluster"}
	apiVersions       = action{api: "ApiVersions", verb: "read supported requests of broker"}
	describeBroker    = action{api: "DescribeConfigs", verb: "read configs of broker", operation: "DESCRIBE_CONFIGS", resource: "Cluster"}
	describeTopics    = action{api: "DescribeTopicPartitions", verb: "read topic", operation: "DESCRIBE", resource: "Topic"}
	describeConfigs   = action{api: "DescribeConfigs", verb: "read configs of topic", operation: "DESCRIBE_CONFIGS", resource: "Topic"}
	listReassignments = action{api: "ListPartitionReassignments", verb: "list reassignments of cluster", operation: "DESCRIBE", resource: "Cluster"}
	createTopics      = action{api: "CreateTopics", verb: "create topic", operation: "CREATE", resource: "Topic", write: true}
	alterConfigs      = action{api: "IncrementalAlterConfigs", verb: "alter configs of topic", operation: "ALTER_CONFIGS", resource: "Topic", write: true}
	describeThrottle  = action{api: "DescribeConfigs", verb: "read replication throttle of broker", operation: "DESCRIBE_CONFIGS", resource: "Cluster"}
	describeLogDirs   = action{api: "DescribeLogDirs", verb: "read sizes of replicas at broker", operation: "DESCRIBE", resource: "Cluster"}
	createPartitions  = action{api: "CreatePartitions", verb: "add partitions to topic", operation: "ALTER", resource: "Topic", write: true, partitions: true}
)

// What moves replicas. Kafka asks for the permission on the cluster, whatever the topic.
var (
	reassignPartitions = action{api: "AlterPartitionReassignments", verb: "reassign partition", operation: "ALTER", resource: "Cluster", write: true}
	cancelReassignment = action{api: "AlterPartitionReassignments", verb: "cancel reassignment of partition", operation: "ALTER", resource: "Cluster", write: true,
		own: map[int16]rule{
			kerr.NoReassignmentInProgress.Code: {class: fault.Waiting, reason: v1alpha1.ReasonMovingReplicas,
				means: "none runs, it has ended or begins only now; it is looked at again"},
			kerr.InvalidReplicaAssignment.Code: {class: fault.Waiting, reason: v1alpha1.ReasonCatchingUp,
				means: "only replicas that it adds are in sync; wait for another one, or let it end"},
		}}
	electPreferred = action{api: "ElectLeaders", verb: "elect preferred leader of partition", operation: "ALTER", resource: "Cluster", write: true,
		own: map[int16]rule{
			kerr.PreferredLeaderNotAvailable.Code: {class: fault.Waiting, reason: v1alpha1.ReasonWaitingForBrokers,
				means: "the preferred leader is out of service or not in sync; bring its broker back, or wait until it has caught up"},
		}}
	listRefused = map[int16]rule{
		kerr.InvalidConfig.Code: {class: fault.Blocked, reason: v1alpha1.ReasonRequestRejected,
			means: "the topic's list of throttled replicas takes no entry: it is \"*\", or would be longer than 32767 bytes; clear it, or move fewer partitions at once"},
	}
	appendThrottled   = action{api: "IncrementalAlterConfigs", verb: "throttle replicas of topic", operation: "ALTER_CONFIGS", resource: "Topic", write: true, own: listRefused}
	subtractThrottled = action{api: "IncrementalAlterConfigs", verb: "end throttle of replicas of topic", operation: "ALTER_CONFIGS", resource: "Topic", write: true, own: listRefused}
	setThrottle       = action{api: "IncrementalAlterConfigs", verb: "set replication throttle of the cluster", operation: "ALTER_CONFIGS", resource: "Cluster", write: true,
		own: map[int16]rule{
			kerr.InvalidRequest.Code: {class: fault.Invalid, reason: v1alpha1.ReasonRequestRejected,
				means: "Kafka refuses the rate; correct spec.reassignment.throttle of the KafkaCluster"},
		}}
	deleteThrottle = action{api: "IncrementalAlterConfigs", verb: "delete replication throttle of the cluster", operation: "ALTER_CONFIGS", resource: "Cluster", write: true}
)

// rule is what an error code of Kafka means to the operator.
type rule struct {
	class     fault.Class
	reason    string
	means     string // observed rule; cure
	uncertain bool   // a write may have been applied all the same
	mute      bool   // the broker's words say nothing, or too much
}

// rules by error code. What is not in here is Blocked and RequestRejected: it is tried again, slowly.
//
// NOT_CONTROLLER is uncertain because a controller that loses its office fails the writes that it has appended but not
// seen committed with it (QuorumController), and the next controller may have them.
var rules = map[int16]rule{
	kerr.InvalidConfig.Code: {class: fault.Invalid, reason: v1alpha1.ReasonConfigRejected,
		means: "Kafka refuses a key or value of the config; correct spec.config"},
	kerr.PolicyViolation.Code: {class: fault.Blocked, reason: v1alpha1.ReasonPolicyViolation,
		means: "a policy of the Kafka cluster refuses it; change the declaration or the policy"},
	kerr.TopicAlreadyExists.Code: {class: fault.Waiting, reason: v1alpha1.ReasonCreating,
		means: "a topic of this name exists in Kafka but does not show yet, or is still being deleted; it is looked for again"},
	kerr.InvalidReplicationFactor.Code: {class: fault.Waiting, reason: v1alpha1.ReasonWaitingForBrokers,
		means: "fewer brokers are in service than the topic has replicas; bring back or add brokers"},
	kerr.InvalidReplicaAssignment.Code: {class: fault.Waiting, reason: v1alpha1.ReasonWaitingForBrokers,
		means: "Kafka refuses the brokers chosen for the replicas, as it does when brokers have changed since; they are chosen anew"},
	kerr.InvalidPartitions.Code: {class: fault.Invalid, reason: v1alpha1.ReasonRequestRejected,
		means: "Kafka refuses the number of partitions; correct spec.partitions"},
	kerr.UnknownTopicOrPartition.Code: {class: fault.Waiting, reason: v1alpha1.ReasonTopicNotFound,
		means: "Kafka does not know the topic, or not yet; it is looked for again"},
	kerr.UnknownTopicID.Code: {class: fault.Waiting, reason: v1alpha1.ReasonTopicNotFound,
		means: "Kafka does not know the topic, or not yet; it is looked for again"},
	kerr.InvalidTopicException.Code: {class: fault.Invalid, reason: v1alpha1.ReasonTopicNameInvalid,
		means: "Kafka refuses the name; declare the topic under another name"},
	kerr.TopicAuthorizationFailed.Code:   {class: fault.Blocked, reason: v1alpha1.ReasonNotAuthorized, mute: true},
	kerr.ClusterAuthorizationFailed.Code: {class: fault.Blocked, reason: v1alpha1.ReasonNotAuthorized, mute: true},
	kerr.UnsupportedVersion.Code: {class: fault.Blocked, reason: v1alpha1.ReasonUnsupportedBrokers,
		means: "the brokers do not support the request; upgrade them to Apache Kafka 4.0 or newer"},
	kerr.RequestTimedOut.Code: {class: fault.Transient, reason: v1alpha1.ReasonConnectionTimedOut, uncertain: true,
		means: "Kafka's controller did not finish in time; check the load of the brokers"},
	kerr.ThrottlingQuotaExceeded.Code: {class: fault.Transient, reason: v1alpha1.ReasonThrottled, mute: true,
		means: "the controller mutation quota is used up; wait, or raise controller_mutation_rate of the operator's user"},
	kerr.NotController.Code: {class: fault.Transient, reason: v1alpha1.ReasonKafkaUnreachable, uncertain: true,
		means: "Kafka's controller is changing; it is tried again"},
	kerr.ReassignmentInProgress.Code: {class: fault.Waiting, reason: v1alpha1.ReasonMovingReplicas,
		means: "replicas of the topic are moving; it waits until they are done"},
	kerr.UnknownServerError.Code: {class: fault.Transient, reason: v1alpha1.ReasonRequestRejected, uncertain: true,
		means: "Kafka failed inside; see the log of the controller or the broker"},
	kerr.NetworkException.Code: {class: fault.Transient, reason: v1alpha1.ReasonKafkaUnreachable, uncertain: true,
		means: "the broker lost its connection to the controller; it is tried again"},
	kerr.BrokerNotAvailable.Code: {class: fault.Transient, reason: v1alpha1.ReasonKafkaUnreachable, uncertain: true,
		means: "the broker or the controller is not in service; it is tried again"},
	kerr.KafkaStorageError.Code: {class: fault.Transient, reason: v1alpha1.ReasonRequestRejected, uncertain: true,
		means: "a disk of the broker failed; check the broker"},
	kerr.SaslAuthenticationFailed.Code: {class: fault.Blocked, reason: v1alpha1.ReasonAuthenticationRequired, mute: true,
		means: "the brokers refuse the operator's credentials"},
	kerr.UnsupportedSaslMechanism.Code: {class: fault.Blocked, reason: v1alpha1.ReasonAuthenticationRequired,
		means: "the brokers do not offer the SASL mechanism"},
	kerr.IllegalSaslState.Code: {class: fault.Blocked, reason: v1alpha1.ReasonAuthenticationRequired,
		means: "the brokers expect SASL at this port"},
}

var rejected = rule{class: fault.Blocked, reason: v1alpha1.ReasonRequestRejected, means: "Kafka refuses the request"}

// refusal is what Kafka answered about one object with code, which is not 0.
func refusal(a action, name string, code int16, words *string) *fault.Fault {
	r, ok := a.own[code]
	if !ok {
		r, ok = rules[code]
	}
	if !ok {
		r = rejected
	}
	r = a.special(name, code, r)
	f := fault.Wrap(kerr.ErrorForCode(code), r.class, r.reason, "%s: %s, %s", a.on(name), codeName(code), r.means)
	f.Uncertain = a.write && r.uncertain
	if words == nil || r.mute {
		return f
	}
	return f.WithDetail(*words)
}

// special refines a rule by what is asked of what.
func (a action) special(name string, code int16, r rule) rule {
	switch code {
	case kerr.TopicAuthorizationFailed.Code, kerr.ClusterAuthorizationFailed.Code:
		r.means = "the operator's user is not allowed to; grant it " + a.permission(name)
	case kerr.InvalidTopicException.Code:
		if a.write && topicNameValid(name) {
			r.reason = v1alpha1.ReasonTopicNameCollision
			r.means = "a topic whose name differs only in '.' and '_' exists; declare the topic under another name"
		}
	case kerr.InvalidPartitions.Code:
		if a.partitions {
			// The count has changed since it was read: Kafka refuses what the topic has already.
			r.class, r.reason = fault.Waiting, v1alpha1.ReasonAddingPartitions
			r.means = "the topic has other partitions than when it was read; it is looked at again"
		}
	}
	return r
}

// on names the action with its object.
func (a action) on(name string) string {
	if name == "" {
		return a.verb
	}
	return a.verb + " " + strconv.Quote(name)
}

// permission names what to grant, as kafka-acls takes it.
func (a action) permission(name string) string {
	if a.resource == "Cluster" {
		return a.operation + " on the Cluster"
	}
	p := a.operation + " on Topic " + name
	if a.operation == "CREATE" {
		p += " or on the Cluster"
	}
	return p
}

// codeName is Kafka's name of an error code.
func codeName(code int16) string {
	if e, ok := errors.AsType[*kerr.Error](kerr.ErrorForCode(code)); ok {
		return e.Message
	}
	return "NONE"
}

// missingRow is a fault for an object that an answer should name and does not.
func missingRow(a action, name string) *fault.Fault {
	f := fault.New(fault.Transient, v1alpha1.ReasonRequestRejected,
		"%s: Kafka's answer does not name it; it is tried again", a.on(name))
	f.Uncertain = a.write
	return f
}

const maxTopicName = 249

// legalTopicName is Kafka's alphabet of topic names.
var legalTopicName = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

// topicNameValid is the rule of org.apache.kafka.common.internals.Topic.validate.
func topicNameValid(name string) bool {
	return legalTopicName.MatchString(name) && name != "." && name != ".." && len(name) <= maxTopicName
}

// tooLarge is the fault of an object that exceeds the bound of one request by itself; words are the broker's, if it was
// asked.
func tooLarge(a action, name, words string) *fault.Fault {
	f := fault.Wrap(kerr.PolicyViolation, fault.Invalid, v1alpha1.ReasonTooManyPartitions,
		"%s: Kafka takes at most %d partitions and configs in one request; declare fewer partitions", a.on(name), MaxRecords-1)
	return f.WithDetail(words)
}

// denied tells whether a code says that a permission is missing.
func denied(code int16) bool {
	return code == kerr.ClusterAuthorizationFailed.Code || code == kerr.TopicAuthorizationFailed.Code
}

// notAuthorized tells whether an error says so.
func notAuthorized(err error) bool {
	return err != nil && fault.As(err).Reason == v1alpha1.ReasonNotAuthorized
}
