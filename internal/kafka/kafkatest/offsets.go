package kafkatest

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// debugReplica as the replica ID of ListOffsets reads the asked broker's own log end, leader or not.
const debugReplica = -2

// SetLogEnd says how many records a replica has of a partition. Replica 0 stands for the high watermark.
func (c *Cluster) SetLogEnd(name string, partition, replica int32, records int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.w.ends[spot{c.w.mustTopic(name).id, partition, replica}] = records
}

func (k *call) listOffsets(req *kmsg.ListOffsetsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	for _, asked := range req.Topics {
		t := kmsg.NewListOffsetsResponseTopic()
		t.Topic = asked.Topic
		for _, p := range asked.Partitions {
			t.Partitions = append(t.Partitions, k.offsetOf(req.ReplicaID, asked.Topic, p))
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

func (k *call) offsetOf(replica int32, name string, asked kmsg.ListOffsetsRequestTopicPartition) kmsg.ListOffsetsResponseTopicPartition {
	none := func(e *kerr.Error) kmsg.ListOffsetsResponseTopicPartition {
		return offset(asked.Partition, e.Code, -1, -1)
	}
	if !k.mayTopic(kmsg.ACLOperationDescribe, name) {
		return none(kerr.TopicAuthorizationFailed)
	}
	r := k.topic(name)
	if r == nil || asked.Partition < 0 || int(asked.Partition) >= len(r.parts) {
		return none(kerr.UnknownTopicOrPartition)
	}
	p := r.parts[asked.Partition]
	if !slices.Contains(p.Replicas, k.broker) || replica != debugReplica && p.Leader != k.broker {
		return none(kerr.NotLeaderForPartition)
	}
	at := spot{id: r.id, partition: asked.Partition}
	if replica == debugReplica {
		at.replica = k.broker
	}
	end := k.w.ends[at]
	if asked.Timestamp != -1 { // only the log start besides the end: nothing was ever deleted
		end = 0
	}
	return offset(asked.Partition, 0, end, p.LeaderEpoch)
}
