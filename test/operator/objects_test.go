package operator_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

type (
	durableTopic = v1alpha1.DurableTopic
	kafkaCluster = v1alpha1.KafkaCluster
)

const (
	critical  = v1alpha1.ProfileCritical
	telemetry = v1alpha1.ProfileTelemetry
)

// topic builds a DurableTopic with three partitions; "team-b/orders" is in another namespace than "orders".
func topic(name string, profile v1alpha1.Profile, changes ...func(*durableTopic)) *durableTopic {
	t := &durableTopic{Spec: v1alpha1.DurableTopicSpec{Profile: profile, Partitions: 3}}
	t.Namespace, t.Name = split(name)
	for _, change := range changes {
		change(t)
	}
	return t
}

func split(name string) (namespace, rest string) {
	if namespace, rest, ok := strings.Cut(name, "/"); ok {
		return namespace, rest
	}
	return "", name
}

func partitions(n int32) func(*durableTopic) {
	return func(t *durableTopic) { t.Spec.Partitions = n }
}

func replicationFactor(n int32) func(*durableTopic) {
	return func(t *durableTopic) { t.Spec.ReplicationFactor = n }
}

func topicName(name string) func(*durableTopic) {
	return func(t *durableTopic) { t.Spec.TopicName = name }
}

// of names the KafkaCluster.
func of(cluster string) func(*durableTopic) {
	return func(t *durableTopic) { t.Spec.ClusterRef.Name = cluster }
}

func enforcement(e v1alpha1.Enforcement) func(*durableTopic) {
	return func(t *durableTopic) { t.Spec.Enforcement = e }
}

// declare sets keys of spec.config, given as key, value, key, value.
func declare(pairs ...string) func(*durableTopic) {
	return func(t *durableTopic) {
		if t.Spec.Config == nil {
			t.Spec.Config = map[string]string{}
		}
		for i := 0; i < len(pairs); i += 2 {
			t.Spec.Config[pairs[i]] = pairs[i+1]
		}
	}
}

// namespace makes sure that a namespace of the world exists.
func (w *world) namespace(name string) string {
	w.t.Helper()
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.id, Labels: map[string]string{worldLabel: w.id}}}
	if name != "" {
		n.Name += "-" + name
	}
	if err := w.kube.Create(w.ctx, n); !apierrors.IsAlreadyExists(err) {
		w.must(err)
	}
	return n.Name
}

// clusterName is the real name of the world's KafkaCluster.
func (w *world) clusterName(name string) string { return w.id + "-" + name }

// key finds a DurableTopic of the world.
func (w *world) key(name string) client.ObjectKey {
	namespace, name := split(name)
	if namespace == "" {
		return client.ObjectKey{Namespace: w.id, Name: name}
	}
	return client.ObjectKey{Namespace: w.id + "-" + namespace, Name: name}
}

// create makes objects.
func (w *world) create(topics ...*durableTopic) {
	w.t.Helper()
	for _, t := range topics {
		w.must(w.kube.Create(w.ctx, w.own(t)))
	}
}

// own makes an object one of this world.
func (w *world) own(t *durableTopic) *durableTopic {
	if t.Namespace == "" {
		t.Namespace = w.id
	} else {
		t.Namespace = w.namespace(t.Namespace)
	}
	if t.Spec.ClusterRef.Name == "" {
		t.Spec.ClusterRef.Name = "default"
	}
	t.Spec.ClusterRef.Name = w.clusterName(t.Spec.ClusterRef.Name)
	t.Labels = map[string]string{worldLabel: w.id}
	return t
}

// applyAll makes many objects as fast as one user can.
func (w *world) applyAll(topics []*durableTopic) {
	w.t.Helper()
	var clients sync.WaitGroup
	errs := make(chan error, len(topics))
	for part := range slices.Chunk(topics, (len(topics)+7)/8) {
		clients.Go(func() {
			for _, t := range part {
				errs <- w.kube.Create(w.ctx, w.own(t))
			}
		})
	}
	clients.Wait()
	close(errs)
	for err := range errs {
		w.must(err)
	}
}

// connect makes a KafkaCluster that leads to the Kafka joined under the same name. Its interval is the shortest.
func (w *world) connect(name string, changes ...func(*kafkaCluster)) {
	w.t.Helper()
	c := &kafkaCluster{
		ObjectMeta: metav1.ObjectMeta{Name: w.clusterName(name), Labels: map[string]string{worldLabel: w.id}},
		Spec:       v1alpha1.KafkaClusterSpec{BootstrapServers: []string{bootstrap(name)}, CheckIntervalSeconds: 2},
	}
	for _, change := range changes {
		change(c)
	}
	w.must(w.kube.Create(w.ctx, c))
}

func (w *world) get(name string) *durableTopic {
	w.t.Helper()
	t := &durableTopic{}
	w.must(w.kube.Get(w.ctx, w.key(name), t))
	return t
}

func (w *world) getCluster(name string) *kafkaCluster {
	w.t.Helper()
	c := &kafkaCluster{}
	w.must(w.kube.Get(w.ctx, client.ObjectKey{Name: w.clusterName(name)}, c))
	return c
}

// edit changes the spec of an object, again after a conflict.
func (w *world) edit(name string, change func(*durableTopic)) {
	w.t.Helper()
	w.retry(func() error {
		t := w.get(name)
		change(t)
		return w.kube.Update(w.ctx, t)
	})
}

