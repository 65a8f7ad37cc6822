package kafka

import (
	"context"
	"maps"

	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

const purposeThrottledReplicas = "to throttle the copying of replicas"

// Throttling names replicas of one topic whose copying is throttled: Leader those that are copied from, Follower those
// that are copied to. Either may be empty.
type Throttling struct {
	Topic            string
	Leader, Follower []topic.ThrottledReplica
}

// Records bounds the number of the controller's records for a change of both lists.
func (Throttling) Records() int { return 2 }

// AppendThrottled asks one broker to add entries to topics' lists of throttled replicas, in as many requests as their
// bounds demand, all within one deadline. Entries that are there, whoever put them, stay as they are; none is there
// twice. It gives an entry for every topic, nil if done. Topics must not repeat.
//
// Kafka refuses to add to "*" and to let a list grow beyond topic.MaxThrottledReplicas.
func (c *Client) AppendThrottled(ctx context.Context, broker int32, throttlings []Throttling) map[string]error {
	return c.editThrottled(ctx, broker, throttlings, appendThrottled, kmsg.IncrementalAlterConfigOpAppend)
}

// SubtractThrottled is AppendThrottled's contrary: other entries stay as they are, and what is not there need not be
// taken away. A list that loses its last entry, or never had one, is then an empty override of the topic; AlterConfigs
// deletes that.
func (c *Client) SubtractThrottled(ctx context.Context, broker int32, throttlings []Throttling) map[string]error {
	return c.editThrottled(ctx, broker, throttlings, subtractThrottled, kmsg.IncrementalAlterConfigOpSubtract)
}

func (c *Client) editThrottled(ctx context.Context, broker int32, throttlings []Throttling, a action, op kmsg.IncrementalAlterConfigOp) map[string]error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	outcome := make(map[string]error, len(throttlings))
	for _, batch := range Split(throttlings) {
		maps.Copy(outcome, c.editLists(ctx, broker, batch, a, op))
	}
	c.noteTopicGap(a, purposeThrottledReplicas, outcome)
	return outcome
}

// editLists sends one request. What is too long for a string of the protocol is not sent: the broker would not answer,
// for the other topics either.
func (c *Client) editLists(ctx context.Context, broker int32, batch []Throttling, a action, op kmsg.IncrementalAlterConfigOp) map[string]error {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	rows := newRows(a, batch, func(t Throttling) string { return t.Topic })
	for i := range batch {
		row := kmsg.NewIncrementalAlterConfigsRequestResource()
		row.ResourceType, row.ResourceName = kmsg.ConfigResourceTypeTopic, batch[i].Topic
		longest := 0
		for _, side := range []struct {
			key     string
			entries []topic.ThrottledReplica
		}{{topic.FollowerThrottledReplicas, batch[i].Follower}, {topic.LeaderThrottledReplicas, batch[i].Leader}} {
			if len(side.entries) == 0 {
				continue
			}
			value := topic.FormatThrottled(side.entries)
			longest = max(longest, len(value))
			row.Configs = append(row.Configs, kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: side.key, Op: op, Value: &value})
		}
		switch {
		case longest > topic.MaxThrottledReplicas:
			rows.outcome[batch[i].Topic] = fault.New(fault.Blocked, v1alpha1.ReasonRequestRejected,
				"%s: a list of throttled replicas has at most %d bytes; move fewer partitions at once", a.on(batch[i].Topic), topic.MaxThrottledReplicas)
		case len(row.Configs) == 0:
			rows.outcome[batch[i].Topic] = nil
		default:
			req.Resources = append(req.Resources, row)
		}
	}
	if len(req.Resources) == 0 {
		return rows.finish()
	}
	answer := c.write(ctx, broker, rows, req, nil)
	if resp, ok := answer.(*kmsg.IncrementalAlterConfigsResponse); ok {
		takeAltered(resp, rows)
	}
	return rows.finish()
}

// ThrottledRead is the answer about the lists of throttled replicas of one topic.
type ThrottledRead struct {
	topic.Throttled
	Err error // *fault.Fault
}

// Throttled reads the lists of throttled replicas of topics as one broker shows them, with an entry for every topic. The
// error is for the broker that does not answer.
func (c *Client) Throttled(ctx context.Context, broker int32, topics []string) (map[string]ThrottledRead, error) {
	keys := []string{topic.LeaderThrottledReplicas, topic.FollowerThrottledReplicas}
	found := make(map[string]*topic.Topic, len(topics))
	asks := make([]topic.Ask, 0, len(topics))
	for _, name := range topics {
		if found[name] == nil {
			found[name] = &topic.Topic{Name: name}
			asks = append(asks, topic.Ask{Name: name, Keys: keys})
		}
	}
	failed := map[string]topic.Read{}
	if err := c.configs(ctx, broker, asks, found, failed); err != nil {
		return nil, err
	}
	reads := make(map[string]ThrottledRead, len(topics))
	for name, t := range found {
		read := ThrottledRead{Err: failed[name].Err}
		read.Leader = throttledList(t.Configs[topic.LeaderThrottledReplicas])
		read.Follower = throttledList(t.Configs[topic.FollowerThrottledReplicas])
		reads[name] = read
	}
	return reads, nil
}

func throttledList(c topic.Config) topic.ThrottledList {
	if !c.OnTopic {
		return topic.ThrottledList{}
	}
	return topic.ParseThrottled(c.Value)
}
