//go:build unix

package kafkabed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"durabletopic.io/operator/internal/testbed/assets"
	"durabletopic.io/operator/internal/testbed/guard"
	"durabletopic.io/operator/internal/testbed/progress"
)

// startAttempts bounds how often Start begins anew when a port was taken between its reservation and its use.
const startAttempts = 3

// errPortTaken says that a node found its port in use.
var errPortTaken = errors.New("port taken by another process")

// Cluster is a running bed. Its methods may be called concurrently.
type Cluster struct {
	opts      Options
	kafka     assets.Kafka
	guard     *guard.Guard
	release   func() // of the ports
	clusterID string
	logDir    string
	nodes     map[int32]*node
	brokers   []*node // by id
}

// Start starts the bed that opts describe and returns when every broker is registered and unfenced in the view of
// every broker. What is missing on this machine (jars, class-data archive) is fetched first: see Prepare.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	kafka, err := Prepare(ctx, opts.Log)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		c, err := startOnce(ctx, opts, kafka)
		if err == nil || !errors.Is(err, errPortTaken) || attempt == startAttempts {
			return c, err
		}
		opts.Log("a port was taken meanwhile, starting again on others")
	}
}

func startOnce(ctx context.Context, opts Options, kafka assets.Kafka) (_ *Cluster, err error) {
	c, err := newCluster(ctx, opts, kafka)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()
	opts.Log("formatting the storage of Kafka %s in %s", kafka.Version, c.Dir())
	if err := c.format(ctx); err != nil {
		return nil, err
	}
	opts.Log("starting controller %d and %d brokers (racks %s) on %s", ControllerID, len(c.brokers),
		strings.Join(opts.Racks, ","), c.BootstrapServers())
	if err := c.Start(append([]int32{ControllerID}, c.Brokers()...)...); err != nil {
		return nil, err
	}
	err = progress.During(ctx, opts.Log, "waiting until Kafka has all brokers", func(ctx context.Context) error {
		return c.WaitUnfenced(ctx, c.Brokers()...)
	})
	if err != nil {
		return nil, errors.Join(err, c.portTaken())
	}
	opts.Log("Kafka is ready: %d brokers are registered and unfenced", len(c.brokers))
	return c, nil
}

