// Package fleet is the Kafka clusters this operator is connected to: per cluster one client, one observer and a few
// lanes of writes, none of which a hung cluster can hold up for another. It sends steps that others have decided, and
// refuses to send what must not be sent now: to another Kafka than the recorded one, before the lease is safely ours,
// without contact, or with replicas that break their rule. It knows nothing of Kubernetes.
package fleet

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"durabletopic.io/operator/internal/core/moves"
	"durabletopic.io/operator/internal/fault"
	"durabletopic.io/operator/internal/kafka"
	"durabletopic.io/operator/internal/mover"
)

// DefaultShare is how many callers may be inside Execute for one cluster: two full requests.
const DefaultShare = 1024

// MutationDeadline bounds every write. A former leader's last write has ended this long after its lease did.
const MutationDeadline = kafka.DefaultTimeout

// Settings are what a KafkaCluster says of its connection.
type Settings struct {
	BootstrapServers []string
	// Interval between two sweeps.
	Interval time.Duration
	// ClusterID is the Kafka cluster that may be read; empty: any, while there is no recorded identity.
	ClusterID string
	// Moves bound the moves of replicas.
	Moves mover.Settings
	// Refusal is why nothing may be written; nil: writes are allowed. Without ClusterID nothing is written either way.
	Refusal *fault.Fault
}

// Recorder takes measurements. Its methods must return at once.
type Recorder interface {
	// Request was sent to a broker: Kafka's name of its API, and whether an answer came.
	Request(cluster, api, result string, took time.Duration)
	// Sweep over so many topics has ended, with an error if it was not complete.
	Sweep(cluster string, took time.Duration, topics int, err error)
	// Batch of so many items of one kind is about to be sent.
	Batch(cluster, kind string, size int)
}

// MoveRecorder takes measurements of moves. Its methods must return at once.
type MoveRecorder interface {
	// Moves are the partitions of a cluster that move or should by state, the bytes left to copy, and for how long; a
	// negative time is not known.
	Moves(cluster string, states map[string]int, bytesLeft int64, timeLeft time.Duration)
	// MoveEnded counts a move that is over.
	MoveEnded(cluster, how string)
}

// Options of a Fleet. Dial is needed; callbacks may be nil, may come from any goroutine and must return soon.
type Options struct {
	Dial func(kafka.Config) (kafka.Wire, error)
	// OnTopics names topics of a cluster of which a fact changed. Urgent ones should be looked at before others.
	OnTopics func(cluster string, names []string, urgent bool)
	// OnCluster tells that brokers, racks, features, contact or identity of a cluster changed.
	OnCluster func(cluster string)
	// OnFree hands back a key that Enter refused.
	OnFree func(cluster, key string)
	// Journal reads the journal of moves of a Kafka cluster. Nil: no replicas are moved.
	Journal func(ctx context.Context, clusterID string) (mover.Journal, moves.Journal, error)
	// Hold is how long after Start nothing is written: MutationDeadline with leader election, else zero.
	Hold time.Duration
	// Share of the workers that one cluster may hold; 0: DefaultShare.
	Share int
	// Recorder and MoveRecorder may be nil.
	Recorder     Recorder
	MoveRecorder MoveRecorder
	// SoftwareVersion is told to the brokers.
	SoftwareVersion string
	Log             logr.Logger
}

// Fleet holds the connections by the name of their KafkaCluster. Its methods may be called from any goroutine.
type Fleet struct {
	opts    Options
	running sync.WaitGroup // what must have ended before Start returns

	mu       sync.Mutex
	ctx      context.Context // of Start; nil before
	writable time.Time       // no write before
	clusters map[string]*Cluster
}

// New makes a fleet that connects once Start is called.
func New(o Options) *Fleet {
	if o.Share <= 0 {
		o.Share = DefaultShare
	}
	if o.OnTopics == nil {
		o.OnTopics = func(string, []string, bool) {}
	}
	if o.OnCluster == nil {
		o.OnCluster = func(string) {}
	}
	if o.OnFree == nil {
		o.OnFree = func(string, string) {}
	}
	if o.Recorder == nil {
		o.Recorder = silent{}
	}
	if o.MoveRecorder == nil {
		o.MoveRecorder = silent{}
	}
	return &Fleet{opts: o, clusters: map[string]*Cluster{}}
}

// Start connects to the clusters and returns when ctx has ended and with it everything that was started: requests in
// flight, reads, callbacks.
func (f *Fleet) Start(ctx context.Context) error {
	f.mu.Lock()
	f.ctx, f.writable = ctx, time.Now().Add(f.opts.Hold)
	for _, c := range f.clusters {
		c.start(ctx, f.writable)
	}
	f.mu.Unlock()
	<-ctx.Done()
	f.mu.Lock()
	for _, c := range f.clusters {
		c.stop()
	}
	f.mu.Unlock()
	f.running.Wait()
	return nil
}

// NeedLeaderElection tells that only the leader may talk to Kafka.
func (f *Fleet) NeedLeaderElection() bool { return true }

// Ensure gives the cluster of a name, connected with these settings. Other bootstrap servers mean a new client, and the
// facts read so far are dropped; declared topics stay. Interval, identity and refusal are changed in place.
func (f *Fleet) Ensure(name string, s Settings) *Cluster {
	f.mu.Lock()
	c, ok := f.clusters[name]
	if !ok {
		c = newCluster(name, f)
		f.clusters[name] = c
		if f.ctx != nil {
			c.start(f.ctx, f.writable)
		}
	}
	c.apply(s)
	f.mu.Unlock()
	c.gate.open() // it may be allowed to write now
	return c
}

// Remove ends the connection of a cluster and forgets its topics.
func (f *Fleet) Remove(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c, ok := f.clusters[name]; ok {
		delete(f.clusters, name)
		c.stop()
	}
}

// Cluster finds a cluster.
func (f *Fleet) Cluster(name string) (*Cluster, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, ok := f.clusters[name]
	return c, ok
}

// silent records nothing.
type silent struct{}

func (silent) Request(string, string, string, time.Duration)      {}
func (silent) Sweep(string, time.Duration, int, error)            {}
func (silent) Batch(string, string, int)                          {}
func (silent) Moves(string, map[string]int, int64, time.Duration) {}
func (silent) MoveEnded(string, string)                           {}
