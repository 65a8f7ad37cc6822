// Package operator_test runs the controllers as the manager wires them on a real API server and Kafka clusters in memory:
// breadth and speed, while test/contract keeps those clusters true to real brokers.
package operator_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
	"github.com/prometheus/client_golang/prometheus"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/controllers/durabletopic"
	"durabletopic.io/operator/controllers/kafkacluster"
	"durabletopic.io/operator/internal/fleet"
	"durabletopic.io/operator/internal/kafka"
	"durabletopic.io/operator/internal/kafka/kafkatest"
	"durabletopic.io/operator/internal/metrics"
	"durabletopic.io/operator/internal/testbed"
	"durabletopic.io/operator/internal/testbed/kubebed"
	"durabletopic.io/operator/internal/version"
)

// patience bounds every wait of a test.
const patience = 40 * time.Second

var kube struct {
	once    sync.Once
	cluster *kubebed.Cluster
	err     error
}

// apiServer starts one API server for the whole package. It ends with the test binary.
func apiServer(t *testing.T) *kubebed.Cluster {
	t.Helper()
	testbed.SkipShort(t)
	kube.once.Do(func() {
		kube.cluster, kube.err = kubebed.Start(context.Background(), kubebed.Options{CRDPaths: []string{testbed.CRDPath(t)}})
	})
	if kube.err != nil {
		t.Fatal(kube.err)
	}
	return kube.cluster
}

// world is one running operator, its Kafka clusters, and a client of a user.
type world struct {
	t      *testing.T
	ctx    context.Context
	kube   client.Client
	kafka  *kafkatest.Cluster // the one behind KafkaCluster "default"
	calls  *calls
	stop   func()
	mu     sync.Mutex
	dialed map[string]*kafkatest.Cluster // by bootstrap server
}

// newWorld starts an operator with a KafkaCluster "default". Its interval is the shortest.
func newWorld(t *testing.T, o kafkatest.Options) *world {
	t.Helper()
	w := &world{t: t, ctx: t.Context(), kafka: kafkatest.New(o), dialed: map[string]*kafkatest.Cluster{}}
	cluster := apiServer(t)
	var err error
	w.kube, err = client.New(cluster.Config(), client.Options{Scheme: scheme(t)})
	w.must(err)
	w.dialed[bootstrap("default")] = w.kafka
	t.Cleanup(w.clear)
	w.start()
	w.must(w.kube.Create(w.ctx, kafkaCluster("default")))
	return w
}

// start runs the operator; a second start after stop is a restart of the process.
func (w *world) start() {
	w.t.Helper()
	cfg := apiServer(w.t).Config()
	w.calls = &calls{}
	cfg.Wrap(w.calls.wrap)
	ctrl.SetLogger(logr.Discard())
	quiet := true
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme(w.t), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Controller: config.Controller{SkipNameValidation: &quiet}, Logger: testr.NewWithInterface(silent{w.t}, testr.Options{Verbosity: 1}),
	})
	w.must(err)
	w.must(assemble(mgr, w.dial))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("manager: %v", err)
		}
	})
}

// assemble wires the parts as cmd/manager does.
func assemble(mgr ctrl.Manager, dial func(kafka.Config) (kafka.Wire, error)) error {
	var topics *durabletopic.Controller
	var clusters *kafkacluster.Controller
	m := metrics.New(prometheus.NewRegistry(), version.Info{})
	f := fleet.New(fleet.Options{
		Dial:      dial,
		OnTopics:  func(cluster string, names []string, urgent bool) { topics.TopicsChanged(cluster, names, urgent) },
		OnCluster: func(cluster string) { clusters.ClusterChanged(cluster) },
		OnFree:    func(_, key string) { topics.Enqueue(key) },
		Recorder:  m,
		Log:       mgr.GetLogger(),
	})
	recorder := mgr.GetEventRecorder("durabletopic")
	topics = durabletopic.New(durabletopic.Options{
		Client: mgr.GetClient(), Recorder: recorder, Metrics: m, Workers: 512,
		Cluster: func(name string) (durabletopic.Kafka, bool) { return f.Cluster(name) },
	})
	clusters = kafkacluster.New(kafkacluster.Options{Client: mgr.GetClient(), Recorder: recorder, Fleet: f, Metrics: m})
	return errors.Join(mgr.Add(f), topics.SetupWithManager(mgr), clusters.SetupWithManager(mgr))
}

func (w *world) dial(c kafka.Config) (kafka.Wire, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k, ok := w.dialed[c.BootstrapServers[0]]
	if !ok {
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	}
	return k.Wire(), nil
}

// join adds another Kafka behind the bootstrap server of that name.
func (w *world) join(name string, k *kafkatest.Cluster) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dialed[bootstrap(name)] = k
}

func bootstrap(name string) string { return name + ".kafka.test:9092" }

