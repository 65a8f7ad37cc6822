package v1alpha1

// Condition types. Ready and, on a DurableTopic, Durable are always present. Drifted, Reconciling and Stalled are present
// only while they are True, and Reconciling and Stalled never together, as the kstatus convention has it.
const (
	// ConditionReady on a DurableTopic: Kafka satisfies the spec of the observed generation, in topic, partitions, configs
	// and replicas, by what Kafka shows. On a KafkaCluster: the cluster can be reached, is the right one and can be worked
	// with.
	ConditionReady = "Ready"
	// ConditionDurable on a DurableTopic: the guarantees of its profile hold now, for every partition.
	ConditionDurable = "Durable"
	// ConditionDrifted on a DurableTopic: a difference from the declaration remains at the end of a pass. A difference that
	// was corrected within the pass is in status.lastDrift instead.
	ConditionDrifted = "Drifted"
	// ConditionReconciling: the operator is on the way to what is declared, or waits for something that comes by itself.
	ConditionReconciling = "Reconciling"
	// ConditionStalled: it does not go on without a person. It is re-checked all the same and heals by itself once the
	// cause is gone.
	ConditionStalled = "Stalled"
)

// Reasons of what is well.
const (
	// ReasonCompliant (Ready=True of a DurableTopic): Kafka shows the topic as declared. Nothing to do.
	ReasonCompliant = "Compliant"
	// ReasonConnected (Ready=True of a KafkaCluster): the cluster answers and can be worked with. Nothing to do.
	ReasonConnected = "Connected"
	// ReasonFullyReplicated (Durable=True): every partition has a leader and all its replicas are in sync and spread over
	// racks. Nothing to do.
	ReasonFullyReplicated = "FullyReplicated"
	// ReasonReducedRedundancy (Durable=True): for more than five minutes some partitions have replicas out of sync, though
	// still as many in sync as min.insync.replicas. Bring back the brokers that the message names.
	ReasonReducedRedundancy = "ReducedRedundancy"
	// ReasonRackLossNotCovered (Durable=True): the KafkaCluster's rackAwareness is BestEffort and there are too few racks,
	// so the loss of one rack may stop writes. Add brokers in another rack to be covered.
	ReasonRackLossNotCovered = "RackLossNotCovered"
	// ReasonNoDrift (Drifted=False): no difference remains. Nothing to do.
	ReasonNoDrift = "NoDrift"
)

// Reasons why the guarantees do not hold now.
const (
	// ReasonUnderMinISR (Durable=False): some partitions have fewer replicas in sync than min.insync.replicas, so acks=all
	// producers wait. Bring back the brokers that the message names.
	ReasonUnderMinISR = "UnderMinISR"
	// ReasonOffline (Durable=False): some partitions have no leader, so nobody can read or write them. Bring back the
	// brokers that the message names; on a critical topic any other way loses confirmed records.
	ReasonOffline = "Offline"
)

// Reasons that name a difference between the topic in Kafka and its declaration. While a change is under way or held they
// stand on Ready and Drifted, and on Durable if the guarantees fail through it.
const (
	// ReasonTopicNotFound: the topic does not exist in Kafka. It is created unless enforcement or another reason prevents
	// it.
	ReasonTopicNotFound = "TopicNotFound"
	// ReasonReplicationFactorViolation: some partitions have more or fewer replicas than declared. Reassign their replicas,
	// or set spec.replicationFactor to what they have if that is 3 or 5.
	ReasonReplicationFactorViolation = "ReplicationFactorViolation"
	// ReasonPlacementViolation: some partitions would fall below min.insync.replicas with the loss of one rack. Reassign
	// their replicas so that they span enough racks.
	ReasonPlacementViolation = "PlacementViolation"
	// ReasonReplicaOnMissingBroker: some partitions have a replica on a broker that has left the cluster. Bring the broker
	// back, or reassign the replica.
	ReasonReplicaOnMissingBroker = "ReplicaOnMissingBroker"
	// ReasonPartitionCountViolation: the topic has fewer partitions than declared. They are added unless enforcement or
	// another reason prevents it.
	ReasonPartitionCountViolation = "PartitionCountViolation"
	// ReasonMinInSyncReplicasViolation: min.insync.replicas is not what the profile says. It is corrected unless
	// enforcement or another reason prevents it.
	ReasonMinInSyncReplicasViolation = "MinInSyncReplicasViolation"
	// ReasonUncleanElectionViolation: unclean.leader.election.enable is not what the profile says. It is corrected unless
	// enforcement or another reason prevents it.
	ReasonUncleanElectionViolation = "UncleanElectionViolation"
	// ReasonConfigViolation: a key of spec.config has another value in Kafka. It is corrected unless enforcement or another
	// reason prevents it.
	ReasonConfigViolation = "ConfigViolation"
)

