//go:build unix

package kafkabed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// pollInterval is how often a wait asks again.
	pollInterval = 50 * time.Millisecond
	// defaultWait bounds a wait whose context has no deadline.
	defaultWait = 2 * time.Minute
)

// errNobodyRuns says that there is no broker to ask.
var errNobodyRuns = errors.New("no broker of the bed is running")

// ErrNotRunning ends a wait for something that only a running broker can become.
var ErrNotRunning = errors.New("broker is not running")

// WaitRegistered returns when the brokers are registered, fenced or not.
func (c *Cluster) WaitRegistered(ctx context.Context, ids ...int32) error {
	return c.waitBrokers(ctx, "registered", ids, func(_ Broker, known bool) bool { return known }, nil)
}

// WaitUnfenced returns when the brokers are registered and unfenced. It gives up with ErrNotRunning as soon as one
// of them, or the controller, has no process.
func (c *Cluster) WaitUnfenced(ctx context.Context, ids ...int32) error {
	needed := append([]int32{ControllerID}, ids...)
	return c.waitBrokers(ctx, "unfenced", ids, func(b Broker, known bool) bool { return known && !b.Fenced }, func() error {
		for _, id := range needed {
			if c.State(id) == Stopped {
				return fmt.Errorf("node %d: %w", id, ErrNotRunning)
			}
		}
		return nil
	})
}

// WaitFenced returns when the brokers are registered and fenced.
func (c *Cluster) WaitFenced(ctx context.Context, ids ...int32) error {
	return c.waitBrokers(ctx, "fenced", ids, func(b Broker, known bool) bool { return known && b.Fenced }, nil)
}

// WaitController returns when the controller answers what every running broker forwards to it. A controller that is
// down fences nobody and is not missed by the brokers' own answers.
func (c *Cluster) WaitController(ctx context.Context) error {
	return c.wait(ctx, "the controller", nil, func(ctx context.Context, o *observer, id int32) (bool, string, error) {
		return true, "", o.askController(ctx, id)
	})
}

func (c *Cluster) waitBrokers(ctx context.Context, what string, ids []int32, ok func(Broker, bool) bool, hopeless func() error) error {
	if _, err := c.lookup(ids); err != nil {
		return err
	}
	what = fmt.Sprintf("brokers %v to be %s", ids, what)
	return c.wait(ctx, what, hopeless, func(ctx context.Context, o *observer, id int32) (bool, string, error) {
		brokers, err := o.brokers(ctx, id)
		if err != nil {
			return false, "", err
		}
		for _, id := range ids {
			broker, known := brokers[id]
			if !ok(broker, known) {
				return false, describe(brokers), nil
			}
		}
		return true, "", nil
	})
}

// WaitFullISR returns when every partition of the named topics, or of all topics, has a leader and all replicas in
// sync. A named topic must exist by then.
func (c *Cluster) WaitFullISR(ctx context.Context, topics ...string) error {
	return c.WaitPartitions(ctx, "full ISR", Partition.FullISR, topics...)
}

// WaitISR returns when the in-sync replicas of one partition are exactly ids, in any order.
func (c *Cluster) WaitISR(ctx context.Context, topic string, partition int32, ids ...int32) error {
	want := slices.Sorted(slices.Values(ids))
	ok := func(p Partition) bool {
		return p.Partition != partition || slices.Equal(slices.Sorted(slices.Values(p.ISR)), want)
	}
	return c.WaitPartitions(ctx, fmt.Sprintf("ISR %v of partition %d", want, partition), ok, topic)
}

// WaitPartitions returns when ok holds for every partition of the named topics, or of all topics; what names the
// condition in the error.
func (c *Cluster) WaitPartitions(ctx context.Context, what string, ok func(Partition) bool, topics ...string) error {
	if len(topics) > 0 {
		what = fmt.Sprintf("%s of %v", what, topics)
	}
	return c.wait(ctx, what, nil, func(ctx context.Context, o *observer, id int32) (bool, string, error) {
		partitions, err := o.partitions(ctx, id, topics)
		if err != nil {
			return false, "", err
		}
		for _, p := range partitions {
			if !ok(p) {
				return false, p.String(), nil
			}
		}
		return true, "", nil
	})
}

// check asks broker id; seen describes what it answered when that is not yet what is waited for.
type check func(ctx context.Context, o *observer, id int32) (ok bool, seen string, err error)

// wait returns when check holds in the view of every running broker: their metadata lag behind each other. hopeless,
// if given, ends the wait early.
func (c *Cluster) wait(ctx context.Context, what string, hopeless func() error, check check) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, defaultWait)
		defer cancel()
	}
	o, err := c.observe()
	if err != nil {
		return err
	}
	defer o.client.Close()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for last := ""; ; {
		if hopeless != nil {
			if err := hopeless(); err != nil {
				return fmt.Errorf("wait for %s: %w", what, err)
			}
		}
		ok, seen := c.allAgree(ctx, o, check)
		if ok {
			return nil
		}
		if seen != "" {
			last = seen
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w; last seen: %s", what, ctx.Err(), last)
		case <-ticker.C:
		}
	}
}

// allAgree tells whether check holds in the view of every running broker, and if not, what the first other one saw.
func (c *Cluster) allAgree(ctx context.Context, o *observer, check check) (ok bool, seen string) {
	ids := c.running()
	if len(ids) == 0 {
		return false, errNobodyRuns.Error()
	}
	for _, id := range ids {
		ok, seen, err := check(ctx, o, id)
		if err != nil {
			return false, err.Error()
		}
		if !ok {
			return false, fmt.Sprintf("broker %d: %s", id, seen)
		}
	}
	return true, ""
}
