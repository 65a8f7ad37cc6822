// Package operator_test runs the controllers as the manager wires them on a real API server and Kafka clusters in memory:
// breadth and speed, while test/contract keeps those clusters true to real brokers.
//
// Every test has a world of its own: an operator that sees only the objects of that world, so that tests run side by
// side. Each version of each object that the API server ever stores is judged by the rules of package statuscheck.
package operator_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/testr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/controllers/durabletopic"
	"durabletopic.io/operator/internal/assembly"
	"durabletopic.io/operator/internal/kafka"
	"durabletopic.io/operator/internal/kafka/kafkatest"
	"durabletopic.io/operator/internal/metrics"
	"durabletopic.io/operator/internal/testbed"
	"durabletopic.io/operator/internal/testbed/kubebed"
	"durabletopic.io/operator/internal/version"
)

const (
	// patience bounds every wait of a test; it is generous, because machines are busy.
	patience = time.Minute
	// workers is the manager's default.
	workers = 512
	// worldLabel is on all objects of a world, and the operator of that world sees no others.
	worldLabel = "test.durabletopic.io/world"
	// sideBySide is how many worlds run at a time unless -parallel says otherwise: they mostly wait.
	sideBySide = "8"
)

var kube struct {
	once    sync.Once
	cluster *kubebed.Cluster
	err     error
}

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", sideBySide); err != nil {
			panic(err)
		}
	}
	ctrl.SetLogger(logr.Discard())
	code := m.Run()
	if kube.cluster != nil {
		if err := kube.cluster.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

// apiServer starts one API server for the whole package.
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
	t       *testing.T
	id      string // namespace of its topics, and prefix of its other namespaces and of its KafkaClusters
	ctx     context.Context
	kube    client.WithWatch
	kafka   *kafkatest.Cluster // the one behind KafkaCluster "default"
	calls   *calls             // of the present operator
	history *history
	errors  errorLines
	clock   atomic.Int64 // how far the operator's clock is ahead
	share   int          // of the workers for one Kafka; 0: as in production

	stop     func()
	topics   *durabletopic.Controller
	registry *prometheus.Registry

	mu     sync.Mutex
	dialed map[string]*kafkatest.Cluster // by bootstrap server
}

var worlds atomic.Int32

// newWorld starts an operator with a KafkaCluster "default".
func newWorld(t *testing.T, o kafkatest.Options, changes ...func(*v1alpha1.KafkaCluster)) *world {
	t.Helper()
	w := emptyWorld(t, o)
	w.connect("default", changes...)
	return w
}

// emptyWorld starts an operator without any KafkaCluster; a Kafka runs already behind the name "default".
func emptyWorld(t *testing.T, o kafkatest.Options) *world {
	t.Helper()
	w := stillWorld(t, o)
	w.start()
	return w
}

// stillWorld is a world without an operator.
func stillWorld(t *testing.T, o kafkatest.Options) *world {
	t.Helper()
	w := &world{
		t: t, id: fmt.Sprintf("w%d", worlds.Add(1)), ctx: t.Context(), kafka: kafkatest.New(o), stop: func() {},
		dialed: map[string]*kafkatest.Cluster{}, registry: prometheus.NewRegistry(), calls: &calls{},
	}
	var err error
	w.kube, err = client.NewWithWatch(apiServer(t).Config(), client.Options{Scheme: scheme()})
	w.must(err)
	w.join("default", w.kafka)
	w.namespace("")
	w.history = watchAll(w)
	t.Cleanup(w.clear)
	return w
}

// start runs the operator; a second start after stop is a restart of the process.
func (w *world) start() {
	w.t.Helper()
	cfg := apiServer(w.t).Config()
	w.calls = &calls{}
	cfg.Wrap(w.calls.wrap)
	quiet := true
	mine := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{worldLabel: w.id})}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Controller: config.Controller{SkipNameValidation: &quiet},
		Logger:     testr.NewWithInterface(w.log(), testr.Options{Verbosity: 1}),
		Client:     client.Options{FieldOwner: "durabletopic-manager", FieldValidation: metav1.FieldValidationStrict},
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject:         map[client.Object]cache.ByObject{&v1alpha1.DurableTopic{}: mine, &v1alpha1.KafkaCluster{}: mine},
		},
	})
	w.must(err)
	w.must(w.assemble(mgr))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	w.errors.ending.Store(false)
	w.stop = sync.OnceFunc(func() {
		w.errors.ending.Store(true)
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("manager: %v", err)
		}
	})
}

