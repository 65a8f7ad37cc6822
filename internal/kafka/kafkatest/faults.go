package kafkatest

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Always as the Count of a fault keeps it until it is removed.
const Always = -1

// Fault makes requests fail. Without TopLevel, Drop, Lose and Hang it fails items of a request, one topic or resource
// each, and the others are answered as usual.
type Fault struct {
	// APIKey is the API it concerns.
	APIKey kmsg.Key
	// Broker limits it to requests sent to one broker; 0: any.
	Broker int32
	// Topic limits it to the items of one topic, and a fault of a whole request to requests that name the topic; empty:
	// all. Broker resources of config requests have their ID as name.
	Topic string
	// When, if set, must be true of the request as well. It must not call the cluster.
	When func(kmsg.Request) bool

	// Code and Message are the answer, THROTTLING_QUOTA_EXCEEDED with the delay the broker asks for, if any.
	Code           int16
	Message        string
	ThrottleMillis int32
	// TopLevel fails the request as a whole: the response's own code, or every item where it has none.
	TopLevel bool
	// Applied: the request takes effect all the same.
	Applied bool
	// Drop: the request takes effect and the connection ends with io.EOF instead of an answer.
	Drop bool
	// Lose: the connection ends with io.EOF before the request takes effect.
	Lose bool
	// Hang: no answer until the caller's context ends. It takes effect only if Applied is set too.
	Hang bool
	// Count is how many requests it strikes: 0 one, Always all.
	Count int
}

// Armed is a fault in place.
type Armed struct {
	Fault
	c    *Cluster
	left int
	hit  int
}

// Fail puts a fault in place. It panics on a fault that could never strike: of an API the model does not answer, or of
// items of an API that has none.
func (c *Cluster) Fail(f Fault) *Armed {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &Armed{Fault: f, c: c, left: f.Count}
	if _, ok := apiKeys[f.APIKey.Int16()]; !ok || !a.whole() && !hasItems(f.APIKey) {
		panic(fmt.Sprintf("kafkatest: %s cannot fail that way", f.APIKey.Name()))
	}
	if f.Count == 0 {
		a.left = 1
	}
	c.faults = append(c.faults, a)
	return a
}

// Remove takes the fault away.
func (a *Armed) Remove() {
	a.c.mu.Lock()
	defer a.c.mu.Unlock()
	a.c.faults = slices.DeleteFunc(a.c.faults, func(x *Armed) bool { return x == a })
}

// Hits counts the requests it has struck.
func (a *Armed) Hits() int {
	a.c.mu.Lock()
	defer a.c.mu.Unlock()
	return a.hit
}

// ClearFaults takes all faults away.
func (c *Cluster) ClearFaults() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = nil
}

// hasItems tells whether the answers of an API have a code for each topic or resource.
func hasItems(key kmsg.Key) bool {
	switch key {
	case kmsg.ApiVersions, kmsg.DescribeCluster, kmsg.ListPartitionReassignments, kmsg.DescribeLogDirs:
		return false
	default:
		return true
	}
}

func (a *Armed) whole() bool { return a.TopLevel || a.Drop || a.Lose || a.Hang }

func (a *Armed) hits(topic string) bool { return a.Topic == "" || a.Topic == topic }

func (a *Armed) concerns(broker int32, req kmsg.Request) bool {
	if a.left == 0 || a.APIKey.Int16() != req.Key() || a.Broker != 0 && a.Broker != broker {
		return false
	}
	if a.Topic != "" && !slices.Contains(itemNames(req), a.Topic) && !readsEverything(req) {
		return false
	}
	return a.When == nil || a.When(req)
}

// verdict is the answer of one failed item or request.
type verdict struct {
	code     int16
	message  *string
	throttle int32
}

func (a *Armed) verdict() verdict {
	v := verdict{code: a.Code, throttle: a.ThrottleMillis}
	if a.Message != "" {
		v.message = &a.Message
	}
	return v
}

// strike picks the faults that hit a request: at most one of the whole request, which then counts alone.
func (c *Cluster) strike(broker int32, req kmsg.Request) (top *Armed, items []*Armed) {
	for _, a := range c.faults {
		if !a.concerns(broker, req) {
			continue
		}
		if a.whole() {
			if top == nil {
				top = a
			}
			continue
		}
		items = append(items, a)
	}
	struck := items
	if top != nil {
		struck, items = []*Armed{top}, nil
	}
	for _, a := range struck {
		a.hit++
		if a.left > 0 {
			a.left--
		}
	}
	c.faults = slices.DeleteFunc(c.faults, func(a *Armed) bool { return a.left == 0 })
	return top, items
}

// refuseEveryPartition panics on an ElectLeaders request that means every partition of the cluster: no code of ours may
// ever send one.
func refuseEveryPartition(req kmsg.Request) {
	if r, ok := req.(*kmsg.ElectLeadersRequest); ok && len(r.Topics) == 0 {
		panic(fmt.Sprintf("ElectLeaders of type %d without topics means every partition of the cluster", r.ElectionType))
	}
}
