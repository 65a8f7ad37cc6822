package kafkatest

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// errorResponse is the answer to a request that fails as a whole: the response's own code if it has one, else the code
// at every item, as Kafka's AbstractRequest.getErrorResponse gives it.
func errorResponse(req kmsg.Request, v verdict) kmsg.Response {
	resp := req.ResponseKind()
	setThrottle(resp, v.throttle)
	switch r := resp.(type) {
	case *kmsg.CreateTopicsResponse:
		for _, t := range req.(*kmsg.CreateTopicsRequest).Topics {
			r.Topics = append(r.Topics, createdError(t.Topic, v))
		}
	case *kmsg.CreatePartitionsResponse:
		for _, t := range req.(*kmsg.CreatePartitionsRequest).Topics {
			r.Topics = append(r.Topics, grownError(t.Topic, v))
		}
	case *kmsg.DeleteTopicsResponse:
		r.Topics = notDeleted(req.(*kmsg.DeleteTopicsRequest), v)
	case *kmsg.IncrementalAlterConfigsResponse:
		for _, t := range req.(*kmsg.IncrementalAlterConfigsRequest).Resources {
			r.Resources = append(r.Resources, alteredError(t, v))
		}
	case *kmsg.AlterPartitionAssignmentsResponse:
		q := req.(*kmsg.AlterPartitionAssignmentsRequest)
		r.ErrorCode, r.ErrorMessage, r.Topics = v.code, v.message, failedPartitions(q, v)
	case *kmsg.ElectLeadersResponse:
		r.ErrorCode, r.Topics = v.code, failedElections(req.(*kmsg.ElectLeadersRequest), v)
	default:
		readError(resp, req, v)
	}
	return resp
}

func readError(resp kmsg.Response, req kmsg.Request, v verdict) {
	switch r := resp.(type) {
	case *kmsg.ApiVersionsResponse:
		r.ErrorCode = v.code
	case *kmsg.DescribeClusterResponse:
		r.ErrorCode, r.ErrorMessage = v.code, v.message
	case *kmsg.MetadataResponse:
		r.ErrorCode = v.code
		for _, t := range req.(*kmsg.MetadataRequest).Topics {
			failed := kmsg.NewMetadataResponseTopic()
			failed.ErrorCode, failed.Topic, failed.TopicID = v.code, t.Topic, t.TopicID
			r.Topics = append(r.Topics, failed)
		}
	case *kmsg.DescribeTopicPartitionsResponse:
		for _, t := range req.(*kmsg.DescribeTopicPartitionsRequest).Topics {
			r.Topics = append(r.Topics, describedError(t.Topic, v.code))
		}
	case *kmsg.DescribeConfigsResponse:
		for _, t := range req.(*kmsg.DescribeConfigsRequest).Resources {
			failed := kmsg.NewDescribeConfigsResponseResource()
			failed.ResourceType, failed.ResourceName, failed.ErrorCode, failed.ErrorMessage = t.ResourceType, t.ResourceName, v.code, v.message
			r.Resources = append(r.Resources, failed)
		}
	case *kmsg.ListPartitionReassignmentsResponse:
		r.ErrorCode, r.ErrorMessage = v.code, v.message
	case *kmsg.DescribeLogDirsResponse:
		r.ErrorCode = v.code
	case *kmsg.ListOffsetsResponse:
		r.Topics = offsetsError(req.(*kmsg.ListOffsetsRequest), v.code)
	}
}

func createdError(name string, v verdict) kmsg.CreateTopicsResponseTopic {
	t := kmsg.NewCreateTopicsResponseTopic()
	t.Topic, t.ErrorCode, t.ErrorMessage = name, v.code, v.message
	t.NumPartitions, t.ReplicationFactor = -1, -1
	return t
}

func grownError(name string, v verdict) kmsg.CreatePartitionsResponseTopic {
	t := kmsg.NewCreatePartitionsResponseTopic()
	t.Topic, t.ErrorCode, t.ErrorMessage = name, v.code, v.message
	return t
}

func alteredError(res kmsg.IncrementalAlterConfigsRequestResource, v verdict) kmsg.IncrementalAlterConfigsResponseResource {
	t := kmsg.NewIncrementalAlterConfigsResponseResource()
	t.ResourceType, t.ResourceName, t.ErrorCode, t.ErrorMessage = res.ResourceType, res.ResourceName, v.code, v.message
	return t
}

func describedError(name string, code int16) kmsg.DescribeTopicPartitionsResponseTopic {
	t := kmsg.NewDescribeTopicPartitionsResponseTopic()
	t.Topic, t.ErrorCode = &name, code
	return t
}

func notDeleted(req *kmsg.DeleteTopicsRequest, v verdict) []kmsg.DeleteTopicsResponseTopic {
	var out []kmsg.DeleteTopicsResponseTopic
	add := func(name *string, id [16]byte) {
		t := kmsg.NewDeleteTopicsResponseTopic()
		t.Topic, t.TopicID, t.ErrorCode, t.ErrorMessage = name, id, v.code, v.message
		out = append(out, t)
	}
	for _, t := range req.Topics {
		add(t.Topic, t.TopicID)
	}
	for i := range req.TopicNames {
		add(&req.TopicNames[i], [16]byte{})
	}
	return out
}

func failedPartitions(req *kmsg.AlterPartitionAssignmentsRequest, v verdict) []kmsg.AlterPartitionAssignmentsResponseTopic {
	var out []kmsg.AlterPartitionAssignmentsResponseTopic
	for _, t := range req.Topics {
		failed := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		failed.Topic = t.Topic
		for _, p := range t.Partitions {
			x := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			x.Partition, x.ErrorCode, x.ErrorMessage = p.Partition, v.code, v.message
			failed.Partitions = append(failed.Partitions, x)
		}
		out = append(out, failed)
	}
	return out
}

func failedElections(req *kmsg.ElectLeadersRequest, v verdict) []kmsg.ElectLeadersResponseTopic {
	var out []kmsg.ElectLeadersResponseTopic
	for _, t := range req.Topics {
		failed := kmsg.NewElectLeadersResponseTopic()
		failed.Topic = t.Topic
		for _, p := range t.Partitions {
			failed.Partitions = append(failed.Partitions, elected(p, v))
		}
		out = append(out, failed)
	}
	return out
}

func elected(partition int32, v verdict) kmsg.ElectLeadersResponseTopicPartition {
	x := kmsg.NewElectLeadersResponseTopicPartition()
	x.Partition, x.ErrorCode, x.ErrorMessage = partition, v.code, v.message
	return x
}

func offsetsError(req *kmsg.ListOffsetsRequest, code int16) []kmsg.ListOffsetsResponseTopic {
	var out []kmsg.ListOffsetsResponseTopic
	for _, t := range req.Topics {
		failed := kmsg.NewListOffsetsResponseTopic()
		failed.Topic = t.Topic
		for _, p := range t.Partitions {
			failed.Partitions = append(failed.Partitions, offset(p.Partition, code, -1, -1))
		}
		out = append(out, failed)
	}
	return out
}

func offset(partition int32, code int16, at int64, epoch int32) kmsg.ListOffsetsResponseTopicPartition {
	x := kmsg.NewListOffsetsResponseTopicPartition()
	x.Partition, x.ErrorCode, x.Offset, x.LeaderEpoch, x.Timestamp = partition, code, at, epoch, -1
	return x
}
