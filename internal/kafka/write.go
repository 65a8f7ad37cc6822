package kafka

import (
	"context"
	"maps"
	"slices"
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

// CreateTopics asks one broker to create topics, in one request: bound the list with Split first. It gives an answer
// for every name. Names must not repeat.
//
// What is certain to be refused for its size is not sent: brokers take seconds to parse so many replica lists.
func (c *Client) CreateTopics(ctx context.Context, broker int32, topics []NewTopic) map[string]Created {
	created := make(map[string]Created, len(topics))
	req := kmsg.NewPtrCreateTopicsRequest()
	rows := newRows(createTopics, topics, func(t NewTopic) string { return t.Name })
	for i := range topics {
		if topics[i].Records() > MaxRecords {
			rows.outcome[topics[i].Name] = tooLarge(createTopics, topics[i].Name, "")
			continue
		}
		req.Topics = append(req.Topics, creation(&topics[i]))
	}
	if len(req.Topics) == 0 {
		return failures(rows, created)
	}
	answer := c.write(ctx, broker, rows, req, &req.TimeoutMillis)
	if resp, ok := answer.(*kmsg.CreateTopicsResponse); ok {
		after := c.obey(resp.ThrottleMillis)
		for i := range resp.Topics {
			t := &resp.Topics[i]
			rows.take(t.Topic, t.ErrorCode, t.ErrorMessage, after)
			created[t.Topic] = Created{ID: topic.ID(t.TopicID)}
		}
	}
	maps.DeleteFunc(created, func(name string, _ Created) bool { return !rows.asked(name) })
	return failures(rows, created)
}

// failures adds the faults to what was created.
func failures(r *rows, created map[string]Created) map[string]Created {
	for name, err := range r.finish() {
		if err != nil {
			created[name] = Created{Err: err}
		}
	}
	return created
}

func creation(t *NewTopic) kmsg.CreateTopicsRequestTopic {
	row := kmsg.NewCreateTopicsRequestTopic()
	row.Topic = t.Name
	row.NumPartitions, row.ReplicationFactor = t.Partitions, t.ReplicationFactor
	if len(t.Assignments) > 0 {
		// Kafka takes explicit replicas only without numbers.
		row.NumPartitions, row.ReplicationFactor = -1, -1
	}
	for i, replicas := range t.Assignments {
		row.ReplicaAssignment = append(row.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{
			Partition: int32(i), Replicas: replicas,
		})
	}
	for _, key := range slices.Sorted(maps.Keys(t.Configs)) {
		row.Configs = append(row.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: key, Value: new(t.Configs[key])})
	}
	return row
}

