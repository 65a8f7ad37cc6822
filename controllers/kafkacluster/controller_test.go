package kafkacluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

	mu        sync.Mutex
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
			<-ended
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

// wire names the client as the brokers demand it.
type wire struct{ *kafkatest.Wire }

func (w wire) Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	if r, ok := req.(*kmsg.ApiVersionsRequest); ok {
		r.ClientSoftwareName, r.ClientSoftwareVersion = "durabletopic", "test"
	}
	return w.Wire.Request(ctx, broker, req)
}

func (b *bed) dial(c kafka.Config) (kafka.Wire, error) {
	name, _, _ := strings.Cut(c.BootstrapServers[0], ":")
	return wire{b.kafkas[name].Wire()}, nil
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
	has := func(kind string) *metav1.Condition { return meta.FindStatusCondition(c.Status.Conditions, kind) }
	reconciling, stalled := has(v1alpha1.ConditionReconciling), has(v1alpha1.ConditionStalled)
	if has(v1alpha1.ConditionReady) == nil || reconciling != nil && stalled != nil {
		t.Errorf("conditions %+v", c.Status.Conditions)
	}
	if stalled != nil && c.Status.ObservedGeneration != c.Generation {
		t.Errorf("Stalled without the observed generation: nobody would see it")
	}
	for _, cond := range c.Status.Conditions {
		if cond.Type != v1alpha1.ConditionReady && cond.Status != metav1.ConditionTrue {
			t.Errorf("condition %s is %s", cond.Type, cond.Status)
		}
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

func TestConnect(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		k := b.kafka("a", kafkatest.Options{})
		b.create(object())
		b.pass()
		if err := b.write("default", "early"); reasonOf(err) != v1alpha1.ReasonConnecting {
			t.Errorf("a write before the identity is recorded: %v", err)
		}
		c := b.becomes("default", v1alpha1.ReasonConnected)
		if c.Status.ClusterID != "id-a" || c.Status.Brokers.Registered != 6 || len(c.Status.Racks) != 3 {
			t.Errorf("status %+v", c.Status)
		}
		if b.writes > 2 {
			t.Errorf("%d status writes to connect", b.writes)
		}
		if err := b.write("default", "orders"); err != nil {
			t.Errorf("a write after the identity is recorded: %v", err)
		}
		if diff := cmp.Diff([]string{"Normal Connecting", "Normal Connected"}, b.happened()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}

		b.writes = 0
		k.Reset()
		for range 30 {
			b.pass()
			time.Sleep(7 * time.Second)
		}
		if b.writes != 0 || k.Requests().WriteTotal() != 0 || len(b.happened()) != 0 {
			t.Errorf("while nothing changed: %d status writes, %d writes to Kafka", b.writes, k.Requests().WriteTotal())
		}

		k.Fence(3)
		time.Sleep(20 * time.Second)
		b.pass()
		if c := b.get("default"); c.Status.Brokers.Available != 5 || b.writes != 1 {
			t.Errorf("after a broker was fenced: %d available, %d writes", c.Status.Brokers.Available, b.writes)
		}
	})
}

func TestIdentityIsRecordedOnlyOverWhatWasRead(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		b.kafka("a", kafkatest.Options{})
		b.kafka("b", kafkatest.Options{})
		b.create(object())
		b.pass()
		time.Sleep(5 * time.Second)
		b.meanwhile = func() {
			b.edit("default", func(c *v1alpha1.KafkaCluster) { c.Spec.BootstrapServers = []string{"b:9092"} })
		}
		b.pass()
		if c := b.get("default"); c.Status.ClusterID != "" {
			t.Fatalf("%q was recorded for an object that was repointed meanwhile", c.Status.ClusterID)
		}
		if err := b.write("default", "orders"); reasonOf(err) != v1alpha1.ReasonConnecting {
			t.Errorf("a write although nothing is recorded: %v", err)
		}
		if c := b.becomes("default", v1alpha1.ReasonConnected); c.Status.ClusterID != "id-b" {
			t.Errorf("recorded %q", c.Status.ClusterID)
		}
	})
}

