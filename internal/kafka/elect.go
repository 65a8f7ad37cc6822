package kafka

import (
	"context"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

const purposeElections = "to make preferred replicas leaders again"

// election asks for the preferred leader of one partition.
type election topic.TopicPartition

// Records is the number of the controller's records for an election.
func (election) Records() int { return 1 }

// ElectPreferred asks one broker to make the first replica of exactly these partitions their leader, in as many requests
// as their bounds demand, all within one deadline. It gives an entry for every partition, nil if the first replica leads
// it. Partitions must not repeat.
//
// No partition is an error and sends nothing: to Kafka it means every partition of the cluster (KIP-460). So does an
// answer about a partition that was not asked for.
func (c *Client) ElectPreferred(ctx context.Context, broker int32, partitions []topic.TopicPartition) (map[topic.TopicPartition]error, error) {
	if len(partitions) == 0 {
		return nil, fault.New(fault.Invalid, v1alpha1.ReasonRequestRejected,
			"elect preferred leaders: no partition is named, which to Kafka means all of the cluster; nothing was sent")
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	outcome := make(map[topic.TopicPartition]error, len(partitions))
	elections := make([]election, len(partitions))
	for i, p := range partitions {
		elections[i] = election(p)
	}
	for _, batch := range Split(elections) {
		done, err := c.elect(ctx, broker, batch)
		maps.Copy(outcome, done)
		if err != nil {
			return outcome, err
		}
	}
	return outcome, nil
}

// elect sends one request of at least one partition.
func (c *Client) elect(ctx context.Context, broker int32, elections []election) (map[topic.TopicPartition]error, error) {
	req := kmsg.NewPtrElectLeadersRequest()
	req.ElectionType = 0 // preferred
	byTopic := map[string]int{}
	for _, e := range elections {
		row := rowOf(&req.Topics, byTopic, e.Topic, kmsg.ElectLeadersRequestTopic{Topic: e.Topic})
		row.Partitions = append(row.Partitions, e.Partition)
	}
	rows := newPartitionRows(electPreferred, elections, func(e election) topic.TopicPartition { return topic.TopicPartition(e) })
	answer := c.write(ctx, broker, rows, req, &req.TimeoutMillis)
	resp, ok := answer.(*kmsg.ElectLeadersResponse)
	if !ok {
		return rows.finish(), nil
	}
	after := c.obey(resp.ThrottleMillis)
	c.noteGap(electPreferred, purposeElections, resp.ErrorCode)
	if resp.ErrorCode != 0 {
		rows.refuseAll(resp.ErrorCode, nil)
		return rows.finish(), nil
	}
	var strangers []topic.TopicPartition
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			key := topic.TopicPartition{Topic: t.Topic, Partition: p.Partition}
			if !rows.asked(key) {
				strangers = append(strangers, key)
				continue
			}
			if p.ErrorCode == kerr.ElectionNotNeeded.Code {
				p.ErrorCode = 0 // it leads already
			}
			rows.take(key, p.ErrorCode, p.ErrorMessage, after)
		}
	}
	return rows.finish(), electedMore(strangers)
}

// electedMore is the fault of an election that went beyond what was asked for.
func electedMore(strangers []topic.TopicPartition) error {
	if len(strangers) == 0 {
		return nil
	}
	first := slices.MinFunc(strangers, topic.TopicPartition.Compare)
	f := fault.New(fault.Blocked, v1alpha1.ReasonRequestRejected,
		"elect preferred leaders: Kafka answers for partition %q, which was not asked for; see the log of the controller", first)
	f.Uncertain = true
	return f
}
