package kafka

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/fault"
)

// Results of a request, for metrics: whether an answer came. What the answer says about single objects is not counted.
const (
	ResultAnswered = "answered"
	ResultTimeout  = "timeout"
	ResultCanceled = "canceled" // the caller or the client gave up
	ResultFailed   = "failed"   // no connection, or it was lost
)

// Options of a Client. The zero value works.
type Options struct {
	// OnRequest reports each request: Kafka's name of its API, one of the Result constants, and how long it took.
	OnRequest func(api, result string, took time.Duration)
	// ReadTimeout bounds a read of little; larger ones get up to twice as long. 0: 1 s.
	ReadTimeout time.Duration
}

const defaultReadTimeout = time.Second

// Client gives requests and answers their meaning. It keeps no facts about topics. Its methods may be called from any
// goroutine; each asks the one broker it is given and never another one.
type Client struct {
	wire Wire
	opts Options

	mu       sync.Mutex
	brokers  map[int32]*brokerFacts
	gaps     map[string]gap // by what the permission is for
	quietEnd time.Time      // no creations before, by the controller mutation quota
}

// NewClient makes a client of a wire, which stays the caller's to close.
func NewClient(w Wire, o Options) *Client {
	if o.ReadTimeout <= 0 {
		o.ReadTimeout = defaultReadTimeout
	}
	return &Client{wire: w, opts: o, brokers: map[int32]*brokerFacts{}, gaps: map[string]gap{}}
}

// MissingPermissions names what the operator's user should be granted and is not, as far as reads that do not fail for
// want of it and all that moves replicas have shown: for example "DESCRIBE on the Cluster, to see reassignments". Sorted.
func (c *Client) MissingPermissions() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	missing := make([]string, 0, len(c.gaps))
	for purpose, g := range c.gaps {
		missing = append(missing, g.permission+", "+purpose)
	}
	slices.Sort(missing)
	return missing
}

// gap is a permission that is missing; topic is where it was seen, if it is one on topics.
type gap struct{ permission, topic string }

// setGap records whether a permission is missing for a purpose.
func (c *Client) setGap(a action, purpose string, missing bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if missing {
		c.gaps[purpose] = gap{permission: a.permission("")}
		return
	}
	delete(c.gaps, purpose)
}

// noteGap records what an answer says about a permission on the cluster. An answer that fails for another cause says
// nothing.
func (c *Client) noteGap(a action, purpose string, code int16) {
	if code == 0 || denied(code) {
		c.setGap(a, purpose, denied(code))
	}
}

// noteTopicGap does the same for a permission on topics. The gap names the first topic it shows at and lasts until that
// one's permission is granted, so that it stays the same while others come and go.
func (c *Client) noteTopicGap(a action, purpose string, outcome map[string]error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err, asked := outcome[c.gaps[purpose].topic]; asked && !notAuthorized(err) && (err == nil || !fault.As(err).Uncertain) {
		delete(c.gaps, purpose)
	}
	if _, known := c.gaps[purpose]; known {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(outcome)) {
		if notAuthorized(outcome[name]) {
			c.gaps[purpose] = gap{permission: a.permission(name), topic: name}
			return
		}
	}
}

// read sends a read with a deadline for about size objects.
func (c *Client) read(ctx context.Context, broker int32, size int, req kmsg.Request) (kmsg.Response, error) {
	longer := time.Duration(min(size, readScale)) * c.opts.ReadTimeout / readScale
	ctx, cancel := context.WithTimeout(ctx, c.opts.ReadTimeout+longer)
	defer cancel()
	resp, err := c.send(ctx, broker, req)
	if err != nil {
		return nil, unanswered(err)
	}
	return resp, nil
}

// readScale is the size from which a read gets twice the time.
const readScale = 1000

// send sends one request and reports it.
func (c *Client) send(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	start := time.Now()
	resp, err := c.wire.Request(ctx, broker, req)
	if c.opts.OnRequest != nil {
		c.opts.OnRequest(kmsg.NameForKey(req.Key()), result(ctx, err), time.Since(start))
	}
	return resp, err
}

func result(ctx context.Context, err error) string {
	switch {
	case err == nil:
		return ResultAnswered
	case ctx.Err() == context.Canceled:
		return ResultCanceled
	case isTimeout(err):
		return ResultTimeout
	}
	return ResultFailed
}

// wrongAnswer is the fault of an answer of another kind than was asked for.
func wrongAnswer(req kmsg.Request) *fault.Fault {
	return unanswered(&answerError{strings.TrimSpace(kmsg.NameForKey(req.Key()))})
}

// answerError is an answer that does not fit its request.
type answerError struct{ api string }

// Error names the request.
func (e *answerError) Error() string { return "the answer does not fit the request " + e.api }
