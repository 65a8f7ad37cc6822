package kafkatest

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// dataDir is the one log directory of every broker.
const dataDir = "/var/lib/kafka/data"

func (k *call) describeLogDirs(req *kmsg.DescribeLogDirsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
	if !k.mayCluster(kmsg.ACLOperationDescribe) {
		resp.ErrorCode = kerr.ClusterAuthorizationFailed.Code
		return resp
	}
	asked := map[string][]int32{}
	for _, t := range req.Topics {
		asked[t.Topic] = append(asked[t.Topic], t.Partitions...)
	}
	names := sortedKeys(asked)
	if req.Topics == nil {
		names = k.names()
	}
	dir := kmsg.NewDescribeLogDirsResponseDir()
	dir.Dir, dir.IsCordoned = dataDir, k.w.cordoned(k.broker)
	for _, name := range names {
		r := k.topic(name)
		if r == nil {
			continue
		}
		t := kmsg.NewDescribeLogDirsResponseDirTopic()
		t.Topic = name
		for _, p := range r.parts {
			if !slices.Contains(p.Replicas, k.broker) || req.Topics != nil && !slices.Contains(asked[name], p.Index) {
				continue
			}
			x := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
			// A follower's high watermark is never ahead of its log end: it has no lag by what it knows.
			x.Partition, x.Size = p.Index, k.w.replicaBytes(r, p, k.broker)
			t.Partitions = append(t.Partitions, x)
		}
		if len(t.Partitions) > 0 {
			dir.Topics = append(dir.Topics, t)
		}
	}
	resp.Dirs = append(resp.Dirs, dir)
	return resp
}