// AlterConfigs asks one broker to change single configs of topics, in one request: bound the list with Split first. It
// gives an entry for every topic, nil if done. Topics must not repeat.
func (c *Client) AlterConfigs(ctx context.Context, broker int32, alterations []Alteration) map[string]error {
	if len(alterations) == 0 {
		return map[string]error{}
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	for i := range alterations {
		req.Resources = append(req.Resources, alteration(&alterations[i]))
	}
	rows := newRows(alterConfigs, alterations, func(a Alteration) string { return a.Topic })
	answer := c.write(ctx, broker, rows, req, nil)
	if resp, ok := answer.(*kmsg.IncrementalAlterConfigsResponse); ok {
		for i := range resp.Resources {
			r := &resp.Resources[i]
			rows.take(r.ResourceName, r.ErrorCode, r.ErrorMessage, millis(resp.ThrottleMillis))
		}
	}
	return rows.finish()
}

func alteration(a *Alteration) kmsg.IncrementalAlterConfigsRequestResource {
	row := kmsg.NewIncrementalAlterConfigsRequestResource()
	row.ResourceType, row.ResourceName = kmsg.ConfigResourceTypeTopic, a.Topic
	for _, key := range slices.Sorted(maps.Keys(a.Set)) {
		row.Configs = append(row.Configs, kmsg.IncrementalAlterConfigsRequestResourceConfig{
			Name: key, Op: kmsg.IncrementalAlterConfigOpSet, Value: new(a.Set[key]),
		})
	}
	for _, key := range slices.Sorted(slices.Values(a.Delete)) {
		row.Configs = append(row.Configs, kmsg.IncrementalAlterConfigsRequestResourceConfig{
			Name: key, Op: kmsg.IncrementalAlterConfigOpDelete,
		})
	}
	return row
}

// CreatePartitions asks one broker to add partitions, in one request: bound the list with Split first. It gives an entry
// for every topic, nil if done. Topics must not repeat.
func (c *Client) CreatePartitions(ctx context.Context, broker int32, topics []NewPartitions) map[string]error {
	req := kmsg.NewPtrCreatePartitionsRequest()
	rows := newRows(createPartitions, topics, func(p NewPartitions) string { return p.Topic })
	for _, t := range topics {
		if len(t.Assignments) >= MaxRecords {
			rows.outcome[t.Topic] = tooLarge(createPartitions, t.Topic, "")
			continue
		}
		row := kmsg.NewCreatePartitionsRequestTopic()
		row.Topic, row.Count = t.Topic, t.Total
		for _, replicas := range t.Assignments {
			row.Assignment = append(row.Assignment, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: replicas})
		}
		req.Topics = append(req.Topics, row)
	}
	if len(req.Topics) == 0 {
		return rows.finish()
	}
	answer := c.write(ctx, broker, rows, req, &req.TimeoutMillis)
	if resp, ok := answer.(*kmsg.CreatePartitionsResponse); ok {
		after := c.obey(resp.ThrottleMillis)
		for i := range resp.Topics {
			t := &resp.Topics[i]
			rows.take(t.Topic, t.ErrorCode, t.ErrorMessage, after)
		}
	}
	return rows.finish()
}

// write sends a write once. If it gives no answer, every row has its fault.
func (c *Client) write(ctx context.Context, broker int32, r *rows, req kmsg.Request, timeoutMillis *int32) kmsg.Response {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	deadline, _ := ctx.Deadline()
	if timeoutMillis != nil {
		if wait := time.Until(c.quiet()); time.Now().Add(wait + writeMargin).After(deadline) {
			// kgo would hold the request back beyond its deadline, as the protocol demands (KIP-219).
			r.failAll(func(name string) *fault.Fault { return throttled(r.action, name, wait) })
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
		r.failAll(func(name string) *fault.Fault { return unansweredWrite(r.action, name, err) })
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
type rows struct {
	action  action
	records map[string]int
	outcome map[string]error
}

func newRows[I Recorder](a action, items []I, name func(I) string) *rows {
	r := &rows{action: a, records: make(map[string]int, len(items)), outcome: make(map[string]error, len(items))}
	for _, item := range items {
		r.records[name(item)] = item.Records()
	}
	return r
}

func (r *rows) asked(name string) bool { _, ok := r.records[name]; return ok }

// take notes one row of the answer. Rows that were not asked for are ignored.
func (r *rows) take(name string, code int16, words *string, after time.Duration) {
	if !r.asked(name) {
		return
	}
	if code == 0 {
		r.outcome[name] = nil
		return
	}
	f := refusal(r.action, name, code, words)
	switch {
	case f.Reason == v1alpha1.ReasonThrottled:
		f = throttled(r.action, name, after)
	case code == kerr.PolicyViolation.Code && r.records[name] > MaxRecords:
		f = tooLarge(r.action, name, f.Detail)
	}
	r.outcome[name] = f
}

// failAll gives every object that has no outcome yet a fault.
func (r *rows) failAll(with func(name string) *fault.Fault) {
	for name := range r.records {
		if _, ok := r.outcome[name]; !ok {
			r.outcome[name] = with(name)
		}
	}
}

// finish gives the outcome; what the answer left out may have been done.
func (r *rows) finish() map[string]error {
	r.failAll(func(name string) *fault.Fault { return missingRow(r.action, name) })
	return r.outcome
}
