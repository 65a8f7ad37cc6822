package contract

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"durabletopic.io/operator/internal/kafka"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

// model is the in-memory cluster.
type model struct {
	kafka.Wire
	c *kafkatest.Cluster
}

func (m model) Do(_ context.Context, d deed, brokers ...int32) error {
	does := map[deed]func(int32){pause: m.c.Pause, resume: m.c.Start, kill: m.c.Kill, start: m.c.Start}
	for _, id := range brokers {
		does[d](id)
	}
	return nil
}

// Produce appends to the log of the leader; replicas in sync have it at once.
func (m model) Produce(_ context.Context, topic string, bytes int64) error {
	p := m.c.Partition(topic, 0)
	if len(p.ISR) < m.c.EffectiveMinISR(topic, 0) {
		return kerr.NotEnoughReplicas
	}
	m.c.SetSize(topic, 0, m.c.ReplicaSize(topic, 0, p.Leader)+bytes)
	return nil
}

func (m model) Wait() { m.c.Tick() }

func TestModel(t *testing.T) {
	for name, opts := range map[string]kafkatest.Options{
		"all at once":  {},
		"taking ticks": {CatchUpTicks: 2, MoveTicks: 3},
	} {
		t.Run(name, func(t *testing.T) {
			opts.Racks, opts.ELR, opts.MinInSyncReplicas = racks, true, minISR
			c := kafkatest.New(opts)
			runSuite(t, model{Wire: c.Wire(), c: c})
		})
	}
}
