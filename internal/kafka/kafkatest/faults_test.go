package kafkatest_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/kafka/kafkatest"
)

func TestCreateFaults(t *testing.T) {
	timedOut := kerr.RequestTimedOut.Code
	for name, c := range map[string]struct {
		fault kafkatest.Fault
		want  map[string]string // codes; nil if the request fails
		fails error
		exist []string
	}{
		"one topic": {
			fault: kafkatest.Fault{Topic: "b", Code: kerr.PolicyViolation.Code},
			want:  map[string]string{"a": "NONE", "b": "POLICY_VIOLATION"}, exist: []string{"a"},
		},
		"one topic, applied": {
			fault: kafkatest.Fault{Topic: "b", Code: timedOut, Applied: true},
			want:  map[string]string{"a": "NONE", "b": "REQUEST_TIMED_OUT"}, exist: []string{"a", "b"},
		},
		"every topic": {
			fault: kafkatest.Fault{Code: timedOut},
			want:  map[string]string{"a": "REQUEST_TIMED_OUT", "b": "REQUEST_TIMED_OUT"},
		},
		"top level": {
			fault: kafkatest.Fault{TopLevel: true, Code: kerr.NotController.Code},
			want:  map[string]string{"a": "NOT_CONTROLLER", "b": "NOT_CONTROLLER"},
		},
		"top level, applied": {
			fault: kafkatest.Fault{TopLevel: true, Applied: true, Code: timedOut},
			want:  map[string]string{"a": "REQUEST_TIMED_OUT", "b": "REQUEST_TIMED_OUT"}, exist: []string{"a", "b"},
		},
		"dropped":              {fault: kafkatest.Fault{Drop: true}, fails: io.EOF, exist: []string{"a", "b"}},
		"lost":                 {fault: kafkatest.Fault{Lose: true}, fails: io.EOF},
		"hanging":              {fault: kafkatest.Fault{Hang: true}, fails: context.DeadlineExceeded},
		"hanging, applied":     {fault: kafkatest.Fault{Hang: true, Applied: true}, fails: context.DeadlineExceeded, exist: []string{"a", "b"}},
		"whole, by topic":      {fault: kafkatest.Fault{Topic: "b", Lose: true}, fails: io.EOF},
		"whole, another topic": {fault: kafkatest.Fault{Topic: "z", Lose: true}, want: map[string]string{"a": "NONE", "b": "NONE"}, exist: []string{"a", "b"}},
		"another broker":       {fault: kafkatest.Fault{Broker: 2, Lose: true}, want: map[string]string{"a": "NONE", "b": "NONE"}, exist: []string{"a", "b"}},
		"another kind of request": {
			fault: kafkatest.Fault{Lose: true, When: func(r kmsg.Request) bool { return r.(*kmsg.CreateTopicsRequest).ValidateOnly }},
			want:  map[string]string{"a": "NONE", "b": "NONE"}, exist: []string{"a", "b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := kafkatest.New(kafkatest.Options{})
				c.fault.APIKey = kmsg.CreateTopics
				cluster.Fail(c.fault)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				resp, err := cluster.Wire().Request(ctx, 1, createRequest("a", "b"))
				if !errors.Is(err, c.fails) {
					t.Fatalf("error is %v, want %v", err, c.fails)
				}
				if err == nil {
					equal(t, "codes", c.want, codesOf(resp))
				}
				equal(t, "topics", c.exist, cluster.TopicNames())
			})
		})
	}
}

func TestFaultCounts(t *testing.T) {
	for name, c := range map[string]struct {
		count int
		want  []string
	}{
		"once":   {0, []string{"REQUEST_TIMED_OUT", "NONE", "NONE"}},
		"twice":  {2, []string{"REQUEST_TIMED_OUT", "REQUEST_TIMED_OUT", "NONE"}},
		"always": {kafkatest.Always, []string{"REQUEST_TIMED_OUT", "REQUEST_TIMED_OUT", "REQUEST_TIMED_OUT"}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := seed(kafkatest.Options{}, "orders")
			f := cluster.Fail(kafkatest.Fault{APIKey: kmsg.IncrementalAlterConfigs, Topic: "orders", Code: kerr.RequestTimedOut.Code, Count: c.count})
			var got []string
			for range 3 {
				got = append(got, alterCode(t, cluster, "orders", "retention.ms", "1"))
			}
			equal(t, "codes", c.want, got)
			struck := 0
			for _, x := range c.want {
				if x != "NONE" {
					struck++
				}
			}
			equal(t, "hits", struck, f.Hits())
			f.Remove()
			equal(t, "after removal", "NONE", alterCode(t, cluster, "orders", "retention.ms", "1"))
		})
	}
}

