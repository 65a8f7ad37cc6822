package kafka

import (
	"context"
	"errors"
	"fmt"
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

func scripted(key kmsg.Key, answer func(int32, kmsg.Request) (kmsg.Response, error)) *script {
	return &script{answers: map[kmsg.Key]func(int32, kmsg.Request) (kmsg.Response, error){key: answer}}
}

// write is one of the writes for n topics t0, t1, ..., reduced to what they have in common.
var writes = map[kmsg.Key]struct {
	do func(ctx context.Context, c *Client, names []string) map[string]error
	// answer makes an answer with a row for each name and code, and for a stranger.
	answer func(codes map[string]int16, words string, throttle int32) func(int32, kmsg.Request) (kmsg.Response, error)
}{
	kmsg.CreateTopics: {
		do: func(ctx context.Context, c *Client, names []string) map[string]error {
			var topics []NewTopic
			for _, n := range names {
				topics = append(topics, NewTopic{Name: n, Assignments: [][]int32{{1, 2, 3}}})
			}
			got := map[string]error{}
			for name, created := range c.CreateTopics(ctx, 4, topics) {
				got[name] = created.Err
			}
			return got
		},
		answer: func(codes map[string]int16, words string, throttle int32) func(int32, kmsg.Request) (kmsg.Response, error) {
			return reply(func(_ *kmsg.CreateTopicsRequest, resp *kmsg.CreateTopicsResponse) {
				resp.ThrottleMillis = throttle
				for name, code := range codes {
					resp.Topics = append(resp.Topics, kmsg.CreateTopicsResponseTopic{Topic: name, ErrorCode: code, ErrorMessage: &words})
				}
			})
		},
	},
	kmsg.IncrementalAlterConfigs: {
		do: func(ctx context.Context, c *Client, names []string) map[string]error {
			var alterations []Alteration
			for _, n := range names {
				alterations = append(alterations, Alteration{Topic: n, Set: map[string]string{"k": "v"}})
			}
			return c.AlterConfigs(ctx, 4, alterations)
		},
		answer: func(codes map[string]int16, words string, throttle int32) func(int32, kmsg.Request) (kmsg.Response, error) {
			return reply(func(_ *kmsg.IncrementalAlterConfigsRequest, resp *kmsg.IncrementalAlterConfigsResponse) {
				resp.ThrottleMillis = throttle
				for name, code := range codes {
					resp.Resources = append(resp.Resources, kmsg.IncrementalAlterConfigsResponseResource{
						ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: name, ErrorCode: code, ErrorMessage: &words,
					})
				}
			})
		},
	},
	kmsg.AlterPartitionAssignments: {
		do: func(ctx context.Context, c *Client, names []string) map[string]error {
			var moves []Move
			for _, n := range names {
				moves = append(moves, Move{tp(n, 0), []int32{1, 2}})
			}
			return byName(c.Reassign(ctx, 4, moves))
		},
		answer: func(codes map[string]int16, words string, throttle int32) func(int32, kmsg.Request) (kmsg.Response, error) {
			return reply(func(_ *kmsg.AlterPartitionAssignmentsRequest, resp *kmsg.AlterPartitionAssignmentsResponse) {
				resp.ThrottleMillis = throttle
				for name, code := range codes {
					row := kmsg.AlterPartitionAssignmentsResponseTopicPartition{ErrorCode: code, ErrorMessage: &words}
					resp.Topics = append(resp.Topics, kmsg.AlterPartitionAssignmentsResponseTopic{
						Topic: name, Partitions: []kmsg.AlterPartitionAssignmentsResponseTopicPartition{row},
					})
				}
			})
		},
	},
	kmsg.ElectLeaders: {
		do: func(ctx context.Context, c *Client, names []string) map[string]error {
			var partitions []topic.TopicPartition
			for _, n := range names {
				partitions = append(partitions, tp(n, 0))
			}
			got, _ := c.ElectPreferred(ctx, 4, partitions)
			return byName(got)
		},
		answer: func(codes map[string]int16, words string, throttle int32) func(int32, kmsg.Request) (kmsg.Response, error) {
			return reply(func(_ *kmsg.ElectLeadersRequest, resp *kmsg.ElectLeadersResponse) {
				resp.ThrottleMillis = throttle
				for name, code := range codes {
					row := kmsg.ElectLeadersResponseTopicPartition{ErrorCode: code, ErrorMessage: &words}
					resp.Topics = append(resp.Topics, kmsg.ElectLeadersResponseTopic{
						Topic: name, Partitions: []kmsg.ElectLeadersResponseTopicPartition{row},
					})
				}
			})
		},
	},
	kmsg.CreatePartitions: {
		do: func(ctx context.Context, c *Client, names []string) map[string]error {
			var topics []NewPartitions
			for _, n := range names {
				topics = append(topics, NewPartitions{Topic: n, Total: 6})
			}
			return c.CreatePartitions(ctx, 4, topics)
		},
		answer: func(codes map[string]int16, words string, throttle int32) func(int32, kmsg.Request) (kmsg.Response, error) {
			return reply(func(_ *kmsg.CreatePartitionsRequest, resp *kmsg.CreatePartitionsResponse) {
				resp.ThrottleMillis = throttle
				for name, code := range codes {
					resp.Topics = append(resp.Topics, kmsg.CreatePartitionsResponseTopic{Topic: name, ErrorCode: code, ErrorMessage: &words})
				}
			})
		},
	},
}

// verdicts gives the verdict on each topic; those that are done have none.
func verdicts(t *testing.T, outcome map[string]error) map[string]verdict {
	t.Helper()
	got := map[string]verdict{}
	for name, err := range outcome {
		if err != nil {
			got[name] = verdictOf(t, err)
		}
	}
	return got
}

// One topic's refusal is that topic's alone; a row that the answer lacks may have been applied.
func TestWriteMixedAnswers(t *testing.T) {
	for key, w := range writes {
		t.Run(key.Name(), func(t *testing.T) {
			var names []string
			codes := map[string]int16{"stranger": kerr.UnknownServerError.Code}
			for i := range 100 {
				name := fmt.Sprintf("t%d", i)
				names, codes[name] = append(names, name), 0
			}
			codes["t57"], codes["t58"] = kerr.InvalidConfig.Code, kerr.TopicAuthorizationFailed.Code
			codes["t60"] = kerr.RequestTimedOut.Code
			codes["t61"] = kerr.PolicyViolation.Code
			delete(codes, "t59")
			s := scripted(key, w.answer(codes, "x", 0))
			got := w.do(t.Context(), NewClient(s, Options{}), names)
			if len(got) != 100 {
				t.Errorf("%d outcomes, want 100", len(got))
			}
			want := map[string]verdict{
				"t57": {fault.Invalid, v1alpha1.ReasonConfigRejected, false},
				"t58": {fault.Blocked, v1alpha1.ReasonNotAuthorized, false},
				"t59": {fault.Transient, v1alpha1.ReasonRequestRejected, true},
				"t60": {fault.Transient, v1alpha1.ReasonConnectionTimedOut, true},
				"t61": {fault.Blocked, v1alpha1.ReasonPolicyViolation, false},
			}
			if diff := cmp.Diff(want, verdicts(t, got)); diff != "" {
				t.Error(diff)
			}
			if f := fault.As(got["t61"]); f.Detail != "x" {
				t.Errorf("the policy's words are lost: %v", f)
			}
			if len(s.sent) != 1 || s.to[0] != 4 {
				t.Errorf("%d requests to %v, want one to broker 4", len(s.sent), s.to)
			}
		})
	}
}

func TestWriteUnanswered(t *testing.T) {
	for key, w := range writes {
		t.Run(key.Name(), func(t *testing.T) {
			for _, cause := range []error{context.DeadlineExceeded, errConnectionLost, errUnknownBroker} {
				s := scripted(key, refuse(cause))
				got := w.do(t.Context(), NewClient(s, Options{}), []string{"a", "b"})
				if len(got) != 2 || len(s.sent) != 1 {
					t.Errorf("%d outcomes of %d requests, want 2 of 1", len(got), len(s.sent))
				}
				for name, err := range got {
					if f := fault.As(err); f.Class != fault.Transient || !f.Uncertain || f.Reason == "" || !errors.Is(err, cause) {
						t.Errorf("%s: got %+v, want transient and uncertain", name, f)
					}
				}
			}
			s := scripted(key, func(int32, kmsg.Request) (kmsg.Response, error) { return kmsg.NewPtrMetadataResponse(), nil })
			for name, err := range w.do(t.Context(), NewClient(s, Options{}), []string{"a"}) {
				if f := fault.As(err); f == nil || !f.Uncertain {
					t.Errorf("%s: an answer of another kind gave %v", name, f)
				}
			}
		})
	}
}

func TestWriteNothing(t *testing.T) {
	for key, w := range writes {
		s := scripted(key, refuse(errors.New("asked")))
		if got := w.do(t.Context(), NewClient(s, Options{}), nil); len(got) != 0 || len(s.sent) != 0 {
			t.Errorf("%s of nothing: %v with %d requests", key.Name(), got, len(s.sent))
		}
	}
}

// What one operation of the controller cannot hold is not sent, and is the declaration's fault; others go on.
func TestWriteTooLarge(t *testing.T) {
	giant := NewTopic{Name: "giant", Assignments: make([][]int32, 10_000)}
	largest := NewTopic{Name: "largest", Assignments: make([][]int32, 9_999)}
	s := scripted(kmsg.CreateTopics, writes[kmsg.CreateTopics].answer(map[string]int16{"largest": 0}, "", 0))
	got := NewClient(s, Options{}).CreateTopics(t.Context(), 1, []NewTopic{giant, largest})
	want := map[string]verdict{"giant": {fault.Invalid, v1alpha1.ReasonTooManyPartitions, false}}
	if diff := cmp.Diff(want, verdicts(t, map[string]error{"giant": got["giant"].Err, "largest": got["largest"].Err})); diff != "" {
		t.Error(diff)
	}
	if n := len(s.sent[0].(*kmsg.CreateTopicsRequest).Topics); n != 1 {
		t.Errorf("%d topics were sent, want 1", n)
	}
	NewClient(s, Options{}).CreateTopics(t.Context(), 1, []NewTopic{giant})
	if len(s.sent) != 1 {
		t.Error("a request without topics was sent")
	}
}

// Where the number of records is known to Kafka only, its policy violation tells.
func TestGrowTooLarge(t *testing.T) {
	s := scripted(kmsg.CreatePartitions, writes[kmsg.CreatePartitions].answer(map[string]int16{
		"giant": kerr.PolicyViolation.Code, "small": kerr.PolicyViolation.Code,
	}, "Unable to perform excessively large batch operation.", 0))
	got := NewClient(s, Options{}).CreatePartitions(t.Context(), 1, []NewPartitions{
		{Topic: "giant", Total: 20_000}, {Topic: "small", Total: 3}, {Topic: "placed", Total: 20_000, Assignments: make([][]int32, 10_000)},
	})
	want := map[string]verdict{
		"giant":  {fault.Invalid, v1alpha1.ReasonTooManyPartitions, false},
		"placed": {fault.Invalid, v1alpha1.ReasonTooManyPartitions, false},
		"small":  {fault.Blocked, v1alpha1.ReasonPolicyViolation, false},
	}
	if diff := cmp.Diff(want, verdicts(t, got)); diff != "" {
		t.Error(diff)
	}
	if f := fault.As(got["giant"]); f.Detail == "" {
		t.Error("the broker's words are lost")
	}
	if n := len(s.sent[0].(*kmsg.CreatePartitionsRequest).Topics); n != 2 {
		t.Errorf("%d topics were sent, want 2", n)
	}
}

func TestCreateTopicsRequest(t *testing.T) {
	var got *kmsg.CreateTopicsRequest
	c := NewClient(scripted(kmsg.CreateTopics, reply(func(req *kmsg.CreateTopicsRequest, resp *kmsg.CreateTopicsResponse) {
		got = req
		resp.Topics = []kmsg.CreateTopicsResponseTopic{{Topic: "placed", TopicID: [16]byte{1}}, {Topic: "counted", TopicID: [16]byte{2}}}
	})), Options{})
	created := c.CreateTopics(t.Context(), 1, []NewTopic{
		{Name: "placed", Assignments: [][]int32{{1, 3, 5}, {3, 5, 1}}, Partitions: 2, ReplicationFactor: 3, Configs: map[string]string{"b": "2", "a": "1"}},
		{Name: "counted", Partitions: -1, ReplicationFactor: 3},
	})
	if diff := cmp.Diff(map[string]Created{"placed": {ID: topic.ID{1}}, "counted": {ID: topic.ID{2}}}, created); diff != "" {
		t.Error(diff)
	}
	want := []kmsg.CreateTopicsRequestTopic{
		{
			Topic: "placed", NumPartitions: -1, ReplicationFactor: -1,
			ReplicaAssignment: []kmsg.CreateTopicsRequestTopicReplicaAssignment{
				{Partition: 0, Replicas: []int32{1, 3, 5}}, {Partition: 1, Replicas: []int32{3, 5, 1}},
			},
			Configs: []kmsg.CreateTopicsRequestTopicConfig{{Name: "a", Value: new("1")}, {Name: "b", Value: new("2")}},
		},
		{Topic: "counted", NumPartitions: -1, ReplicationFactor: 3},
	}
	if diff := cmp.Diff(want, got.Topics, cmp.AllowUnexported(kmsg.Tags{})); diff != "" {
		t.Error(diff)
	}
	if got.ValidateOnly {
		t.Error("the request only validates")
	}
}

func TestAlterConfigsRequest(t *testing.T) {
	var got *kmsg.IncrementalAlterConfigsRequest
	c := NewClient(scripted(kmsg.IncrementalAlterConfigs, reply(func(req *kmsg.IncrementalAlterConfigsRequest, _ *kmsg.IncrementalAlterConfigsResponse) {
		got = req
	})), Options{})
	c.AlterConfigs(t.Context(), 1, []Alteration{{Topic: "orders", Set: map[string]string{"b": "2", "a": ""}, Delete: []string{"d", "c"}}})
	set, del := kmsg.IncrementalAlterConfigOpSet, kmsg.IncrementalAlterConfigOpDelete
	want := []kmsg.IncrementalAlterConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "orders",
		Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{
			{Name: "a", Op: set, Value: new("")}, {Name: "b", Op: set, Value: new("2")}, {Name: "c", Op: del}, {Name: "d", Op: del},
		},
	}}
	if diff := cmp.Diff(want, got.Resources, cmp.AllowUnexported(kmsg.Tags{})); diff != "" {
		t.Error(diff)
	}
}

