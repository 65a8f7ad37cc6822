package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"durabletopic.io/operator/api/v1alpha1"
)

const (
	namespace  = "freshcart"
	samples    = "config/samples/freshcart.yaml"
	minISRKey  = "min.insync.replicas"
	uncleanKey = "unclean.leader.election.enable"
	// patience bounds the wait for one correction: a recreation needs two looks at two brokers.
	patience = 45 * time.Second
)

// demo holds both sides: what Kubernetes says and what Kafka says.
type demo struct {
	kube   client.Client
	kafka  *kafka
	topics []*v1alpha1.DurableTopic
	start  time.Time
}

func newDemo(ctx context.Context, b *bed) (*demo, error) {
	config, err := clientcmd.BuildConfigFromFlags("", b.kubeconfig)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	kube, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	k, err := dial(ctx, b.bootstrap)
	if err != nil {
		return nil, err
	}
	d := &demo{kube: kube, kafka: k, start: time.Now()}
	d.topics, err = readSamples()
	return d, err
}

func (d *demo) close() { d.kafka.client.Close() }

func readSamples() ([]*v1alpha1.DurableTopic, error) {
	text, err := os.ReadFile(samples)
	if err != nil {
		return nil, err
	}
	var topics []*v1alpha1.DurableTopic
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		t := &v1alpha1.DurableTopic{}
		if err := documents.Decode(t); errors.Is(err, io.EOF) {
			return topics, nil
		} else if err != nil {
			return nil, fmt.Errorf("read %s: %w", samples, err)
		}
		if t.Kind == "DurableTopic" {
			topics = append(topics, t)
		}
	}
}

// declare applies the nine topics and waits until all are Ready.
func (d *demo) declare(ctx context.Context) error {
	title("Declaring FreshCart's %d topics", len(d.topics))
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := d.kube.Create(ctx, ns); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	began := time.Now()
	for _, t := range d.topics {
		if err := d.kube.Create(ctx, t.DeepCopy()); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create DurableTopic %s: %w", t.Name, err)
		}
	}
	for _, t := range d.topics {
		err := d.wait(ctx, t.Name, "Ready", func(t *v1alpha1.DurableTopic) bool {
			return meta.IsStatusConditionTrue(t.Status.Conditions, v1alpha1.ConditionReady)
		})
		if err != nil {
			return err
		}
	}
	fmt.Printf("all Ready after %s\n", since(began))
	return nil
}

// show prints what the brokers say and holds it against the profiles.
func (d *demo) show(ctx context.Context) error {
	title("What Kafka says")
	fmt.Printf("%-24s %-10s %10s %3s %7s %8s %6s\n", "TOPIC", "PROFILE", "PARTITIONS", "RF", "MIN ISR", "UNCLEAN", "RACKS")
	leaders := map[int32]int{}
	var wrong error
	for _, t := range d.topics {
		f, err := d.kafka.topic(ctx, t.Name)
		if err != nil {
			return err
		}
		if f == nil {
			return fmt.Errorf("topic %s is not in Kafka", t.Name)
		}
		fmt.Printf("%-24s %-10s %10d %3d %7s %8s %6d\n", t.Name, t.Spec.Profile, f.partitions, f.minReplicas, f.minISR,
			f.unclean, f.fewestRacks)
		for id, n := range f.leaders {
			leaders[id] += n
		}
		wrong = errors.Join(wrong, check(t, f))
	}
	var counts []int
	for id := range d.kafka.racks {
		counts = append(counts, leaders[id])
	}
	slices.Sort(counts)
	fmt.Printf("leaders per broker: %d to %d\n", counts[0], counts[len(counts)-1])
	return wrong
}

// check holds the facts of a topic against its profile.
func check(t *v1alpha1.DurableTopic, f *facts) error {
	unclean := fmt.Sprint(t.Spec.Profile == v1alpha1.ProfileTelemetry)
	ok := f.minReplicas == 3 && f.maxReplicas == 3 && f.fewestRacks == 3 && f.minISR == "2" && f.minISRSet &&
		f.unclean == unclean && f.uncleanOn && (t.Spec.Partitions == 0 || f.partitions == int(t.Spec.Partitions))
	for key, value := range t.Spec.Config {
		ok = ok && f.configs[key] == value
	}
	if !ok {
		return fmt.Errorf("topic %s is not as its profile %s demands: %+v", t.Name, t.Spec.Profile, *f)
	}
	return nil
}

func (d *demo) weakenMinISR(ctx context.Context) error {
	title("Somebody lowers %s on payments to 1", minISRKey)
	return d.drift(ctx, "payments", minISRKey, "1", "2")
}

func (d *demo) flipUnclean(ctx context.Context) error {
	title("Somebody sets %s on orders to true", uncleanKey)
	return d.drift(ctx, "orders", uncleanKey, "true", "false")
}