func TestRepointedToAnotherKafka(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		b.kafka("a", kafkatest.Options{})
		other := b.kafka("b", kafkatest.Options{})
		b.create(object())
		b.becomes("default", v1alpha1.ReasonConnected)

		b.edit("default", func(c *v1alpha1.KafkaCluster) { c.Spec.BootstrapServers = []string{"b:9092"} })
		c := b.becomes("default", v1alpha1.ReasonClusterIDChanged)
		if !meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionStalled) || c.Status.ClusterID != "id-a" {
			t.Errorf("status %+v", c.Status)
		}
		if err := b.write("default", "orders"); err == nil {
			t.Error("a write to the other Kafka went through")
		}
		if n := other.Requests().WriteTotal(); n != 0 {
			t.Errorf("%d writes reached the other Kafka", n)
		}

		b.edit("default", func(c *v1alpha1.KafkaCluster) { c.Spec.ClusterID = "id-b" })
		if c := b.becomes("default", v1alpha1.ReasonConnected); c.Status.ClusterID != "id-b" {
			t.Errorf("recorded %q", c.Status.ClusterID)
		}
		if err := b.write("default", "orders"); err != nil {
			t.Errorf("a write to the Kafka that is now pinned: %v", err)
		}
	})
}

func TestAnotherKafkaBehindTheSameAddress(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		k := b.kafka("a", kafkatest.Options{})
		b.create(object())
		b.becomes("default", v1alpha1.ReasonConnected)
		k.ReplaceClusterID("id-new")
		k.Reset()
		if err := b.write("default", "orders"); reasonOf(err) != v1alpha1.ReasonClusterIDChanged {
			t.Errorf("a write before any sweep saw it: %v", err)
		}
		b.becomes("default", v1alpha1.ReasonClusterIDChanged)
		if n := k.Requests().WriteTotal(); n != 0 {
			t.Errorf("%d writes", n)
		}
		k.ReplaceClusterID("id-a")
		b.becomes("default", v1alpha1.ReasonConnected)
	})
}

func TestPinnedToAnotherKafka(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		k := b.kafka("a", kafkatest.Options{})
		b.create(object(pinned("id-z")))
		c := b.becomes("default", v1alpha1.ReasonClusterIDChanged)
		if c.Status.ClusterID != "" || k.Requests().WriteTotal() != 0 {
			t.Errorf("recorded %q, %d writes", c.Status.ClusterID, k.Requests().WriteTotal())
		}
		b.edit("default", func(c *v1alpha1.KafkaCluster) { c.Spec.ClusterID = "id-a" })
		b.becomes("default", v1alpha1.ReasonConnected)
	})
}

func TestOnlyTheOldestActs(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		k := b.kafka("a", kafkatest.Options{})
		b.kafkas["b"] = k // the same Kafka at another address
		second := object(named("a-second", "uid-second", 0))
		second.Spec.BootstrapServers = []string{"b:9092"}
		b.create(second)
		b.create(object(named("z-first", "uid-first", time.Hour)))
		b.becomes("z-first", v1alpha1.ReasonConnected)
		loser := b.becomes("a-second", v1alpha1.ReasonKafkaOwnedByAnother)
		stalled := meta.FindStatusCondition(loser.Status.Conditions, v1alpha1.ConditionStalled)
		if stalled == nil || !strings.Contains(stalled.Message, `"z-first"`) {
			t.Errorf("the winner is not named: %+v", stalled)
		}
		b.pass()
		if err := b.write("a-second", "orders"); reasonOf(err) != v1alpha1.ReasonKafkaOwnedByAnother {
			t.Errorf("a write through the one that does not act: %v", err)
		}
		if err := b.write("z-first", "orders"); err != nil {
			t.Errorf("a write through the one that acts: %v", err)
		}

		if err := b.client.Delete(t.Context(), b.get("z-first")); err != nil {
			t.Fatal(err)
		}
		b.reconcile("z-first")
		if diff := cmp.Diff([]string{"z-first"}, b.forgotten); diff != "" {
			t.Errorf("forgotten (-want +got):\n%s", diff)
		}
		if _, ok := b.fleet.Cluster("z-first"); ok {
			t.Error("a deleted KafkaCluster is still connected")
		}
		b.becomes("a-second", v1alpha1.ReasonConnected)
		if err := b.write("a-second", "payments"); err != nil {
			t.Errorf("a write through the heir: %v", err)
		}
	})
}

