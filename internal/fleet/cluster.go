package fleet

import (
	"context"
	"slices"
	"sync"
	"time"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/moves"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
	"durabletopic.io/operator/internal/mover"
)

// grace is how long the absence of a connection is not held against topics.
const grace = 2 * time.Minute

// Cluster is one connected Kafka cluster. Its methods may be called from any goroutine.
type Cluster struct {
	name  string
	fleet *Fleet
	gate  *gate

	mu       sync.RWMutex
	ctx      context.Context // nil until started
	end      context.CancelFunc
	writable time.Time
	settings Settings
	conn     *connection
	failed   topic.Contact // stands in while there is no connection
	claims   claims
	wishes   map[string]wish // by claimant
}

// wish is where a claimant wants the replicas of its topic.
type wish struct {
	topic string
	moves.Wish
}

func newCluster(name string, f *Fleet) *Cluster {
	c := &Cluster{name: name, fleet: f, claims: newClaims(), wishes: map[string]wish{}}
	c.failed = without(notConnected())
	c.gate = newGate(f.opts.Share, c.writes, func(key string) { f.opts.OnFree(name, key) })
	return c
}

// without is the contact of a cluster that has no connection from now on.
func without(err error) topic.Contact {
	return topic.Contact{Since: time.Now(), Fault: err, Grace: grace}
}

func notConnected() *fault.Fault {
	return fault.New(fault.Waiting, v1alpha1.ReasonConnecting, "the operator is not connected to Kafka yet")
}

// start lets the cluster connect, now or as soon as it has settings.
func (c *Cluster) start(ctx context.Context, writable time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ctx, c.end = context.WithCancel(ctx)
	c.writable = writable
	if wait := time.Until(writable); wait > 0 {
		timer := time.AfterFunc(wait, c.gate.open)
		context.AfterFunc(c.ctx, func() { timer.Stop() })
	}
	c.connect()
}

func (c *Cluster) stop() {
	c.gate.close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.disconnect()
	if c.end != nil {
		c.end()
	}
}

// apply takes over changed settings.
func (c *Cluster) apply(s Settings) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.settings
	c.settings = s
	c.settings.BootstrapServers = slices.Clone(s.BootstrapServers)
	unbound := old.ClusterID != "" && s.ClusterID == ""
	if c.conn == nil || unbound || !slices.Equal(old.BootstrapServers, s.BootstrapServers) {
		c.connect()
		return
	}
	c.conn.setMoves(s.Moves)
	c.conn.observer.SetInterval(s.Interval)
	c.conn.observer.Bind(s.ClusterID)
}

// connect makes a new connection in place of the present one. The caller holds c.mu.
func (c *Cluster) connect() {
	c.disconnect()
	if c.ctx == nil || c.ctx.Err() != nil || len(c.settings.BootstrapServers) == 0 {
		return
	}
	conn, err := dial(c)
	if err != nil {
		if was := fault.As(c.failed.Fault); was.Message != fault.As(err).Message {
			c.failed = without(err)
		}
		return
	}
	c.failed = without(notConnected())
	for name, ask := range c.claims.all() {
		conn.observer.Declare(name, ask.keys, ask.known)
	}
	for _, w := range c.wishes {
		conn.wish(w.topic, w.Wish)
	}
	conn.setMoves(c.settings.Moves)
	c.conn = conn
	conn.run(c.ctx, &c.fleet.running)
}

// disconnect ends the present connection. The caller holds c.mu.
func (c *Cluster) disconnect() {
	if c.conn != nil {
		c.conn.cancel()
		c.conn = nil
	}
}

func (c *Cluster) connection() *connection {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.conn
}

// permission gives the Kafka cluster that may be written to, or why none may be now.
func (c *Cluster) permission() (string, *fault.Fault) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	switch {
	case c.settings.Refusal != nil:
		return "", c.settings.Refusal
	case c.settings.ClusterID == "":
		return "", notRecorded()
	case time.Now().Before(c.writable):
		return "", tooEarly()
	}
	return c.settings.ClusterID, nil
}

// View gives all that is known about a declared topic. It never waits for Kafka.
func (c *Cluster) View(name string) topic.View {
	if conn := c.connection(); conn != nil {
		return conn.observer.View(name)
	}
	_, contact := c.Facts()
	return topic.View{Contact: contact}
}

