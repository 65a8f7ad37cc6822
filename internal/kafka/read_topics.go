package kafka

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

// Bounds of reads: a page is the most that brokers return by default (max.request.partition.size.limit); batches of
// names keep the time of one answer short.
const (
	maxPage  = 2000
	maxNames = 500
)

// Topics reads the asked topics as one broker shows them: partitions with eligible leader replicas, running
// reassignments, and the asked config keys. The answer has an entry for every asked name. The error is for the broker
// that does not answer; what concerns single topics is in their entries. Nothing is asked if asks is empty.
func (c *Client) Topics(ctx context.Context, broker int32, asks []topic.Ask) (map[string]topic.Read, error) {
	reads := make(map[string]topic.Read, len(asks))
	if len(asks) == 0 {
		return reads, nil
	}
	running, err := c.reassignments(ctx, broker)
	if err != nil {
		return nil, err
	}
	found, err := c.partitions(ctx, broker, namesOf(asks), reads)
	if err != nil {
		return nil, err
	}
	if !running.explain(found) {
		// Some may have begun after the list was read; then it shows them now.
		if running, err = c.reassignments(ctx, broker); err != nil {
			return nil, err
		}
		running.explain(found)
	}
	if err := c.configs(ctx, broker, asks, found, reads); err != nil {
		return nil, err
	}
	for name, t := range found {
		if _, failed := reads[name]; !failed {
			reads[name] = topic.Read{Topic: t}
		}
	}
	return reads, nil
}

