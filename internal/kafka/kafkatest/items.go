package kafkatest

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// readsEverything tells whether a read names no topic and so means all.
func readsEverything(req kmsg.Request) bool {
	switch r := req.(type) {
	case *kmsg.MetadataRequest:
		return r.Topics == nil
	case *kmsg.DescribeTopicPartitionsRequest:
		return len(r.Topics) == 0
	case *kmsg.ListPartitionReassignmentsRequest:
		return r.Topics == nil
	case *kmsg.DescribeLogDirsRequest:
		return r.Topics == nil
	}
	return false
}

// itemNames are the topics and resources a request names.
func itemNames(req kmsg.Request) []string {
	switch r := req.(type) {
	case *kmsg.CreateTopicsRequest:
		return named(r.Topics, func(t kmsg.CreateTopicsRequestTopic) string { return t.Topic })
	case *kmsg.CreatePartitionsRequest:
		return named(r.Topics, func(t kmsg.CreatePartitionsRequestTopic) string { return t.Topic })
	case *kmsg.DeleteTopicsRequest:
		return append(named(r.Topics, deleted), r.TopicNames...)
	case *kmsg.IncrementalAlterConfigsRequest:
		return named(r.Resources, func(t kmsg.IncrementalAlterConfigsRequestResource) string { return t.ResourceName })
	case *kmsg.AlterPartitionAssignmentsRequest:
		return named(r.Topics, func(t kmsg.AlterPartitionAssignmentsRequestTopic) string { return t.Topic })
	case *kmsg.ElectLeadersRequest:
		return named(r.Topics, func(t kmsg.ElectLeadersRequestTopic) string { return t.Topic })
	}
	return readItemNames(req)
}

func readItemNames(req kmsg.Request) []string {
	switch r := req.(type) {
	case *kmsg.DescribeConfigsRequest:
		return named(r.Resources, func(t kmsg.DescribeConfigsRequestResource) string { return t.ResourceName })
	case *kmsg.DescribeTopicPartitionsRequest:
		return named(r.Topics, func(t kmsg.DescribeTopicPartitionsRequestTopic) string { return t.Topic })
	case *kmsg.MetadataRequest:
		return named(r.Topics, func(t kmsg.MetadataRequestTopic) string { return text(t.Topic) })
	case *kmsg.ListPartitionReassignmentsRequest:
		return named(r.Topics, func(t kmsg.ListPartitionReassignmentsRequestTopic) string { return t.Topic })
	case *kmsg.DescribeLogDirsRequest:
		return named(r.Topics, func(t kmsg.DescribeLogDirsRequestTopic) string { return t.Topic })
	case *kmsg.ListOffsetsRequest:
		return named(r.Topics, func(t kmsg.ListOffsetsRequestTopic) string { return t.Topic })
	}
	return nil
}

