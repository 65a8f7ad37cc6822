//go:build unix

// Package e2e_test runs the operator's own program as a process, under the RBAC of config/rbac and with leader election
// on, against a real API server and real brokers. It proves what only real parts can prove: process death, brokers that
// hang or die, eligible leader replicas, the load on both sides, and the times of many topics at once.
//
// All tests share one stage: six brokers in three racks (KafkaCluster "default"), another Kafka of three brokers
// (KafkaCluster "annex"), one API server, one operator. A test leaves no topic behind. Tests that end the operator run
// first and alone; then those that need it alive, while the other Kafka is out of reach.
package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/testbed"
	"durabletopic.io/operator/internal/testbed/kafkabed"
	"durabletopic.io/operator/internal/testbed/kubebed"
	"durabletopic.io/operator/internal/testbed/operatorbed"
)

const (
	// patience bounds every wait that has no bound of its own; machines are busy.
	patience = 90 * time.Second
	// mainCluster and annexCluster are the KafkaClusters, with their check intervals.
	mainCluster   = "default"
	mainInterval  = 3 * time.Second
	annexCluster  = "annex"
	annexInterval = 5 * time.Second
	// allowance is what a machine that does other things at the same time may add to a bound.
	allowance = 15 * time.Second
	// driftAllowance is the same for the time in which drift is corrected.
	driftAllowance = 2 * time.Second
)

// stage holds the parts that all tests share.
type stage struct {
	kube     *kubebed.Cluster
	api      client.WithWatch
	main     *kafka
	annex    *kafka
	operator *operatorbed.Operator
}

var shared struct {
	once  sync.Once
	stage *stage
	err   error
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	code := m.Run()
	if shared.stage != nil {
		if err := shared.stage.stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// raise starts what runs for all tests.
func raise(crds string) (*stage, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if _, err := kafkabed.Prepare(ctx, nil); err != nil {
		return nil, err
	}
	s := &stage{}
	var parts sync.WaitGroup
	errs := make([]error, 3)
	parts.Go(func() { errs[0] = s.raiseKube(ctx, crds) })
	parts.Go(func() { s.main, errs[1] = raiseKafka(ctx, kafkabed.DefaultRacks()) })
	parts.Go(func() { s.annex, errs[2] = raiseKafka(ctx, []string{"a", "b", "c"}) })
	parts.Wait()
	if err := errors.Join(errs...); err != nil {
		return s, err
	}
	return s, s.connect(ctx)
}

func (s *stage) raiseKube(ctx context.Context, crds string) (err error) {
	policy, err := filepath.Abs(filepath.Join("testdata", "audit-policy.yaml"))
	if err != nil {
		return err
	}
	s.kube, err = kubebed.Start(ctx, kubebed.Options{
		CRDPaths:       []string{crds},
		APIServerFlags: map[string]string{"audit-policy-file": policy, "audit-log-path": "-"},
	})
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return err
	}
	if s.api, err = client.NewWithWatch(s.kube.Config(), client.Options{Scheme: scheme}); err != nil {
		return err
	}
	s.operator, err = operatorbed.Start(ctx, s.kube, operatorbed.Options{})
	return err
}

// connect declares both Kafkas and waits for the operator to know them.
func (s *stage) connect(ctx context.Context) error {
	for name, k := range map[string]*kafka{mainCluster: s.main, annexCluster: s.annex} {
		interval := mainInterval
		if name == annexCluster {
			interval = annexInterval
		}
		c := &v1alpha1.KafkaCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.KafkaClusterSpec{
			BootstrapServers: k.bed.Bootstrap(), CheckIntervalSeconds: int32(interval / time.Second),
		}}
		if err := s.api.Create(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) stop() error {
	var errs []error
	if s.operator != nil {
		errs = append(errs, s.operator.Stop())
	}
	for _, k := range []*kafka{s.main, s.annex} {
		if k != nil {
			errs = append(errs, k.stop())
		}
	}
	if s.kube != nil {
		errs = append(errs, s.kube.Stop())
	}
	return errors.Join(errs...)
}

// world is the stage as one test sees it, with a namespace of its own.
type world struct {
	*stage
	t         *testing.T
	ctx       context.Context
	namespace string
	prefix    string // of the names of its topics, in Kafka too
	uses      []*kafka
	history   *history
}

// enter gives a test its world, on KafkaCluster "default". At its end nothing is left of it, and everything that was
// said meanwhile is judged.
func enter(t *testing.T, name string) *world {
	t.Helper()
	testbed.SkipShort(t)
	shared.once.Do(func() { shared.stage, shared.err = raise(testbed.CRDPath(t)) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	w := &world{stage: shared.stage, t: t, ctx: t.Context(), namespace: name, prefix: name + "-"}
	w.uses = []*kafka{w.main}
	err := w.api.Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if !apierrors.IsAlreadyExists(err) {
		w.must(err)
	}
	if info := w.operator.Info(); info.State != operatorbed.Running {
		t.Errorf("the operator is %s: %s", info.State, info.Exit)
		w.must(w.operator.Restart(w.ctx))
	}
	w.history = w.watch()
	from := w.logSize()
	t.Cleanup(func() { w.leave(from) })
	return w
}

// leave judges and clears, also after a failure.
func (w *world) leave(logFrom int64) {
	w.ctx = context.Background()
	w.history.close(w.t)
	w.checkEvents()
	w.checkLog(logFrom)
	if w.t.Failed() {
		w.tellLog(logFrom)
	}
	w.must(w.api.DeleteAllOf(w.ctx, &v1alpha1.DurableTopic{}, client.InNamespace(w.namespace)))
	for _, k := range w.uses {
		w.must(k.removeAll(w.ctx, w.prefix))
	}
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// eventually waits until done gives "", else fails with what it gave last. It tells how long that took.
func (w *world) eventually(what string, done func() string) time.Duration {
	w.t.Helper()
	return w.within(patience, what, done)
}

func (w *world) within(limit time.Duration, what string, done func() string) time.Duration {
	w.t.Helper()
	began := time.Now()
	for {
		missing := done()
		if missing == "" {
			return time.Since(began)
		}
		if time.Since(began) > limit {
			w.t.Fatalf("waited %s for %s: %s", limit, what, missing)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// rounded is a duration for people.
func rounded(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
