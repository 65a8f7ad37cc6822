package operator_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"durabletopic.io/operator/api/v1alpha1"
	coretopic "durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

// older gives two objects in the order of creation time, then UID.
func (w *world) older(a, b string) (winner, loser string) {
	x, y := w.get(a), w.get(b)
	if y.CreationTimestamp.Before(&x.CreationTimestamp) || y.CreationTimestamp.Equal(&x.CreationTimestamp) && y.UID < x.UID {
		return b, a
	}
	return a, b
}

func (w *world) topicID(name string) coretopic.ID {
	made, _ := w.kafka.Topic(name)
	return made.ID
}

// TestTwoObjectsForOneTopic born together, in one namespace and in two.
func TestTwoObjectsForOneTopic(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]string{"in one namespace": "second", "in two namespaces": "team-b/first"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := stillWorld(t, kafkatest.Options{})
			w.create(topic("first", critical, topicName("orders"), declare("retention.ms", "1000")),
				topic(second, critical, topicName("orders"), declare("retention.ms", "1000")))
			w.connect("default")
			winner, loser := w.older("first", second)
			for range 10 {
				w.start()
				w.until(winner, "Ready=True")
				got := w.until(loser, "Stalled=True:TopicOwnedByAnother", "Ready=False:TopicOwnedByAnother", "Durable=Unknown", "!Drifted")
				w.mentions(message(got, "Stalled"), w.key(winner).String(), "delete one of the two")
				if s := got.Status; s.TopicID != "" || s.Partitions != 0 || len(s.OwnedConfig) > 0 {
					t.Fatalf("the loser's status tells of a topic that is not its own: %+v", s)
				}
				w.stop()
			}
			if w.everReady(loser) || len(w.events(winner, "")) != 1 {
				t.Errorf("loser: %v; events of the winner: %q", w.path(loser), w.events(winner, ""))
			}
			w.start()
			w.sweeps(1)
			w.handOver(winner, loser)
		})
	}
}

// handOver edits the loser without effect, then deletes the winner: the loser takes over the same topic with its own words.
func (w *world) handOver(winner, loser string) {
	w.t.Helper()
	id, before := w.topicID("orders"), written(w.kafka, "orders")
	w.edit(loser, func(t *durableTopic) { declare("retention.ms", "2000")(t); partitions(9)(t) })
	w.until(loser, "Stalled=True:TopicOwnedByAnother")
	w.silent(2)
	w.config("orders", "retention.ms", "1000")
	if n := written(w.kafka, "orders"); n != before {
		w.t.Errorf("the loser's edit made %d writes", n-before)
	}
	w.delete(winner)
	got := w.until(loser, "Ready=True", "!Stalled")
	if w.topicID("orders") != id || got.Status.TopicID != id.String() || got.Status.Partitions != 9 {
		w.t.Errorf("topic was %s and is %s; status: %+v", id, w.topicID("orders"), got.Status)
	}
	w.config("orders", "retention.ms", "2000")
	w.event(loser, "TopicAdopted")
}

// TestHandOverOfEquals: the next owner says the same, so nothing is written.
func TestHandOverOfEquals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	for _, name := range []string{"a", "team-b/b", "team-c/c"} {
		w.create(topic(name, critical, topicName("orders")))
	}
	names := []string{"a", "team-b/b", "team-c/c"}
	id, ready := coretopic.ID{}, ""
	for len(names) > 0 {
		w.eventually("exactly one of "+fmt.Sprint(names)+" to be ready", func() string {
			ready = ""
			for _, name := range names {
				t := w.get(name)
				switch {
				case !has(t.Status.Conditions, t.Generation, "Ready=True"):
				case ready != "":
					return "two are"
				default:
					ready = name
				}
			}
			if ready == "" {
				return "none is"
			}
			return ""
		})
		if id == (coretopic.ID{}) {
			id = w.topicID("orders")
		}
		w.delete(ready)
		names = remove(names, ready)
	}
	w.sweeps(2)
	if w.topicID("orders") != id || written(w.kafka, "orders") != 1 {
		t.Errorf("the topic has another ID, or %d writes instead of the create", written(w.kafka, "orders"))
	}
}

func remove(names []string, name string) []string {
	var rest []string
	for _, n := range names {
		if n != name {
			rest = append(rest, n)
		}
	}
	return rest
}

