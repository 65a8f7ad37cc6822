package topic_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/internal/core/topic"
	"durabletopic.io/operator/internal/core/topictest"
)

func TestTarget(t *testing.T) {
	tests := map[string]struct {
		partition      string
		wantTarget     []int32
		wantReassigned bool
	}{
		"at rest":   {"1 3 5", []int32{1, 3, 5}, false},
		"replacing": {"6 1 3 5 adding 6 removing 5", []int32{6, 1, 3}, true},
		"growing":   {"1 3 5 adding 5", []int32{1, 3, 5}, true},
		"shrinking": {"1 3 5 removing 1 5", []int32{3}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := topictest.Partition(tt.partition)
			if diff := cmp.Diff(tt.wantTarget, p.Target()); diff != "" {
				t.Errorf("target (-want +got):\n%s", diff)
			}
			if got := p.Reassigning(); got != tt.wantReassigned {
				t.Errorf("reassigning is %v", got)
			}
			if diff := cmp.Diff(topictest.Partition(tt.partition), p); diff != "" {
				t.Errorf("the partition was changed:\n%s", diff)
			}
		})
	}
}

func TestReplicas(t *testing.T) {
	tests := map[string]struct {
		partitions       []string
		wantMin, wantMax int32
	}{
		"none":   {nil, 0, 0},
		"even":   {[]string{"1 3 5", "3 5 1"}, 3, 3},
		"uneven": {[]string{"1 2 3", "1 2 3 4", "1"}, 1, 4},
		"moving": {[]string{"1 3 5 6 adding 6 removing 1"}, 3, 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := topictest.Topic(tt.partitions...)
			if o.MinReplicas() != tt.wantMin || o.MaxReplicas() != tt.wantMax {
				t.Errorf("replicas %d to %d, want %d to %d", o.MinReplicas(), o.MaxReplicas(), tt.wantMin, tt.wantMax)
			}
		})
	}
}

func TestID(t *testing.T) {
	if got := (topic.ID{}).String(); got != "" {
		t.Errorf("the zero ID is %q", got)
	}
	// The form of kafka-topics.sh --describe: 22 characters of URL-safe base64.
	id := topic.ID{0xfb, 0xff, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	if got, want := id.String(), "-_8CAwQFBgcICQoLDA0ODw"; got != want {
		t.Errorf("the ID is %q, want %q", got, want)
	}
}

func TestBroker(t *testing.T) {
	c := topictest.Cluster("a x b! -")
	for id, want := range map[int32]topic.Broker{
		1: {ID: 1, Rack: "a"}, 3: {ID: 3, Rack: "b", Fenced: true}, 4: {ID: 4},
	} {
		if got, ok := c.Broker(id); !ok || got != want {
			t.Errorf("broker %d is %+v, %v", id, got, ok)
		}
	}
	for _, id := range []int32{0, 2, 5} {
		if got, ok := c.Broker(id); ok {
			t.Errorf("broker %d is registered: %+v", id, got)
		}
	}
}

func TestELR(t *testing.T) {
	for name, tt := range map[string]struct {
		features map[string]int16
		want     bool
	}{
		"unknown": {nil, false},
		"off":     {map[string]int16{topic.FeatureELR: 0}, false},
		"on":      {map[string]int16{topic.FeatureELR: 1}, true},
	} {
		if got := (&topic.Cluster{Features: tt.features}).ELR(); got != tt.want {
			t.Errorf("%s: ELR is %v", name, got)
		}
	}
}

func TestNames(t *testing.T) {
	if a, b := topic.CollisionKey("a.b_c"), topic.CollisionKey("a_b.c"); a != b {
		t.Errorf("%q and %q do not collide", a, b)
	}
	if a, b := topic.CollisionKey("a-b"), topic.CollisionKey("a_b"); a == b {
		t.Errorf("%q and %q collide", "a-b", "a_b")
	}
	for name, want := range map[string]bool{
		"__consumer_offsets": true, "__transaction_state": true, "__share_group_state": true, "__cluster_metadata": true,
		"__remote_log_metadata": true, "_schemas": false, "orders": false, "": false,
	} {
		if topic.IsInternal(name) != want {
			t.Errorf("IsInternal(%q) is not %v", name, want)
		}
	}
}

func TestDefaultMayDeleteData(t *testing.T) {
	for key, want := range map[string]bool{
		"cleanup.policy": true, "retention.ms": true, "retention.bytes": true, "local.retention.ms": true,
		"local.retention.bytes": true, "delete.retention.ms": true, "max.compaction.lag.ms": true,
		"remote.storage.enable": true, "remote.log.delete.on.disable": true,
		"compression.type": false, "segment.bytes": false, "min.compaction.lag.ms": false, "file.delete.delay.ms": false,
	} {
		if topic.DefaultMayDeleteData(key) != want {
			t.Errorf("DefaultMayDeleteData(%q) is not %v", key, want)
		}
	}
}

func TestShown(t *testing.T) {
	orders := topictest.Topic("1 3 5")
	for name, tt := range map[string]struct {
		view topic.View
		want bool
	}{
		"present":            {topic.View{Presence: topic.Present, Topic: orders}, true},
		"stale":              {topic.View{Presence: topic.Missing, Topic: orders}, false},
		"hidden":             {topic.View{Presence: topic.Hidden, Topic: orders}, false},
		"not read":           {topic.View{}, false},
		"without a topic":    {topic.View{Presence: topic.Present}, false},
		"without partitions": {topic.View{Presence: topic.Present, Topic: topictest.Topic()}, false},
	} {
		if got := tt.view.Shown(); got != tt.want {
			t.Errorf("%s: shown is %v", name, got)
		}
	}
}

func TestLost(t *testing.T) {
	since := topictest.Now
	for name, tt := range map[string]struct {
		inTouch bool
		after   time.Duration
		want    bool
	}{
		"in touch":         {true, time.Hour, false},
		"inside the grace": {false, 2 * time.Minute, false},
		"after the grace":  {false, 2*time.Minute + 1, true},
	} {
		c := topic.Contact{InTouch: tt.inTouch, Since: since, Grace: 2 * time.Minute}
		if got := c.Lost(since.Add(tt.after)); got != tt.want {
			t.Errorf("%s: lost is %v", name, got)
		}
	}
}

func TestExpected(t *testing.T) {
	two := "2"
	e := topic.Expected{Configs: map[string]*string{topic.MinInSyncReplicas: &two, "retention.ms": nil}}
	for name, tt := range map[string]struct{ got, want bool }{
		"written":            {e.Config(topic.MinInSyncReplicas, "2"), true},
		"written otherwise":  {e.Config(topic.MinInSyncReplicas, "3"), false},
		"deleted, not set":   {e.Config("retention.ms", ""), false},
		"nothing":            {e.Config("segment.ms", ""), false},
		"deleted":            {e.Deleted("retention.ms"), true},
		"written, not gone":  {e.Deleted(topic.MinInSyncReplicas), false},
		"nothing to be gone": {e.Deleted("segment.ms"), false},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %v, want %v", name, tt.got, tt.want)
		}
	}
}
