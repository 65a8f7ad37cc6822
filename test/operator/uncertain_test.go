package operator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

// TestUnclearAnswers: a write whose answer is lost, late or unclear is looked at before anything else is done, and ends as
// if nothing had happened. Only a create that did not happen is sent again.
func TestUnclearAnswers(t *testing.T) {
	t.Parallel()
	code := func(e *kerr.Error, f kafkatest.Fault) kafkatest.Fault { f.Code = e.Code; return f }
	tests := map[string]struct {
		fault kafkatest.Fault
		sends int // of each write
	}{
		"the answer is lost":                  {kafkatest.Fault{Drop: true}, 1},
		"the request is lost":                 {kafkatest.Fault{Lose: true}, 2},
		"the request is lost three times":     {kafkatest.Fault{Lose: true, Count: 3}, 4},
		"no answer in time, done":             {kafkatest.Fault{Hang: true, Applied: true}, 1},
		"no answer in time, not done":         {kafkatest.Fault{Hang: true}, 2},
		"REQUEST_TIMED_OUT, done":             {code(kerr.RequestTimedOut, kafkatest.Fault{Applied: true}), 1},
		"REQUEST_TIMED_OUT, not done":         {code(kerr.RequestTimedOut, kafkatest.Fault{}), 2},
		"NOT_CONTROLLER, done":                {code(kerr.NotController, kafkatest.Fault{Applied: true, TopLevel: true}), 1},
		"UNKNOWN_SERVER_ERROR, done":          {code(kerr.UnknownServerError, kafkatest.Fault{Applied: true}), 1},
		"THROTTLING_QUOTA_EXCEEDED, not done": {code(kerr.ThrottlingQuotaExceeded, kafkatest.Fault{ThrottleMillis: 1000}), 2},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kafkatest.Options{})
			arm := func(api kmsg.Key) *kafkatest.Armed {
				f := test.fault
				f.APIKey = api
				return w.kafka.Fail(f)
			}
			struck := []*kafkatest.Armed{arm(kmsg.CreateTopics), arm(kmsg.CreatePartitions), arm(kmsg.IncrementalAlterConfigs)}
			w.create(topic("orders", critical))
			w.until("orders", "Ready=True")
			id := w.topicID("orders")
			w.edit("orders", func(t *durableTopic) { partitions(6)(t); declare("retention.ms", "1000")(t) })
			got := w.until("orders", "Ready=True", "!Stalled", "!Drifted")
			if w.topicID("orders") != id || got.Status.TopicID != id.String() || got.Status.Partitions != 6 {
				t.Errorf("topic was %s and is %s, status: %+v", id, w.topicID("orders"), got.Status)
			}
			w.config("orders", "retention.ms", "1000")
			w.silent(1)
			for _, armed := range struck {
				if armed.Hits() == 0 {
					t.Errorf("the fault of %s struck nothing", armed.APIKey.Name())
				}
			}
			for api, n := range w.kafka.Requests().Writes {
				if n > test.sends {
					t.Errorf("%d times %s, want %d", n, api.Name(), test.sends)
				}
			}
			for _, told := range w.events("orders", "") {
				if strings.Contains(told, "Replaced") || strings.Contains(told, "Recreated") || strings.Contains(told, "Drift") {
					t.Errorf("event: %s", told)
				}
			}
		})
	}
}

// TestNotYet: codes that mean "never" on one day and "not yet" on another are tried again and are no dead end.
func TestNotYet(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		code *kerr.Error
		want string
	}{
		"brokers are starting":                {kerr.InvalidReplicationFactor, "Reconciling=True:WaitingForBrokers"},
		"a topic of the name is still going":  {kerr.TopicAlreadyExists, "Reconciling=True:Creating"},
		"a chosen broker has just left":       {kerr.InvalidReplicaAssignment, "Reconciling=True:WaitingForBrokers"},
		"the quota of mutations is exhausted": {kerr.ThrottlingQuotaExceeded, "Reconciling=True:Throttled"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kafkatest.Options{})
			w.kafka.Fail(kafkatest.Fault{APIKey: kmsg.CreateTopics, Topic: "orders", Code: test.code.Code, Message: "not now", Count: 3})
			w.create(topic("orders", critical))
			w.until("orders", test.want, "Ready=False", "!Stalled")
			w.until("orders", "Ready=True", "!Reconciling")
			for _, step := range w.path("orders") {
				if strings.HasPrefix(step, "True") && step != w.path("orders")[len(w.path("orders"))-1] {
					t.Errorf("was called ready before the topic was there: %v", w.path("orders"))
				}
			}
			if n := creates(w.kafka, "orders"); n != 4 {
				t.Errorf("%d creates, want three refused and one more", n)
			}
		})
	}
}