func (w *world) editCluster(name string, change func(*kafkaCluster)) {
	w.t.Helper()
	w.retry(func() error {
		c := w.getCluster(name)
		change(c)
		return w.kube.Update(w.ctx, c)
	})
}

func (w *world) retry(update func() error) {
	w.t.Helper()
	err := update()
	for apierrors.IsConflict(err) {
		err = update()
	}
	w.must(err)
}

func (w *world) delete(name string) {
	w.t.Helper()
	w.must(w.kube.Delete(w.ctx, w.get(name)))
}

func (w *world) deleteCluster(name string) {
	w.t.Helper()
	w.must(w.kube.Delete(w.ctx, w.getCluster(name)))
}

// eventually waits until done gives "", else fails with what it gave last.
func (w *world) eventually(what string, done func() string) {
	w.t.Helper()
	w.within(patience, what, done)
}

func (w *world) within(limit time.Duration, what string, done func() string) {
	w.t.Helper()
	deadline := time.Now().Add(limit)
	for {
		missing := done()
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("waited for %s: %s", what, missing)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// until waits for conditions of an object that speak about its newest generation, like "Ready=True" or
// "Stalled=True:TopicOwnedByAnother". "!Drifted" waits until there is none.
func (w *world) until(name string, wants ...string) *durableTopic {
	w.t.Helper()
	var t *durableTopic
	w.eventually(fmt.Sprintf("%s to have %v", name, wants), func() string {
		t = w.get(name)
		for _, want := range wants {
			if !has(t.Status.Conditions, t.Generation, want) {
				return conditions(t.Generation, t.Status.Conditions)
			}
		}
		return ""
	})
	return t
}

func (w *world) untilCluster(name string, wants ...string) *kafkaCluster {
	w.t.Helper()
	var c *kafkaCluster
	w.eventually(fmt.Sprintf("KafkaCluster %s to have %v", name, wants), func() string {
		c = w.getCluster(name)
		for _, want := range wants {
			if !has(c.Status.Conditions, c.Generation, want) {
				return conditions(c.Generation, c.Status.Conditions)
			}
		}
		return ""
	})
	return c
}

func has(all []metav1.Condition, generation int64, want string) bool {
	if kind, absent := strings.CutPrefix(want, "!"); absent {
		return meta.FindStatusCondition(all, kind) == nil
	}
	kind, rest, _ := strings.Cut(want, "=")
	status, reason, _ := strings.Cut(rest, ":")
	c := meta.FindStatusCondition(all, kind)
	return c != nil && string(c.Status) == status && (reason == "" || c.Reason == reason) && c.ObservedGeneration == generation
}

func conditions(generation int64, all []metav1.Condition) string {
	words := []string{fmt.Sprintf("generation %d", generation)}
	for _, c := range all {
		words = append(words, fmt.Sprintf("%s=%s(%d) %s: %s", c.Type, c.Status, c.ObservedGeneration, c.Reason, c.Message))
	}
	return strings.Join(words, "\n  ")
}

// message is the message of a condition, empty if it is not there.
func message(t *durableTopic, kind string) string {
	if c := meta.FindStatusCondition(t.Status.Conditions, kind); c != nil {
		return c.Message
	}
	return ""
}

// mentions fails unless the text has all the words.
func (w *world) mentions(text string, words ...string) {
	w.t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			w.t.Errorf("%q is missing in: %s", word, text)
		}
	}
}

// config waits until Kafka shows a value for a key, set on the topic itself; "" stands for not set.
func (w *world) config(topic, key, want string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("topic %s to have %s=%q", topic, key, want), func() string {
		if got, _ := w.kafka.TopicConfig(topic, key); got != want {
			return fmt.Sprintf("it is %q", got)
		}
		return ""
	})
}

// readyTopics waits for objects to be Ready.
func (w *world) readyTopics(names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.until(name, "Ready=True")
	}
}

// event waits for an event of a DurableTopic and gives its note. It fails if there is more than one of that reason.
func (w *world) event(name, reason string) string {
	w.t.Helper()
	var notes []string
	w.eventually(fmt.Sprintf("event %s of %s", reason, name), func() string {
		notes = w.events(name, reason)
		if len(notes) == 0 {
			return fmt.Sprintf("there are %q", w.events(name, ""))
		}
		return ""
	})
	if len(notes) > 1 {
		w.t.Errorf("%s has several events %s: %q", name, reason, notes)
	}
	return notes[0]
}

// events gives the notes of the events of a DurableTopic with a reason, or "Reason: note" of all. An event that was
// repeated counts as often.
func (w *world) events(name, reason string) []string {
	w.t.Helper()
	var list eventsv1.EventList
	k := w.key(name)
	w.must(w.kube.List(w.ctx, &list, client.InNamespace(k.Namespace)))
	var found []string
	for _, e := range list.Items {
		if e.Regarding.Name != k.Name || e.Regarding.Kind != "DurableTopic" || reason != "" && e.Reason != reason {
			continue
		}
		words := e.Note
		if reason == "" {
			words = e.Reason + ": " + e.Note
		}
		found = append(found, words)
		for i := int32(1); e.Series != nil && i < e.Series.Count; i++ {
			found = append(found, words)
		}
	}
	return found
}

// written counts the requests that changed or tried to change a topic.
func written(k *kafkatest.Cluster, topic string) int { return k.TopicWrites()[topic] }
