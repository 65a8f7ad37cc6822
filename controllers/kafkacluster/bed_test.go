package kafkacluster

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/placement"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/fault"
	"durabletopic.io/operator/internal/fleet"
	"durabletopic.io/operator/internal/kafka"
	"durabletopic.io/operator/internal/kafka/kafkatest"
	"durabletopic.io/operator/internal/metrics"
	"durabletopic.io/operator/internal/statuscheck"
)

// bed is the controller with a fleet over clusters in memory, in a bubble of false time. Bootstrap server "x:9092" leads
// to kafkas["x"].
type bed struct {
	*Controller
	t        *testing.T
	client   client.Client
	fleet    *fleet.Fleet
	recorder *events.FakeRecorder
	kafkas   map[string]*kafkatest.Cluster

	writes    int    // of statuses
	meanwhile func() // before the next status write reaches the server
	counts    []v1alpha1.TopicCount
	forgotten []string
}

func (b *bed) TopicCounts(string) []v1alpha1.TopicCount { return b.counts }
func (b *bed) Brokers(string, []metrics.RackBrokers)    {}
func (b *bed) Forget(name string)                       { b.forgotten = append(b.forgotten, name) }

func inBubble(t *testing.T, test func(t *testing.T, b *bed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bed{t: t, kafkas: map[string]*kafkatest.Cluster{}, recorder: events.NewFakeRecorder(100)}
		scheme := runtime.NewScheme()
		if err := v1alpha1.AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		b.client = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.KafkaCluster{}).
			WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: b.patch}).Build()
		b.fleet = fleet.New(fleet.Options{Dial: b.dial})
		b.Controller = New(Options{Client: b.client, Recorder: b.recorder, Fleet: b.fleet, Metrics: b})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.fleet.Start(ctx) }()
		defer func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("fleet ended with %v", err)
			}
		}()
		test(t, b)
	})
}

func (b *bed) patch(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	b.writes++
	if f := b.meanwhile; f != nil {
		b.meanwhile = nil
		f()
	}
	return c.SubResource(sub).Patch(ctx, o, p, opts...)
}

func (b *bed) dial(c kafka.Config) (kafka.Wire, error) {
	name, _, _ := strings.Cut(c.BootstrapServers[0], ":")
	return b.kafkas[name].Wire(), nil
}

// kafka adds a Kafka cluster behind the bootstrap server of a name.
func (b *bed) kafka(name string, o kafkatest.Options) *kafkatest.Cluster {
	if o.ClusterID == "" {
		o.ClusterID = "id-" + name
	}
	b.kafkas[name] = kafkatest.New(o)
	return b.kafkas[name]
}

func (b *bed) create(c *v1alpha1.KafkaCluster) {
	b.t.Helper()
	if err := b.client.Create(b.t.Context(), c); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) get(name string) *v1alpha1.KafkaCluster {
	b.t.Helper()
	var c v1alpha1.KafkaCluster
	if err := b.client.Get(b.t.Context(), client.ObjectKey{Name: name}, &c); err != nil {
		b.t.Fatal(err)
	}
	return &c
}

func (b *bed) edit(name string, edit func(*v1alpha1.KafkaCluster)) {
	b.t.Helper()
	c := b.get(name)
	edit(c)
	c.Generation++
	if err := b.client.Update(b.t.Context(), c); err != nil {
		b.t.Fatal(err)
	}
}

// pass reconciles every object once, and checks what must hold of every status.
func (b *bed) pass() {
	b.t.Helper()
	var all v1alpha1.KafkaClusterList
	if err := b.client.List(b.t.Context(), &all); err != nil {
		b.t.Fatal(err)
	}
	for i := range all.Items {
		b.reconcile(all.Items[i].Name)
		checkInvariants(b.t, b.get(all.Items[i].Name))
	}
}

func (b *bed) reconcile(name string) {
	b.t.Helper()
	if _, err := b.Reconcile(b.t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: name}}); err != nil {
		b.t.Fatal(err)
	}
	synctest.Wait()
}

// becomes reconciles until Ready of an object has a reason, for at most a minute.
func (b *bed) becomes(name, reason string) *v1alpha1.KafkaCluster {
	b.t.Helper()
	for range 60 {
		b.pass()
		c := b.get(name)
		if ready := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Reason == reason {
			return c
		}
		time.Sleep(time.Second)
	}
	b.t.Fatalf("KafkaCluster %q does not become %s: %+v", name, reason, b.get(name).Status)
	return nil
}

func checkInvariants(t *testing.T, c *v1alpha1.KafkaCluster) {
	t.Helper()
	if meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady) == nil {
		t.Error("Ready is missing after a pass")
	}
	for _, err := range statuscheck.Check(c) {
		t.Error(err)
	}
}

// write tries to create a topic through a KafkaCluster.
func (b *bed) write(cluster, name string) error {
	c, ok := b.fleet.Cluster(cluster)
	if !ok {
		return fault.New(fault.Waiting, "NotConnected", "not connected")
	}
	c.Declare("test/"+name, topic.Ask{Name: name}, false)
	return c.Execute(b.t.Context(), plan.CreateTopic{Name: name, Partitions: 1,
		Rule: placement.Rule{ReplicationFactor: 3, MinInSyncReplicas: 2}})
}

func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	return fault.As(err).Reason
}

func (b *bed) happened() []string {
	var list []string
	for {
		select {
		case e := <-b.recorder.Events:
			words := strings.SplitN(e, " ", 3)
			list = append(list, words[0]+" "+words[1])
		default:
			return list
		}
	}
}
