package kafka

import (
	"context"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/core/topic"
)

// Purposes of permissions that moving replicas takes.
const (
	purposeReassignments = "to see reassignments"
	purposeMoves         = "to move replicas"
)

// Move is the reassignment of one partition to the brokers in Replicas, the preferred leader first; nil cancels the
// running one. Kafka checks that they are registered, not that they are in service, and neither their number nor their
// racks (ReplicationControlManager.alterPartitionReassignment).
type Move struct {
	topic.TopicPartition
	Replicas []int32
}

// Records is the number of the controller's records for a move.
func (Move) Records() int { return 1 }

// Reassign asks one broker to start, replace or cancel reassignments, in as many requests as their bounds demand, all
// within one deadline. It gives an entry for every partition, nil if Kafka has taken it: copying is only begun then.
// Partitions must not repeat.
//
// A running reassignment gets the new list as its target. To name the list from before it does not cancel it: a replica
// may then be added and removed for ever. To cancel it takes away what the latest target adds; a replica of an earlier
// target stays in the list, in sync or not.
func (c *Client) Reassign(ctx context.Context, broker int32, moves []Move) map[topic.TopicPartition]error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	outcome := make(map[topic.TopicPartition]error, len(moves))
	for _, batch := range Split(moves) {
		maps.Copy(outcome, c.reassign(ctx, broker, batch))
	}
	return outcome
}

func (c *Client) reassign(ctx context.Context, broker int32, moves []Move) map[topic.TopicPartition]error {
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	actions := make(map[topic.TopicPartition]action, len(moves))
	byTopic := map[string]int{}
	for i := range moves {
		m := &moves[i]
		row := rowOf(&req.Topics, byTopic, m.Topic, kmsg.AlterPartitionAssignmentsRequestTopic{Topic: m.Topic})
		row.Partitions = append(row.Partitions, kmsg.AlterPartitionAssignmentsRequestTopicPartition{
			Partition: m.Partition, Replicas: m.Replicas,
		})
		actions[m.TopicPartition] = reassignPartitions
		if m.Replicas == nil {
			actions[m.TopicPartition] = cancelReassignment
		}
	}
	rows := newPartitionRows(reassignPartitions, moves, func(m Move) topic.TopicPartition { return m.TopicPartition })
	answer := c.write(ctx, broker, rows, req, &req.TimeoutMillis)
	resp, ok := answer.(*kmsg.AlterPartitionAssignmentsResponse)
	if !ok {
		return rows.finish()
	}
	after := c.obey(resp.ThrottleMillis)
	c.noteGap(reassignPartitions, purposeMoves, resp.ErrorCode)
	if resp.ErrorCode != 0 {
		rows.refuseAll(resp.ErrorCode, resp.ErrorMessage)
		return rows.finish()
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			key := topic.TopicPartition{Topic: t.Topic, Partition: p.Partition}
			rows.takeAs(actions[key], key, p.ErrorCode, p.ErrorMessage, after)
		}
	}
	return rows.finish()
}

// Reassignments lists what runs in the whole cluster, whoever started it, by topic and partition.
func (c *Client) Reassignments(ctx context.Context, broker int32) ([]topic.Reassignment, error) {
	req := kmsg.NewPtrListPartitionReassignmentsRequest()
	req.Topics = nil // all
	req.TimeoutMillis = int32(2 * c.opts.ReadTimeout.Milliseconds())
	answer, err := c.read(ctx, broker, maxNames, req)
	if err != nil {
		return nil, err
	}
	resp, ok := answer.(*kmsg.ListPartitionReassignmentsResponse)
	if !ok {
		return nil, wrongAnswer(req)
	}
	c.noteGap(listReassignments, purposeReassignments, resp.ErrorCode)
	if resp.ErrorCode != 0 {
		return nil, refusal(listReassignments, "", resp.ErrorCode, resp.ErrorMessage)
	}
	var running []topic.Reassignment
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			running = append(running, topic.Reassignment{
				TopicPartition: topic.TopicPartition{Topic: t.Topic, Partition: p.Partition},
				Replicas:       p.Replicas, Adding: p.AddingReplicas, Removing: p.RemovingReplicas,
			})
		}
	}
	slices.SortFunc(running, func(a, b topic.Reassignment) int { return a.Compare(b.TopicPartition) })
	return running, nil
}

// reassignments are the running ones by partition.
type reassignments map[topic.TopicPartition]*topic.Reassignment

// reassignments is Reassignments for a read that can do without: want of the permission shows none.
func (c *Client) reassignments(ctx context.Context, broker int32) (reassignments, error) {
	list, err := c.Reassignments(ctx, broker)
	if err != nil && !notAuthorized(err) {
		return nil, err
	}
	running := make(reassignments, len(list))
	for i := range list {
		running[list[i].TopicPartition] = &list[i]
	}
	return running, nil
}

// explain marks the partitions that are being reassigned. A row counts only for the replica list that it tells: two
// requests see two moments. It gives false if there is a partition that may be reassigned without being marked: one
// that is lacks replicas in sync, since Kafka ends a reassignment when all have caught up.
func (r reassignments) explain(found map[string]*topic.Topic) bool {
	explained := true
	for name, t := range found {
		for i := range t.Partitions {
			p := &t.Partitions[i]
			row := r[topic.TopicPartition{Topic: name, Partition: p.Index}]
			switch {
			case row != nil && slices.Equal(row.Replicas, p.Replicas):
				p.Adding, p.Removing = row.Adding, row.Removing
			case len(p.ISR) < len(p.Replicas) && !p.Reassigning():
				explained = false
			}
		}
	}
	return explained
}
