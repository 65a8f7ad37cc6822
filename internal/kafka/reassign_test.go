package kafka

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

func tp(name string, partition int32) topic.TopicPartition {
	return topic.TopicPartition{Topic: name, Partition: partition}
}

// byName gives the outcome of partition 0 of topics by topic.
func byName(outcome map[topic.TopicPartition]error) map[string]error {
	got := map[string]error{}
	for p, err := range outcome {
		got[p.Topic] = err
	}
	return got
}

func TestReassignRequest(t *testing.T) {
	var got *kmsg.AlterPartitionAssignmentsRequest
	s := scripted(kmsg.AlterPartitionAssignments, reply(func(req *kmsg.AlterPartitionAssignmentsRequest, _ *kmsg.AlterPartitionAssignmentsResponse) {
		got = req
	}))
	NewClient(s, Options{}).Reassign(t.Context(), 1, []Move{
		{tp("orders", 3), []int32{2, 1}}, {tp("page-views", 0), nil}, {tp("orders", 1), []int32{}},
	})
	want := []kmsg.AlterPartitionAssignmentsRequestTopic{
		{Topic: "orders", Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{
			{Partition: 3, Replicas: []int32{2, 1}}, {Partition: 1, Replicas: []int32{}}, // no replica is no cancellation
		}},
		{Topic: "page-views", Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Partition: 0}}},
	}
	if diff := cmp.Diff(want, got.Topics, cmp.AllowUnexported(kmsg.Tags{})); diff != "" {
		t.Error(diff)
	}
	if !got.AllowReplicationFactorChange {
		t.Error("the replication factor may not change")
	}
}

// confirm answers that every move is done.
func confirm(req *kmsg.AlterPartitionAssignmentsRequest, resp *kmsg.AlterPartitionAssignmentsResponse) {
	for _, t := range req.Topics {
		row := kmsg.AlterPartitionAssignmentsResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			row.Partitions = append(row.Partitions, kmsg.AlterPartitionAssignmentsResponseTopicPartition{Partition: p.Partition})
		}
		resp.Topics = append(resp.Topics, row)
	}
}

func movesOf(n int) []Move {
	moves := make([]Move, n)
	for i := range moves {
		moves[i] = Move{tp("orders", int32(i)), []int32{1, 2, 3}}
	}
	return moves
}

// Many moves are several requests; each partition is in one of them.
func TestReassignSplits(t *testing.T) {
	s := scripted(kmsg.AlterPartitionAssignments, reply(confirm))
	got := NewClient(s, Options{}).Reassign(t.Context(), 1, movesOf(1201))
	if len(got) != 1201 || len(verdicts(t, byName(got))) != 0 {
		t.Errorf("%d outcomes: %v", len(got), verdicts(t, byName(got)))
	}
	var sizes []int
	for _, req := range s.sent {
		sizes = append(sizes, len(req.(*kmsg.AlterPartitionAssignmentsRequest).Topics[0].Partitions))
	}
	if diff := cmp.Diff([]int{500, 500, 201}, sizes); diff != "" {
		t.Error(diff)
	}
}

// All requests share one deadline. What was not sent within it is certain not to be done.
func TestReassignDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		got := NewClient(hangs{}, Options{}).Reassign(t.Context(), 1, movesOf(501))
		if took := time.Since(start); took != writeTimeout {
			t.Errorf("took %v, want %v", took, writeTimeout)
		}
		sent := verdict{fault.Transient, v1alpha1.ReasonConnectionTimedOut, true}
		if diff := cmp.Diff(sent, verdictOf(t, got[tp("orders", 0)])); diff != "" {
			t.Error(diff)
		}
		unsent := verdict{fault.Transient, v1alpha1.ReasonKafkaUnreachable, false}
		if diff := cmp.Diff(unsent, verdictOf(t, got[tp("orders", 500)])); diff != "" {
			t.Error(diff)
		}
	})
}