// Reasons of a difference that is held on purpose, because correcting it now would endanger records.
const (
	// ReasonMinInSyncReplicasHeld: a change of min.insync.replicas waits until enough replicas are in sync, because it would
	// erase Kafka's record of eligible leader replicas, or stop producers while replicas are being added. Bring back the
	// brokers that the message names; the change then follows by itself.
	ReasonMinInSyncReplicasHeld = "MinInSyncReplicasHeld"
	// ReasonUncleanElectionHeld: switching unclean leader election on waits until every partition has a leader, because on
	// a leaderless partition it would be an unclean election. Bring back the brokers that the message names, or decide for
	// the election yourself.
	ReasonUncleanElectionHeld = "UncleanElectionHeld"
	// ReasonDriftFight: the same key was undone more than 3 times in 10 minutes, so it is corrected with growing delay.
	// Find out who sets the other value that the message shows, and let one of the two win.
	ReasonDriftFight = "DriftFight"
)

// Reasons of work under way (Reconciling=True, Ready=False).
const (
	// ReasonCreating: the topic is being created, or was created and does not show everywhere yet. Wait.
	ReasonCreating = "Creating"
	// ReasonUpdating: configs are being brought to the declaration. Wait.
	ReasonUpdating = "Updating"
	// ReasonAddingPartitions: partitions are being added. Wait.
	ReasonAddingPartitions = "AddingPartitions"
	// ReasonMovingReplicas: replicas are moving to other brokers; the message says how many partitions are left. Wait.
	ReasonMovingReplicas = "MovingReplicas"
	// ReasonCatchingUp: new replicas are copying records and are not in sync yet. Wait.
	ReasonCatchingUp = "CatchingUp"
	// ReasonWaitingForBrokers: there are enough racks, but one that is needed has no broker that is up. Bring back a broker
	// of the rack that the message names.
	ReasonWaitingForBrokers = "WaitingForBrokers"
	// ReasonTopicPendingDeletion: a topic of this name is still being deleted in Kafka. It is created once that is over.
	ReasonTopicPendingDeletion = "TopicPendingDeletion"
	// ReasonTopicVanished: the topic was deleted in Kafka, and its records with it. It is created again, empty. Find out who
	// deleted it.
	ReasonTopicVanished = "TopicVanished"
	// ReasonTopicReplaced: another topic (another topic ID) stands under the name, so the former records are gone. It is
	// brought to the declaration. Find out who replaced it.
	ReasonTopicReplaced = "TopicReplaced"
	// ReasonThrottled: Kafka's quotas slow the operator down. Wait, or raise the controller mutation quota of its user.
	ReasonThrottled = "Throttled"
	// ReasonNotObservedYet (Ready=Unknown): Kafka has not been read for this generation yet. Wait.
	ReasonNotObservedYet = "NotObservedYet"
)

// Reasons why the declaration cannot be met until a person acts in Kafka or edits the spec (Stalled=True, Ready=False).
const (
	// ReasonInsufficientRacks: fewer racks are registered than the rack rule needs. Add brokers in another rack, or set the
	// KafkaCluster's rackAwareness to BestEffort.
	ReasonInsufficientRacks = "InsufficientRacks"
	// ReasonInsufficientBrokers: fewer brokers are registered than the topic has replicas. Add brokers.
	ReasonInsufficientBrokers = "InsufficientBrokers"
	// ReasonPartitionDecreaseUnsupported: the topic has more partitions than declared, and Kafka cannot take partitions
	// away. Set spec.partitions to what the topic has, or remove it.
	ReasonPartitionDecreaseUnsupported = "PartitionDecreaseUnsupported"
	// ReasonTooManyPartitions: Kafka does not take so many partitions in one request. Declare fewer.
	ReasonTooManyPartitions = "TooManyPartitions"
	// ReasonReadOnlyConfig: a key has another value than declared and the service does not let it be changed. Have the
	// service's owner change it, or declare the value that it has.
	ReasonReadOnlyConfig = "ReadOnlyConfig"
	// ReasonConfigRejected: Kafka refused a key or value of spec.config. Correct it; the message has Kafka's words.
	ReasonConfigRejected = "ConfigRejected"
	// ReasonPolicyViolation: a policy of the Kafka cluster refused the request. Change the declaration or the policy; the
	// message has Kafka's words.
	ReasonPolicyViolation = "PolicyViolation"
	// ReasonAssignmentRefused: Kafka refused the brokers chosen for the replicas, as managed services do. Set the
	// KafkaCluster's placement to Broker.
	ReasonAssignmentRefused = "AssignmentRefused"
	// ReasonRequestRejected: Kafka refused a request in a way that has no reason of its own. The message has Kafka's words.
	ReasonRequestRejected = "RequestRejected"
	// ReasonNotAuthorized: Kafka refused the operator an operation. Grant what the message and the KafkaCluster's
	// status.missingPermissions name.
	ReasonNotAuthorized = "NotAuthorized"
	// ReasonTopicNameInvalid: Kafka refused the name. Declare the topic under another name.
	ReasonTopicNameInvalid = "TopicNameInvalid"
	// ReasonTopicNameCollision: the name differs from that of another topic only in '.' and '_', which Kafka does not tell
	// apart in metrics. Declare the topic under another name.
	ReasonTopicNameCollision = "TopicNameCollision"
	// ReasonInternalTopic: Kafka flags the topic as internal; it belongs to the brokers. Delete this DurableTopic.
	ReasonInternalTopic = "InternalTopic"
)

