package contract

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The cluster under test has four brokers in racks a, b, c and c, eligible leader replicas on, and a cluster-level
// min.insync.replicas of 2. Broker 1 is asked and never harmed.
const (
	asked  int32 = 1
	minISR       = "2"
)

var racks = []string{"a", "b", "c", "c"}

// deed is something that happens to a broker.
type deed int

const (
	pause  deed = iota // SIGSTOP until it is fenced
	resume             // SIGCONT until it is unfenced
	kill               // SIGKILL until it is fenced
	start              // start the process until it is unfenced
)

// cluster is a Kafka cluster, real or not.
type cluster interface {
	Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error)
	world
}

// world is what happens to a cluster beside the requests of administrators.
type world interface {
	// Do returns once the asked broker's metadata show it.
	Do(ctx context.Context, d deed, brokers ...int32) error
	// Produce appends about so many bytes to partition 0 of a topic, with acks=all. The error is Kafka's.
	Produce(ctx context.Context, topic string, bytes int64) error
	// Wait lets a moment pass.
	Wait()
}

// behaviours are run in this order, and share the cluster: each uses topics of its own.
var behaviours = []struct {
	name string
	run  func(*bench)
}{
	{"features", features},
	{"brokers", brokers},
	{"create with an assignment", createAssigned},
	{"create answer", createAnswer},
	{"create refusals", createRefusals},
	{"create placed by the brokers", createPlaced},
	{"create validate only", createValidateOnly},
	{"create limits", createLimits},
	{"configs of a topic", allConfigs},
	{"config sources", configSources},
	{"config values", configValues},
	{"alter item by item", alterItems},
	{"alter lists", alterLists},
	{"broker configs", brokerConfigs},
	{"add partitions", addPartitions},
	{"describe pages", describePages},
	{"describe by name and ID", describeNames},
	{"delete", deleteTopics},
	{"reassign", reassign},
	{"reassign refusals", reassignRefusals},
	{"reassign one by one", reassignItems},
	{"cordoned broker", cordoned},
	{"elect", elect},
	{"offsets", offsets},
	{"raise the replication factor", raise},
	{"throttled copying", throttledCopying},
	{"throttled replicas", throttledReplicas},
	{"throttle rates", throttleRates},
	{"elect exactly", electExactly},
	{"bad night", badNight},
}

func runSuite(t *testing.T, c cluster) {
	for _, b := range behaviours {
		t.Run(b.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			b.run(&bench{T: t, ctx: ctx, cluster: c})
		})
	}
}

// bench is a cluster in the hands of one behaviour.
type bench struct {
	*testing.T
	ctx context.Context
	cluster
}

// ask sends a request to the asked broker and fails the test if there is no answer.
func ask[R kmsg.Response](b *bench, req kmsg.Request) R {
	b.Helper()
	return askBroker[R](b, asked, req)
}

func askBroker[R kmsg.Response](b *bench, broker int32, req kmsg.Request) R {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	resp, err := b.Request(ctx, broker, req)
	if err != nil {
		b.Fatalf("%s: %v", kmsg.NameForKey(req.Key()), err)
	}
	return resp.(R)
}

func (b *bench) do(d deed, brokers ...int32) {
	b.Helper()
	if err := b.Do(b.ctx, d, brokers...); err != nil {
		b.Fatal(err)
	}
}

// eventually polls until ok; state says what was seen last.
func (b *bench) eventually(what string, ok func() (state any, done bool)) {
	b.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		state, done := ok()
		if done {
			return
		}
		if time.Now().After(deadline) || b.ctx.Err() != nil {
			b.Fatalf("%s: not within 30 s; last seen %+v", what, state)
		}
		b.Wait()
	}
}

