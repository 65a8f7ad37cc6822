package kafka

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/core/topic"
)

const purposeSizes = "to see the sizes of replicas"

// LogDirs reads what the replicas of the named partitions take at one broker's disks (KIP-113). A partition of which the
// broker has no replica, or one on a disk that has failed, is not in it. Copies that move between two disks of the broker
// are not counted. Nothing is asked if partitions is empty.
func (c *Client) LogDirs(ctx context.Context, broker int32, partitions []topic.TopicPartition) (map[topic.TopicPartition]topic.ReplicaSize, error) {
	sizes := make(map[topic.TopicPartition]topic.ReplicaSize, len(partitions))
	for batch := range slices.Chunk(partitions, maxPage) {
		req := kmsg.NewPtrDescribeLogDirsRequest()
		byTopic := map[string]int{}
		for _, p := range batch {
			row := rowOf(&req.Topics, byTopic, p.Topic, kmsg.DescribeLogDirsRequestTopic{Topic: p.Topic})
			row.Partitions = append(row.Partitions, p.Partition)
		}
		answer, err := c.read(ctx, broker, len(batch), req)
		if err != nil {
			return nil, err
		}
		resp, ok := answer.(*kmsg.DescribeLogDirsResponse)
		if !ok {
			return nil, wrongAnswer(req)
		}
		c.noteGap(describeLogDirs, purposeSizes, resp.ErrorCode)
		if resp.ErrorCode != 0 {
			return nil, refusal(describeLogDirs, "", resp.ErrorCode, nil)
		}
		for i := range resp.Dirs {
			takeSizes(&resp.Dirs[i], sizes)
		}
	}
	return sizes, nil
}

func takeSizes(dir *kmsg.DescribeLogDirsResponseDir, sizes map[topic.TopicPartition]topic.ReplicaSize) {
	for i := range dir.Topics {
		t := &dir.Topics[i]
		for j := range t.Partitions {
			if p := &t.Partitions[j]; !p.IsFuture {
				sizes[topic.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = topic.ReplicaSize{Bytes: p.Size, OffsetLag: p.OffsetLag}
			}
		}
	}
}
