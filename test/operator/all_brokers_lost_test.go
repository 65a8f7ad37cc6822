package operator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/internal/kafka/kafkatest"
)

// graceOver is longer than the time for which facts stay good without contact.
const graceOver = 3 * time.Minute

// outageInRealTime needs nobody to look: two minutes after contact is lost all topics say so, and all heals.
func outageInRealTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	names := w.someTopics(3)
	w.silent(1)
	w.kafka.DownAll()
	began := time.Now()
	w.untilCluster("default", "Ready=Unknown")
	w.within(4*time.Minute, "topics to be unknown", func() string {
		for _, name := range names {
			if got := w.get(name); !has(got.Status.Conditions, got.Generation, "Ready=Unknown:KafkaUnreachable") {
				return name + " is still known"
			}
		}
		return ""
	})
	if took := time.Since(began); took < 2*time.Minute {
		t.Errorf("given up after %v", took)
	}
	w.kafka.ResumeAll()
	w.readyTopics(names...)
	for _, name := range names {
		if diff := cmp.Diff([]string{"True", "Unknown:KafkaUnreachable", "True"}, w.path(name)); diff != "" {
			t.Errorf("Ready of %s went another way (-want +got):\n%s", name, diff)
		}
		if told := w.events(name, ""); len(told) != 1 {
			t.Errorf("events of %s: %q", name, told)
		}
	}
	if n := w.kafka.Requests().WriteTotal(); n > 3 {
		t.Errorf("%d writes", n)
	}
}

// outages are the ways in which all brokers can be lost.
var outages = map[string]func(*kafkatest.Cluster){
	"all brokers hang": (*kafkatest.Cluster).HangAll,
	"all brokers down": (*kafkatest.Cluster).DownAll,
}

// outage: inside the grace nothing moves but what is new; after it nothing is known; then all heals.
func outage(t *testing.T) {
	t.Parallel()
	for name, lose := range outages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kafkatest.Options{})
			names := w.someTopics(20)
			w.silent(1)
			lose(w.kafka)
			got := w.untilCluster("default", "Ready=Unknown", "Reconciling=True", "!Stalled")
			reason := got.Status.Conditions[0].Reason
			versions := w.resourceVersions()
			w.kafka.SetTopicConfig("topic-5", minISR, "1")
			w.insideTheGrace(versions)
			w.afterTheGrace(names, reason)
			w.kafka.ResumeAll()
			w.config("topic-5", minISR, "2")
			w.readyTopics(append(names, "new")...)
			w.config("topic-0", "retention.ms", "1000")
			w.untilCluster("default", "Ready=True")
			w.silent(1)
		})
	}
}

func (w *world) someTopics(n int) []string {
	w.t.Helper()
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("topic-%d", i))
		w.create(topic(names[i], critical))
	}
	w.readyTopics(names...)
	return names
}

func (w *world) insideTheGrace(versions string) {
	w.t.Helper()
	w.calls.reset()
	w.kafka.Reset()
	began := time.Now()
	w.eventually("some attempts to reach Kafka", func() string {
		if n := w.metric("durabletopic_kafka_requests_total"); time.Since(began) < 8*time.Second {
			return fmt.Sprint(n)
		}
		return ""
	})
	if diff := cmp.Diff(versions, w.resourceVersions()); diff != "" {
		w.t.Errorf("statuses moved inside the grace:\n%s", diff)
	}
	if found := w.calls.writes(); len(found) > 0 {
		w.t.Errorf("requests to the API server: %q", found)
	}
	w.edit("topic-0", declare("retention.ms", "1000"))
	w.create(topic("new", critical))
	got := w.until("topic-0", "Ready=Unknown:KafkaUnreachable", "Reconciling=True:KafkaUnreachable", "!Stalled")
	if durable := fmt.Sprint(got.Status.Conditions); !strings.Contains(durable, "FullyReplicated") {
		w.t.Errorf("inside the grace the guarantees are unknown already: %s", durable)
	}
	w.until("new", "Ready=Unknown:KafkaUnreachable", "Durable=Unknown")
}

func (w *world) afterTheGrace(names []string, reason string) {
	w.t.Helper()
	w.later(graceOver, names...)
	for _, name := range names {
		w.until(name, "Ready=Unknown:KafkaUnreachable", "Durable=Unknown:KafkaUnreachable", "Reconciling=True", "!Drifted", "!Stalled")
	}
	w.calls.reset()
	w.later(time.Second, names...)
	requests, began := w.metric("durabletopic_kafka_requests_total"), time.Now()
	w.eventually("a while", func() string {
		if time.Since(began) < 6*time.Second {
			return "not yet"
		}
		return ""
	})
	if found := w.calls.writes(); len(found) > 0 {
		w.t.Errorf("statuses are written again and again (%s): %q", reason, found)
	}
	// every attempt asks each of six brokers and the bootstrap servers once, and they come at most each second
	if n := w.metric("durabletopic_kafka_requests_total") - requests; n > 10*time.Since(began).Seconds() {
		w.t.Errorf("%v requests to brokers that do not answer in %v", n, time.Since(began))
	}
	if n := w.kafka.Requests().WriteTotal(); n > 0 {
		w.t.Errorf("%d writes", n)
	}
}
