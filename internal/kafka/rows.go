package kafka

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

// Bounds of a write's time at the controller.
const (
	writeTimeout = 5 * time.Second
	// writeMargin is kept from the deadline for the way back, so that the controller's own answer comes before the
	// deadline and says more.
	writeMargin     = 500 * time.Millisecond
	leastTimeoutMil = 100
)

// outcomes are the rows of a write while its answer is awaited.
type outcomes interface {
	failAll(with func(a action, name string) *fault.Fault)
}

// write sends a write once. If it gives no answer, every row has its fault.
func (c *Client) write(ctx context.Context, broker int32, r outcomes, req kmsg.Request, timeoutMillis *int32) kmsg.Response {
	if err := ctx.Err(); err != nil {
		r.failAll(func(a action, name string) *fault.Fault { return notSentAbout(a, name, err) })
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	deadline, _ := ctx.Deadline()
	if timeoutMillis != nil {
		if wait := time.Until(c.quiet()); time.Now().Add(wait + writeMargin).After(deadline) {
			// kgo would hold the request back beyond its deadline, as the protocol demands (KIP-219).
			r.failAll(func(a action, name string) *fault.Fault { return throttled(a, name, wait) })
			return nil
		}
		left := (time.Until(deadline) - writeMargin).Milliseconds()
		*timeoutMillis = int32(max(left, leastTimeoutMil))
	}
	answer, err := c.send(ctx, broker, req)
	if err == nil && answer.Key() != req.Key() {
		err = wrongAnswer(req)
	}
	if err != nil {
		r.failAll(func(a action, name string) *fault.Fault { return unansweredWrite(a, name, err) })
		return nil
	}
	return answer
}

func millis(n int32) time.Duration { return time.Duration(max(n, 0)) * time.Millisecond }

// obey notes a throttle of the controller mutation quota (KIP-599), which comes with what was done as well as with what
// was refused. Config changes are not under it.
func (c *Client) obey(throttleMillis int32) time.Duration {
	after := millis(throttleMillis)
	c.mu.Lock()
	defer c.mu.Unlock()
	if end := time.Now().Add(after); after > 0 && end.After(c.quietEnd) {
		c.quietEnd = end
	}
	return after
}

func (c *Client) quiet() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.quietEnd
}

// rows collects the outcome for each object of one write.
type rows[K comparable] struct {
	action  action
	name    func(K) string // of an object, for messages
	records map[K]int
	outcome map[K]error
}

// newRows are the rows of items about one topic each.
func newRows[I Recorder](a action, items []I, name func(I) string) *rows[string] {
	return rowsOf(a, items, name, func(name string) string { return name })
}

// newPartitionRows are the rows of items about one partition each.
func newPartitionRows[I Recorder](a action, items []I, partition func(I) topic.TopicPartition) *rows[topic.TopicPartition] {
	return rowsOf(a, items, partition, topic.TopicPartition.String)
}

func rowsOf[K comparable, I Recorder](a action, items []I, key func(I) K, name func(K) string) *rows[K] {
	r := &rows[K]{action: a, name: name, records: make(map[K]int, len(items)), outcome: make(map[K]error, len(items))}
	for _, item := range items {
		r.records[key(item)] = item.Records()
	}
	return r
}

func (r *rows[K]) asked(key K) bool { _, ok := r.records[key]; return ok }

// take notes one row of the answer. Rows that were not asked for are ignored.
func (r *rows[K]) take(key K, code int16, words *string, after time.Duration) {
	r.takeAs(r.action, key, code, words, after)
}

// takeAs is take for a row that asked for another action than the rest.
func (r *rows[K]) takeAs(a action, key K, code int16, words *string, after time.Duration) {
	if !r.asked(key) {
		return
	}
	if code == 0 {
		r.outcome[key] = nil
		return
	}
	name := r.name(key)
	f := refusal(a, name, code, words)
	switch {
	case f.Reason == v1alpha1.ReasonThrottled:
		f = throttled(a, name, after)
	case code == kerr.PolicyViolation.Code && r.records[key] > MaxRecords:
		f = tooLarge(a, name, f.Detail)
	}
	r.outcome[key] = f
}

// failAll gives every object that has no outcome yet a fault.
func (r *rows[K]) failAll(with func(a action, name string) *fault.Fault) {
	for key := range r.records {
		if _, ok := r.outcome[key]; !ok {
			r.outcome[key] = with(r.action, r.name(key))
		}
	}
}

// refuseAll gives every object the refusal of the request as a whole.
func (r *rows[K]) refuseAll(code int16, words *string) {
	r.failAll(func(a action, name string) *fault.Fault { return refusal(a, name, code, words) })
}

// finish gives the outcome; what the answer left out may have been done.
func (r *rows[K]) finish() map[K]error {
	r.failAll(missingRow)
	return r.outcome
}

// rowOf gives the row of a topic in a request; the first time it is the fresh one, which is added. At tells where the rows
// are.
func rowOf[R any](rows *[]R, at map[string]int, name string, fresh R) *R {
	i, ok := at[name]
	if !ok {
		i = len(*rows)
		at[name] = i
		*rows = append(*rows, fresh)
	}
	return &(*rows)[i]
}
