package kafkatest

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/core/topic"
)

func (k *call) createPartitions(req *kmsg.CreatePartitionsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
	names := itemNames(req)
	var grown []*record
	records := 0
	for _, t := range req.Topics {
		r, v := k.grow(t, count(names, t.Topic) > 1)
		if v == nil {
			records += len(r.parts) - len(k.w.topics[t.Topic].parts)
			grown = append(grown, r)
			v = &verdict{}
		}
		resp.Topics = append(resp.Topics, grownError(t.Topic, *v))
	}
	if records > maxRecords {
		return errorResponse(req, *refuse(kerr.PolicyViolation, "Unable to perform excessively large batch operation."))
	}
	for _, r := range grown {
		if !req.ValidateOnly {
			k.w.put(r)
		}
	}
	return resp
}

// grow checks one topic of a request and gives what it would become.
func (k *call) grow(t kmsg.CreatePartitionsRequestTopic, twice bool) (*record, *verdict) {
	if twice {
		return nil, refuse(kerr.InvalidRequest, "Duplicate topic name.")
	}
	if !k.mayTopic(kmsg.ACLOperationAlter, t.Topic) {
		return nil, refuse(kerr.TopicAuthorizationFailed, "")
	}
	r := k.w.topics[t.Topic]
	if r == nil {
		return nil, refuse(kerr.UnknownTopicOrPartition, "")
	}
	have := int32(len(r.parts))
	switch {
	case t.Count == have:
		return nil, refuse(kerr.InvalidPartitions, fmt.Sprintf("Topic already has %d partition(s).", have))
	case t.Count < have:
		return nil, refuse(kerr.InvalidPartitions, fmt.Sprintf("The topic %s currently has %d partition(s); %d would not be an increase.", t.Topic, have, t.Count))
	}
	assignments, v := k.grownAssignments(t, r, int(t.Count-have))
	if v != nil {
		return nil, v
	}
	next := *r
	next.parts = slices.Clone(r.parts)
	for i, replicas := range assignments {
		next.parts = append(next.parts, k.w.newPartition(have+int32(i), replicas))
	}
	return &next, nil
}

// grownAssignments gives the replica lists of added partitions. Their length is that of the first partition's list,
// which includes the adding replicas of a running reassignment.
func (k *call) grownAssignments(t kmsg.CreatePartitionsRequestTopic, r *record, more int) ([][]int32, *verdict) {
	factor := len(r.parts[0].Replicas)
	if t.Assignment == nil {
		return k.w.place(more, factor)
	}
	if len(t.Assignment) != more {
		return nil, refuse(kerr.InvalidReplicaAssignment, fmt.Sprintf("Attempted to add %d additional partition(s), but only %d assignment(s) were specified.", more, len(t.Assignment)))
	}
	var out [][]int32
	for i, a := range t.Assignment {
		if v := k.w.checkAssignment(a.Replicas, factor, int32(len(r.parts)+i)); v != nil {
			return nil, v
		}
		out = append(out, a.Replicas)
	}
	return out, nil
}

func (k *call) deleteTopics(req *kmsg.DeleteTopicsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.DeleteTopicsResponse)
	if k.c.opts.DeleteDisabled {
		return errorResponse(req, *refuse(kerr.TopicDeletionDisabled, "Topic deletion is disabled."))
	}
	for _, name := range req.TopicNames { // versions below 6
		req.Topics = append(req.Topics, kmsg.DeleteTopicsRequestTopic{Topic: &name})
	}
	meant := map[string]int{} // how many entries mean each topic
	for _, t := range req.Topics {
		meant[k.meaning(t)]++
	}
	for _, t := range req.Topics {
		x := kmsg.NewDeleteTopicsResponseTopic()
		x.Topic, x.TopicID = t.Topic, t.TopicID
		if v := k.deletion(t, meant[k.meaning(t)] > 1); v != nil {
			x.ErrorCode, x.ErrorMessage = v.code, v.message
			resp.Topics = append(resp.Topics, x)
			continue
		}
		name := k.meaning(t)
		x.Topic, x.TopicID = &name, k.w.topics[name].id
		k.w.remove(name)
		resp.Topics = append(resp.Topics, x)
	}
	return resp
}

// meaning is the name of the topic an entry means, or its printed ID if there is no such topic.
func (k *call) meaning(t kmsg.DeleteTopicsRequestTopic) string {
	if t.Topic != nil {
		return *t.Topic
	}
	if name, ok := k.w.ids[topic.ID(t.TopicID)]; ok {
		return name
	}
	return printed(t.TopicID)
}

func (k *call) deletion(t kmsg.DeleteTopicsRequestTopic, twice bool) *verdict {
	byID := !topic.ID(t.TopicID).IsZero()
	switch {
	case t.Topic != nil && byID:
		return refuse(kerr.InvalidRequest, "You may not specify both topic name and topic id.")
	case t.Topic == nil && !byID:
		return refuse(kerr.InvalidRequest, "Neither topic name nor id were specified.")
	case twice:
		return refuse(kerr.InvalidRequest, "Duplicate topic name.")
	}
	name := k.meaning(t)
	r := k.w.topics[name]
	switch {
	case byID && r == nil:
		return refuse(kerr.UnknownTopicID, "This server does not host this topic ID.")
	case byID && !k.mayTopic(kmsg.ACLOperationDescribe, name), !k.mayTopic(kmsg.ACLOperationDelete, name):
		return refuse(kerr.TopicAuthorizationFailed, "")
	case r == nil:
		return refuse(kerr.UnknownTopicOrPartition, "This server does not host this topic-partition.")
	}
	return nil
}
