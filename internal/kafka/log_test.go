package kafka

import (
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"durabletopic.io/operator/internal/core/topic"
)

// The Kafka client's own messages show with more verbosity only: a broker that restarts is no event for an operator.
func TestClientLog(t *testing.T) {
	tests := map[string]struct {
		verbosity int
		wantLevel kgo.LogLevel
		wantLines int
	}{
		"as usual":     {0, kgo.LogLevelNone, 0},
		"verbose":      {1, kgo.LogLevelWarn, 2},
		"more verbose": {2, kgo.LogLevelInfo, 3},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			lines := 0
			l := clientLog{funcr.New(func(_, _ string) { lines++ }, funcr.Options{Verbosity: tt.verbosity})}
			if got := l.Level(); got != tt.wantLevel {
				t.Errorf("level %v, want %v", got, tt.wantLevel)
			}
			for _, level := range []kgo.LogLevel{kgo.LogLevelError, kgo.LogLevelWarn, kgo.LogLevelInfo} {
				l.Log(level, "message", "key", "value")
			}
			if lines != tt.wantLines {
				t.Errorf("%d lines, want %d", lines, tt.wantLines)
			}
		})
	}
	none := clientLog{logr.Logger{}}
	none.Log(kgo.LogLevelError, "message")
	if none.Level() != kgo.LogLevelNone {
		t.Error("without a logger something would be logged")
	}
}

func TestConfigTypes(t *testing.T) {
	want := map[kmsg.ConfigType]topic.ConfigType{
		kmsg.ConfigTypeUnknown: topic.TypeUnknown, kmsg.ConfigTypeBoolean: topic.TypeBoolean, kmsg.ConfigTypeString: topic.TypeString,
		kmsg.ConfigTypeInt: topic.TypeInt, kmsg.ConfigTypeShort: topic.TypeShort, kmsg.ConfigTypeLong: topic.TypeLong,
		kmsg.ConfigTypeDouble: topic.TypeDouble, kmsg.ConfigTypeList: topic.TypeList, kmsg.ConfigTypeClass: topic.TypeClass,
		kmsg.ConfigTypePassword: topic.TypePassword, 42: topic.TypeUnknown,
	}
	got := map[kmsg.ConfigType]topic.ConfigType{}
	for kind := range want {
		got[kind] = typeOf(kind)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
