package fleet

import (
	"errors"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/fault"
)

func tooEarly() *fault.Fault {
	return fault.New(fault.Waiting, v1alpha1.ReasonConnecting,
		"the operator has just become leader and writes nothing until the last write of its predecessor must have ended")
}

func notRecorded() *fault.Fault {
	return fault.New(fault.Waiting, v1alpha1.ReasonConnecting,
		"the identity of the Kafka cluster is not recorded yet, and nothing is written before")
}

func foreign(recorded, seen string) *fault.Fault {
	return fault.New(fault.Blocked, v1alpha1.ReasonClusterIDChanged,
		"the brokers belong to Kafka cluster %q, not to %q as recorded; nothing is written", seen, recorded)
}

// notSent is the fault of a write for which no broker could be verified. It was not sent, so it is never uncertain.
func notSent(err error) *fault.Fault {
	f := *fault.As(err)
	f.Uncertain = false
	if f.Reason == "" {
		f.Reason = v1alpha1.ReasonKafkaUnreachable
		f.Message = "no broker could be verified in time, so nothing was written; it is tried again"
	}
	return &f
}

func exists(name string) *fault.Fault {
	return fault.New(fault.Waiting, v1alpha1.ReasonCreating,
		"create topic %q: a topic of this name exists already; it is looked at again", name)
}

func collides(name, other string) *fault.Fault {
	return fault.New(fault.Invalid, v1alpha1.ReasonTopicNameCollision,
		"create topic %q: its name differs from that of topic %q only in '.' and '_', which Kafka does not tell apart in "+
			"metrics; declare the topic under another name", name, other)
}

func partitionsUnknown(name string) *fault.Fault {
	return fault.New(fault.Blocked, v1alpha1.ReasonNotAuthorized,
		"create topic %q: the brokers' num.partitions could not be read; grant the operator's user DESCRIBE_CONFIGS on the "+
			"Cluster, or set spec.partitions", name)
}

// unfit is the fault of replica lists that the judge rejects: a mistake of the operator, which is never sent.
func unfit(name string, v placement.Violation) *fault.Fault {
	return fault.New(fault.Blocked, v1alpha1.ReasonPlacementViolation,
		"topic %q: the replicas that the operator chose break their own rule and were not sent: %s", name, v.Message)
}

// withoutConfig is the fault of a topic that was created with its locks alone.
func withoutConfig(refused error) *fault.Fault {
	f := *fault.As(refused)
	f.Err = errors.Join(plan.ErrCreated, f.Err)
	return &f
}