func (w *world) restart() {
	w.t.Helper()
	w.stop()
	w.start()
}

// assemble connects the parts as cmd/manager does.
func (w *world) assemble(mgr ctrl.Manager) (err error) {
	w.registry = prometheus.NewRegistry()
	w.topics, err = assembly.Assemble(mgr, assembly.Options{
		Recorder: "durabletopic-manager", Dial: w.dial, Metrics: metrics.New(w.registry, version.Info{}), Workers: workers,
		Share: w.share, Now: w.now, Namespace: w.id,
	})
	return err
}

// now is the operator's clock in what it decides about topics; its reads of Kafka go by the real one.
func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.clock.Load())) }

// later moves the operator's clock on and has it look at the named objects.
func (w *world) later(d time.Duration, names ...string) {
	w.clock.Add(int64(d))
	for _, name := range names {
		w.topics.Enqueue(w.key(name).String())
	}
}

func (w *world) dial(c kafka.Config) (kafka.Wire, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k, ok := w.dialed[c.BootstrapServers[0]]
	if !ok { // nothing listens there
		k = kafkatest.New(kafkatest.Options{})
		k.DownAll()
	}
	return k.Wire(), nil
}

// join puts a Kafka behind the bootstrap server of a name.
func (w *world) join(name string, k *kafkatest.Cluster) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dialed[bootstrap(name)] = k
}

func bootstrap(name string) string { return name + ".kafka.test:9092" }

// clear stops the operator, judges what every object has become, and removes all objects.
func (w *world) clear() {
	w.ctx = context.Background()
	w.cleanedUp()
	w.stop()
	w.history.close(w)
	w.checkEvents()
	w.checkWrites()
	for _, line := range w.errors.lines {
		w.t.Errorf("the operator logged an error: %s", line)
	}
	mine := client.MatchingLabels{worldLabel: w.id}
	w.must(w.kube.DeleteAllOf(w.ctx, &v1alpha1.KafkaCluster{}, mine))
	for _, namespace := range w.namespaces() {
		w.must(w.kube.DeleteAllOf(w.ctx, &v1alpha1.DurableTopic{}, client.InNamespace(namespace)))
		w.must(w.kube.DeleteAllOf(w.ctx, &eventsv1.Event{}, client.InNamespace(namespace)))
	}
}

func (w *world) namespaces() []string {
	w.t.Helper()
	var list corev1.NamespaceList
	w.must(w.kube.List(w.ctx, &list, client.MatchingLabels{worldLabel: w.id}))
	var names []string
	for _, n := range list.Items {
		names = append(names, n.Name)
	}
	return names
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

var scheme = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(s), v1alpha1.AddToScheme(s)); err != nil {
		panic(err)
	}
	return s
})

// log is the operator's log: it is printed only with -v. Nothing that happens to Kafka or to objects is an error of it.
func (w *world) log() testr.TestingT { return &operatorLog{t: w.t, errors: &w.errors} }

type operatorLog struct {
	t      *testing.T
	errors *errorLines
}

// errorLines are the lines that were logged as errors while a world was alive.
type errorLines struct {
	ending atomic.Bool // what is under way when the operator ends fails, and that is no error
	mu     sync.Mutex
	lines  []string
}

// Log prints; the manager may log a last line after the test has ended, which testing does not allow.
func (l *operatorLog) Log(args ...any) {
	if l.t.Context().Err() != nil {
		return
	}
	if line := fmt.Sprint(args...); !strings.Contains(line, `"level"=`) && !l.errors.ending.Load() {
		l.errors.mu.Lock()
		l.errors.lines = append(l.errors.lines, line)
		l.errors.mu.Unlock()
	}
	if testing.Verbose() {
		l.t.Log(args...)
	}
}

func (l *operatorLog) Helper() {}