// newCluster reserves directory, guard and ports, and starts nothing.
func newCluster(ctx context.Context, opts Options, kafka assets.Kafka) (*Cluster, error) {
	dir, err := os.MkdirTemp(opts.Dir, "durabletopic-kafka-")
	if err != nil {
		return nil, fmt.Errorf("make directory of kafka: %w", err)
	}
	g, err := guard.New(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	base, release, err := reservePorts(ctx, len(opts.Racks))
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	c := &Cluster{
		opts: opts, kafka: kafka, guard: g, release: release,
		clusterID: newKafkaUUID(), logDir: opts.LogDir, nodes: map[int32]*node{},
	}
	c.nodes[ControllerID] = &node{id: ControllerID, port: base}
	for i, rack := range opts.Racks {
		n := &node{id: int32(i + 1), rack: rack, port: base + i + 1}
		c.nodes[n.id] = n
		c.brokers = append(c.brokers, n)
	}
	if c.logDir == "" {
		c.logDir = filepath.Join(dir, "logs")
		if err := os.Mkdir(c.logDir, 0o755); err != nil {
			return nil, errors.Join(fmt.Errorf("make log directory of kafka: %w", err), c.Stop())
		}
	}
	return c, nil
}

// Stop ends every node at once with SIGKILL and removes all data.
func (c *Cluster) Stop() error {
	defer c.release()
	return c.guard.Close()
}

// Dir is the bed's own directory.
func (c *Cluster) Dir() string { return c.guard.Dir() }

// ClusterID is the Kafka cluster's id in its URL-safe form. It is different for every bed.
func (c *Cluster) ClusterID() string { return c.clusterID }

// Bootstrap returns the addresses of all brokers, by id.
func (c *Cluster) Bootstrap() []string {
	addrs := make([]string, len(c.brokers))
	for i, n := range c.brokers {
		addrs[i] = n.addr()
	}
	return addrs
}

// BootstrapServers is Bootstrap in the notation of Kafka's bootstrap.servers.
func (c *Cluster) BootstrapServers() string { return strings.Join(c.Bootstrap(), ",") }

// Brokers returns the ids of all brokers.
func (c *Cluster) Brokers() []int32 {
	ids := make([]int32, len(c.brokers))
	for i, n := range c.brokers {
		ids[i] = n.id
	}
	return ids
}

// Rack returns the ids of the brokers in the named racks; none for a rack that the bed does not have.
func (c *Cluster) Rack(names ...string) []int32 {
	var ids []int32
	for _, n := range c.brokers {
		if slices.Contains(names, n.rack) {
			ids = append(ids, n.id)
		}
	}
	return ids
}

// Nodes describes the controller and then every broker.
func (c *Cluster) Nodes() []NodeInfo {
	infos := []NodeInfo{c.info(c.nodes[ControllerID])}
	for _, n := range c.brokers {
		infos = append(infos, c.info(n))
	}
	return infos
}

// State is what the process of node id does; Stopped for an unknown one.
func (c *Cluster) State(id int32) State {
	if n := c.nodes[id]; n != nil {
		return n.state()
	}
	return Stopped
}

func (c *Cluster) dataDir(id int32) string {
	return filepath.Join(c.Dir(), fmt.Sprintf("data-%d", id))
}

func (c *Cluster) logFile(id int32) string {
	return filepath.Join(c.logDir, fmt.Sprintf("%d.log", id))
}

// lookup returns the nodes of ids, each once.
func (c *Cluster) lookup(ids []int32) ([]*node, error) {
	nodes := make([]*node, 0, len(ids))
	for _, id := range ids {
		n := c.nodes[id]
		if n == nil {
			return nil, fmt.Errorf("find node %d: the bed has brokers 1 to %d and controller %d", id, len(c.brokers), ControllerID)
		}
		if !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}

func (c *Cluster) each(ids []int32, act func(*node) error) error {
	nodes, err := c.lookup(ids)
	if err != nil {
		return err
	}
	return parallel(nodes, act)
}

// Start starts the processes of stopped nodes and does not wait for them: see WaitUnfenced.
func (c *Cluster) Start(ids ...int32) error {
	return c.each(ids, func(n *node) error { return c.start(n) })
}

// Term ends running nodes with SIGTERM, a controlled shutdown, all at once, and returns when they are gone.
func (c *Cluster) Term(ctx context.Context, ids ...int32) error {
	return c.each(ids, func(n *node) error { return n.term(ctx) })
}

// Kill ends nodes with SIGKILL, paused ones too, and returns when they are gone.
func (c *Cluster) Kill(ids ...int32) error { return c.each(ids, (*node).kill) }

// Pause freezes running nodes with SIGSTOP: their connections stay open and nobody answers.
func (c *Cluster) Pause(ids ...int32) error { return c.each(ids, (*node).pause) }

// Resume lets paused nodes go on.
func (c *Cluster) Resume(ids ...int32) error { return c.each(ids, (*node).resume) }

// Restart stops running nodes in order, starts them again and returns when they do their work: see WaitUnfenced and
// WaitController.
func (c *Cluster) Restart(ctx context.Context, ids ...int32) error {
	if err := c.Term(ctx, ids...); err != nil {
		return err
	}
	if err := c.Start(ids...); err != nil {
		return err
	}
	if slices.Contains(ids, ControllerID) {
		if err := c.WaitController(ctx); err != nil {
			return err
		}
	}
	isController := func(id int32) bool { return id == ControllerID }
	return c.WaitUnfenced(ctx, slices.DeleteFunc(slices.Clone(ids), isController)...)
}
