package v1alpha1

// Defaults of Reassignment.
const (
	// DefaultMaxConcurrentPartitionMoves is how many partitions move at once.
	DefaultMaxConcurrentPartitionMoves int32 = 10
	// DefaultThrottleBytesPerSecond is the rate of throttled moves: 50 MiB a second.
	DefaultThrottleBytesPerSecond int64 = 50 << 20
	// DefaultStallTimeoutSeconds is how long a move may make no progress.
	DefaultStallTimeoutSeconds int32 = 600
)

// Reassignment bounds how the replicas of existing topics are moved (KIP-455).
//
// +kubebuilder:validation:MinProperties=1
type Reassignment struct {
	// maxConcurrentPartitionMoves is how many partitions of the Kafka cluster the
	// operator moves at once, from 1 to 1000. Every broker takes part in its share
	// of them only.
	//
	// +optional
	// +default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	MaxConcurrentPartitionMoves int32 `json:"maxConcurrentPartitionMoves,omitempty"`

	// throttle bounds the rate at which moving replicas are copied, so that
	// producers, consumers and the replicas in sync are not starved.
	//
	// +optional
	// +default={"mode":"Limited","bytesPerSecond":52428800}
	Throttle Throttle `json:"throttle,omitempty,omitzero"`

	// stallTimeoutSeconds is how long a move may make no progress before it is
	// reported and, if a broker it copies to is out of service, given up and
	// planned anew. From 10 to 86400.
	//
	// +optional
	// +default=600
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=86400
	StallTimeoutSeconds int32 `json:"stallTimeoutSeconds,omitempty"`

	// replaceFencedBrokersAfterSeconds is after how long the replicas of a broker
	// that is out of service (fenced) are made anew on other brokers, from 10 to
	// 2592000 (30 days). Unset: never, since a broker usually comes back with its
	// data.
	//
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=2592000
	ReplaceFencedBrokersAfterSeconds int32 `json:"replaceFencedBrokersAfterSeconds,omitempty"`
}

// ThrottleMode tells whether moves are throttled.
//
// +kubebuilder:validation:Enum=Limited;Unlimited
type ThrottleMode string

const (
	// ThrottleLimited copies at most throttle.bytesPerSecond at every broker. The
	// default.
	ThrottleLimited ThrottleMode = "Limited"
	// ThrottleUnlimited copies as fast as brokers can.
	ThrottleUnlimited ThrottleMode = "Unlimited"
)

// Throttle is a rate of moves.
//
// +kubebuilder:validation:XValidation:rule="self.mode == 'Limited' ? has(self.bytesPerSecond) : !has(self.bytesPerSecond)",message="`bytesPerSecond` must be set with `mode` Limited and must not be with Unlimited"
type Throttle struct {
	// mode is Limited, to bytesPerSecond, or Unlimited.
	//
	// +required
	Mode ThrottleMode `json:"mode,omitempty"`

	// bytesPerSecond is what each broker sends, and receives, of moving replicas at
	// most, on average over some seconds: Kafka's
	// leader.replication.throttled.rate and follower.replication.throttled.rate.
	// Set with mode Limited only. At least 1024.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1024
	BytesPerSecond int64 `json:"bytesPerSecond,omitempty"`
}

// MoveCounts counts the replica moves of a Kafka cluster by partition.
type MoveCounts struct {
	// running are partitions that the operator is moving.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	Running int32 `json:"running"`

	// waiting are partitions that are to be moved and have not begun.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	Waiting int32 `json:"waiting"`

	// foreign are partitions of declared topics that somebody else is moving. They
	// are left alone.
	//
	// +required
	// +kubebuilder:validation:Minimum=0
	Foreign int32 `json:"foreign"`
}
