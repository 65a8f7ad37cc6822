package fleet

import (
	"context"
	"sync"
	"time"

	"durabletopic.io/operator/internal/core/moves"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
	"durabletopic.io/operator/internal/kafka"
	"durabletopic.io/operator/internal/mover"
	"durabletopic.io/operator/internal/observer"
)

// connection is everything that belongs to one set of bootstrap servers.
type connection struct {
	cluster  *Cluster
	cancel   context.CancelFunc
	wire     kafka.Wire
	client   *kafka.Client
	observer *observer.Observer
	mover    *mover.Mover // nil: no replicas are moved
	lanes    lanes
	reserved reservations
}

// dial makes a connection; nothing is sent before run. The caller holds c.mu.
func dial(c *Cluster) (*connection, error) {
	o := c.fleet.opts
	log := o.Log.WithValues("cluster", c.name)
	wire, err := o.Dial(kafka.Config{
		BootstrapServers: c.settings.BootstrapServers, SoftwareVersion: o.SoftwareVersion, Log: log.WithName("kafka"),
	})
	if err != nil {
		return nil, fault.As(err)
	}
	conn := &connection{cluster: c, wire: wire}
	conn.client = kafka.NewClient(wire, kafka.Options{OnRequest: func(api, result string, took time.Duration) {
		o.Recorder.Request(c.name, api, result, took)
	}})
	conn.observer = observer.New(conn.client, observer.Options{
		Interval:  c.settings.Interval,
		ClusterID: c.settings.ClusterID,
		Changed: func(names []string, u observer.Urgency) {
			o.OnTopics(c.name, names, u == observer.Urgent)
			conn.changed()
		},
		ClusterChanged: func() {
			o.OnCluster(c.name)
			conn.changed()
			c.gate.open()
		},
		OnSweep: func(took time.Duration, topics int, err error) { o.Recorder.Sweep(c.name, took, topics, err) },
		OnFailover: func(broker int32, err error) {
			log.V(1).Info("leaving a broker that failed", "broker", broker, "reason", err.Error())
		},
	})
	if o.Journal != nil {
		conn.mover = mover.New(mover.Options{
			Client: conn.client, Facts: conn.observer, Guard: conn.guard, Open: o.Journal,
			OnCounts: func() { o.OnCluster(c.name) },
			OnWords:  func(names []string) { o.OnTopics(c.name, names, false) },
			Recorder: ofCluster{c.name, o.MoveRecorder},
			Log:      log.WithName("mover"),
		})
	}
	return conn, nil
}

// changed tells the mover that Kafka shows something new.
func (c *connection) changed() {
	if c.mover != nil {
		c.mover.Changed()
	}
}

func (c *connection) setMoves(s mover.Settings) {
	if c.mover != nil {
		c.mover.Set(s)
	}
}

func (c *connection) wish(name string, w moves.Wish) {
	if c.mover != nil {
		c.mover.Wish(name, w)
	}
}

// run observes and writes until ctx ends or the connection is cancelled. Until everything has ended, running counts it.
func (c *connection) run(ctx context.Context, running *sync.WaitGroup) {
	ctx, c.cancel = context.WithCancel(ctx)
	c.lanes = newLanes(ctx, c)
	running.Go(func() {
		defer c.wire.Close()
		var parts sync.WaitGroup
		defer parts.Wait()
		if c.mover != nil {
			parts.Go(func() { c.mover.Run(ctx) })
		}
		_ = c.observer.Run(ctx) // ends with ctx and says so
	})
}

// guard finds the broker to write to, and refuses while nothing may be written. The error is a *fault.Fault.
func (c *connection) guard(ctx context.Context) (int32, *topic.Cluster, error) {
	recorded, refusal := c.cluster.permission()
	if refusal != nil {
		return kafka.AnyBroker, nil, refusal
	}
	broker, facts, err := c.observer.Verify(ctx)
	if err != nil {
		return kafka.AnyBroker, nil, notSent(err)
	}
	if facts.ID != recorded {
		return kafka.AnyBroker, nil, foreign(recorded, facts.ID)
	}
	return broker, facts, nil
}

// rereadWait bounds the wait for the first read after a write. Brokers may show a write much later; the observer tells.
const rereadWait = 3 * time.Second

// reread waits until the topic was read again after a write.
func (c *connection) reread(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, rereadWait)
	defer cancel()
	if err := c.observer.Refresh(ctx, name); err != nil {
		c.cluster.fleet.opts.Log.V(1).Info("reading a topic after a write failed", "cluster", c.cluster.name, "topic", name,
			"reason", err.Error())
	}
}

// ofCluster records the moves of one cluster.
type ofCluster struct {
	name string
	MoveRecorder
}

func (r ofCluster) Moves(states map[string]int, bytesLeft int64, timeLeft time.Duration) {
	r.MoveRecorder.Moves(r.name, states, bytesLeft, timeLeft)
}

func (r ofCluster) MoveEnded(how string) { r.MoveRecorder.MoveEnded(r.name, how) }