// TestItemFaults: every API with items fails one topic and answers for the other.
func TestItemFaults(t *testing.T) {
	move := moveRequest("a", []int32{1, 3, 5})
	move.Topics = append(move.Topics, moveRequest("b", []int32{3, 1, 5}).Topics...)
	alter := alterRequest("a", "retention.ms", "1")
	alter.Resources = append(alter.Resources, alterRequest("b", "retention.ms", "1").Resources...)
	configs := describeConfigsRequest("a", "retention.ms")
	configs.Resources = append(configs.Resources, describeConfigsRequest("b", "retention.ms").Resources...)
	elect := electRequest(0, "a")
	elect.Topics = append(elect.Topics, electRequest(0, "b").Topics...)
	remove := kmsg.NewPtrDeleteTopicsRequest()
	grow := kmsg.NewPtrCreatePartitionsRequest()
	metadata := kmsg.NewPtrMetadataRequest()
	for _, name := range []string{"a", "b"} {
		d := kmsg.NewDeleteTopicsRequestTopic()
		d.Topic = &name
		remove.Topics = append(remove.Topics, d)
		g := kmsg.NewCreatePartitionsRequestTopic()
		g.Topic, g.Count = name, 2
		grow.Topics = append(grow.Topics, g)
		m := kmsg.NewMetadataRequestTopic()
		m.Topic = &name
		metadata.Topics = append(metadata.Topics, m)
	}
	for name, c := range map[string]struct {
		req   kmsg.Request
		wantA string
	}{
		"CreateTopics":              {createRequest("a", "b"), "TOPIC_ALREADY_EXISTS"},
		"CreatePartitions":          {grow, "NONE"},
		"DeleteTopics":              {remove, "NONE"},
		"IncrementalAlterConfigs":   {alter, "NONE"},
		"AlterPartitionAssignments": {move, "NONE"},
		"ElectLeaders":              {elect, "ELECTION_NOT_NEEDED"},
		"DescribeConfigs":           {configs, "NONE"},
		"DescribeTopicPartitions":   {describeRequest("a", "b"), "NONE"},
		"all topics":                {describeRequest(), "NONE"},
		"Metadata":                  {metadata, "NONE"},
		"ListOffsets":               {offsetsRequest(-1, "a", "b"), "NONE"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := seed(kafkatest.Options{}, "a", "b")
			cluster.Fail(kafkatest.Fault{APIKey: kmsg.Key(c.req.Key()), Topic: "b", Code: kerr.ThrottlingQuotaExceeded.Code, ThrottleMillis: 700})
			before, _ := cluster.Topic("b")
			resp := ask[kmsg.Response](t, cluster, 1, c.req)
			equal(t, "codes", map[string]string{"a": c.wantA, "b": "THROTTLING_QUOTA_EXCEEDED"}, codesOf(resp))
			after, _ := cluster.Topic("b")
			equal(t, "the failed topic", before, after)
			if d, ok := resp.(kmsg.ThrottleResponse); ok {
				millis, _ := d.Throttle()
				equal(t, "throttle", 700, millis)
			}
		})
	}
}

