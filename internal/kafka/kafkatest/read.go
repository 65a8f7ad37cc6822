package kafkatest

import (
	"regexp"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/core/topic"
)

// legalSoftware is what clients may call themselves (KIP-511).
var legalSoftware = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

func (k *call) apiVersions(req *kmsg.ApiVersionsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
	if req.Version >= 3 && (!legalSoftware.MatchString(req.ClientSoftwareName) || !legalSoftware.MatchString(req.ClientSoftwareVersion)) {
		resp.ErrorCode = kerr.InvalidRequest.Code
		return resp
	}
	for _, key := range sortedKeys(apiKeys) {
		highest := k.c.maxVersion(key)
		if highest < 0 {
			continue
		}
		a := kmsg.NewApiVersionsResponseApiKey()
		a.ApiKey, a.MaxVersion = key, highest
		resp.ApiKeys = append(resp.ApiKeys, a)
	}
	resp.FinalizedFeaturesEpoch = k.w.commits
	for _, name := range sortedKeys(k.w.opts.Features) {
		level := k.w.opts.Features[name]
		f := kmsg.NewApiVersionsResponseFinalizedFeature()
		f.Name, f.MinVersionLevel, f.MaxVersionLevel = name, level, level
		s := kmsg.NewApiVersionsResponseSupportedFeature()
		s.Name, s.MaxVersion = name, level
		resp.FinalizedFeatures = append(resp.FinalizedFeatures, f)
		resp.SupportedFeatures = append(resp.SupportedFeatures, s)
	}
	return resp
}

// controller names some broker in service, as KRaft brokers do: it means nothing.
func (k *call) controller() int32 {
	var live []int32
	for _, b := range k.see.sortedBrokers() {
		if !b.Fenced {
			live = append(live, b.ID)
		}
	}
	if len(live) == 0 {
		return noBroker
	}
	k.c.asked++
	return live[k.c.asked%len(live)]
}

func rackOf(b topic.Broker) *string {
	if b.Rack == "" {
		return nil
	}
	return &b.Rack
}

// port is where a broker pretends to listen.
func port(id int32) int32 { return 19000 + id }

func (k *call) describeCluster(req *kmsg.DescribeClusterRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.DescribeClusterResponse)
	if req.EndpointType != 1 {
		resp.ErrorCode = kerr.MismatchedEndpointType.Code
		return resp
	}
	resp.EndpointType = 1
	resp.ClusterID, resp.ControllerID = k.c.opts.ClusterID, k.controller()
	for _, b := range k.see.sortedBrokers() {
		if b.Fenced && !req.IncludeFencedBrokers {
			continue
		}
		x := kmsg.NewDescribeClusterResponseBroker()
		x.NodeID, x.Host, x.Port, x.Rack, x.IsFenced = b.ID, "127.0.0.1", port(b.ID), rackOf(b), b.Fenced
		resp.Brokers = append(resp.Brokers, x)
	}
	return resp
}

func (k *call) metadata(req *kmsg.MetadataRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	resp.ClusterID, resp.ControllerID = &k.c.opts.ClusterID, k.controller()
	for _, b := range k.see.sortedBrokers() {
		if b.Fenced {
			continue
		}
		x := kmsg.NewMetadataResponseBroker()
		x.NodeID, x.Host, x.Port, x.Rack = b.ID, "127.0.0.1", port(b.ID), rackOf(b)
		resp.Brokers = append(resp.Brokers, x)
	}
	if req.Topics == nil {
		for _, name := range k.names() {
			if k.mayTopic(kmsg.ACLOperationDescribe, name) {
				resp.Topics = append(resp.Topics, k.metadataTopic(k.topic(name)))
			}
		}
		return resp
	}
	for _, t := range req.Topics {
		resp.Topics = append(resp.Topics, k.metadataAsked(t))
	}
	return resp
}

func (k *call) metadataAsked(asked kmsg.MetadataRequestTopic) kmsg.MetadataResponseTopic {
	failed := kmsg.NewMetadataResponseTopic()
	name := text(asked.Topic)
	if asked.Topic == nil {
		known, ok := k.see.ids[topic.ID(asked.TopicID)]
		if !ok {
			failed.TopicID, failed.ErrorCode = asked.TopicID, kerr.UnknownTopicID.Code
			return failed
		}
		name = known
	}
	failed.Topic = &name
	switch r := k.topic(name); {
	case invalidName(name) != "":
		failed.ErrorCode = kerr.InvalidTopicException.Code
	case !k.mayTopic(kmsg.ACLOperationDescribe, name):
		failed.ErrorCode = kerr.TopicAuthorizationFailed.Code
	case r == nil:
		failed.ErrorCode = kerr.UnknownTopicOrPartition.Code
	default:
		return k.metadataTopic(r)
	}
	return failed
}