// namesOf gives the names in Kafka's order, once each.
func namesOf(asks []topic.Ask) []string {
	names := make([]string, 0, len(asks))
	for _, a := range asks {
		names = append(names, a.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// partitions reads the partitions of the named topics. Topics that cannot be read go to reads.
func (c *Client) partitions(ctx context.Context, broker int32, names []string, reads map[string]topic.Read) (map[string]*topic.Topic, error) {
	found := make(map[string]*topic.Topic, len(names))
	for batch := range slices.Chunk(names, maxNames) {
		p := paging{found: found, reads: reads}
		if err := c.page(ctx, broker, batch, p.take); err != nil {
			return nil, err
		}
		for _, name := range batch {
			p.finish(name)
		}
	}
	return found, nil
}

// page walks through pages of DescribeTopicPartitions. No names mean all topics of the cluster.
func (c *Client) page(ctx context.Context, broker int32, names []string, take func(*kmsg.DescribeTopicPartitionsResponseTopic)) error {
	var cursor *kmsg.DescribeTopicPartitionsRequestCursor
	for {
		req := kmsg.NewPtrDescribeTopicPartitionsRequest()
		req.ResponsePartitionLimit = maxPage
		req.Cursor = cursor
		for _, name := range names {
			req.Topics = append(req.Topics, kmsg.DescribeTopicPartitionsRequestTopic{Topic: name})
		}
		answer, err := c.read(ctx, broker, maxPage, req)
		if err != nil {
			return err
		}
		resp, ok := answer.(*kmsg.DescribeTopicPartitionsResponse)
		if !ok {
			return wrongAnswer(req)
		}
		for i := range resp.Topics {
			take(&resp.Topics[i])
		}
		next := resp.NextCursor
		if next == nil {
			return nil
		}
		if cursor != nil && (next.Topic < cursor.Topic || next.Topic == cursor.Topic && next.Partition <= cursor.Partition) {
			return wrongAnswer(req) // a cursor that stands still would go round for ever
		}
		cursor = &kmsg.DescribeTopicPartitionsRequestCursor{Topic: next.Topic, Partition: next.Partition}
		names = namesFrom(names, next.Topic)
	}
}

// namesFrom drops the names before the cursor, which must stay among them. No names stay no names.
func namesFrom(names []string, cursor string) []string {
	i, found := slices.BinarySearch(names, cursor)
	if !found {
		return names
	}
	return names[i:]
}

// paging puts topics together that may come in several pages.
type paging struct {
	found map[string]*topic.Topic
	reads map[string]topic.Read
}

func (p *paging) take(row *kmsg.DescribeTopicPartitionsResponseTopic) {
	if row.Topic == nil {
		return
	}
	name := *row.Topic
	switch row.ErrorCode {
	case 0:
	case kerr.UnknownTopicOrPartition.Code:
		p.reads[name] = topic.Read{Unknown: true}
		return
	default:
		p.reads[name] = topic.Read{Err: refusal(describeTopics, name, row.ErrorCode, nil)}
		return
	}
	t := p.found[name]
	if t == nil {
		t = &topic.Topic{Name: name, ID: topic.ID(row.TopicID), Internal: row.IsInternal}
		p.found[name] = t
	}
	if t.ID != topic.ID(row.TopicID) {
		p.reads[name] = topic.Read{Err: changedUnderway(name)}
		return
	}
	for i := range row.Partitions {
		r := &row.Partitions[i]
		if !readable(r.ErrorCode) {
			p.reads[name] = topic.Read{Err: refusal(describeTopics, name, r.ErrorCode, nil)}
			return
		}
		t.Partitions = append(t.Partitions, partitionOf(r))
	}
}

// readable tells which codes of a partition leave its other fields good: it has no leader, or none that is reachable by
// the listener that was asked.
func readable(code int16) bool {
	switch code {
	case 0, kerr.LeaderNotAvailable.Code, kerr.ListenerNotFound.Code, kerr.ReplicaNotAvailable.Code:
		return true
	}
	return false
}

func partitionOf(r *kmsg.DescribeTopicPartitionsResponseTopicPartition) topic.Partition {
	return topic.Partition{
		Index: r.Partition, Leader: r.LeaderID, LeaderEpoch: r.LeaderEpoch,
		Replicas: r.Replicas, ISR: r.ISR, ELR: r.EligibleLeaderReplicas, LastKnownELR: r.LastKnownELR,
	}
}

// finish checks that a topic came whole.
func (p *paging) finish(name string) {
	if _, failed := p.reads[name]; failed {
		delete(p.found, name)
		return
	}
	t := p.found[name]
	if t == nil {
		p.reads[name] = topic.Read{Err: missingRow(describeTopics, name)}
		return
	}
	slices.SortFunc(t.Partitions, func(a, b topic.Partition) int { return int(a.Index) - int(b.Index) })
	for i := range t.Partitions {
		if int(t.Partitions[i].Index) != i {
			p.reads[name] = topic.Read{Err: changedUnderway(name)}
			delete(p.found, name)
			return
		}
	}
	if len(t.Partitions) == 0 {
		p.reads[name] = topic.Read{Err: missingRow(describeTopics, name)}
		delete(p.found, name)
	}
}

// changedUnderway is the fault of a topic whose pages do not fit together.
func changedUnderway(name string) *fault.Fault {
	return fault.New(fault.Transient, v1alpha1.ReasonNotObservedYet,
		"%s: it changed while it was read; it is read again", describeTopics.on(name))
}

// Listing reads all topics of the cluster as one broker shows them, for names and for what brokers carry. Topics that
// the operator's user may not see are not in it.
func (c *Client) Listing(ctx context.Context, broker int32) (*topic.Listing, error) {
	l := &topic.Listing{Names: map[string]topic.ID{}, Load: map[int32]topic.Load{}}
	err := c.page(ctx, broker, nil, func(row *kmsg.DescribeTopicPartitionsResponseTopic) {
		if row.Topic == nil || row.ErrorCode != 0 {
			return
		}
		l.Names[*row.Topic] = topic.ID(row.TopicID)
		for i := range row.Partitions {
			for j, b := range row.Partitions[i].Replicas {
				load := l.Load[b]
				load.Replicas++
				if j == 0 {
					load.Leaders++
				}
				l.Load[b] = load
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}
