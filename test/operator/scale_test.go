package operator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"durabletopic.io/operator/api/v1alpha1"
	coretopic "durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

const (
	many          = 500
	scaleInterval = 4 * time.Second
	// loaded is how much longer than promised a correction may take here: other tests and builds share the machine, and the
	// API server, the operator and the test itself share its cores.
	loaded = 5
)

// TestLongest runs the two longest tests side by side and nothing beside them: others would disturb the times that the
// first one measures, and the second one only waits.
func TestLongest(t *testing.T) {
	t.Run("five hundred topics", fiveHundredTopics)
	t.Run("outage in real time", outageInRealTime)
	t.Run("outage", outage)
}

// fiveHundredTopics counts what many topics cost: to create, to leave alone, to set right all at once.
func fiveHundredTopics(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{ELR: true, MinInSyncReplicas: "2"}, func(c *kafkaCluster) {
		c.Spec.CheckIntervalSeconds = int32(scaleInterval / time.Second)
	})
	w.untilCluster("default", "Ready=True")
	w.sweeps(1)
	names := w.createMany()
	w.leaveAlone()
	w.disturb(names)
}

func (w *world) createMany() []string {
	w.t.Helper()
	var names []string
	var declared []*durableTopic
	for i := range many {
		names = append(names, fmt.Sprintf("topic-%03d", i))
		declared = append(declared, topic(names[i], []v1alpha1.Profile{critical, telemetry}[i%2]))
	}
	w.kafka.Reset()
	w.calls.reset()
	began := time.Now()
	w.applyAll(declared)
	w.allReady()
	took := time.Since(began)
	asked := w.kafka.Requests()
	w.t.Logf("%d topics are ready after %v: %d writes and %d reads of Kafka", many, took.Round(time.Millisecond), asked.WriteTotal(), asked.ReadTotal())
	if n := asked.WriteTotal(); n > many/10 {
		w.t.Errorf("%d writes to Kafka, more than one for ten topics", n)
	}
	if n := asked.ReadTotal(); float64(n) > 10*(1+took.Seconds()) { // the first second may have more
		w.t.Errorf("%d reads of Kafka in %v, more than 10 a second", n, took)
	}
	w.requestsPerTopic(2, 1)
	if uneven := w.unevenLeaders(); uneven != "" {
		w.t.Error(uneven)
	}
	for i, name := range names {
		if trouble := w.locked(name, i%2 == 1, 3, 2, 1); trouble != "" {
			w.t.Errorf("%s: %s", name, trouble)
		}
	}
	return names
}

// allReady waits for all objects of the world.
func (w *world) allReady() {
	w.t.Helper()
	w.within(3*time.Minute, "all topics to be ready", func() string {
		var list v1alpha1.DurableTopicList
		w.must(w.kube.List(w.ctx, &list, client.MatchingLabels{worldLabel: w.id}))
		ready := 0
		for _, t := range list.Items {
			if meta.IsStatusConditionTrue(t.Status.Conditions, v1alpha1.ConditionReady) && t.Status.ObservedGeneration == t.Generation {
				ready++
			}
		}
		if ready < len(list.Items) {
			time.Sleep(200 * time.Millisecond) // a list of all objects is dear
			return fmt.Sprintf("%d of %d are", ready, len(list.Items))
		}
		return ""
	})
}

// requestsPerTopic bounds the operator's requests to the API server since the last reset.
func (w *world) requestsPerTopic(statuses, events int) {
	w.t.Helper()
	patches := map[string]int{}
	for _, r := range w.calls.find("PATCH ", "/durabletopics/") {
		patches[r]++
	}
	total := 0
	for request, n := range patches {
		total += n
		if n > statuses {
			w.t.Errorf("%d times %s", n, request)
		}
	}
	told := w.calls.count("POST ", "/events") + w.calls.count("PATCH ", "/events/")
	if told > events*many {
		w.t.Errorf("%d requests about events for %d topics", told, many)
	}
	w.t.Logf("%d writes of statuses, %d of events", total, told)
	if reads := w.calls.find("GET "); len(reads) > 0 {
		w.t.Errorf("the API server was asked: %q", reads[:min(5, len(reads))])
	}
}

func (w *world) leaveAlone() {
	w.t.Helper()
	w.silent(3)
}

