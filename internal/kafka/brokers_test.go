package kafka

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// listeners remembers the connections that the brokers accepted, so that a test can cut them.
type listeners struct {
	mu    sync.Mutex
	conns []net.Conn
}

func (l *listeners) listen(network, address string) (net.Listener, error) {
	ln, err := net.Listen(network, address)
	return &listener{ln, l}, err
}

func (l *listeners) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.conns {
		c.Close()
	}
	l.conns = nil
}

type listener struct {
	net.Listener
	all *listeners
}

func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.all.mu.Lock()
		l.all.conns = append(l.all.conns, c)
		l.all.mu.Unlock()
	}
	return c, err
}

// controller is the fake broker that takes creations; the real ones forward them.
const controller = 2

// brokers are three fake brokers, 0 to 2, and a client of them that knows them.
type brokers struct {
	*kfake.Cluster
	listeners
	client *Client
}

func startBrokers(t *testing.T, opts ...kfake.Opt) *brokers {
	t.Helper()
	b := &brokers{}
	opts = append([]kfake.Opt{kfake.NumBrokers(3), kfake.ListenFn(b.listen), kfake.DefaultNumPartitions(5)}, opts...)
	c, err := kfake.NewCluster(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	b.Cluster = c
	b.client = dialClient(t, c.ListenAddrs()...)
	return b
}

func dialClient(t *testing.T, servers ...string) *Client {
	t.Helper()
	w, err := Dial(Config{BootstrapServers: servers, DialTimeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return NewClient(w, Options{})
}

// count counts the requests of an API.
func (b *brokers) count(key kmsg.Key) func() int {
	var n atomic.Int32
	b.ControlKey(key.Int16(), func(kmsg.Request) (kmsg.Response, error, bool) {
		n.Add(1)
		return nil, nil, false
	})
	return func() int { return int(n.Load()) }
}

// hang lets a broker take requests and never answer.
func (b *brokers) hang(node int32) {
	b.Control(func(kmsg.Request) (kmsg.Response, error, bool) {
		b.KeepControl()
		return nil, nil, b.CurrentNode() == node
	})
}