func TestReassignRefusals(t *testing.T) {
	rowsOf := func(codes ...int16) kmsg.AlterPartitionAssignmentsResponse {
		row := kmsg.AlterPartitionAssignmentsResponseTopic{Topic: "orders"}
		for i, code := range codes {
			row.Partitions = append(row.Partitions, kmsg.AlterPartitionAssignmentsResponseTopicPartition{Partition: int32(i), ErrorCode: code})
		}
		return kmsg.AlterPartitionAssignmentsResponse{Topics: []kmsg.AlterPartitionAssignmentsResponseTopic{row}}
	}
	whole := rowsOf(0, 0)
	whole.ErrorCode = kerr.RequestTimedOut.Code
	denial := rowsOf(kerr.ClusterAuthorizationFailed.Code, kerr.ClusterAuthorizationFailed.Code)
	denial.ErrorCode = kerr.ClusterAuthorizationFailed.Code
	late := verdict{fault.Transient, v1alpha1.ReasonConnectionTimedOut, true}
	no := verdict{fault.Blocked, v1alpha1.ReasonNotAuthorized, false}
	tests := map[string]struct {
		answer       kmsg.AlterPartitionAssignmentsResponse
		move, cancel verdict
		words        string // of the cancellation
	}{
		"brokers are unknown, nothing runs": {rowsOf(kerr.InvalidReplicaAssignment.Code, kerr.NoReassignmentInProgress.Code),
			verdict{fault.Waiting, v1alpha1.ReasonWaitingForBrokers, false}, verdict{fault.Waiting, v1alpha1.ReasonMovingReplicas, false},
			`cancel reassignment of partition "orders-1": NO_REASSIGNMENT_IN_PROGRESS, none runs, it has ended or begins only now; it is looked at again`},
		"cancelling would lose records": {rowsOf(kerr.UnknownTopicOrPartition.Code, kerr.InvalidReplicaAssignment.Code),
			verdict{fault.Waiting, v1alpha1.ReasonTopicNotFound, false}, verdict{fault.Waiting, v1alpha1.ReasonCatchingUp, false},
			`cancel reassignment of partition "orders-1": INVALID_REPLICA_ASSIGNMENT, only replicas that it adds are in sync; wait for another one, or let it end`},
		"as a whole": {whole, late, late,
			`reassign partition "orders-1": REQUEST_TIMED_OUT, Kafka's controller did not finish in time; check the load of the brokers`},
		"not allowed": {denial, no, no,
			`reassign partition "orders-1": CLUSTER_AUTHORIZATION_FAILED, the operator's user is not allowed to; grant it ALTER on the Cluster`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := scripted(kmsg.AlterPartitionAssignments, reply(func(_ *kmsg.AlterPartitionAssignmentsRequest, resp *kmsg.AlterPartitionAssignmentsResponse) {
				*resp = tt.answer
			}))
			c := NewClient(s, Options{})
			got := c.Reassign(t.Context(), 1, []Move{{tp("orders", 0), []int32{1}}, {tp("orders", 1), nil}})
			if diff := cmp.Diff([]verdict{tt.move, tt.cancel}, []verdict{verdictOf(t, got[tp("orders", 0)]), verdictOf(t, got[tp("orders", 1)])}); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.words, fault.As(got[tp("orders", 1)]).Message); diff != "" {
				t.Error(diff)
			}
			gaps := []string{}
			if name == "not allowed" {
				gaps = []string{"ALTER on the Cluster, to move replicas"}
			}
			if diff := cmp.Diff(gaps, c.MissingPermissions()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The list shows everybody's; without the permission it is an error, for nobody may take that for none.
func TestReassignments(t *testing.T) {
	row := func(p int32) kmsg.ListPartitionReassignmentsResponseTopicPartition {
		return kmsg.ListPartitionReassignmentsResponseTopicPartition{Partition: p, Replicas: []int32{4, 1, 2}, AddingReplicas: []int32{4}, RemovingReplicas: []int32{2}}
	}
	answer := kmsg.ListPartitionReassignmentsResponse{Topics: []kmsg.ListPartitionReassignmentsResponseTopic{
		{Topic: "page-views", Partitions: []kmsg.ListPartitionReassignmentsResponseTopicPartition{row(10), row(9)}},
		{Topic: "orders", Partitions: []kmsg.ListPartitionReassignmentsResponseTopicPartition{row(0)}},
	}}
	s := scripted(kmsg.ListPartitionReassignments, reply(func(req *kmsg.ListPartitionReassignmentsRequest, resp *kmsg.ListPartitionReassignmentsResponse) {
		if req.Topics != nil {
			t.Error("the list names topics")
		}
		*resp = answer
	}))
	c := NewClient(s, Options{})
	got, err := c.Reassignments(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range got {
		names = append(names, fmt.Sprint(r.TopicPartition, r.Target(), r.Adding))
	}
	if diff := cmp.Diff([]string{"orders-0 [4 1] [4]", "page-views-9 [4 1] [4]", "page-views-10 [4 1] [4]"}, names); diff != "" {
		t.Error(diff)
	}
	answer = kmsg.ListPartitionReassignmentsResponse{ErrorCode: kerr.ClusterAuthorizationFailed.Code}
	_, err = c.Reassignments(t.Context(), 1)
	if diff := cmp.Diff(verdict{fault.Blocked, v1alpha1.ReasonNotAuthorized, false}, verdictOf(t, err)); diff != "" {
		t.Error(diff)
	}
	answer = kmsg.ListPartitionReassignmentsResponse{ErrorCode: kerr.RequestTimedOut.Code} // says nothing about permissions
	if _, err = c.Reassignments(t.Context(), 1); len(c.MissingPermissions()) != 1 {
		t.Errorf("missing %q after %v", c.MissingPermissions(), err)
	}
}

func electionAnswer(rows map[topic.TopicPartition]int16) func(int32, kmsg.Request) (kmsg.Response, error) {
	return reply(func(_ *kmsg.ElectLeadersRequest, resp *kmsg.ElectLeadersResponse) {
		for p, code := range rows {
			resp.Topics = append(resp.Topics, kmsg.ElectLeadersResponseTopic{
				Topic: p.Topic, Partitions: []kmsg.ElectLeadersResponseTopicPartition{{Partition: p.Partition, ErrorCode: code}},
			})
		}
	})
}

func TestElectPreferred(t *testing.T) {
	s := scripted(kmsg.ElectLeaders, electionAnswer(map[topic.TopicPartition]int16{
		tp("orders", 0): 0, tp("orders", 1): kerr.ElectionNotNeeded.Code, tp("orders", 2): kerr.PreferredLeaderNotAvailable.Code,
	}))
	asked := []topic.TopicPartition{tp("orders", 0), tp("orders", 1), tp("orders", 2), tp("orders", 3)}
	got, err := NewClient(s, Options{}).ElectPreferred(t.Context(), 1, asked)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 4 || got[tp("orders", 0)] != nil || got[tp("orders", 1)] != nil {
		t.Errorf("got %v", got)
	}
	if diff := cmp.Diff(verdict{fault.Waiting, v1alpha1.ReasonWaitingForBrokers, false}, verdictOf(t, got[tp("orders", 2)])); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(verdict{fault.Transient, v1alpha1.ReasonRequestRejected, true}, verdictOf(t, got[tp("orders", 3)])); diff != "" {
		t.Errorf("a partition without an answer: %s", diff)
	}
	req := s.sent[0].(*kmsg.ElectLeadersRequest)
	want := []kmsg.ElectLeadersRequestTopic{{Topic: "orders", Partitions: []int32{0, 1, 2, 3}}}
	if diff := cmp.Diff(want, req.Topics, cmp.AllowUnexported(kmsg.Tags{})); diff != "" || req.ElectionType != 0 {
		t.Errorf("type %d, %s", req.ElectionType, diff)
	}
}

// An election of nothing is one of everything to Kafka. It is never sent.
func TestElectNothing(t *testing.T) {
	s := scripted(kmsg.ElectLeaders, electionAnswer(nil))
	for _, none := range [][]topic.TopicPartition{nil, {}} {
		_, err := NewClient(s, Options{}).ElectPreferred(t.Context(), 1, none)
		if diff := cmp.Diff(verdict{fault.Invalid, v1alpha1.ReasonRequestRejected, false}, verdictOf(t, err)); diff != "" || len(s.sent) != 0 {
			t.Errorf("%d requests were sent, %s", len(s.sent), diff)
		}
	}
}

// An answer about more than was asked for is an alarm, and the rest is not sent.
func TestElectMoreThanAsked(t *testing.T) {
	s := scripted(kmsg.ElectLeaders, electionAnswer(map[topic.TopicPartition]int16{tp("orders", 0): 0, tp("payments", 4): 0}))
	asked := []topic.TopicPartition{tp("orders", 0)}
	for i := range int32(MaxTopics) {
		asked = append(asked, tp("page-views", i))
	}
	got, err := NewClient(s, Options{}).ElectPreferred(t.Context(), 1, asked)
	if diff := cmp.Diff(verdict{fault.Blocked, v1alpha1.ReasonRequestRejected, true}, verdictOf(t, err)); diff != "" {
		t.Error(diff)
	}
	if got[tp("orders", 0)] != nil || len(s.sent) != 1 {
		t.Errorf("%v after %d requests, want 1", got[tp("orders", 0)], len(s.sent))
	}
}

func TestElectDenied(t *testing.T) {
	s := scripted(kmsg.ElectLeaders, reply(func(_ *kmsg.ElectLeadersRequest, resp *kmsg.ElectLeadersResponse) {
		resp.ErrorCode = kerr.ClusterAuthorizationFailed.Code
	}))
	c := NewClient(s, Options{})
	got, err := c.ElectPreferred(context.Background(), 1, []topic.TopicPartition{tp("orders", 0)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(verdict{fault.Blocked, v1alpha1.ReasonNotAuthorized, false}, verdictOf(t, got[tp("orders", 0)])); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(c.MissingPermissions(), []string{"ALTER on the Cluster, to make preferred replicas leaders again"}) {
		t.Errorf("missing %q", c.MissingPermissions())
	}
}

// Only what changes nothing may be sent a second time over a new connection.
func TestReadsAndWrites(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.DescribeLogDirs, kmsg.ListPartitionReassignments, kmsg.DescribeConfigs} {
		if !isRead(kmsg.RequestForKey(key.Int16())) {
			t.Errorf("%s counts as a write", key.Name())
		}
	}
	for _, key := range []kmsg.Key{kmsg.AlterPartitionAssignments, kmsg.ElectLeaders, kmsg.IncrementalAlterConfigs} {
		if isRead(kmsg.RequestForKey(key.Int16())) {
			t.Errorf("%s counts as a read", key.Name())
		}
	}
}
