package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// anyBroker asks for one of the bootstrap servers.
const anyBroker int32 = -1

// Errors of the client side, before anything reaches a broker.
var (
	// ErrUnknownBroker: no broker has ever had this ID.
	ErrUnknownBroker = errors.New("unknown broker")
	// ErrUnsupported: the brokers lack the API.
	ErrUnsupported = errors.New("broker does not support the request")
)

// Wire is a connection to a cluster. It implements the Wire interface of package kafka.
type Wire struct {
	c      *Cluster
	closed atomic.Bool
	turn   atomic.Int32 // the bootstrap server that is asked next for any broker
}

// Wire opens a connection.
func (c *Cluster) Wire() *Wire { return &Wire{c: c} }

// Close ends the connection; later requests fail with net.ErrClosed.
func (w *Wire) Close() { w.closed.Store(true) }

// Request sends req to a broker, -1 being any, and gives its answer. Like a client it first lowers the request to the
// newest version that both sides know; fields of newer versions are lost.
func (w *Wire) Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	if w.closed.Load() {
		return nil, net.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if broker == anyBroker {
		return w.any(ctx, req)
	}
	return w.c.serve(ctx, broker, req)
}

// any asks the brokers in turn, going on with the next one while they cannot be reached; a write goes to one of them
// only. The next call begins with a broker that answered, or behind one that did not.
func (w *Wire) any(ctx context.Context, req kmsg.Request) (resp kmsg.Response, err error) {
	brokers := w.c.Brokers()
	first := w.turn.Load()
	err = refused()
	for i := range int32(len(brokers)) {
		at := (first + i) % int32(len(brokers))
		resp, err = w.c.serve(ctx, brokers[at].ID, req)
		if err == nil {
			w.turn.Store(at)
			return resp, nil
		}
		w.turn.Store(at + 1)
		if mutates(req.Key()) || ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

// link is the state of the way to a broker.
type link struct {
	down bool
	hung chan struct{} // closed when the broker goes on; nil while it answers
	late []func()      // requests whose senders gave up while it hung
}

// refused is what a client sees when nothing listens.
func refused() error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

func (c *Cluster) serve(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	c.mu.Lock()
	version := c.maxVersion(req.Key())
	err := c.reach(broker)
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if version < 0 {
		return nil, fmt.Errorf("%s: %w", kmsg.NameForKey(req.Key()), ErrUnsupported)
	}
	refuseEveryPartition(req)
	req.SetVersion(min(version, req.MaxVersion()))
	sent, err := decoded(req)
	if err != nil {
		return nil, err
	}
	if tooLong(sent) {
		return nil, io.EOF
	}
	if err := c.wait(ctx, broker, sent); err != nil {
		return nil, err
	}
	resp, err := c.handle(ctx, broker, sent)
	if err != nil {
		return nil, err
	}
	return received(req, resp)
}

// decoded is what the broker reads of a request; it shares no memory with it.
func decoded(req kmsg.Request) (kmsg.Request, error) {
	in := kmsg.RequestForKey(req.Key())
	in.SetVersion(req.GetVersion())
	if err := in.ReadFrom(req.AppendTo(nil)); err != nil {
		return nil, fmt.Errorf("decode %s request: %w", kmsg.NameForKey(req.Key()), err)
	}
	return in, nil
}

// tooLong tells whether a request has a config value that is longer than strings of the protocol may be. The broker does
// not answer it: it ends the connection.
func tooLong(req kmsg.Request) bool {
	switch r := req.(type) {
	case *kmsg.IncrementalAlterConfigsRequest:
		for _, res := range r.Resources {
			for _, cfg := range res.Configs {
				if len(text(cfg.Value)) > maxConfigValue {
					return true
				}
			}
		}
	case *kmsg.CreateTopicsRequest:
		for _, t := range r.Topics {
			for _, cfg := range t.Configs {
				if len(text(cfg.Value)) > maxConfigValue {
					return true
				}
			}
		}
	}
	return false
}

// received is what the client reads of an answer.
func received(req kmsg.Request, resp kmsg.Response) (kmsg.Response, error) {
	resp.SetVersion(req.GetVersion())
	out := req.ResponseKind()
	if err := out.ReadFrom(resp.AppendTo(nil)); err != nil {
		return nil, fmt.Errorf("decode %s response: %w", kmsg.NameForKey(req.Key()), err)
	}
	return out, nil
}

// reach fails if nothing listens where the broker should be.
func (c *Cluster) reach(broker int32) error {
	l := c.links[broker]
	if c.all.down || l != nil && l.down {
		return refused()
	}
	if _, ok := c.w.brokers[broker]; !ok {
		return fmt.Errorf("broker %d: %w", broker, ErrUnknownBroker)
	}
	return nil
}

// wait blocks while the broker hangs.
func (c *Cluster) wait(ctx context.Context, broker int32, sent kmsg.Request) error {
	for {
		c.mu.Lock()
		l := &c.all
		if l.hung == nil {
			l = c.links[broker]
		}
		if l == nil || l.hung == nil {
			c.mu.Unlock()
			return nil
		}
		hung := l.hung
		c.mu.Unlock()
		select {
		case <-hung:
		case <-ctx.Done():
			c.abandon(l, hung, broker, sent)
			return ctx.Err()
		}
	}
}

// abandon keeps a request whose sender gave up, for the broker to read when it goes on.
func (c *Cluster) abandon(l *link, hung chan struct{}, broker int32, sent kmsg.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opts.LateWrites && l.hung == hung {
		l.late = append(l.late, func() {
			c.count.note(broker, sent)
			c.process(broker, sent)
		})
	}
}

// handle counts the request, lets faults have their way, and answers.
func (c *Cluster) handle(ctx context.Context, broker int32, sent kmsg.Request) (kmsg.Response, error) {
	c.mu.Lock()
	c.count.note(broker, sent)
	top, items := c.strike(broker, sent)
	var resp kmsg.Response
	if top == nil || top.Applied || top.Drop {
		resp = c.processWith(broker, sent, items)
	}
	c.mu.Unlock()
	switch {
	case top == nil:
		return resp, nil
	case top.Hang:
		<-ctx.Done()
		return nil, ctx.Err()
	case top.Drop, top.Lose:
		return nil, io.EOF
	}
	return errorResponse(sent, top.verdict()), nil
}

// processWith answers a request, some items of which fail; the lock is held.
func (c *Cluster) processWith(broker int32, sent kmsg.Request, items []*Armed) kmsg.Response {
	rest := sent
	for _, f := range items {
		if !f.Applied {
			rest = withoutItems(rest, f.hits)
		}
	}
	resp := c.process(broker, rest)
	for _, f := range items {
		overrideItems(resp, sent, f.hits, f.verdict())
	}
	return resp
}

// process answers a request without faults; the lock is held.
func (c *Cluster) process(broker int32, sent kmsg.Request) (resp kmsg.Response) {
	im, late := c.seen(broker)
	k := &call{c: c, w: c.w, see: im, broker: broker, late: late}
	if !mutates(sent.Key()) {
		return k.read(sent)
	}
	c.commit(func(*world) { resp = k.mutate(sent) })
	return resp
}
