package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/twmb/franz-go/pkg/kgo"
)

// What a connection shows about the other end, as errors that can be told apart.
var (
	// errSpeaksTLS: the first bytes are a TLS record.
	errSpeaksTLS = errors.New("the other end speaks TLS")
	// errSpeaksOther: the first bytes are no Kafka answer.
	errSpeaksOther = errors.New("the other end does not speak Kafka's protocol")
	// errClosedSilently: closed without a single byte, as TLS listeners do with what is not TLS.
	errClosedSilently = errors.New("the other end closed the connection without an answer")
	// errConnectionLost: closed, by a broker that has served this client before.
	errConnectionLost = errors.New("connection lost")
	// errUnknownBroker: no broker of that ID is registered.
	errUnknownBroker = errors.New("broker is not registered in the cluster")
)

// maxAnswer is the largest answer kgo reads; a first answer beyond it is not Kafka.
const maxAnswer = 100 << 20

type dialer struct{ net.Dialer }

func (d *dialer) dial(ctx context.Context, network, host string) (net.Conn, error) {
	c, err := d.DialContext(ctx, network, host)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c}, nil
}

// conn looks at the first bytes it receives. kgo reports a wrong protocol in words only.
type conn struct {
	net.Conn
	heard bool // only the one reader at a time uses it
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.heard || n == 0 && err == nil {
		return n, err
	}
	if n == 0 {
		if errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("%w: %w", errClosedSilently, err)
		}
		return 0, err
	}
	c.heard = true
	const alert, major = 0x15, 0x03
	switch {
	case n >= 2 && p[0] == alert && p[1] == major:
		return 0, errSpeaksTLS
	case n >= 4 && binary.BigEndian.Uint32(p) > maxAnswer:
		return 0, errSpeaksOther
	}
	return n, err
}

// isClosed tells whether the other end closed or reset the connection.
func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// isStale tells whether a request met a connection that had died before or under it, so that a new connection may do.
func isStale(err error) bool {
	if isTimeout(err) {
		return false
	}
	return isClosed(err) || kgo.IsRetryableBrokerErr(err)
}

// isTimeout covers deadlines of contexts, dials and connections.
func isTimeout(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}
