package observer

import (
	"context"
	"time"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

// checked is a broker that was verified just now.
type checked struct {
	broker  int32
	cluster *topic.Cluster
}

// Verify is the guard before a write: it reads the cluster anew at the broker in use, or another one if that fails, and
// gives the broker to write to. The broker is in service and belongs to the bound cluster. Without contact, or before
// an identity is bound, it fails at once. Calls that wait at the same time share one read, which starts after each of
// them.
func (o *Observer) Verify(ctx context.Context) (int32, *topic.Cluster, error) {
	if err := o.reachable(ctx); err != nil {
		return AnyBroker, nil, err
	}
	got, err := o.checks.join(ctx, o.stopped)
	if err != nil {
		return AnyBroker, nil, err
	}
	return got.broker, got.cluster, nil
}

// verifier serves Verify until ctx ends.
func (o *Observer) verifier(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.checks.wake:
		}
		waiting := o.checks.take()
		if len(waiting) == 0 {
			continue
		}
		got, err := o.check(ctx)
		answer(waiting, got, err)
	}
}

func (o *Observer) check(ctx context.Context) (checked, error) {
	if !o.isBound() {
		return checked{}, fault.New(fault.Waiting, v1alpha1.ReasonConnecting, "the identity of the Kafka cluster is not recorded yet")
	}
	b, c, err := o.acquire(ctx)
	if err != nil && ctx.Err() == nil {
		o.mu.Lock()
		o.lose(time.Now(), err)
		o.mu.Unlock()
		o.poke()
	}
	return checked{b, c}, err
}

func (o *Observer) isBound() bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.bound != ""
}
