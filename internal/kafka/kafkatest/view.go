package kafkatest

// forever keeps a view as it is until it is released.
const forever = -1

// view is the metadata of a broker that is late.
type view struct {
	image  *image
	queue  []delta // committed but not seen here yet
	lag    int     // how many commits it stays behind; forever
	hidden map[string]bool
}

func (v *view) push(d delta) {
	if v.image == nil { // only hides topics
		return
	}
	v.queue = append(v.queue, d)
	for v.lag != forever && len(v.queue) > v.lag {
		v.queue[0].applyTo(v.image)
		v.queue = v.queue[1:]
	}
}

// HoldMetadata freezes what a broker tells about the cluster, as a broker that is busy making logs does. Writes through
// it still reach the controller.
func (c *Cluster) HoldMetadata(broker int32) { c.LagMetadata(broker, forever) }

// LagMetadata makes a broker tell the cluster's state as of so many commits ago.
func (c *Cluster) LagMetadata(broker int32, commits int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.viewOf(broker)
	if v.image == nil {
		v.image = c.w.clone()
	}
	v.lag = commits
	for v.lag != forever && len(v.queue) > v.lag {
		v.queue[0].applyTo(v.image)
		v.queue = v.queue[1:]
	}
}

// HideTopic makes a broker not know a topic, whatever its metadata are otherwise, until ReleaseMetadata.
func (c *Cluster) HideTopic(broker int32, topic string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.viewOf(broker).hidden[topic] = true
}

func (c *Cluster) viewOf(broker int32) *view {
	v := c.views[broker]
	if v == nil {
		v = &view{hidden: map[string]bool{}}
		c.views[broker] = v
	}
	return v
}

// ReleaseMetadata brings a broker up to date.
func (c *Cluster) ReleaseMetadata(broker int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.views, broker)
}

// seen is the metadata a broker answers from.
func (c *Cluster) seen(broker int32) (*image, *view) {
	v := c.views[broker]
	if v == nil || v.image == nil {
		return &c.w.image, v
	}
	return v.image, v
}

// topic finds a topic by name as the asked broker knows it.
func (k *call) topic(name string) *record {
	if k.late != nil && k.late.hidden[name] {
		return nil
	}
	return k.see.topics[name]
}

// names are the topics the asked broker knows.
func (k *call) names() []string {
	all := k.see.sortedNames()
	if k.late == nil || len(k.late.hidden) == 0 {
		return all
	}
	kept := all[:0]
	for _, n := range all {
		if !k.late.hidden[n] {
			kept = append(kept, n)
		}
	}
	return kept
}