// drift damages one key and waits for Kafka to show it right and the status to tell.
func (d *demo) drift(ctx context.Context, topic, key, bad, good string) error {
	began := time.Now()
	if err := d.kafka.set(ctx, topic, key, bad); err != nil {
		return err
	}
	if err := d.waitKafka(ctx, topic, key+" is "+good+" again", func(f *facts) bool { return f.configs[key] == good }); err != nil {
		return err
	}
	took := since(began)
	err := d.wait(ctx, topic, "status.lastDrift telling it", func(t *v1alpha1.DurableTopic) bool {
		return t.Status.LastDrift != nil && !t.Status.LastDrift.Time.Time.Before(began.Truncate(time.Second)) &&
			slices.Contains(t.Status.LastDrift.Changes, v1alpha1.DriftChange{Key: key, From: bad, To: good})
	})
	if err != nil {
		return err
	}
	fmt.Printf("set right after %s; status.lastDrift: %s %s -> %s\n", took, key, bad, good)
	return nil
}

func (d *demo) deleteTopic(ctx context.Context) error {
	const name = "stock-levels"
	title("Somebody deletes %s in Kafka", name)
	before, err := d.kafka.topic(ctx, name)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := d.kafka.remove(ctx, name); err != nil {
		return err
	}
	err = d.waitKafka(ctx, name, "it exists again", func(f *facts) bool { return f.id != before.id })
	if err != nil {
		return err
	}
	took := since(began)
	err = d.wait(ctx, name, "Ready with another topic ID", func(t *v1alpha1.DurableTopic) bool {
		return meta.IsStatusConditionTrue(t.Status.Conditions, v1alpha1.ConditionReady) && t.Status.LastDrift != nil &&
			t.Status.LastDrift.Changes[0].Key == "topic"
	})
	if err != nil {
		return err
	}
	after, err := d.kafka.topic(ctx, name)
	if err != nil {
		return err
	}
	fmt.Printf("two brokers confirmed that it was gone; created again after %s, with a Warning event (its records are lost)\n", took)
	for _, t := range d.topics {
		if t.Name == name {
			return check(t, after)
		}
	}
	return nil
}

// foreignSettings: what nobody declared survives a correction on the same topic, byte for byte.
func (d *demo) foreignSettings(ctx context.Context) error {
	const name = "invoice-ledger"
	foreign := []string{"leader.replication.throttled.replicas", "0:1,1:2", "segment.ms", "86400000"}
	title("Somebody sets a throttle and segment.ms on %s, and lowers %s", name, minISRKey)
	if err := d.kafka.set(ctx, name, foreign...); err != nil {
		return err
	}
	if err := d.drift(ctx, name, minISRKey, "1", "2"); err != nil {
		return err
	}
	f, err := d.kafka.topic(ctx, name)
	if err != nil {
		return err
	}
	for pair := range slices.Chunk(foreign, 2) {
		if f.configs[pair[0]] != pair[1] {
			return fmt.Errorf("foreign setting %s of %s was %q and is %q", pair[0], name, pair[1], f.configs[pair[0]])
		}
	}
	fmt.Println("the throttle and segment.ms are untouched")
	return nil
}

// silence: a converged topic causes no write.
func (d *demo) silence(ctx context.Context) error {
	const quiet = 12 * time.Second
	title("Nothing changes for %s", quiet)
	before, err := d.versions(ctx)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(quiet):
	}
	after, err := d.versions(ctx)
	if err != nil {
		return err
	}
	if before != after {
		return errors.New("statuses were rewritten although nothing had changed")
	}
	fmt.Println("no status was written")
	return nil
}

func (d *demo) versions(ctx context.Context) (string, error) {
	var list v1alpha1.DurableTopicList
	if err := d.kube.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return "", err
	}
	versions := make([]string, 0, len(list.Items))
	for _, t := range list.Items {
		versions = append(versions, t.Name+"="+t.ResourceVersion)
	}
	return strings.Join(versions, " "), nil
}

// wait polls the object until it is as wanted; when patience ends the error holds its conditions.
func (d *demo) wait(ctx context.Context, name, what string, done func(*v1alpha1.DurableTopic) bool) error {
	t := &v1alpha1.DurableTopic{}
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		if err := d.kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, t); err != nil {
			return false, err
		}
		return done(t), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for DurableTopic %s to be %s: %w; its conditions: %s", name, what, err, words(t))
	}
	return nil
}

func words(t *v1alpha1.DurableTopic) string {
	var text []string
	for _, c := range t.Status.Conditions {
		text = append(text, fmt.Sprintf("%s=%s (%s: %s)", c.Type, c.Status, c.Reason, c.Message))
	}
	return strings.Join(text, "; ")
}

func (d *demo) waitKafka(ctx context.Context, topic, what string, done func(*facts) bool) error {
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		f, err := d.kafka.topic(ctx, topic)
		return err == nil && f != nil && done(f), nil
	})
	if err != nil {
		return fmt.Errorf("waiting in Kafka for topic %s: %s: %w", topic, what, err)
	}
	return nil
}

func title(format string, args ...any) { fmt.Printf("\n== "+format+"\n", args...) }

func since(t time.Time) time.Duration { return time.Since(t).Round(100 * time.Millisecond) }