func (k *call) metadataTopic(r *record) kmsg.MetadataResponseTopic {
	t := kmsg.NewMetadataResponseTopic()
	t.Topic, t.TopicID, t.IsInternal = &r.name, r.id, k.c.internal(r.name)
	for _, p := range r.parts {
		x := kmsg.NewMetadataResponseTopicPartition()
		x.Partition, x.Leader, x.LeaderEpoch, x.Replicas, x.ISR = p.Index, p.Leader, p.LeaderEpoch, p.Replicas, p.ISR
		x.OfflineReplicas = k.offline(p)
		if p.Leader == topic.NoLeader {
			x.ErrorCode = kerr.LeaderNotAvailable.Code
		}
		t.Partitions = append(t.Partitions, x)
	}
	return t
}

// offline are the replicas on brokers that are not in service.
func (k *call) offline(p topic.Partition) []int32 {
	out := []int32{}
	for _, id := range p.Replicas {
		if !k.see.active(id) {
			out = append(out, id)
		}
	}
	return out
}

// maxPartitions is max.request.partition.size.limit.
const maxPartitions = 2000

func (k *call) describeTopicPartitions(req *kmsg.DescribeTopicPartitionsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.DescribeTopicPartitionsResponse)
	names, all := k.describedNames(req)
	var start kmsg.DescribeTopicPartitionsRequestCursor
	if req.Cursor != nil {
		start = *req.Cursor
		if start.Partition < 0 || !all && !slices.Contains(names, start.Topic) {
			return errorResponse(req, *refuse(kerr.InvalidRequest, ""))
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name < start.Topic })
	shown := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !k.mayTopic(kmsg.ACLOperationDescribe, name) })
	left := max(1, min(maxPartitions, int(req.ResponsePartitionLimit)))
	for _, name := range shown {
		if left == 0 {
			resp.NextCursor = cursor(name, 0)
			break
		}
		from := int32(0)
		if name == start.Topic {
			from = start.Partition
		}
		t, next := k.describedTopic(name, from, left)
		left -= len(t.Partitions)
		resp.Topics = append(resp.Topics, t)
		if next >= 0 {
			resp.NextCursor = cursor(name, next)
			break
		}
	}
	for _, name := range names {
		if !all && !k.mayTopic(kmsg.ACLOperationDescribe, name) {
			resp.Topics = append(resp.Topics, describedError(name, kerr.TopicAuthorizationFailed.Code))
		}
	}
	return resp
}

// describedNames are the topics a request means, in order, and whether it means all.
func (k *call) describedNames(req *kmsg.DescribeTopicPartitionsRequest) (names []string, all bool) {
	if len(req.Topics) == 0 {
		return k.names(), true
	}
	names = itemNames(req)
	slices.Sort(names)
	return slices.Compact(names), false
}

func cursor(name string, partition int32) *kmsg.DescribeTopicPartitionsResponseNextCursor {
	c := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
	c.Topic, c.Partition = name, partition
	return &c
}

// describedTopic gives up to limit partitions of a topic and where to go on, -1 if there are no more.
func (k *call) describedTopic(name string, from int32, limit int) (kmsg.DescribeTopicPartitionsResponseTopic, int32) {
	r := k.topic(name)
	if r == nil {
		code := kerr.UnknownTopicOrPartition.Code
		if invalidName(name) != "" {
			code = kerr.InvalidTopicException.Code
		}
		return describedError(name, code), -1
	}
	t := kmsg.NewDescribeTopicPartitionsResponseTopic()
	t.Topic, t.TopicID, t.IsInternal = &r.name, r.id, k.c.internal(r.name)
	for i := from; i < int32(len(r.parts)); i++ {
		if len(t.Partitions) == limit {
			return t, i
		}
		p := r.parts[i]
		x := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
		x.Partition, x.LeaderID, x.LeaderEpoch, x.Replicas, x.ISR = p.Index, p.Leader, p.LeaderEpoch, p.Replicas, p.ISR
		x.EligibleLeaderReplicas, x.LastKnownELR, x.OfflineReplicas = list(p.ELR), list(p.LastKnownELR), k.offline(p)
		t.Partitions = append(t.Partitions, x)
	}
	return t, -1
}

// list is a list that is never null on the wire.
func list(v []int32) []int32 {
	if v == nil {
		return []int32{}
	}
	return v
}

func (k *call) listReassignments(req *kmsg.ListPartitionReassignmentsRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
	if !k.mayCluster(kmsg.ACLOperationDescribe) {
		return errorResponse(req, *k.clusterNotAllowed())
	}
	asked := map[string][]int32{}
	for _, t := range req.Topics {
		asked[t.Topic] = append(asked[t.Topic], t.Partitions...)
	}
	for _, name := range sortedKeys(k.w.unsettled) {
		partitions, ok := asked[name]
		if !ok && req.Topics != nil {
			continue
		}
		t := kmsg.NewListPartitionReassignmentsResponseTopic()
		t.Topic = name
		for _, p := range k.w.topics[name].parts {
			if !p.Reassigning() || req.Topics != nil && !slices.Contains(partitions, p.Index) {
				continue
			}
			x := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
			x.Partition, x.Replicas, x.AddingReplicas, x.RemovingReplicas = p.Index, p.Replicas, p.Adding, p.Removing
			t.Partitions = append(t.Partitions, x)
		}
		if len(t.Partitions) > 0 {
			resp.Topics = append(resp.Topics, t)
		}
	}
	return resp
}