// clear stops the operator, checks every object's status once more, and removes all objects.
func (w *world) clear() {
	w.ctx = context.Background()
	w.stop()
	w.checkStatuses()
	w.must(w.kube.DeleteAllOf(w.ctx, &v1alpha1.KafkaCluster{}))
	var topics v1alpha1.DurableTopicList
	w.must(w.kube.List(w.ctx, &topics))
	for i := range topics.Items {
		w.must(client.IgnoreNotFound(w.kube.Delete(w.ctx, &topics.Items[i])))
	}
	var events eventsv1.EventList
	w.must(w.kube.List(w.ctx, &events))
	for i := range events.Items {
		w.must(client.IgnoreNotFound(w.kube.Delete(w.ctx, &events.Items[i])))
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// create makes an object and gives it back as the server stored it.
func (w *world) create(t *v1alpha1.DurableTopic) *v1alpha1.DurableTopic {
	w.t.Helper()
	w.must(w.kube.Create(w.ctx, t))
	return t
}

// edit changes the spec of an object, again after a conflict.
func (w *world) edit(name string, change func(*v1alpha1.DurableTopic)) {
	w.t.Helper()
	for {
		t := w.get(name)
		change(t)
		err := w.kube.Update(w.ctx, t)
		if !apierrors.IsConflict(err) {
			w.must(err)
			return
		}
	}
}

func (w *world) get(name string) *v1alpha1.DurableTopic {
	w.t.Helper()
	t := &v1alpha1.DurableTopic{}
	w.must(w.kube.Get(w.ctx, key(name), t))
	return t
}

// key reads "name" or "namespace/name".
func key(name string) client.ObjectKey {
	if namespace, n, ok := strings.Cut(name, "/"); ok {
		return client.ObjectKey{Namespace: namespace, Name: n}
	}
	return client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: name}
}

// eventually waits until done gives "", else fails with what it gave last.
func (w *world) eventually(what string, done func() string) {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		missing := done()
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: %s", what, missing)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// until waits for a condition of an object, like "Ready=True" or "Stalled=True:TopicOwnedByAnother".
func (w *world) until(name, want string) *v1alpha1.DurableTopic {
	w.t.Helper()
	var t *v1alpha1.DurableTopic
	kind, rest, _ := strings.Cut(want, "=")
	status, reason, _ := strings.Cut(rest, ":")
	w.eventually(name+" to have "+want, func() string {
		t = w.get(name)
		c := meta.FindStatusCondition(t.Status.Conditions, kind)
		if c != nil && string(c.Status) == status && (reason == "" || c.Reason == reason) && c.ObservedGeneration == t.Generation {
			return ""
		}
		return conditions(t)
	})
	return t
}

func conditions(t *v1alpha1.DurableTopic) string {
	words := []string{fmt.Sprintf("generation %d", t.Generation)}
	for _, c := range t.Status.Conditions {
		words = append(words, fmt.Sprintf("%s=%s(%d) %s: %s", c.Type, c.Status, c.ObservedGeneration, c.Reason, c.Message))
	}
	return strings.Join(words, "\n  ")
}

// config waits until Kafka shows the value of a key.
func (w *world) config(topic, key, want string) {
	w.t.Helper()
	w.eventually(topic+" to have "+key+"="+want, func() string {
		if got := w.kafka.EffectiveConfig(topic, key); got != want {
			return "it is " + got
		}
		return ""
	})
}

// events lists the events of an object as "Reason: note".
func (w *world) events(name string) []string {
	w.t.Helper()
	var list eventsv1.EventList
	w.must(w.kube.List(w.ctx, &list, client.InNamespace(key(name).Namespace)))
	var found []string
	for _, e := range list.Items {
		if e.Regarding.Name == key(name).Name && e.Regarding.Kind == "DurableTopic" {
			found = append(found, e.Reason+": "+e.Note)
		}
	}
	return found
}

// topic builds a DurableTopic.
func topic(name string, profile v1alpha1.Profile, changes ...func(*v1alpha1.DurableTopic)) *v1alpha1.DurableTopic {
	k := key(name)
	t := &v1alpha1.DurableTopic{
		ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Name},
		Spec:       v1alpha1.DurableTopicSpec{Profile: profile, Partitions: 3},
	}
	for _, change := range changes {
		change(t)
	}
	return t
}

func kafkaCluster(name string, changes ...func(*v1alpha1.KafkaCluster)) *v1alpha1.KafkaCluster {
	c := &v1alpha1.KafkaCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.KafkaClusterSpec{BootstrapServers: []string{bootstrap(name)}, CheckIntervalSeconds: 2},
	}
	for _, change := range changes {
		change(c)
	}
	return c
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(s), v1alpha1.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	return s
}

// calls counts the operator's own requests to the API server.
type calls struct {
	mu       sync.Mutex
	requests []string // "VERB resource"
}

func (c *calls) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		c.mu.Lock()
		c.requests = append(c.requests, r.Method+" "+r.URL.Path)
		c.mu.Unlock()
		return next.RoundTrip(r)
	})
}

// count gives how many requests had all of the words in method or path.
func (c *calls) count(words ...string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
next:
	for _, r := range c.requests {
		for _, word := range words {
			if !strings.Contains(r, word) {
				continue next
			}
		}
		n++
	}
	return n
}

func (c *calls) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// silent keeps the operator's log for failures: it is printed only with -v.
type silent struct{ *testing.T }

func (s silent) Log(args ...any) {
	if testing.Verbose() {
		defer func() { _ = recover() }() // the manager may log a last line after the test has ended
		s.T.Log(args...)
	}
}

func (s silent) Helper() {}

// resourceVersions of all DurableTopics, to tell that nothing was written.
func (w *world) resourceVersions() string {
	w.t.Helper()
	var list v1alpha1.DurableTopicList
	w.must(w.kube.List(w.ctx, &list))
	versions := map[string]string{}
	for _, t := range list.Items {
		versions[t.Namespace+"/"+t.Name] = t.ResourceVersion
	}
	text, err := json.Marshal(versions)
	w.must(err)
	return string(text)
}