// codesOf gives the code of each topic or resource in an answer, that of the first partition where only those have one.
func codesOf(resp kmsg.Response) map[string]string {
	switch r := resp.(type) {
	case *kmsg.CreateTopicsResponse:
		return codes(r.Topics, func(t kmsg.CreateTopicsResponseTopic) (string, int16) { return t.Topic, t.ErrorCode })
	case *kmsg.CreatePartitionsResponse:
		return codes(r.Topics, func(t kmsg.CreatePartitionsResponseTopic) (string, int16) { return t.Topic, t.ErrorCode })
	case *kmsg.DeleteTopicsResponse:
		return codes(r.Topics, func(t kmsg.DeleteTopicsResponseTopic) (string, int16) { return *t.Topic, t.ErrorCode })
	case *kmsg.IncrementalAlterConfigsResponse:
		return codes(r.Resources, func(t kmsg.IncrementalAlterConfigsResponseResource) (string, int16) {
			return t.ResourceName, t.ErrorCode
		})
	case *kmsg.AlterPartitionAssignmentsResponse:
		return codes(r.Topics, func(t kmsg.AlterPartitionAssignmentsResponseTopic) (string, int16) {
			return t.Topic, t.Partitions[0].ErrorCode
		})
	case *kmsg.ElectLeadersResponse:
		return codes(r.Topics, func(t kmsg.ElectLeadersResponseTopic) (string, int16) { return t.Topic, t.Partitions[0].ErrorCode })
	case *kmsg.ListOffsetsResponse:
		return codes(r.Topics, func(t kmsg.ListOffsetsResponseTopic) (string, int16) { return t.Topic, t.Partitions[0].ErrorCode })
	case *kmsg.DescribeConfigsResponse:
		return codes(r.Resources, func(t kmsg.DescribeConfigsResponseResource) (string, int16) { return t.ResourceName, t.ErrorCode })
	case *kmsg.DescribeTopicPartitionsResponse:
		return codes(r.Topics, func(t kmsg.DescribeTopicPartitionsResponseTopic) (string, int16) { return *t.Topic, t.ErrorCode })
	case *kmsg.MetadataResponse:
		return codes(r.Topics, func(t kmsg.MetadataResponseTopic) (string, int16) { return *t.Topic, t.ErrorCode })
	}
	return nil
}

func codes[T any](items []T, of func(T) (string, int16)) map[string]string {
	out := map[string]string{}
	for _, item := range items {
		name, c := of(item)
		out[name] = code(c)
	}
	return out
}

func TestTopLevelCodes(t *testing.T) {
	const want = "CLUSTER_AUTHORIZATION_FAILED"
	for name, req := range map[string]kmsg.Request{
		"DescribeCluster":            kmsg.NewPtrDescribeClusterRequest(),
		"ListPartitionReassignments": kmsg.NewPtrListPartitionReassignmentsRequest(),
		"AlterPartitionAssignments":  moveRequest("a", []int32{1}),
		"ElectLeaders":               electRequest(0, "a"),
		"ApiVersions":                kmsg.NewPtrApiVersionsRequest(),
	} {
		t.Run(name, func(t *testing.T) {
			cluster := seed(kafkatest.Options{}, "a")
			cluster.Fail(kafkatest.Fault{APIKey: kmsg.Key(req.Key()), TopLevel: true, Code: kerr.ClusterAuthorizationFailed.Code})
			var got int16
			switch r := ask[kmsg.Response](t, cluster, 1, req).(type) {
			case *kmsg.DescribeClusterResponse:
				got = r.ErrorCode
			case *kmsg.ListPartitionReassignmentsResponse:
				got = r.ErrorCode
			case *kmsg.AlterPartitionAssignmentsResponse:
				got = r.ErrorCode
				equal(t, "partition", want, code(r.Topics[0].Partitions[0].ErrorCode))
			case *kmsg.ElectLeadersResponse:
				got = r.ErrorCode
				equal(t, "partition", want, code(r.Topics[0].Partitions[0].ErrorCode))
			case *kmsg.ApiVersionsResponse:
				got = r.ErrorCode
			}
			equal(t, "code", want, code(got))
		})
	}
}

func TestImpossibleFaultsPanic(t *testing.T) {
	for name, f := range map[string]kafkatest.Fault{
		"unknown API":       {APIKey: kmsg.Fetch, Lose: true},
		"API without items": {APIKey: kmsg.DescribeCluster, Code: 1},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic")
				}
			}()
			kafkatest.New(kafkatest.Options{}).Fail(f)
		})
	}
}

func TestClearFaults(t *testing.T) {
	c := seed(kafkatest.Options{}, "orders")
	c.Fail(kafkatest.Fault{APIKey: kmsg.IncrementalAlterConfigs, Code: kerr.UnknownServerError.Code, Count: kafkatest.Always})
	c.Fail(kafkatest.Fault{APIKey: kmsg.IncrementalAlterConfigs, Lose: true, Count: kafkatest.Always})
	c.ClearFaults()
	equal(t, "code", "NONE", alterCode(t, c, "orders", "retention.ms", "1"))
}
