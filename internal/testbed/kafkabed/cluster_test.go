//go:build unix

package kafkabed_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"durabletopic.io/operator/internal/testbed/kafkabed"
)

// start starts a bed of one broker in each of three racks.
func start(t *testing.T, opts kafkabed.Options) *kafkabed.Cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real Kafka")
	}
	if opts.Racks == nil {
		opts.Racks = []string{"a", "b", "c"}
	}
	opts.Log = t.Logf
	cluster, err := kafkabed.Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Errorf("Stop() = %v", err)
		}
	})
	return cluster
}

func admin(t *testing.T, cluster *kafkabed.Cluster) *kadm.Client {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.Bootstrap()...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return kadm.NewClient(client)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestBrokerLife(t *testing.T) {
	cluster := start(t, kafkabed.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()

	brokers, err := cluster.View(ctx)
	must(t, err)
	want := map[int32]kafkabed.Broker{1: {ID: 1, Rack: "a"}, 2: {ID: 2, Rack: "b"}, 3: {ID: 3, Rack: "c"}}
	if diff := cmp.Diff(want, brokers); diff != "" {
		t.Fatalf("registered brokers (-want +got):\n%s", diff)
	}
	meta, err := admin(t, cluster).BrokerMetadata(ctx)
	must(t, err)
	if meta.Cluster != cluster.ClusterID() {
		t.Errorf("Kafka's cluster id is %q, ClusterID() = %q", meta.Cluster, cluster.ClusterID())
	}
	if level := elrLevel(ctx, t, cluster); level != 1 {
		t.Errorf("eligible.leader.replicas.version = %d, want 1", level)
	}
	created, err := admin(t, cluster).CreateTopic(ctx, 2, 3, nil, "orders")
	must(t, errors.Join(err, created.Err))
	must(t, cluster.WaitFullISR(ctx, "orders"))

	must(t, cluster.Pause(1))
	must(t, cluster.WaitFenced(ctx, 1))
	must(t, cluster.WaitISR(ctx, "orders", 0, 2, 3))
	wantState(t, cluster, 1, kafkabed.Paused)
	must(t, cluster.Resume(1))
	must(t, cluster.WaitUnfenced(ctx, 1))

	must(t, cluster.Kill(cluster.Rack("b")...))
	must(t, cluster.WaitFenced(ctx, 2))
	wantState(t, cluster, 2, kafkabed.Stopped)
	if err := cluster.WaitUnfenced(ctx, 2); !errors.Is(err, kafkabed.ErrNotRunning) {
		t.Errorf("WaitUnfenced() of a killed broker = %v, want ErrNotRunning", err)
	}
	must(t, cluster.Start(2))
	must(t, cluster.WaitUnfenced(ctx, 2))

	must(t, cluster.Restart(ctx, 3))
	must(t, cluster.WaitFullISR(ctx))

	must(t, cluster.Restart(ctx, kafkabed.ControllerID))
	must(t, cluster.WaitUnfenced(ctx, cluster.Brokers()...))

	// A paused process dies of SIGKILL as well.
	must(t, cluster.Pause(1))
	must(t, cluster.Kill(1))
	wantState(t, cluster, 1, kafkabed.Stopped)
}

// elrLevel is the cluster-wide level of the eligible leader replicas feature.
func elrLevel(ctx context.Context, t *testing.T, cluster *kafkabed.Cluster) int16 {
	t.Helper()
	versions, err := admin(t, cluster).ApiVersions(ctx)
	must(t, err)
	broker := versions[1]
	for _, feature := range broker.Raw().FinalizedFeatures {
		if feature.Name == "eligible.leader.replicas.version" {
			return feature.MaxVersionLevel
		}
	}
	return 0
}

func wantState(t *testing.T, cluster *kafkabed.Cluster, id int32, want kafkabed.State) {
	t.Helper()
	if got := cluster.State(id); got != want {
		t.Errorf("State(%d) = %s, want %s", id, got, want)
	}
}

func TestWrongUseIsRefused(t *testing.T) {
	cluster := start(t, kafkabed.Options{Racks: []string{"a"}})
	for name, act := range map[string]func() error{
		"unknown broker":    func() error { return cluster.Kill(7) },
		"start a running":   func() error { return cluster.Start(1) },
		"resume a running":  func() error { return cluster.Resume(1) },
		"wait for unknown":  func() error { return cluster.WaitFenced(t.Context(), 7) },
		"pause one unknown": func() error { return cluster.Pause(1, 7) },
	} {
		if err := act(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	wantState(t, cluster, 1, kafkabed.Running)
	if ids := cluster.Rack("z"); len(ids) != 0 {
		t.Errorf("Rack(z) = %v, want none", ids)
	}
}

func TestTwoBedsSideBySide(t *testing.T) {
	first := start(t, kafkabed.Options{Racks: []string{"a"}})
	second := start(t, kafkabed.Options{Racks: []string{"a"}, DisableELR: true})
	if first.ClusterID() == second.ClusterID() {
		t.Error("two beds have the same cluster id")
	}
	if slices.ContainsFunc(first.Bootstrap(), func(addr string) bool { return slices.Contains(second.Bootstrap(), addr) }) {
		t.Errorf("two beds share an address: %v and %v", first.Bootstrap(), second.Bootstrap())
	}
	must(t, first.Stop())
	must(t, second.WaitUnfenced(t.Context(), 1))
}

func TestOptionsReachKafka(t *testing.T) {
	cluster := start(t, kafkabed.Options{
		Racks:                []string{""},
		DisableELR:           true,
		BrokerProperties:     map[string]string{"replication.quota.window.num": "2"},
		ControllerProperties: map[string]string{"min.insync.replicas": "1"},
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	configs, err := admin(t, cluster).DescribeBrokerConfigs(ctx, 1)
	must(t, err)
	var window string
	for _, config := range configs[0].Configs {
		if config.Key == "replication.quota.window.num" {
			window = config.MaybeValue()
		}
	}
	if window != "2" {
		t.Errorf("replication.quota.window.num = %q, want 2", window)
	}
	if level := elrLevel(ctx, t, cluster); level != 0 {
		t.Errorf("eligible.leader.replicas.version = %d, want 0", level)
	}
	brokers, err := cluster.View(ctx)
	must(t, err)
	if diff := cmp.Diff(map[int32]kafkabed.Broker{1: {ID: 1}}, brokers); diff != "" {
		t.Errorf("broker without a rack (-want +got):\n%s", diff)
	}
}
