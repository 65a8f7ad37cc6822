package kafkatest_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/kafka"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

func TestConnectionErrors(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*kafkatest.Cluster, *kafkatest.Wire)
		opts    kafkatest.Options
		broker  int32
		req     kmsg.Request
		want    error
	}{
		"broker is down":         {prepare: func(c *kafkatest.Cluster, _ *kafkatest.Wire) { c.Down(2) }, broker: 2, req: describeRequest("orders"), want: syscall.ECONNREFUSED},
		"broker was killed":      {prepare: func(c *kafkatest.Cluster, _ *kafkatest.Wire) { c.Kill(2) }, broker: 2, req: describeRequest("orders"), want: syscall.ECONNREFUSED},
		"all brokers are down":   {prepare: func(c *kafkatest.Cluster, _ *kafkatest.Wire) { c.DownAll() }, broker: kafka.AnyBroker, req: describeRequest("orders"), want: syscall.ECONNREFUSED},
		"any broker for a write": {prepare: func(c *kafkatest.Cluster, _ *kafkatest.Wire) { c.Down(1) }, broker: kafka.AnyBroker, req: createRequest("new"), want: syscall.ECONNREFUSED},
		"no such broker":         {broker: 77, req: describeRequest("orders"), want: kafkatest.ErrUnknownBroker},
		"closed":                 {prepare: func(_ *kafkatest.Cluster, w *kafkatest.Wire) { w.Close() }, broker: 1, req: describeRequest("orders"), want: net.ErrClosed},
		"API is missing":         {opts: kafkatest.Options{MaxVersions: map[int16]int16{75: -1}}, broker: 1, req: describeRequest("orders"), want: kafkatest.ErrUnsupported},
		"API is unknown":         {broker: 1, req: kmsg.NewPtrFetchRequest(), want: kafkatest.ErrUnsupported},
		"value too long":         {broker: 1, req: alterRequest("orders", "cleanup.policy", strings.Repeat("x", 32768)), want: io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := seed(c.opts, "orders")
			w := cluster.Wire()
			if c.prepare != nil {
				c.prepare(cluster, w)
			}
			before := cluster.Commits()
			if _, err := w.Request(t.Context(), c.broker, c.req); !errors.Is(err, c.want) {
				t.Errorf("error is %v, want %v", err, c.want)
			}
			equal(t, "commits", before, cluster.Commits())
		})
	}
}

func TestAnyBrokerGoesRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := seed(kafkatest.Options{})
		w := c.Wire()
		c.Down(1)
		c.Down(2)
		if _, err := w.Request(t.Context(), kafka.AnyBroker, describeRequest()); err != nil {
			t.Fatalf("with brokers 1 and 2 down: %v", err)
		}
		c.Hang(3)
		ask := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := w.Request(ctx, kafka.AnyBroker, describeRequest())
			return err
		}
		if err := ask(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the broker that answered last hangs: error is %v, want the deadline's", err)
		}
		if err := ask(); err != nil {
			t.Errorf("the next call begins with the next broker: %v", err)
		}
	})
}

func TestHang(t *testing.T) {
	for name, c := range map[string]struct {
		opts       kafkatest.Options
		patience   time.Duration
		wantErr    error
		wantBefore bool // the topic exists while the broker hangs
		wantAfter  bool
		wantWrites int
	}{
		"sender gives up":                       {patience: time.Second, wantErr: context.DeadlineExceeded},
		"sender gives up, request is late":      {opts: kafkatest.Options{LateWrites: true}, patience: time.Second, wantErr: context.DeadlineExceeded, wantAfter: true, wantWrites: 1},
		"sender waits until the broker is back": {patience: time.Hour, wantAfter: true, wantWrites: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := seed(c.opts)
				cluster.Pause(2)
				ctx, cancel := context.WithTimeout(t.Context(), c.patience)
				defer cancel()
				done := make(chan error, 1)
				go func() {
					_, err := cluster.Wire().Request(ctx, 2, createRequest("orders"))
					done <- err
				}()
				time.Sleep(time.Minute)
				_, exists := cluster.Topic("orders")
				equal(t, "topic exists while the broker hangs", c.wantBefore, exists)
				cluster.Start(2)
				if err := <-done; !errors.Is(err, c.wantErr) {
					t.Errorf("error is %v, want %v", err, c.wantErr)
				}
				_, exists = cluster.Topic("orders")
				equal(t, "topic exists afterwards", c.wantAfter, exists)
				equal(t, "writes", c.wantWrites, cluster.Requests().WriteTotal())
			})
		})
	}
}

func TestHangAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := seed(kafkatest.Options{}, "orders")
		c.HangAll()
		c.Hang(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Wire().Request(ctx, 4, describeRequest("orders")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v, want the deadline's", err)
		}
		c.ResumeAll()
		equal(t, "afterwards", map[string]string{"orders": "NONE"}, describeCodes(t, c, 1, "orders"))
	})
}

func TestAnswersShareNoMemory(t *testing.T) {
	c := seed(kafkatest.Options{}, "orders")
	req := createRequest("payments")
	a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
	a.Replicas = []int32{1, 2}
	req.Topics[0].NumPartitions, req.Topics[0].ReplicationFactor = -1, -1
	req.Topics[0].ReplicaAssignment = append(req.Topics[0].ReplicaAssignment, a)
	ask[*kmsg.CreateTopicsResponse](t, c, 1, req)
	a.Replicas[0] = 9
	resp := ask[*kmsg.DescribeTopicPartitionsResponse](t, c, 1, describeRequest("payments"))
	resp.Topics[0].Partitions[0].ISR[0] = 8
	c.Partition("payments", 0).Replicas[1] = 7
	is(t, "payments", c, "payments", topic.Partition{Leader: 1, Replicas: []int32{1, 2}, ISR: []int32{1, 2}})
}

func TestOlderVersionsLoseFields(t *testing.T) {
	c := seed(kafkatest.Options{MaxVersions: map[int16]int16{kmsg.AlterPartitionAssignments.Int16(): 0, kmsg.DescribeCluster.Int16(): 1}}, "orders")
	c.Fence(6)
	move := moveRequest("orders", []int32{1, 3})
	move.AllowReplicationFactorChange = false // unknown to version 0: a change is allowed
	resp := ask[*kmsg.AlterPartitionAssignmentsResponse](t, c, 1, move)
	equal(t, "change of the replication factor", "NONE", code(resp.Topics[0].Partitions[0].ErrorCode))
	all := kmsg.NewPtrDescribeClusterRequest()
	all.IncludeFencedBrokers = true // unknown to version 1
	equal(t, "brokers", 5, len(ask[*kmsg.DescribeClusterResponse](t, c, 1, all).Brokers))
	versions := kmsg.NewPtrApiVersionsRequest()
	versions.ClientSoftwareName, versions.ClientSoftwareVersion = "test", "v1"
	for _, k := range ask[*kmsg.ApiVersionsResponse](t, c, 1, versions).ApiKeys {
		if k.ApiKey == kmsg.DescribeCluster.Int16() {
			equal(t, "DescribeCluster's newest version", 1, k.MaxVersion)
		}
	}
}

func TestElectionOfEveryPartitionPanics(t *testing.T) {
	for name, topics := range map[string][]kmsg.ElectLeadersRequestTopic{"null": nil, "empty": {}} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Errorf("no panic")
				}
			}()
			req := kmsg.NewPtrElectLeadersRequest()
			req.Topics = topics
			_, err := seed(kafkatest.Options{}).Wire().Request(t.Context(), 1, req)
			t.Errorf("answered, error %v", err)
		})
	}
}
