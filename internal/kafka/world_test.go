package kafka

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/core/topic"
)

type row = kmsg.DescribeTopicPartitionsResponseTopic

type partitionRow = kmsg.DescribeTopicPartitionsResponseTopicPartition

// healthy gives the row of a topic whose partitions are in sync on brokers 1, 2 and 3.
func healthy(name string, partitions int) row {
	r := row{Topic: new(name), TopicID: [16]byte{byte(len(name)), 7}}
	for i := range partitions {
		r.Partitions = append(r.Partitions, partitionRow{
			Partition: int32(i), LeaderID: 1, LeaderEpoch: 4, Replicas: []int32{1, 2, 3}, ISR: []int32{1, 2, 3},
		})
	}
	return r
}

// world is a scripted cluster for reads.
type world struct {
	script
	rows         map[string]row
	configs      map[string]kmsg.DescribeConfigsResponseResource
	reassigning  []kmsg.ListPartitionReassignmentsResponse // one per request, the last for all further ones
	askedConfigs map[string][]string
}

func newWorld(rows ...row) *world {
	w := &world{rows: map[string]row{}, configs: map[string]kmsg.DescribeConfigsResponseResource{}, askedConfigs: map[string][]string{}}
	for _, r := range rows {
		w.rows[*r.Topic] = r
	}
	w.reassigning = []kmsg.ListPartitionReassignmentsResponse{{}}
	w.answers = map[kmsg.Key]func(int32, kmsg.Request) (kmsg.Response, error){
		kmsg.DescribeTopicPartitions:    reply(w.describe),
		kmsg.DescribeConfigs:            reply(w.describeConfigs),
		kmsg.ListPartitionReassignments: reply(w.list),
	}
	return w
}

// describe pages as KRaftMetadataCache does.
func (w *world) describe(req *kmsg.DescribeTopicPartitionsRequest, resp *kmsg.DescribeTopicPartitionsResponse) {
	var names []string
	for _, t := range req.Topics {
		names = append(names, t.Topic)
	}
	if len(names) == 0 {
		for name := range w.rows {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	left := int(req.ResponsePartitionLimit)
	for _, name := range names {
		from := 0
		if req.Cursor != nil && name < req.Cursor.Topic {
			continue
		}
		if req.Cursor != nil && name == req.Cursor.Topic {
			from = int(req.Cursor.Partition)
		}
		r, ok := w.rows[name]
		if !ok {
			resp.Topics = append(resp.Topics, row{Topic: new(name), ErrorCode: kerr.UnknownTopicOrPartition.Code})
			continue
		}
		if r.ErrorCode != 0 {
			resp.Topics = append(resp.Topics, r)
			continue
		}
		if left == 0 {
			resp.NextCursor = &kmsg.DescribeTopicPartitionsResponseNextCursor{Topic: name}
			return
		}
		to := min(from+left, len(r.Partitions))
		left -= to - from
		whole := len(r.Partitions)
		r.Partitions = r.Partitions[from:to]
		resp.Topics = append(resp.Topics, r)
		if to < whole {
			resp.NextCursor = &kmsg.DescribeTopicPartitionsResponseNextCursor{Topic: name, Partition: int32(to)}
			return
		}
	}
}

func (w *world) describeConfigs(req *kmsg.DescribeConfigsRequest, resp *kmsg.DescribeConfigsResponse) {
	for _, r := range req.Resources {
		w.askedConfigs[r.ResourceName] = r.ConfigNames
		answer, ok := w.configs[r.ResourceName]
		if !ok {
			for _, key := range r.ConfigNames {
				answer.Configs = append(answer.Configs, kmsg.DescribeConfigsResponseResourceConfig{Name: key, Value: new("v"), ConfigType: kmsg.ConfigTypeString})
			}
		}
		if answer.ResourceName == "gone" {
			continue
		}
		answer.ResourceType, answer.ResourceName = r.ResourceType, r.ResourceName
		resp.Resources = append(resp.Resources, answer)
	}
}

func (w *world) list(req *kmsg.ListPartitionReassignmentsRequest, resp *kmsg.ListPartitionReassignmentsResponse) {
	*resp = w.reassigning[0]
	if len(w.reassigning) > 1 {
		w.reassigning = w.reassigning[1:]
	}
}

func asksOf(keys []string, names ...string) []topic.Ask {
	var asks []topic.Ask
	for _, n := range names {
		asks = append(asks, topic.Ask{Name: n, Keys: keys})
	}
	return asks
}