// equal fails the test, without ending it, if got is not want.
func equal[T any](b *bench, what string, want, got T) {
	b.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		b.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// code prints an error code by its name.
func code(c int16) string {
	if c == 0 {
		return "NONE"
	}
	if e := kerr.TypedErrorForCode(c); e != nil {
		return e.Message
	}
	return fmt.Sprint(c)
}

// spec is a topic to create.
type spec struct {
	name    string
	assign  [][]int32
	parts   int32 // -1 with an assignment
	factor  int16
	configs map[string]string
	null    string // a config with a null value
}

func assigned(name string, configs map[string]string, replicas ...[]int32) spec {
	return spec{name: name, assign: replicas, parts: -1, factor: -1, configs: configs}
}

func createRequest(specs ...spec) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 15_000
	for _, s := range specs {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = s.name, s.parts, s.factor
		for i, replicas := range s.assign {
			a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
			a.Partition, a.Replicas = int32(i), replicas
			t.ReplicaAssignment = append(t.ReplicaAssignment, a)
		}
		for key, value := range s.configs {
			cfg := kmsg.NewCreateTopicsRequestTopicConfig()
			cfg.Name, cfg.Value = key, &value
			t.Configs = append(t.Configs, cfg)
		}
		if s.null != "" {
			cfg := kmsg.NewCreateTopicsRequestTopicConfig()
			cfg.Name = s.null
			t.Configs = append(t.Configs, cfg)
		}
		req.Topics = append(req.Topics, t)
	}
	return req
}

// createCodes sends a create request and gives the code of each topic.
func (b *bench) createCodes(req *kmsg.CreateTopicsRequest) map[string]string {
	b.Helper()
	out := map[string]string{}
	for _, t := range ask[*kmsg.CreateTopicsResponse](b, req).Topics {
		out[t.Topic] = code(t.ErrorCode)
	}
	return out
}

// create makes topics and waits until the asked broker shows them.
func (b *bench) create(specs ...spec) map[string][16]byte {
	b.Helper()
	ids := map[string][16]byte{}
	for _, t := range ask[*kmsg.CreateTopicsResponse](b, createRequest(specs...)).Topics {
		if t.ErrorCode != 0 {
			b.Fatalf("create %s: %s", t.Topic, code(t.ErrorCode))
		}
		ids[t.Topic] = t.TopicID
	}
	for _, s := range specs {
		b.eventually("topic "+s.name+" is visible", func() (any, bool) {
			t := b.describe(s.name)
			return code(t.ErrorCode), t.ErrorCode == 0
		})
	}
	return ids
}

func describeRequest(names ...string) *kmsg.DescribeTopicPartitionsRequest {
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	for _, name := range names {
		t := kmsg.NewDescribeTopicPartitionsRequestTopic()
		t.Topic = name
		req.Topics = append(req.Topics, t)
	}
	return req
}

func (b *bench) describe(name string) kmsg.DescribeTopicPartitionsResponseTopic {
	b.Helper()
	resp := ask[*kmsg.DescribeTopicPartitionsResponse](b, describeRequest(name))
	if len(resp.Topics) != 1 {
		b.Fatalf("describe %s: %d topics in the answer", name, len(resp.Topics))
	}
	return resp.Topics[0]
}

// state is one partition; lists that Kafka keeps as sets are sorted.
type state struct {
	Leader, Epoch             int32
	Replicas, ISR, ELR, Known []int32
}

func (b *bench) states(name string) []state {
	b.Helper()
	t := b.describe(name)
	if t.ErrorCode != 0 {
		b.Fatalf("describe %s: %s", name, code(t.ErrorCode))
	}
	out := make([]state, len(t.Partitions))
	for _, p := range t.Partitions {
		if p.ErrorCode != 0 {
			b.Errorf("describe %s: partition %d has code %s", name, p.Partition, code(p.ErrorCode))
		}
		out[p.Partition] = state{p.LeaderID, p.LeaderEpoch, p.Replicas, sorted(p.ISR), sorted(p.EligibleLeaderReplicas), sorted(p.LastKnownELR)}
	}
	return out
}

// state is partition 0 of a topic.
func (b *bench) state(name string) state {
	b.Helper()
	return b.states(name)[0]
}

func sorted(list []int32) []int32 {
	if len(list) == 0 {
		return nil
	}
	return slices.Sorted(slices.Values(list))
}

// becomes waits until partition 0 of a topic is as wanted.
func (b *bench) becomes(name string, want state) {
	b.Helper()
	b.eventually(fmt.Sprintf("%s becomes %+v", name, want), func() (any, bool) {
		got := b.state(name)
		return got, cmp.Equal(want, got)
	})
}

// stays checks after a while that nothing has happened to partition 0 of a topic.
func (b *bench) stays(name string, want state) {
	b.Helper()
	for range 5 {
		b.Wait()
	}
	equal(b, name+" stays", want, b.state(name))
}
