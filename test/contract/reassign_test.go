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

// reassignItems: what is refused for one partition does not touch another one of the same request.
func reassignItems(b *bench) {
	b.create(assigned("ri-a", nil, []int32{1, 2}), assigned("ri-b", nil, []int32{1, 2}, []int32{1, 2}))
	req := moveRequest("ri-a", 0, []int32{2, 1})
	req.Topics = append(req.Topics, moveRequest("ri-b", 0, []int32{1, 42}).Topics...)
	good := moveRequest("ri-b", 1, []int32{2, 1}).Topics[0].Partitions[0]
	req.Topics[1].Partitions = append(req.Topics[1].Partitions, good)
	got := map[string][]string{}
	for _, t := range ask[*kmsg.AlterPartitionAssignmentsResponse](b, req).Topics {
		for _, p := range t.Partitions {
			got[t.Topic] = append(got[t.Topic], code(p.ErrorCode))
		}
	}
	equal(b, "codes", map[string][]string{"ri-a": {"NONE"}, "ri-b": {"INVALID_REPLICA_ASSIGNMENT", "NONE"}}, got)
	b.becomes("ri-a", state{Leader: 1, Replicas: []int32{2, 1}, ISR: []int32{1, 2}})
	b.eventually("the good half is done", func() (any, bool) {
		s := b.states("ri-b")
		return s, s[1].Replicas[0] == 2 && s[0].Replicas[0] == 1
	})

	election := electRequest(preferredElection, "ri-b", 0, 1, 2)
	var codes []string
	for _, p := range ask[*kmsg.ElectLeadersResponse](b, election).Topics[0].Partitions {
		codes = append(codes, code(p.ErrorCode))
	}
	equal(b, "elections", []string{"ELECTION_NOT_NEEDED", "NONE", "UNKNOWN_TOPIC_OR_PARTITION"}, codes)
}

// cordoned: a broker whose log directories are all cordoned takes no replica, and keeps none in a list that is written
// anew.
func cordoned(b *bench) {
	const key = "cordoned.log.dirs"
	b.create(assigned("cd-here", nil, []int32{1, 4}), assigned("cd-there", nil, []int32{1, 2}))
	equal(b, "cordon", "NONE", b.alterBroker(4, "4", set(key, "*")))
	b.eventually("broker 4 takes no replica", func() (any, bool) {
		got := b.move("cd-there", 1, 4)
		if got == "NONE" { // not known to the controller yet
			b.move("cd-there", 1, 2)
		}
		return got, got == "INVALID_REPLICA_ASSIGNMENT"
	})
	equal(b, "reorder of a list with it", "INVALID_REPLICA_ASSIGNMENT", b.move("cd-here", 4, 1))
	equal(b, "create on it", map[string]string{"cd-new": "INVALID_REPLICA_ASSIGNMENT"}, b.createCodes(createRequest(assigned("cd-new", nil, []int32{1, 4}))))
	equal(b, "too few others", map[string]string{"cd-many": "INVALID_REPLICATION_FACTOR"}, b.createCodes(createRequest(spec{name: "cd-many", parts: 1, factor: 4})))
	b.create(spec{name: "cd-placed", parts: 8, factor: 2})
	for i, s := range b.states("cd-placed") {
		if slices.Contains(s.Replicas, 4) {
			b.Errorf("partition %d is placed on the cordoned broker: %v", i, s.Replicas)
		}
	}
	equal(b, "leave it out", "NONE", b.move("cd-here", 1))
	b.becomes("cd-here", state{Leader: 1, Epoch: 1, Replicas: []int32{1}, ISR: []int32{1}, ELR: []int32{4}})
	equal(b, "uncordon", "NONE", b.alterBroker(4, "4", drop(key)))
	b.eventually("broker 4 takes replicas again", func() (any, bool) {
		got := b.move("cd-there", 1, 4)
		return got, got == "NONE"
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