// Reasons of ownership and identity (Stalled=True, Ready=False).
const (
	// ReasonTopicOwnedByAnother: an older DurableTopic declares the same topic and owns it. Delete this one, or the other;
	// this one then takes over the topic as it is.
	ReasonTopicOwnedByAnother = "TopicOwnedByAnother"
	// ReasonKafkaOwnedByAnother: an older KafkaCluster leads to the same Kafka cluster. Delete this one, or the other, and
	// let the DurableTopics name the one that stays.
	ReasonKafkaOwnedByAnother = "KafkaOwnedByAnother"
	// ReasonClusterIDChanged: the bootstrap servers lead to another Kafka cluster than the one this KafkaCluster is bound
	// to; nothing is written there, and of its topics nothing is known (Ready=Unknown, KafkaUnreachable). Correct spec.bootstrapServers or spec.clusterID, or create a KafkaCluster for it.
	ReasonClusterIDChanged = "ClusterIDChanged"
	// ReasonKafkaClusterNotFound: there is no KafkaCluster of the name in spec.clusterRef. Create it; the topic then follows
	// by itself.
	ReasonKafkaClusterNotFound = "KafkaClusterNotFound"
	// ReasonKafkaClusterNotReady: the KafkaCluster cannot be worked with. Its own conditions say why.
	ReasonKafkaClusterNotReady = "KafkaClusterNotReady"
	// ReasonUnsupportedBrokers: brokers lack requests that the operator needs. Upgrade the brokers that the message names to
	// Apache Kafka 4.0 or newer.
	ReasonUnsupportedBrokers = "UnsupportedBrokers"
)

// Reasons set by spec.enforcement.
const (
	// ReasonObserveOnly: there are differences, and enforcement Observe keeps them from being corrected. status.plan tells
	// what would be done. Set enforcement to Enforce to have it done.
	ReasonObserveOnly = "ObserveOnly"
	// ReasonSuspended: enforcement Suspended keeps hands off, so nothing is known. Set enforcement to Enforce or Observe.
	ReasonSuspended = "Suspended"
)

// Reasons why Kafka cannot be reached (KafkaCluster; topics show ReasonKafkaUnreachable). After a grace of three check
// intervals, and at least two minutes, Ready is Unknown.
const (
	// ReasonConnecting: the first contact with Kafka is being made. Wait.
	ReasonConnecting = "Connecting"
	// ReasonKafkaUnreachable: no broker answers, for a cause that has no reason of its own. Check the brokers and the
	// network between them and the operator.
	ReasonKafkaUnreachable = "KafkaUnreachable"
	// ReasonNameResolutionFailed: the name of no bootstrap server can be resolved. Correct spec.bootstrapServers or the DNS.
	ReasonNameResolutionFailed = "NameResolutionFailed"
	// ReasonConnectionRefused: nothing listens at any bootstrap server. Start the brokers, or correct
	// spec.bootstrapServers.
	ReasonConnectionRefused = "ConnectionRefused"
	// ReasonConnectionTimedOut: connections or requests to the brokers get no answer in time. Check firewalls and the load
	// of the brokers.
	ReasonConnectionTimedOut = "ConnectionTimedOut"
	// ReasonTLSMismatch: the brokers speak TLS at these ports and spec.securityProtocol does not. Name the ports of a
	// PLAINTEXT listener.
	ReasonTLSMismatch = "TLSMismatch"
	// ReasonAuthenticationRequired: the brokers close unauthenticated connections at these ports, as SASL listeners do. Name
	// the ports of a PLAINTEXT listener.
	ReasonAuthenticationRequired = "AuthenticationRequired"
	// ReasonNotKafka: what answers at the bootstrap servers does not speak Kafka's protocol. Correct
	// spec.bootstrapServers.
	ReasonNotKafka = "NotKafka"
)
