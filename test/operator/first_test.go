package operator_test

import (
	"testing"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/kafka/kafkatest"
)

func TestCreate(t *testing.T) {
	w := newWorld(t, kafkatest.Options{ELR: true, MinInSyncReplicas: "2"})
	w.create(topic("orders", v1alpha1.ProfileCritical))
	got := w.until("orders", "Ready=True")
	t.Log(conditions(got), w.events("orders"), w.calls.count("PATCH"))
	w.kafka.SetTopicConfig("orders", "min.insync.replicas", "1")
	w.config("orders", "min.insync.replicas", "2")
	w.eventually("lastDrift", func() string {
		if got = w.get("orders"); got.Status.LastDrift == nil {
			return "none"
		}
		return ""
	})
	t.Log(got.Status.LastDrift, w.events("orders"), w.calls.count("PATCH"))
}

func (w *world) checkStatuses() {}
