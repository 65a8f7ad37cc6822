package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
)

func TestTopics(t *testing.T) {
	offline := healthy("offline", 1)
	offline.Partitions[0] = partitionRow{
		LeaderID: -1, LeaderEpoch: 5, Replicas: []int32{1, 3, 5}, ISR: []int32{},
		EligibleLeaderReplicas: []int32{1, 5}, LastKnownELR: []int32{1},
	}
	w := newWorld(healthy("orders", 2), offline)
	w.configs["orders"] = kmsg.DescribeConfigsResponseResource{Configs: []kmsg.DescribeConfigsResponseResourceConfig{
		{Name: "min.insync.replicas", Value: new("2"), ConfigType: kmsg.ConfigTypeInt, Source: kmsg.ConfigSourceDynamicTopicConfig},
		{Name: "unclean.leader.election.enable", Value: new("false"), ConfigType: kmsg.ConfigTypeBoolean, Source: kmsg.ConfigSourceDynamicDefaultBrokerConfig, ReadOnly: true},
	}}
	c := NewClient(w, Options{})
	got, err := c.Topics(t.Context(), 3, []topic.Ask{{Name: "orders", Keys: []string{"min.insync.replicas"}}, {Name: "nothing"}, {Name: "offline"}})
	if err != nil {
		t.Fatal(err)
	}
	part := func(i int32) topic.Partition {
		return topic.Partition{Index: i, Leader: 1, LeaderEpoch: 4, Replicas: []int32{1, 2, 3}, ISR: []int32{1, 2, 3}}
	}
	want := map[string]topic.Read{
		"orders": {Topic: &topic.Topic{Name: "orders", ID: topic.ID{6, 7}, Partitions: []topic.Partition{part(0), part(1)}, Configs: map[string]topic.Config{
			"min.insync.replicas":            {Value: "2", Type: topic.TypeInt, OnTopic: true},
			"unclean.leader.election.enable": {Value: "false", Type: topic.TypeBoolean, ReadOnly: true},
		}}},
		"nothing": {Unknown: true},
		"offline": {Topic: &topic.Topic{Name: "offline", ID: topic.ID{7, 7}, Partitions: []topic.Partition{{
			Leader: topic.NoLeader, LeaderEpoch: 5, Replicas: []int32{1, 3, 5}, ISR: []int32{}, ELR: []int32{1, 5}, LastKnownELR: []int32{1},
		}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, to := range w.to {
		if to != 3 {
			t.Errorf("a request went to broker %d, want all at 3", to)
		}
	}
	if _, asked := w.askedConfigs["offline"]; asked {
		t.Error("configs of a topic without keys were asked for, which means all of them")
	}
}

func TestTopicsAsksNothingForNothing(t *testing.T) {
	w := newWorld(healthy("orders", 1))
	got, err := NewClient(w, Options{}).Topics(t.Context(), 1, nil)
	if err != nil || len(got) != 0 || len(w.sent) != 0 {
		t.Errorf("got %v, %v with %d requests; want nothing", got, err, len(w.sent))
	}
}

func TestTopicsPages(t *testing.T) {
	rows := []row{healthy("big", 4100), healthy("exact", 2000)}
	var names []string
	for i := range 1100 {
		r := healthy(fmt.Sprintf("t%04d", i), 3)
		rows, names = append(rows, r), append(names, *r.Topic)
	}
	w := newWorld(rows...)
	names = append(names, "exact", "big", "absent")
	got, err := NewClient(w, Options{}).Topics(t.Context(), 1, asksOf([]string{"min.insync.replicas"}, names...))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1103 {
		t.Fatalf("got %d topics, want 1103", len(got))
	}
	for name, read := range got {
		want := map[string]int{"big": 4100, "exact": 2000, "absent": 0}
		n, special := want[name]
		if !special {
			n = 3
		}
		if name == "absent" {
			if !read.Unknown {
				t.Errorf("absent: %v, want unknown", read)
			}
			continue
		}
		if read.Topic == nil || len(read.Topic.Partitions) != n || len(read.Topic.Configs) != 1 {
			t.Fatalf("%s: not read whole: %v", name, read.Err)
		}
	}
	for _, r := range w.sent {
		switch r := r.(type) {
		case *kmsg.DescribeTopicPartitionsRequest:
			if len(r.Topics) == 0 || len(r.Topics) > 500 || r.ResponsePartitionLimit != 2000 {
				t.Errorf("a page names %d topics with limit %d", len(r.Topics), r.ResponsePartitionLimit)
			}
			if r.Cursor != nil && r.Topics[0].Topic != r.Cursor.Topic {
				t.Errorf("the topic of the cursor is not the first one named")
			}
		case *kmsg.DescribeConfigsRequest:
			if len(r.Resources) > 500 {
				t.Errorf("%d topics in one request for configs", len(r.Resources))
			}
		}
	}
	if n := w.count(kmsg.DescribeConfigs); n != 3 {
		t.Errorf("%d requests for configs, want 3", n)
	}
}

// What is wrong with one topic is told about that topic only.
func TestTopicsErrors(t *testing.T) {
	unclassified := healthy("sick-partition", 2)
	unclassified.Partitions[1].ErrorCode = kerr.UnknownServerError.Code
	gap := healthy("gap", 3)
	gap.Partitions = slices.Delete(gap.Partitions, 1, 2)
	leaderless := healthy("no-listener", 1)
	leaderless.Partitions[0].ErrorCode = kerr.ListenerNotFound.Code
	w := newWorld(healthy("good", 1), unclassified, gap, leaderless, healthy("secret-configs", 1), healthy("lost-configs", 1), row{Topic: new("empty")},
		row{Topic: new("secret"), ErrorCode: kerr.TopicAuthorizationFailed.Code}, row{Topic: new("a b"), ErrorCode: kerr.InvalidTopicException.Code})
	w.configs["secret-configs"] = kmsg.DescribeConfigsResponseResource{ErrorCode: kerr.TopicAuthorizationFailed.Code}
	w.configs["lost-configs"] = kmsg.DescribeConfigsResponseResource{ResourceName: "gone"}
	got, err := NewClient(w, Options{}).Topics(t.Context(), 1, asksOf([]string{"k"}, "good", "sick-partition", "gap", "no-listener", "secret-configs", "lost-configs", "empty", "secret", "a b"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]verdict{
		"sick-partition": {fault.Transient, v1alpha1.ReasonRequestRejected, false},
		"gap":            {fault.Transient, v1alpha1.ReasonNotObservedYet, false},
		"empty":          {fault.Transient, v1alpha1.ReasonRequestRejected, false},
		"secret-configs": {fault.Blocked, v1alpha1.ReasonNotAuthorized, false},
		"lost-configs":   {fault.Transient, v1alpha1.ReasonRequestRejected, false},
		"secret":         {fault.Blocked, v1alpha1.ReasonNotAuthorized, false},
		"a b":            {fault.Invalid, v1alpha1.ReasonTopicNameInvalid, false},
	}
	failed := map[string]verdict{}
	for name, read := range got {
		switch {
		case read.Err != nil && read.Topic == nil && !read.Unknown:
			failed[name] = verdictOf(t, read.Err)
		case read.Topic == nil || read.Err != nil:
			t.Errorf("%s: more or less than one of the fields is set: %+v", name, read)
		}
	}
	if diff := cmp.Diff(want, failed); diff != "" {
		t.Error(diff)
	}
	if got["secret-configs"].Err == nil || !strings.Contains(got["secret-configs"].Err.Error(), "DESCRIBE_CONFIGS on Topic secret-configs") {
		t.Errorf("the permission is not named: %v", got["secret-configs"].Err)
	}
}

func TestTopicsReassignments(t *testing.T) {
	type listed = kmsg.ListPartitionReassignmentsResponse
	list := func(topicName string, replicas, adding, removing []int32) listed {
		return listed{Topics: []kmsg.ListPartitionReassignmentsResponseTopic{{
			Topic: topicName, Partitions: []kmsg.ListPartitionReassignmentsResponseTopicPartition{{
				Partition: 0, Replicas: replicas, AddingReplicas: adding, RemovingReplicas: removing,
			}},
		}}}
	}
	moving := healthy("moving", 1)
	moving.Partitions[0].Replicas = []int32{1, 2, 4, 3}
	running := list("moving", []int32{1, 2, 4, 3}, []int32{4}, []int32{3})
	tests := map[string]struct {
		row        row
		lists      []listed
		wantTarget []int32
		wantMoving bool
		wantLists  int
		wantGap    []string
	}{
		"none, all in sync":           {healthy("moving", 1), []listed{{}}, []int32{1, 2, 3}, false, 1, []string{}},
		"running":                     {moving, []listed{running}, []int32{1, 2, 4}, true, 1, []string{}},
		"began between the requests":  {moving, []listed{{}, running}, []int32{1, 2, 4}, true, 2, []string{}},
		"ended between the requests":  {healthy("moving", 1), []listed{running}, []int32{1, 2, 3}, false, 1, []string{}},
		"of another topic":            {healthy("moving", 1), []listed{list("other", []int32{1, 2, 3}, []int32{3}, nil)}, []int32{1, 2, 3}, false, 1, []string{}},
		"not in sync for other cause": {moving, []listed{{}}, []int32{1, 2, 4, 3}, false, 2, []string{}},
		"not allowed to see": {healthy("moving", 1), []listed{{ErrorCode: kerr.ClusterAuthorizationFailed.Code}}, []int32{1, 2, 3}, false, 1,
			[]string{"DESCRIBE on the Cluster, to see reassignments"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(tt.row)
			w.reassigning = tt.lists
			c := NewClient(w, Options{})
			got, err := c.Topics(t.Context(), 1, asksOf(nil, "moving"))
			if err != nil || got["moving"].Topic == nil {
				t.Fatalf("got %v, %v", got, err)
			}
			p := got["moving"].Topic.Partitions[0]
			if diff := cmp.Diff(tt.wantTarget, p.Target()); diff != "" {
				t.Error(diff)
			}
			if p.Reassigning() != tt.wantMoving {
				t.Errorf("reassigning is %v, want %v", p.Reassigning(), tt.wantMoving)
			}
			if n := w.count(kmsg.ListPartitionReassignments); n != tt.wantLists {
				t.Errorf("%d lists were read, want %d", n, tt.wantLists)
			}
			if diff := cmp.Diff(tt.wantGap, c.MissingPermissions()); diff != "" {
				t.Errorf("missing permissions: %s", diff)
			}
			for _, r := range w.sent {
				if l, ok := r.(*kmsg.ListPartitionReassignmentsRequest); ok && l.Topics != nil {
					t.Error("the list names topics, which an empty set would make none")
				}
			}
		})
	}
}

// A permission that was granted is no longer missing.
func TestMissingPermissionHeals(t *testing.T) {
	w := newWorld(healthy("orders", 1))
	w.reassigning = []kmsg.ListPartitionReassignmentsResponse{{ErrorCode: kerr.ClusterAuthorizationFailed.Code}, {}}
	c := NewClient(w, Options{})
	for _, want := range []int{1, 0} {
		if _, err := c.Topics(t.Context(), 1, asksOf(nil, "orders")); err != nil {
			t.Fatal(err)
		}
		if got := c.MissingPermissions(); len(got) != want {
			t.Errorf("missing %q, want %d", got, want)
		}
	}
}

// Any request that gets no answer fails the read as a whole.
func TestTopicsUnanswered(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.DescribeTopicPartitions, kmsg.DescribeConfigs, kmsg.ListPartitionReassignments} {
		t.Run(key.Name(), func(t *testing.T) {
			w := newWorld(healthy("orders", 1))
			w.answers[key] = refuse(context.DeadlineExceeded)
			_, err := NewClient(w, Options{}).Topics(t.Context(), 1, asksOf([]string{"k"}, "orders"))
			if diff := cmp.Diff(verdict{fault.Transient, v1alpha1.ReasonConnectionTimedOut, false}, verdictOf(t, err)); diff != "" {
				t.Error(diff)
			}
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the cause is lost: %v", err)
			}
		})
	}
}

// A cursor that stands still must not go round for ever.
func TestTopicsCursorStandsStill(t *testing.T) {
	w := newWorld()
	w.answers[kmsg.DescribeTopicPartitions] = reply(func(_ *kmsg.DescribeTopicPartitionsRequest, resp *kmsg.DescribeTopicPartitionsResponse) {
		resp.NextCursor = &kmsg.DescribeTopicPartitionsResponseNextCursor{Topic: "orders", Partition: 1}
	})
	if _, err := NewClient(w, Options{}).Topics(t.Context(), 1, asksOf(nil, "orders")); err == nil {
		t.Error("want an error")
	}
	if n := w.count(kmsg.DescribeTopicPartitions); n != 2 {
		t.Errorf("%d pages were read, want 2", n)
	}
}

// A topic that is replaced between two of its pages is not put together from both.
func TestTopicsReplacedBetweenPages(t *testing.T) {
	w := newWorld(healthy("orders", 2500))
	first := w.answers[kmsg.DescribeTopicPartitions]
	w.answers[kmsg.DescribeTopicPartitions] = func(b int32, req kmsg.Request) (kmsg.Response, error) {
		resp, err := first(b, req)
		r := w.rows["orders"]
		r.TopicID = [16]byte{99}
		w.rows["orders"] = r
		return resp, err
	}
	got, err := NewClient(w, Options{}).Topics(t.Context(), 1, asksOf(nil, "orders"))
	if err != nil {
		t.Fatal(err)
	}
	if got["orders"].Topic != nil || got["orders"].Err == nil {
		t.Errorf("got %+v, want an error", got["orders"])
	}
}

func TestListing(t *testing.T) {
	spread := healthy("spread", 2)
	spread.Partitions[1].Replicas = []int32{4, 1, 2}
	w := newWorld(healthy("big", 2100), spread, row{Topic: new("hidden"), ErrorCode: kerr.TopicAuthorizationFailed.Code})
	got, err := NewClient(w, Options{}).Listing(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	want := &topic.Listing{
		Names: map[string]topic.ID{"big": {3, 7}, "spread": {6, 7}},
		Load: map[int32]topic.Load{
			1: {Replicas: 2102, Leaders: 2101}, 2: {Replicas: 2102}, 3: {Replicas: 2101}, 4: {Replicas: 1, Leaders: 1},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := w.count(kmsg.DescribeTopicPartitions); n != 2 {
		t.Errorf("%d pages were read, want 2", n)
	}
}