// Facts gives what is known about the cluster as a whole, nil before the first read, and how fresh facts are.
func (c *Cluster) Facts() (*topic.Cluster, topic.Contact) {
	if conn := c.connection(); conn != nil {
		return conn.observer.Cluster()
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return nil, c.failed
}

// MissingPermissions names what the operator's Kafka user should be granted and is not, as far as known. Sorted.
func (c *Cluster) MissingPermissions() []string {
	if conn := c.connection(); conn != nil {
		return conn.client.MissingPermissions()
	}
	return nil
}

// Declare has a topic observed for a claimant, with the config keys the claimant asks for: a topic is read with the
// keys of all its claimants. Known means that the claimant has seen the topic exist earlier. A claimant declares one
// topic; another one replaces it.
func (c *Cluster) Declare(claimant string, ask topic.Ask, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.redeclare(c.claims.set(claimant, ask, known))
}

// Forget ends the claim of a claimant. A topic without claimants is no longer observed.
func (c *Cluster) Forget(claimant string) {
	c.gate.forget(claimant)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.redeclare(c.claims.drop(claimant))
	c.withdraw(claimant)
}

// Wish says where a claimant wants the replicas of its topic; nil: it wants none moved. What is on its way is brought to an
// end all the same.
func (c *Cluster) Wish(claimant, topicName string, w *moves.Wish) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old, had := c.wishes[claimant]
	if w == nil || had && old.topic != topicName {
		c.withdraw(claimant)
	}
	if w == nil {
		return
	}
	c.wishes[claimant] = wish{topicName, *w}
	if c.conn != nil {
		c.conn.wish(topicName, *w)
	}
}

// withdraw takes back a wish. The caller holds c.mu.
func (c *Cluster) withdraw(claimant string) {
	old, had := c.wishes[claimant]
	delete(c.wishes, claimant)
	if !had || c.conn == nil || c.conn.mover == nil {
		return
	}
	for _, other := range c.wishes {
		if other.topic == old.topic { // its successor has spoken already
			c.conn.mover.Wish(other.topic, other.Wish)
			return
		}
	}
	c.conn.mover.Withdraw(old.topic)
}

// mover gives what moves replicas; nil if there is no connection, or if none are moved.
func (c *Cluster) mover() *mover.Mover {
	if conn := c.connection(); conn != nil {
		return conn.mover
	}
	return nil
}

// MoveWords says how it stands with the moves of a topic; empty if there is nothing to say but that they go on.
func (c *Cluster) MoveWords(topicName string) string {
	if m := c.mover(); m != nil {
		return m.Words(topicName)
	}
	return ""
}

// PreviewMoves says in words where the replicas of a topic would be moved.
func (c *Cluster) PreviewMoves(ctx context.Context, topicName string, w moves.Wish) []string {
	if m := c.mover(); m != nil {
		return m.Preview(ctx, topicName, w)
	}
	return nil
}

// Moves counts the partitions that move or should.
func (c *Cluster) Moves() mover.Counts {
	if m := c.mover(); m != nil {
		return m.Counts()
	}
	return mover.Counts{}
}

// redeclare tells the observer what claims have changed for topics. The caller holds c.mu.
func (c *Cluster) redeclare(changed []string) {
	if c.conn == nil {
		return
	}
	for _, name := range changed {
		ask, ok := c.claims.ask(name)
		if !ok {
			c.conn.observer.Forget(name)
			continue
		}
		c.conn.observer.Declare(name, ask.keys, ask.known)
	}
}

// NotifyOnContact has OnTopics told of the topic as soon as there is contact, or at once if there is.
func (c *Cluster) NotifyOnContact(name string) {
	if conn := c.connection(); conn != nil {
		conn.observer.NotifyOnContact(name)
	}
}

// Enter asks for a place among those that may write to this cluster. A key that is refused, because all places are
// taken or nothing may be written now, comes back through OnFree. A key that is let in must Leave.
func (c *Cluster) Enter(key string) bool { return c.gate.enter(key) }

// Leave gives the place back.
func (c *Cluster) Leave(key string) { c.gate.leave(key) }

// writes tells whether a write has a chance now.
func (c *Cluster) writes() bool {
	if _, refusal := c.permission(); refusal != nil {
		return false
	}
	_, contact := c.Facts()
	return contact.InTouch
}
