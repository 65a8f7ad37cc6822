package kafkatest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/core/topic"
)

func (k *call) reassign(req *kmsg.AlterPartitionAssignmentsRequest) kmsg.Response {
	if !k.mayCluster(kmsg.ACLOperationAlter) {
		return errorResponse(req, *k.clusterNotAllowed())
	}
	resp := req.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
	allow := req.AllowReplicationFactorChange || req.Version < 1
	resp.AllowReplicationFactorChange = allow
	for _, asked := range req.Topics {
		t := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		t.Topic = asked.Topic
		for _, p := range asked.Partitions {
			x := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			x.Partition = p.Partition
			if v := k.w.reassign(asked.Topic, p.Partition, p.Replicas, allow); v != nil {
				x.ErrorCode, x.ErrorMessage = v.code, v.message
			}
			t.Partitions = append(t.Partitions, x)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

// reassign starts, replaces or (nil replicas) cancels the reassignment of one partition.
func (w *world) reassign(name string, partition int32, target []int32, allowFactor bool) *verdict {
	r := w.topics[name]
	if r == nil {
		return refuse(kerr.UnknownTopicOrPartition, "Unable to find a topic named "+name+".")
	}
	if partition < 0 || int(partition) >= len(r.parts) {
		return refuse(kerr.UnknownTopicOrPartition, fmt.Sprintf("Unable to find partition %s:%d.", name, partition))
	}
	p := r.parts[partition]
	if target == nil {
		return w.cancel(r, p)
	}
	if why := w.checkReplicas(target); why != "" {
		return refuse(kerr.InvalidReplicaAssignment, string(why))
	}
	if !allowFactor && len(target) != len(p.Target()) {
		return refuse(kerr.InvalidReplicationFactor, fmt.Sprintf("The replication factor is changed from %d to %d", len(p.Target()), len(target)))
	}
	ch := changeOf(p)
	removing := slices.Sorted(slices.Values(without(p.Replicas, target...)))
	adding := slices.Sorted(slices.Values(without(target, p.Replicas...)))
	ch.replicas = append(slices.Clone(target), removing...)
	if len(removing) > 0 { // an empty list leaves that of a running reassignment, as in Kafka
		ch.removing = removing
	}
	if len(adding) > 0 {
		ch.adding = adding
	}
	w.apply(name, partition, ch)
	return nil
}

// cancel brings the replica list back to what it was before the reassignment.
func (w *world) cancel(r *record, p topic.Partition) *verdict {
	if !p.Reassigning() {
		return refuse(kerr.NoReassignmentInProgress, "No partition reassignment is in progress.")
	}
	ch := change{replicas: without(p.Replicas, p.Adding...), isr: without(p.ISR, p.Adding...)}
	if len(ch.isr) == 0 {
		if !w.uncleanAllowed(r) {
			return refuse(kerr.InvalidReplicaAssignment, fmt.Sprintf("Unable to revert partition assignment for %s:%d because it would require an unclean leader election.", r.name, p.Index))
		}
		ch.isr, ch.election = []int32{ch.replicas[0]}, unclean
	}
	w.apply(r.name, p.Index, ch)
	return nil
}

func (k *call) electLeaders(req *kmsg.ElectLeadersRequest) kmsg.Response {
	if !k.mayCluster(kmsg.ACLOperationAlter) {
		return errorResponse(req, *k.clusterNotAllowed())
	}
	resp := req.ResponseKind().(*kmsg.ElectLeadersResponse)
	for _, asked := range req.Topics {
		t := kmsg.NewElectLeadersResponseTopic()
		t.Topic = asked.Topic
		for _, p := range asked.Partitions {
			v := k.w.electLeader(asked.Topic, p, req.ElectionType != 0)
			if v == nil {
				v = &verdict{}
			}
			t.Partitions = append(t.Partitions, elected(p, *v))
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}

// electLeader holds one election on request. An unclean one does not look at unclean.leader.election.enable.
func (w *world) electLeader(name string, partition int32, lossy bool) *verdict {
	r := w.topics[name]
	if r == nil {
		return refuse(kerr.UnknownTopicOrPartition, "No such topic as "+name)
	}
	if partition < 0 || int(partition) >= len(r.parts) {
		return refuse(kerr.UnknownTopicOrPartition, fmt.Sprintf("No such partition as %s-%d", name, partition))
	}
	p := r.parts[partition]
	if lossy && p.Leader != topic.NoLeader || !lossy && p.Leader == p.Replicas[0] {
		return refuse(kerr.ElectionNotNeeded, "Leader election not needed for topic partition.")
	}
	ch := changeOf(p)
	ch.election = preferred
	none := refuse(kerr.PreferredLeaderNotAvailable, "The preferred leader was not available.")
	if lossy {
		ch.election = unclean
		none = refuse(kerr.EligibleLeadersNotAvailable, "Eligible topic partition leaders are not available.")
	}
	if !w.apply(name, partition, ch) {
		return none
	}
	return nil
}

// asError makes an error of a verdict, for controls of tests.
func (v *verdict) asError() error {
	if v == nil {
		return nil
	}
	return errors.New(kerr.ErrorForCode(v.code).Error() + " " + text(v.message))
}