// TestLoserIsDeleted: its deletion touches neither the topic nor the owner.
func TestLoserIsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.create(topic("orders", critical))
	w.until("orders", "Ready=True")
	w.create(topic("team-b/orders", telemetry, declare("retention.ms", "1")))
	w.eventually("one of two to be refused", func() string {
		_, loser := w.older("orders", "team-b/orders")
		if t := w.get(loser); !has(t.Status.Conditions, t.Generation, "Stalled=True:TopicOwnedByAnother") {
			return conditions(t.Generation, t.Status.Conditions)
		}
		return ""
	})
	winner, loser := w.older("orders", "team-b/orders")
	w.until(winner, "Ready=True")
	w.silent(1)
	before, version := written(w.kafka, "orders"), w.get(winner).ResourceVersion
	w.delete(loser)
	w.silent(2)
	if n := written(w.kafka, "orders"); n != before || w.get(winner).ResourceVersion != version {
		t.Errorf("%d writes, and the owner's version went from %s to %s", n-before, version, w.get(winner).ResourceVersion)
	}
}

// TestAppliedAgain: tools that delete and create an object at each upgrade lose no record.
func TestAppliedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	declared := func() *durableTopic { return topic("orders", critical, declare("retention.ms", "1000")) }
	w.create(declared())
	w.until("orders", "Ready=True")
	id := w.topicID("orders")
	for i := range 20 {
		w.delete("orders")
		w.create(declared())
		if i%5 == 0 {
			w.until("orders", "Ready=True")
		}
	}
	got := w.until("orders", "Ready=True")
	w.silent(2)
	if w.topicID("orders") != id || got.Status.TopicID != id.String() || written(w.kafka, "orders") != 1 {
		t.Errorf("topic was %s and is %s, status says %s, after %d writes", id, w.topicID("orders"), got.Status.TopicID, written(w.kafka, "orders"))
	}
	if n := len(w.events("orders", "TopicRecreated")) + len(w.events("orders", "TopicReplaced")); n > 0 {
		t.Errorf("a topic that was never gone is told to be: %q", w.events("orders", ""))
	}
}

// TestDeletionNeedsNoOperator: objects have no finalizer, so they go at once although nobody is there; the topics stay.
func TestDeletionNeedsNoOperator(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	for i := range 10 {
		w.create(topic(fmt.Sprintf("topic-%d", i), critical))
	}
	for i := range 10 {
		w.until(fmt.Sprintf("topic-%d", i), "Ready=True")
	}
	w.stop()
	w.kafka.Reset()
	w.must(w.kube.DeleteAllOf(w.ctx, &v1alpha1.DurableTopic{}, client.InNamespace(w.id)))
	w.deleteCluster("default")
	var left v1alpha1.DurableTopicList
	w.must(w.kube.List(w.ctx, &left, client.InNamespace(w.id)))
	if len(left.Items) > 0 {
		t.Errorf("%d objects are still there, with finalizers %v", len(left.Items), left.Items[0].Finalizers)
	}
	if err := w.kube.Get(w.ctx, client.ObjectKey{Name: w.clusterName("default")}, &v1alpha1.KafkaCluster{}); !apierrors.IsNotFound(err) {
		t.Errorf("the KafkaCluster is still there: %v", err)
	}
	w.start()
	w.connect("default")
	w.untilCluster("default", "Ready=True")
	w.sweeps(2)
	if diff := cmp.Diff(10, len(w.kafka.TopicNames())); diff != "" || w.kafka.Requests().WriteTotal() > 0 {
		t.Errorf("topics (-want +got): %s, writes: %d", diff, w.kafka.Requests().WriteTotal())
	}
}

// TestEditsInBetween: somebody writes to the objects all the time; nothing of theirs is lost, nothing of ours is wrong.
func TestEditsInBetween(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.create(topic("orders", critical), topic("payments", critical))
	const edits = 150
	for i := range edits {
		for _, name := range []string{"orders", "payments"} {
			w.edit(name, func(t *durableTopic) {
				t.Annotations = map[string]string{"note": fmt.Sprint(i)}
				if i%25 == 0 {
					declare("retention.ms", fmt.Sprint(1000+i))(t)
				}
			})
		}
		if i == edits/2 {
			w.delete("payments")
			w.create(topic("payments", critical))
		}
	}
	for _, name := range []string{"orders", "payments"} {
		if got := w.until(name, "Ready=True"); got.Annotations["note"] != fmt.Sprint(edits-1) {
			t.Errorf("%s has the annotations %v", name, got.Annotations)
		}
		w.config(name, "retention.ms", fmt.Sprint(1000+edits-25))
	}
	w.silent(2)
}