func named[T any](items []T, name func(T) string) []string {
	out := make([]string, len(items))
	for i := range items {
		out[i] = name(items[i])
	}
	return out
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// deleted is the name or, for a deletion by ID, the printed ID of a topic to delete.
func deleted(t kmsg.DeleteTopicsRequestTopic) string {
	if t.Topic != nil {
		return *t.Topic
	}
	return printed(t.TopicID)
}

// withoutItems gives a mutating request less the items that are hit. Reads keep theirs: with none they would mean all.
func withoutItems(req kmsg.Request, hit func(string) bool) kmsg.Request {
	switch r := req.(type) {
	case *kmsg.CreateTopicsRequest:
		c := *r
		c.Topics = spared(r.Topics, func(t kmsg.CreateTopicsRequestTopic) bool { return hit(t.Topic) })
		return &c
	case *kmsg.CreatePartitionsRequest:
		c := *r
		c.Topics = spared(r.Topics, func(t kmsg.CreatePartitionsRequestTopic) bool { return hit(t.Topic) })
		return &c
	case *kmsg.DeleteTopicsRequest:
		c := *r
		c.Topics = spared(r.Topics, func(t kmsg.DeleteTopicsRequestTopic) bool { return hit(deleted(t)) })
		c.TopicNames = spared(r.TopicNames, hit)
		return &c
	case *kmsg.IncrementalAlterConfigsRequest:
		c := *r
		c.Resources = spared(r.Resources, func(t kmsg.IncrementalAlterConfigsRequestResource) bool { return hit(t.ResourceName) })
		return &c
	case *kmsg.AlterPartitionAssignmentsRequest:
		c := *r
		c.Topics = spared(r.Topics, func(t kmsg.AlterPartitionAssignmentsRequestTopic) bool { return hit(t.Topic) })
		return &c
	case *kmsg.ElectLeadersRequest:
		c := *r
		c.Topics = spared(r.Topics, func(t kmsg.ElectLeadersRequestTopic) bool { return hit(t.Topic) })
		return &c
	}
	return req
}

func spared[T any](items []T, hit func(T) bool) []T {
	kept := []T{}
	for _, t := range items {
		if !hit(t) {
			kept = append(kept, t)
		}
	}
	return kept
}

// overrideItems replaces the answers of the items that are hit by a failure.
func overrideItems(resp kmsg.Response, req kmsg.Request, hit func(string) bool, v verdict) {
	failed := errorResponse(req, v)
	setThrottle(resp, v.throttle)
	switch r := resp.(type) {
	case *kmsg.CreateTopicsResponse:
		r.Topics = merged(r.Topics, failed.(*kmsg.CreateTopicsResponse).Topics, hit, func(t kmsg.CreateTopicsResponseTopic) string { return t.Topic })
	case *kmsg.CreatePartitionsResponse:
		r.Topics = merged(r.Topics, failed.(*kmsg.CreatePartitionsResponse).Topics, hit, func(t kmsg.CreatePartitionsResponseTopic) string { return t.Topic })
	case *kmsg.DeleteTopicsResponse:
		r.Topics = merged(r.Topics, failed.(*kmsg.DeleteTopicsResponse).Topics, hit, gone)
	case *kmsg.IncrementalAlterConfigsResponse:
		r.Resources = merged(r.Resources, failed.(*kmsg.IncrementalAlterConfigsResponse).Resources, hit, func(t kmsg.IncrementalAlterConfigsResponseResource) string { return t.ResourceName })
	case *kmsg.AlterPartitionAssignmentsResponse:
		r.Topics = merged(r.Topics, failedPartitions(req.(*kmsg.AlterPartitionAssignmentsRequest), v), hit, func(t kmsg.AlterPartitionAssignmentsResponseTopic) string { return t.Topic })
	case *kmsg.ElectLeadersResponse:
		r.Topics = merged(r.Topics, failedElections(req.(*kmsg.ElectLeadersRequest), v), hit, func(t kmsg.ElectLeadersResponseTopic) string { return t.Topic })
	case *kmsg.DescribeConfigsResponse:
		r.Resources = merged(r.Resources, failed.(*kmsg.DescribeConfigsResponse).Resources, hit, func(t kmsg.DescribeConfigsResponseResource) string { return t.ResourceName })
	case *kmsg.ListOffsetsResponse:
		r.Topics = merged(r.Topics, failed.(*kmsg.ListOffsetsResponse).Topics, hit, func(t kmsg.ListOffsetsResponseTopic) string { return t.Topic })
	case *kmsg.DescribeTopicPartitionsResponse:
		overrideDescribed(r, hit, v)
	case *kmsg.MetadataResponse:
		overrideMetadata(r, hit, v)
	}
}

// merged drops the items of got that are hit and adds those of failed.
func merged[T any](got, failed []T, hit func(string) bool, name func(T) string) []T {
	out := spared(got, func(t T) bool { return hit(name(t)) })
	for _, t := range failed {
		if hit(name(t)) {
			out = append(out, t)
		}
	}
	return out
}

func gone(t kmsg.DeleteTopicsResponseTopic) string {
	if t.Topic != nil {
		return *t.Topic
	}
	return printed(t.TopicID)
}

func overrideDescribed(r *kmsg.DescribeTopicPartitionsResponse, hit func(string) bool, v verdict) {
	for i := range r.Topics {
		if name := r.Topics[i].Topic; hit(text(name)) {
			r.Topics[i] = describedError(text(name), v.code)
		}
	}
}

func overrideMetadata(r *kmsg.MetadataResponse, hit func(string) bool, v verdict) {
	for i := range r.Topics {
		if name := r.Topics[i].Topic; name != nil && hit(*name) {
			t := kmsg.NewMetadataResponseTopic()
			t.Topic, t.ErrorCode = name, v.code
			r.Topics[i] = t
		}
	}
}

func setThrottle(resp kmsg.Response, millis int32) {
	if t, ok := resp.(kmsg.SetThrottleResponse); ok && millis > 0 {
		t.SetThrottle(millis)
	}
}
