package fleet

import (
	"context"
	"errors"
	"time"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/fault"
	"durabletopic.io/operator/internal/kafka"
)

// Kinds of batches. Each has a lane of its own, so that a refused value in one never delays another.
const (
	KindCreate     = "create"
	KindLocks      = "locks"
	KindConfig     = "config"
	KindPartitions = "partitions"
)

// outcome is what became of one step.
type outcome struct {
	err  error // a *fault.Fault
	look bool  // Kafka may show something else than before
}

// lanes are the group commits of a connection.
type lanes struct {
	creates    *kafka.Lane[string, plan.CreateTopic, outcome]
	locks      *kafka.Lane[string, plan.AlterConfigs, outcome]
	config     *kafka.Lane[string, plan.AlterConfigs, outcome]
	partitions *kafka.Lane[string, plan.AddPartitions, outcome]
}

func newLanes(ctx context.Context, c *connection) lanes {
	return lanes{
		creates:    newLane(ctx, c, KindCreate, c.create, c.fitCreates),
		locks:      newLane(ctx, c, KindLocks, c.alter, fitAlterations),
		config:     newLane(ctx, c, KindConfig, c.alter, fitAlterations),
		partitions: newLane(ctx, c, KindPartitions, c.grow, fitAdditions),
	}
}

func newLane[S plan.Step](ctx context.Context, c *connection, kind string, flush func(context.Context, []S) []outcome,
	fit func([]S) int) *kafka.Lane[string, S, outcome] {
	o := c.cluster.fleet.opts
	options := kafka.LaneOptions[string, S, outcome]{
		Key:     func(s S) string { return s.TopicName() },
		Fit:     fit,
		Flush:   flush,
		Timeout: MutationDeadline,
		OnBatch: func(n int) { o.Recorder.Batch(c.cluster.name, kind, n) },
		OnPanic: func(recovered any) {
			o.Log.Error(errPanic, "writing a batch panicked", "cluster", c.cluster.name, "kind", kind, "panic", recovered)
		},
	}
	if kind == KindCreate {
		// A stream of new topics, as kubectl sends it, may wait a second, so that there is a request for ten of them at
		// most; a correction may not.
		options.MaxGap, options.Busy = time.Second, c.creating
	}
	return kafka.NewLane(ctx, options)
}

// maxReplicas bounds the replicas that one request creates; a topic that has more goes alone. Brokers make all logs of a
// request before they fetch for any of them, and those of too many take longer than replica.lag.time.max.ms: then new topics
// fall below min.insync.replicas for a while. Six small brokers on two cores bear 450; 900 are too many for them.
const maxReplicas = 450

// unknownPartitions is what a topic counts as whose partitions are left to brokers that do not tell their num.partitions.
const unknownPartitions int32 = 10

// fitCreates tells how many of the first creations make one request.
func (c *connection) fitCreates(steps []plan.CreateTopic) int {
	byDefault := unknownPartitions
	if facts, _ := c.observer.Cluster(); facts != nil && facts.DefaultPartitions > 0 {
		byDefault = facts.DefaultPartitions
	}
	sizes := make([]kafka.NewTopic, len(steps))
	replicas := 0
	for i, s := range steps {
		sizes[i] = sizeOf(s, byDefault)
		if replicas += sizes[i].Replicas(); i > 0 && replicas > maxReplicas {
			sizes = sizes[:i]
			break
		}
	}
	return kafka.Fit(sizes)
}

func fitAlterations(steps []plan.AlterConfigs) int {
	return fit(steps, func(s plan.AlterConfigs) int { return alteration(s).Records() })
}

func fitAdditions(steps []plan.AddPartitions) int {
	return fit(steps, func(s plan.AddPartitions) int { return 1 + int(s.To-s.From) })
}

func fit[S any](steps []S, records func(S) int) int {
	sizes := make([]size, len(steps))
	for i, s := range steps {
		sizes[i] = size(records(s))
	}
	return kafka.Fit(sizes)
}

var errPanic = errors.New("panic in a batch")

// size is the number of records of an item.
type size int

// Records is the number itself.
func (s size) Records() int { return int(s) }

// Execute carries out one step: it parks until the step was in a request and was answered, and then until the topic was
// read again, though not for long, since brokers may show a write later than they confirm it. The error is a
// *fault.Fault; with Uncertain the step may have been done all the same, and with plan.ErrCreated as its cause a topic was
// created without spec.config.
func (c *Cluster) Execute(ctx context.Context, step plan.Step) error {
	conn := c.connection()
	if conn == nil {
		return notConnected()
	}
	var did outcome
	var err error
	switch s := step.(type) {
	case plan.CreateTopic:
		did, err = conn.lanes.creates.Do(ctx, s)
	case plan.AddPartitions:
		did, err = conn.lanes.partitions.Do(ctx, s)
	case plan.AlterConfigs:
		lane := conn.lanes.locks
		if s.Lane == plan.Declared {
			lane = conn.lanes.config
		}
		did, err = lane.Do(ctx, s)
	default:
		return fault.New(fault.Blocked, v1alpha1.ReasonRequestRejected, "the operator does not know how to carry out a step of type %T", step)
	}
	if err != nil {
		did = outcome{err: err, look: fault.As(err).Uncertain}
	}
	if did.look {
		conn.reread(ctx, step.TopicName())
	}
	return did.err
}