func TestOutOfReach(t *testing.T) {
	tests := map[string]struct {
		break_ func(k *kafkatest.Cluster)
		want   string
	}{
		"down": {break_: (*kafkatest.Cluster).DownAll, want: v1alpha1.ReasonConnectionRefused},
		"hung": {break_: (*kafkatest.Cluster).HangAll, want: v1alpha1.ReasonConnectionTimedOut},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bed) {
				k := b.kafka("a", kafkatest.Options{})
				b.create(object())
				b.becomes("default", v1alpha1.ReasonConnected)
				tc.break_(k)
				since := time.Now()
				c := b.becomes("default", tc.want)
				if took := time.Since(since); took > 25*time.Second {
					t.Errorf("it took %v to tell", took)
				}
				ready := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady)
				if ready.Status != metav1.ConditionUnknown || !meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReconciling) {
					t.Errorf("conditions %+v", c.Status.Conditions)
				}
				b.writes = 0
				for range 30 {
					b.pass()
					time.Sleep(4 * time.Second)
				}
				if b.writes > 0 {
					t.Errorf("%d status writes while nothing changed", b.writes)
				}
				k.ResumeAll()
				b.becomes("default", v1alpha1.ReasonConnected)
			})
		})
	}
}

func TestUnsupportedBrokers(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.DescribeConfigs, kmsg.IncrementalAlterConfigs, kmsg.DescribeTopicPartitions} {
		t.Run(fmt.Sprint(kmsg.NameForKey(key.Int16())), func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bed) {
				k := b.kafka("a", kafkatest.Options{MaxVersions: map[int16]int16{key.Int16(): -1}})
				b.create(object())
				c := b.becomes("default", v1alpha1.ReasonUnsupportedBrokers)
				stalled := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionStalled)
				if stalled == nil || !strings.Contains(stalled.Message, kmsg.NameForKey(key.Int16())) {
					t.Errorf("what is missing is not named: %+v", stalled)
				}
				k.Reset()
				b.writes = 0
				time.Sleep(time.Minute)
				b.pass()
				if n := k.Requests().ReadTotal(); n > 100 || b.writes > 0 || k.Requests().WriteTotal() > 0 {
					t.Errorf("in a minute: %d reads, %d status writes", n, b.writes)
				}
			})
		})
	}
}

func TestEnforcement(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		k := b.kafka("a", kafkatest.Options{})
		b.create(object(enforcement(v1alpha1.EnforcementObserve)))
		b.becomes("default", v1alpha1.ReasonConnected)
		if err := b.write("default", "orders"); reasonOf(err) != v1alpha1.ReasonObserveOnly {
			t.Errorf("a write with Observe: %v", err)
		}

		b.edit("default", enforcement(v1alpha1.EnforcementSuspended))
		b.writes = 0
		b.becomes("default", v1alpha1.ReasonSuspended)
		synctest.Wait()
		k.Reset()
		for range 10 {
			b.pass()
			time.Sleep(time.Minute)
		}
		if b.writes != 1 || k.Requests().ReadTotal()+k.Requests().WriteTotal() != 0 {
			t.Errorf("suspended: %d status writes, %+v", b.writes, k.Requests())
		}

		b.edit("default", enforcement(v1alpha1.EnforcementEnforce))
		b.becomes("default", v1alpha1.ReasonConnected)
		if err := b.write("default", "orders"); err != nil {
			t.Errorf("a write with Enforce: %v", err)
		}
	})
}

func TestTopicCounts(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		b.kafka("a", kafkatest.Options{})
		b.create(object())
		b.becomes("default", v1alpha1.ReasonConnected)
		b.writes = 0
		start := time.Now()
		for n := int32(1); time.Since(start) < 10*time.Minute; n++ {
			b.counts = []v1alpha1.TopicCount{{Profile: v1alpha1.ProfileCritical, Total: n, Ready: n}}
			b.pass()
			time.Sleep(time.Second)
		}
		if b.writes == 0 || b.writes > 10 {
			t.Errorf("%d writes in ten minutes of changing counts", b.writes)
		}
		time.Sleep(time.Minute)
		b.pass()
		if diff := cmp.Diff(b.counts, b.get("default").Status.Topics); diff != "" {
			t.Errorf("counts (-want +got):\n%s", diff)
		}
	})
}

func TestRivalsAreTold(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bed) {
		b.create(object())
		b.create(object(named("b", "2", 0)))
		b.create(object(named("c", "3", 0)))
		var told []string
		for _, r := range b.rivals(t.Context(), b.get("b")) {
			told = append(told, r.Name)
		}
		slices.Sort(told)
		if diff := cmp.Diff([]string{"c", "default"}, told); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
