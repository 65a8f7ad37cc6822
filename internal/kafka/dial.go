package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Defaults of Config.
const (
	DefaultClientID    = "durabletopic"
	DefaultDialTimeout = time.Second
)

// softwareName is what the operator calls itself to brokers (KIP-511).
const softwareName = "durabletopic-operator"

// unknownVersion stands in for a build that does not know its version.
const unknownVersion = "unknown"

// answerTimeout is how long a connection may stay silent while an answer is due before it is given up. Deadlines of
// requests are shorter; this one frees connections to brokers that hang.
const answerTimeout = 6 * time.Second

// metadataMaxAge is the longest that kgo allows: its own metadata is of no use here, since brokers are learnt from
// DescribeCluster.
const metadataMaxAge = time.Hour

// Config says how to reach a Kafka cluster.
type Config struct {
	// BootstrapServers are host:port pairs; the port is 9092 if left out.
	BootstrapServers []string
	// ClientID names the operator to the brokers, for quotas and request logs. Empty: DefaultClientID.
	ClientID string
	// SoftwareVersion is what ApiVersions tells the brokers (KIP-511). Empty: "unknown".
	SoftwareVersion string
	// DialTimeout bounds one attempt to connect. 0: DefaultDialTimeout.
	DialTimeout time.Duration
	// Log takes the client's own messages, at V(1) and higher. The zero value logs nothing.
	Log logr.Logger
}

// Dial makes a Wire. It connects to nothing before the first request; its error says which address is malformed.
func Dial(cfg Config) (Wire, error) {
	if len(cfg.BootstrapServers) == 0 {
		return nil, fmt.Errorf("dial kafka: no bootstrap server is given")
	}
	version := cmp.Or(cfg.SoftwareVersion, unknownVersion)
	seeds := slices.Clone(cfg.BootstrapServers)
	cl, err := kgo.NewClient(
		kgo.SeedBrokers(seeds...),
		kgo.ClientID(cmp.Or(cfg.ClientID, DefaultClientID)),
		kgo.SoftwareNameAndVersion(softwareName, version),
		kgo.Dialer((&dialer{net.Dialer{Timeout: cmp.Or(cfg.DialTimeout, DefaultDialTimeout)}}).dial),
		kgo.RequestTimeoutOverhead(answerTimeout),
		kgo.MetadataMaxAge(metadataMaxAge),
		kgo.DisableClientMetrics(),
		kgo.WithLogger(clientLog{cfg.Log}),
	)
	if err != nil {
		return nil, fmt.Errorf("dial kafka at %q: %w", strings.Join(seeds, ","), err)
	}
	return &wire{cl: cl, version: version, addrs: seeds, bootstrap: len(seeds), slots: map[int32]int{}}, nil
}

// wire sends requests over one kgo client. Brokers are slots of kgo's list of seed brokers, because requests to seeds
// are the only ones that never wait for a metadata request to a broker that kgo picks by itself, which may be the one
// that hangs. A slot keeps its broker for good, so that a request can never reach another broker than the one asked for.
type wire struct {
	cl       *kgo.Client
	version  string
	answered atomic.Bool // some broker has served a request: protocol and credentials fit

	mu        sync.Mutex
	addrs     []string // by slot: the bootstrap servers, then one per broker
	bootstrap int
	turn      int // the bootstrap server that AnyBroker begins with
	slots     map[int32]int
}

// Request implements Wire.
func (w *wire) Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	if broker == AnyBroker {
		return w.any(ctx, req)
	}
	slot, err := w.find(ctx, broker)
	if err != nil {
		return nil, err
	}
	return w.send(ctx, slot, req)
}

// Close implements Wire.
func (w *wire) Close() { w.cl.Close() }

// find gives the slot of a broker; one that was never seen is looked for in the cluster.
func (w *wire) find(ctx context.Context, broker int32) (int, error) {
	if slot, ok := w.slot(broker); ok {
		return slot, nil
	}
	req := kmsg.NewPtrDescribeClusterRequest()
	req.IncludeFencedBrokers = true
	if _, err := w.any(ctx, req); err != nil {
		return 0, err
	}
	if slot, ok := w.slot(broker); ok {
		return slot, nil
	}
	return 0, errUnknownBroker
}