// TestRestartAnywhere ends the operator after each of its first writes and reads: the end is the same, and nothing is done
// twice with another effect.
func TestRestartAnywhere(t *testing.T) {
	t.Parallel()
	w := stillWorld(t, kafkatest.Options{ELR: true, MinInSyncReplicas: "2"})
	profiles := []v1alpha1.Profile{critical, telemetry}
	var names []string
	for i := range 12 {
		names = append(names, fmt.Sprintf("topic-%02d", i))
		if i%3 == 0 { // some are there already, in a bad state
			w.kafka.CreateTopicByHand(names[i], [][]int32{{1, 3, 5}, {2, 4, 6}}, map[string]string{unclean: fmt.Sprint(i%2 == 0)})
		}
		w.create(topic(names[i], profiles[i%2], declare("retention.ms", "1000")))
	}
	w.connect("default")
	for stopAt := 1; stopAt <= 12; stopAt++ {
		before := w.kafka.Requests()
		w.start()
		w.eventually("some requests", func() string {
			now := w.kafka.Requests()
			if n := now.ReadTotal() + now.WriteTotal() - before.ReadTotal() - before.WriteTotal(); n < stopAt {
				return fmt.Sprint(n)
			}
			return ""
		})
		w.stop()
	}
	w.start()
	w.readyTopics(names...)
	for i, name := range names {
		if trouble := w.locked(name, i%2 == 1, 3, 2, 1); trouble != "" {
			t.Errorf("%s: %s", name, trouble)
		}
		w.config(name, "retention.ms", "1000")
		made, _ := w.kafka.Topic(name)
		if len(made.Partitions) != 3 {
			t.Errorf("%s has %d partitions", name, len(made.Partitions))
		}
		if n := creates(w.kafka, name); n > 1 {
			t.Errorf("%d creates of %s", n, name)
		}
		sent := alters(w.kafka, name)
		slices.Sort(sent)
		if diff := cmp.Diff(slices.Compact(slices.Clone(sent)), sent); diff != "" {
			t.Errorf("changes of %s were sent twice (-once +sent):\n%s", name, diff)
		}
	}
	w.silent(2)
	w.restart()
	w.readyTopics(names...)
	w.silent(2) // a restart over topics that are right writes nothing at all
	for _, name := range names {
		if told := append(w.events(name, "TopicReplaced"), w.events(name, "TopicRecreated")...); len(told) > 0 {
			t.Errorf("events of %s: %q", name, told)
		}
	}
}

// TestRestartRemembersDrift: what drifted while nobody looked is drift, and a restart over what is right says nothing.
func TestRestartRemembersDrift(t *testing.T) {
	t.Parallel()
	w := newWorld(t, kafkatest.Options{})
	w.create(topic("orders", critical), topic("payments", critical))
	w.readyTopics("orders", "payments")
	w.stop()
	w.kafka.Reset()
	versions := w.get("payments").ResourceVersion
	w.kafka.SetTopicConfig("orders", minISR, "1")
	w.start()
	w.config("orders", minISR, "2")
	w.event("orders", "DriftCorrected")
	w.silent(2)
	if got := w.get("payments"); got.ResourceVersion != versions || written(w.kafka, "payments") > 0 || w.kafka.Requests().WriteTotal() != 1 {
		t.Errorf("version was %s and is %s; %d writes", versions, got.ResourceVersion, w.kafka.Requests().WriteTotal())
	}
}