// disturb changes a lock of every topic at once; foreign keys and throttles must survive the correction.
func (w *world) disturb(names []string) {
	w.t.Helper()
	foreign := map[string]string{
		"leader.replication.throttled.replicas": "0:1,1:2", "follower.replication.throttled.replicas": "*",
		"compression.type": "lz4", "retention.ms": " 86400000", "max.message.bytes": "2097152",
	}
	for _, name := range names {
		for key, value := range foreign {
			w.kafka.SetTopicConfig(name, key, value)
		}
	}
	w.silent(1)
	before := w.lockedConfigs(names)
	w.kafka.Reset()
	w.calls.reset()
	began := time.Now()
	for i, name := range names {
		if i%2 == 0 {
			w.kafka.SetTopicConfig(name, coretopic.MinInSyncReplicas, "1")
		} else {
			w.kafka.DeleteTopicConfig(name, coretopic.UncleanLeaderElection)
		}
	}
	w.within(3*time.Minute, "all locks to be as they were", func() string {
		if cmp.Equal(before, w.lockedConfigs(names)) {
			return ""
		}
		return "they are not"
	})
	took := time.Since(began)
	w.t.Logf("%d locks are set right after %v, in %d requests", many, took.Round(time.Millisecond), w.kafka.Requests().WriteTotal())
	if promised := scaleInterval + time.Second; took > loaded*promised {
		w.t.Errorf("it took %v, promised on a machine of its own is %v", took, promised)
	}
	if n := w.kafka.Requests().WriteTotal(); n > many/10 {
		w.t.Errorf("%d writes to Kafka for %d corrections", n, many)
	}
	w.tellDrift(names)
	w.requestsPerTopic(1, 1)
	for _, name := range names {
		for key, want := range foreign {
			if got, _ := w.kafka.TopicConfig(name, key); got != want {
				w.t.Errorf("%s of %s is %q, was %q", key, name, got, want)
			}
		}
	}
	w.silent(2)
}

func (w *world) lockedConfigs(names []string) map[string]string {
	locks := map[string]string{}
	for _, name := range names {
		for _, key := range []string{coretopic.MinInSyncReplicas, coretopic.UncleanLeaderElection} {
			locks[name+" "+key], _ = w.kafka.TopicConfig(name, key)
		}
	}
	return locks
}

// tellDrift waits until status, event and metric tell of one correction of each topic.
func (w *world) tellDrift(names []string) {
	w.t.Helper()
	for _, name := range names {
		w.eventually("lastDrift of "+name, func() string {
			if w.get(name).Status.LastDrift == nil {
				return "there is none"
			}
			return ""
		})
		if got := w.path(name); strings.Join(got, " ") != "True" {
			w.t.Errorf("%s was not ready all the time: %v", name, got)
		}
	}
	w.eventually("an event for each topic", func() string {
		if n := w.calls.count("POST ", "/events"); n < many {
			return fmt.Sprint(n)
		}
		return ""
	})
	w.event(names[0], "DriftCorrected")
	for _, family := range []string{"durabletopic_drift_detected_total", "durabletopic_drift_corrected_total"} {
		if n := w.metric(family); n != many {
			w.t.Errorf("%s is %v", family, n)
		}
	}
}

// TestThreeBadAmongHundred: a declaration that is refused, for whatever reason, delays no other.
func TestThreeBadAmongHundred(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, kafkatest.Options{})
	w.kafka.CreateTopicByHand("stock_levels", [][]int32{{1, 3, 5}}, nil)
	w.kafka.Deny(kafkatest.Denial{Operation: kmsg.ACLOperationCreate, Resource: kmsg.ACLResourceTypeCluster},
		kafkatest.Denial{Operation: kmsg.ACLOperationCreate, Resource: kmsg.ACLResourceTypeTopic, Name: "topic-58"})
	var declared []*durableTopic
	for i := range 100 {
		d := topic(fmt.Sprintf("topic-%02d", i), critical)
		switch i {
		case 57:
			declare("cleanup.policy", "shred")(d)
		case 59:
			d.Spec.TopicName = "stock.levels"
		}
		declared = append(declared, d)
	}
	w.applyAll(declared)
	w.connect("default")
	for i := range 100 {
		if i < 57 || i > 59 {
			w.until(fmt.Sprintf("topic-%02d", i), "Ready=True")
		}
	}
	w.until("topic-57", "Stalled=True:ConfigRejected", "Ready=False", "Durable=True")
	w.until("topic-58", "Stalled=True:NotAuthorized", "Ready=False")
	w.until("topic-59", "Stalled=True:TopicNameCollision", "Ready=False")
	if n := w.kafka.Requests().WriteTotal(); n > 20 {
		t.Errorf("%d writes to Kafka for 100 topics", n)
	}
	w.silent(2)
}
