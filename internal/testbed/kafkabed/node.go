//go:build unix

package kafkabed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"durabletopic.io/operator/internal/testbed/guard"
)

// State is what a node's process does.
type State string

// The states of a node. What Kafka thinks of the node (registered, fenced) is asked of Kafka: see View.
const (
	Running State = "running"
	Paused  State = "paused"  // SIGSTOP
	Stopped State = "stopped" // no process
)

// termTimeout bounds how long a node may take to end after SIGTERM; a controlled shutdown takes 2 to 4 s.
const termTimeout = 60 * time.Second

// node is one broker or the controller.
type node struct {
	id   int32
	rack string
	port int

	mu     sync.Mutex // held while the process is started, stopped or signalled
	proc   *guard.Process
	paused bool
}

func (n *node) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(n.port)) }

func (n *node) state() State {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.stateLocked()
}

func (n *node) stateLocked() State {
	switch {
	case n.proc == nil || !n.proc.Running():
		return Stopped
	case n.paused:
		return Paused
	default:
		return Running
	}
}

// start starts the process of a stopped node and returns at once.
func (c *Cluster) start(n *node, jvm ...string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if state := n.stateLocked(); state != Stopped {
		return fmt.Errorf("start node %d: it is %s already", n.id, state)
	}
	file := filepath.Join(c.Dir(), fmt.Sprintf("%d.properties", n.id))
	if err := os.WriteFile(file, []byte(c.nodeProperties(n).String()), 0o600); err != nil {
		return fmt.Errorf("write properties of node %d: %w", n.id, err)
	}
	proc, err := c.guard.Start(guard.Command{
		Path: c.kafka.Java,
		Args: append(c.javaArgs(c.logFile(n.id), jvm...), "kafka.Kafka", file),
		Log:  filepath.Join(c.logDir, fmt.Sprintf("%d.out", n.id)),
	})
	if err != nil {
		return fmt.Errorf("start node %d: %w", n.id, err)
	}
	n.proc, n.paused = proc, false
	return nil
}

// term ends a running node in order (controlled shutdown) and waits until its process is gone.
func (n *node) term(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if state := n.stateLocked(); state != Running {
		return fmt.Errorf("stop node %d: it is %s, not running", n.id, state)
	}
	if err := n.proc.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop node %d: %w", n.id, err)
	}
	ctx, cancel := context.WithTimeout(ctx, termTimeout)
	defer cancel()
	select {
	case <-n.proc.Done():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop node %d: still running: %w", n.id, ctx.Err())
	}
}

// kill ends a node with SIGKILL and waits until its process is gone.
func (n *node) kill() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stateLocked() == Stopped {
		return fmt.Errorf("kill node %d: it is %s already", n.id, Stopped)
	}
	if err := n.proc.Kill(); err != nil {
		return fmt.Errorf("kill node %d: %w", n.id, err)
	}
	return nil
}

func (n *node) pause() error { return n.stopOrContinue("pause", syscall.SIGSTOP, Running) }

func (n *node) resume() error { return n.stopOrContinue("resume", syscall.SIGCONT, Paused) }

func (n *node) stopOrContinue(verb string, sig syscall.Signal, from State) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if state := n.stateLocked(); state != from {
		return fmt.Errorf("%s node %d: it is %s, not %s", verb, n.id, state, from)
	}
	if err := n.proc.Signal(sig); err != nil {
		return fmt.Errorf("%s node %d: %w", verb, n.id, err)
	}
	n.paused = sig == syscall.SIGSTOP
	return nil
}

// NodeInfo describes one node of the bed.
type NodeInfo struct {
	ID      int32  `json:"id"`
	Rack    string `json:"rack,omitempty"`
	Address string `json:"address"` // host:port of its listener
	State   State  `json:"state"`
	Pid     int    `json:"pid,omitempty"`  // 0 if it never ran; stays after it has ended
	Exit    string `json:"exit,omitempty"` // how its process ended, of a stopped node
	Log     string `json:"log"`
}

func (c *Cluster) info(n *node) NodeInfo {
	n.mu.Lock()
	defer n.mu.Unlock()
	info := NodeInfo{ID: n.id, Rack: n.rack, Address: n.addr(), State: n.stateLocked(), Log: c.logFile(n.id)}
	if n.proc != nil {
		info.Pid, info.Exit = n.proc.Pid(), n.proc.Exit()
	}
	return info
}

// parallel runs act on every node at once and joins the errors.
func parallel(nodes []*node, act func(*node) error) error {
	errs := make([]error, len(nodes))
	var wg sync.WaitGroup
	for i, n := range nodes {
		wg.Go(func() { errs[i] = act(n) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
