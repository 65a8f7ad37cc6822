package kafkatest

func (c *Cluster) linkOf(broker int32) *link {
	l := c.links[broker]
	if l == nil {
		l = &link{}
		c.links[broker] = l
	}
	return l
}

// Hang makes a broker take requests and not answer, as a paused process does; they end with their context, or are
// answered after Resume.
func (c *Cluster) Hang(broker int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.linkOf(broker).hang()
}

// HangAll makes every broker hang, until ResumeAll.
func (c *Cluster) HangAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all.hang()
}

// Down makes a broker refuse connections, until Resume.
func (c *Cluster) Down(broker int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.linkOf(broker).down = true
}

// DownAll makes every broker refuse connections, until ResumeAll.
func (c *Cluster) DownAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all.down = true
}

// Resume ends Hang and Down of a broker. It changes nothing about fencing.
func (c *Cluster) Resume(broker int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.linkOf(broker).resume()
}

// ResumeAll ends HangAll and DownAll, and Hang and Down of every broker.
func (c *Cluster) ResumeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all.resume()
	for _, id := range sortedKeys(c.links) {
		c.links[id].resume()
	}
}

func (l *link) hang() {
	if l.hung == nil {
		l.hung = make(chan struct{})
	}
}

// resume lets requests through again; those whose senders gave up are done first. The lock is held.
func (l *link) resume() {
	l.down = false
	if l.hung == nil {
		return
	}
	close(l.hung)
	l.hung = nil
	for _, do := range l.late {
		do()
	}
	l.late = nil
}

// Pause is SIGSTOP: the broker hangs, and is fenced once its session times out, which is at once here.
func (c *Cluster) Pause(broker int32) {
	c.Hang(broker)
	c.Fence(broker)
}

// Kill is kill -9: connections are refused, the broker is fenced, and what it had not flushed counts as lost when it
// registers again (with eligible leader replicas on).
func (c *Cluster) Kill(broker int32) {
	c.Down(broker)
	c.update(func(w *world) {
		w.dirty[broker] = true
		w.fence(broker)
	})
}

// Stop is SIGTERM: a controlled shutdown.
func (c *Cluster) Stop(broker int32) {
	c.Fence(broker)
	c.Down(broker)
}

// Start undoes Pause, Kill and Stop: the broker answers and is back in service.
func (c *Cluster) Start(broker int32) {
	c.Resume(broker)
	c.Unfence(broker)
}
