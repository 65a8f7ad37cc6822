package contract

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func moveRequest(topic string, partition int32, replicas []int32) *kmsg.AlterPartitionAssignmentsRequest {
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	t := kmsg.NewAlterPartitionAssignmentsRequestTopic()
	t.Topic = topic
	p := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	p.Partition, p.Replicas = partition, replicas
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return req
}

// move reassigns partition 0 of a topic and gives the partition's code; nil replicas cancel.
func (b *bench) move(topic string, replicas ...int32) string {
	b.Helper()
	return b.moveCode(moveRequest(topic, 0, replicas))
}

func (b *bench) moveCode(req *kmsg.AlterPartitionAssignmentsRequest) string {
	b.Helper()
	resp := ask[*kmsg.AlterPartitionAssignmentsResponse](b, req)
	if resp.ErrorCode != 0 {
		return "top level " + code(resp.ErrorCode)
	}
	return code(resp.Topics[0].Partitions[0].ErrorCode)
}

type moving struct {
	Topic                      string
	Replicas, Adding, Removing []int32
}

// moves lists the running reassignments of all topics, or of partition 0 of those named.
func (b *bench) moves(topics ...string) []moving {
	b.Helper()
	req := kmsg.NewPtrListPartitionReassignmentsRequest()
	for _, name := range topics {
		t := kmsg.NewListPartitionReassignmentsRequestTopic()
		t.Topic, t.Partitions = name, []int32{0}
		req.Topics = append(req.Topics, t)
	}
	resp := ask[*kmsg.ListPartitionReassignmentsResponse](b, req)
	equal(b, "list reassignments", "NONE", code(resp.ErrorCode))
	var out []moving
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			out = append(out, moving{t.Topic, p.Replicas, sorted(p.AddingReplicas), sorted(p.RemovingReplicas)})
		}
	}
	slices.SortFunc(out, func(a, b moving) int { return cmp.Compare(a.Topic, b.Topic) })
	return out
}

func reassign(b *bench) {
	b.create(assigned("re-move", nil, []int32{1, 2, 3}))
	equal(b, "reorder", "NONE", b.move("re-move", 2, 3, 1))
	equal(b, "nothing runs", 0, len(b.moves()))
	b.becomes("re-move", state{Leader: 1, Replicas: []int32{2, 3, 1}, ISR: []int32{1, 2, 3}}) // no leader, no epoch moves
	equal(b, "the same list", "NONE", b.move("re-move", 2, 3, 1))

	equal(b, "exchange a follower", "NONE", b.move("re-move", 2, 4, 1))
	b.becomes("re-move", state{Leader: 1, Epoch: 1, Replicas: []int32{2, 4, 1}, ISR: []int32{1, 2, 4}})
	equal(b, "drop the leader", "NONE", b.move("re-move", 4, 2))
	b.becomes("re-move", state{Leader: 4, Epoch: 2, Replicas: []int32{4, 2}, ISR: []int32{2, 4}})
	equal(b, "add", "NONE", b.move("re-move", 4, 2, 1, 3))
	b.becomes("re-move", state{Leader: 4, Epoch: 2, Replicas: []int32{4, 2, 1, 3}, ISR: []int32{1, 2, 3, 4}})
	equal(b, "keep one", "NONE", b.move("re-move", 1))
	// Kafka measures ISR by the minimum of the longer list and keeps the dropped replicas as eligible leaders.
	b.becomes("re-move", state{Leader: 1, Epoch: 3, Replicas: []int32{1}, ISR: []int32{1}, ELR: []int32{2, 3, 4}})
	equal(b, "nothing runs at last", 0, len(b.moves()))
}

func reassignRefusals(b *bench) {
	b.create(assigned("rr-move", nil, []int32{1, 2}))
	for name, c := range map[string]struct {
		req  *kmsg.AlterPartitionAssignmentsRequest
		want string
	}{
		"unknown topic":       {moveRequest("rr-none", 0, []int32{1}), "UNKNOWN_TOPIC_OR_PARTITION"},
		"unknown partition":   {moveRequest("rr-move", 1, []int32{1}), "UNKNOWN_TOPIC_OR_PARTITION"},
		"unregistered broker": {moveRequest("rr-move", 0, []int32{1, 42}), "INVALID_REPLICA_ASSIGNMENT"},
		"broker twice":        {moveRequest("rr-move", 0, []int32{1, 1}), "INVALID_REPLICA_ASSIGNMENT"},
		"no replica":          {moveRequest("rr-move", 0, []int32{}), "INVALID_REPLICA_ASSIGNMENT"},
		"cancel nothing":      {moveRequest("rr-move", 0, nil), "NO_REASSIGNMENT_IN_PROGRESS"},
	} {
		equal(b, name, c.want, b.moveCode(c.req))
	}
	for name, c := range map[string]struct {
		replicas []int32
		want     string
	}{
		"another factor":  {[]int32{1, 2, 3}, "INVALID_REPLICATION_FACTOR"},
		"the same factor": {[]int32{1, 3}, "NONE"},
	} {
		req := moveRequest("rr-move", 0, c.replicas)
		req.AllowReplicationFactorChange = false
		equal(b, name, c.want, b.moveCode(req))
	}
	b.eventually("the move is done", func() (any, bool) {
		s := b.state("rr-move")
		return s, slices.Equal(s.Replicas, []int32{1, 3})
	})
}

const (
	preferredElection int8 = 0
	uncleanElection   int8 = 1
)

func electRequest(kind int8, topic string, partitions ...int32) *kmsg.ElectLeadersRequest {
	req := kmsg.NewPtrElectLeadersRequest()
	req.ElectionType = kind
	t := kmsg.NewElectLeadersRequestTopic()
	t.Topic, t.Partitions = topic, partitions
	req.Topics = append(req.Topics, t)
	return req
}

// elects holds an election on partition 0 of a topic and gives its code.
func (b *bench) elects(kind int8, topic string) string {
	b.Helper()
	return b.electCode(electRequest(kind, topic, 0))
}

func (b *bench) electCode(req *kmsg.ElectLeadersRequest) string {
	b.Helper()
	resp := ask[*kmsg.ElectLeadersResponse](b, req)
	if resp.ErrorCode != 0 {
		return "top level " + code(resp.ErrorCode)
	}
	return code(resp.Topics[0].Partitions[0].ErrorCode)
}

func elect(b *bench) {
	b.create(assigned("el-lead", nil, []int32{1, 2}))
	equal(b, "preferred leads already", "ELECTION_NOT_NEEDED", b.elects(preferredElection, "el-lead"))
	equal(b, "unclean with a leader", "ELECTION_NOT_NEEDED", b.elects(uncleanElection, "el-lead"))
	equal(b, "unknown topic", "UNKNOWN_TOPIC_OR_PARTITION", b.elects(preferredElection, "el-none"))
	equal(b, "unknown partition", "UNKNOWN_TOPIC_OR_PARTITION", b.electCode(electRequest(preferredElection, "el-lead", 7)))
	equal(b, "reorder", "NONE", b.move("el-lead", 2, 1))
	equal(b, "preferred", "NONE", b.elects(preferredElection, "el-lead"))
	b.becomes("el-lead", state{Leader: 2, Epoch: 1, Replicas: []int32{2, 1}, ISR: []int32{1, 2}})
}