func (w *wire) slot(broker int32) (int, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	slot, ok := w.slots[broker]
	return slot, ok
}

// any asks the bootstrap servers in turn. A write goes to one of them only.
func (w *wire) any(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	w.mu.Lock()
	first := w.turn
	w.mu.Unlock()
	var failed []error
	for i := range w.bootstrap {
		slot := (first + i) % w.bootstrap
		resp, err := w.send(ctx, slot, req)
		if err == nil {
			w.setTurn(slot)
			return resp, nil
		}
		failed = append(failed, err)
		// The next call begins with the next server, also when this one merely hangs.
		w.setTurn((slot + 1) % w.bootstrap)
		if !isRead(req) || ctx.Err() != nil {
			break
		}
	}
	if len(failed) == 1 {
		return nil, failed[0]
	}
	return nil, errors.Join(failed...)
}

func (w *wire) setTurn(slot int) {
	w.mu.Lock()
	w.turn = slot
	w.mu.Unlock()
}

// send asks the broker of one slot. A read is sent a second time if the connection had died while it was idle.
func (w *wire) send(ctx context.Context, slot int, req kmsg.Request) (kmsg.Response, error) {
	if versions, ok := req.(*kmsg.ApiVersionsRequest); ok {
		// Brokers refuse the request without, and take the names of the latest one for the connection.
		versions.ClientSoftwareName, versions.ClientSoftwareVersion = softwareName, w.version
	}
	b := w.cl.SeedBrokers()[slot]
	resp, err := b.Request(ctx, req)
	if err != nil && isRead(req) && isStale(err) && ctx.Err() == nil {
		resp, err = b.Request(ctx, req)
	}
	if err != nil {
		return nil, w.explain(err)
	}
	switch resp := resp.(type) {
	case *kmsg.ApiVersionsResponse: // comes before authentication
		return resp, nil
	case *kmsg.DescribeClusterResponse:
		err = w.learn(resp)
	}
	w.answered.Store(true)
	return resp, err
}

// explain marks connections that were closed although this client has been served before: then protocol and credentials
// are right, and the broker or the network went away.
func (w *wire) explain(err error) error {
	if w.answered.Load() && isClosed(err) {
		return fmt.Errorf("%w: %w", errConnectionLost, err)
	}
	return err
}

// learn takes the brokers' addresses from an answer. kgo ends connections when its list changes, so it is told only what
// is new.
func (w *wire) learn(resp *kmsg.DescribeClusterResponse) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	addrs, slots := slices.Clone(w.addrs), maps.Clone(w.slots)
	for i := range resp.Brokers {
		b := &resp.Brokers[i]
		if b.Host == "" {
			continue
		}
		slot, ok := slots[b.NodeID]
		if !ok {
			slot = len(addrs)
			slots[b.NodeID] = slot
			addrs = append(addrs, "")
		}
		addrs[slot] = net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
	}
	if slices.Equal(addrs, w.addrs) {
		return nil
	}
	if err := w.cl.UpdateSeedBrokers(addrs...); err != nil {
		return fmt.Errorf("take the addresses that the brokers advertise: %w", err)
	}
	w.addrs, w.slots = addrs, slots
	return nil
}

// isRead tells requests that change nothing. Whatever is not known to be one counts as a write.
func isRead(req kmsg.Request) bool {
	switch req.(type) {
	case *kmsg.ApiVersionsRequest, *kmsg.DescribeClusterRequest, *kmsg.DescribeTopicPartitionsRequest,
		*kmsg.DescribeConfigsRequest, *kmsg.ListPartitionReassignmentsRequest, *kmsg.DescribeLogDirsRequest:
		return true
	}
	return false
}

// clientLog hands kgo's messages on. kgo calls warnings what is everyday business while a broker restarts.
type clientLog struct{ log logr.Logger }

func (l clientLog) Level() kgo.LogLevel {
	switch {
	case l.log.V(2).Enabled():
		return kgo.LogLevelInfo
	case l.log.V(1).Enabled():
		return kgo.LogLevelWarn
	}
	return kgo.LogLevelNone
}

func (l clientLog) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	if level > kgo.LogLevelWarn {
		l.log.V(2).Info(msg, keyvals...)
		return
	}
	l.log.V(1).Info(msg, keyvals...)
}