func TestCreatePartitionsRequest(t *testing.T) {
	var got *kmsg.CreatePartitionsRequest
	c := NewClient(scripted(kmsg.CreatePartitions, reply(func(req *kmsg.CreatePartitionsRequest, _ *kmsg.CreatePartitionsResponse) {
		got = req
	})), Options{})
	c.CreatePartitions(t.Context(), 1, []NewPartitions{{Topic: "orders", Total: 4, Assignments: [][]int32{{1, 2, 3}}}, {Topic: "page-views", Total: 6}})
	want := []kmsg.CreatePartitionsRequestTopic{
		{Topic: "orders", Count: 4, Assignment: []kmsg.CreatePartitionsRequestTopicAssignment{{Replicas: []int32{1, 2, 3}}}},
		{Topic: "page-views", Count: 6},
	}
	if diff := cmp.Diff(want, got.Topics, cmp.AllowUnexported(kmsg.Tags{})); diff != "" {
		t.Error(diff)
	}
}

// The controller is told to stop before the caller's deadline, so that its own answer can still come.
func TestWriteTimeouts(t *testing.T) {
	tests := map[string]struct {
		deadline   time.Duration
		wantMillis int32
		wantTook   time.Duration
	}{
		"the caller's deadline": {2 * time.Second, 1500, 2 * time.Second},
		"no more than 5 s":      {time.Minute, 4500, 5 * time.Second},
		"hardly any time left":  {200 * time.Millisecond, 100, 200 * time.Millisecond},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var millis int32
				ctx, cancel := context.WithTimeout(t.Context(), tt.deadline)
				defer cancel()
				start := time.Now()
				got := NewClient(recordTimeout{millis: &millis}, Options{}).CreateTopics(ctx, 1, []NewTopic{{Name: "orders"}})
				if took := time.Since(start); took != tt.wantTook {
					t.Errorf("took %v, want %v", took, tt.wantTook)
				}
				if millis != tt.wantMillis {
					t.Errorf("the controller is given %d ms, want %d", millis, tt.wantMillis)
				}
				want := verdict{fault.Transient, v1alpha1.ReasonConnectionTimedOut, true}
				if diff := cmp.Diff(want, verdictOf(t, got["orders"].Err)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

type recordTimeout struct {
	hangs
	millis *int32
}

func (w recordTimeout) Request(ctx context.Context, b int32, req kmsg.Request) (kmsg.Response, error) {
	*w.millis = req.(*kmsg.CreateTopicsRequest).TimeoutMillis
	return w.hangs.Request(ctx, b, req)
}

// While the mutation quota is used up no creation is sent that would be held back beyond its deadline; config changes
// go on.
func TestWriteThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := writes[kmsg.CreateTopics]
		s := scripted(kmsg.CreateTopics, w.answer(map[string]int16{"a": 0, "b": kerr.ThrottlingQuotaExceeded.Code}, "x", 20_000))
		s.answers[kmsg.IncrementalAlterConfigs] = writes[kmsg.IncrementalAlterConfigs].answer(map[string]int16{"a": 0}, "", 0)
		c := NewClient(s, Options{})
		throttledFor := func(err error) time.Duration {
			t.Helper()
			if diff := cmp.Diff(verdict{fault.Transient, v1alpha1.ReasonThrottled, false}, verdictOf(t, err)); diff != "" {
				t.Error(diff)
			}
			after, ok := errors.AsType[*RetryAfter](err)
			if !ok {
				t.Fatalf("no delay in %v", err)
			}
			return after.Delay
		}
		got := w.do(t.Context(), c, []string{"a", "b"})
		if got["a"] != nil || throttledFor(got["b"]) != 20*time.Second {
			t.Errorf("got %v", got)
		}
		time.Sleep(5 * time.Second)
		got = w.do(t.Context(), c, []string{"b"})
		if delay := throttledFor(got["b"]); delay != 15*time.Second || len(s.sent) != 1 {
			t.Errorf("delay %v after %d requests, want 15 s after 1", delay, len(s.sent))
		}
		if err := c.AlterConfigs(t.Context(), 1, []Alteration{{Topic: "a"}})["a"]; err != nil {
			t.Errorf("a config change is refused: %v", err)
		}
		time.Sleep(12 * time.Second)
		w.do(t.Context(), c, []string{"b"})
		if n := s.count(kmsg.CreateTopics); n != 2 {
			t.Errorf("%d creations were sent, want the second one to wait inside the client", n)
		}
	})
}
