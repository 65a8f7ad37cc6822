package kafka

import (
	"context"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/core/topic"
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
func failures(r *rows[string], created map[string]Created) map[string]Created {
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
		takeAltered(resp, rows)
	}
	return rows.finish()
}

func takeAltered(resp *kmsg.IncrementalAlterConfigsResponse, r *rows[string]) {
	for i := range resp.Resources {
		row := &resp.Resources[i]
		r.take(row.ResourceName, row.ErrorCode, row.ErrorMessage, millis(resp.ThrottleMillis))
	}
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
