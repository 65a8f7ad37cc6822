package metrics

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/version"
)

// gather gives every series as name{labels}, with its value; a histogram with its count.
func gather(t *testing.T, r *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	series := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			series[f.GetName()+"{"+strings.Join(labels, ",")+"}"] = value(f.GetType(), m)
		}
	}
	return series
}

func value(kind dto.MetricType, m *dto.Metric) float64 {
	if kind == dto.MetricType_GAUGE {
		return m.GetGauge().GetValue()
	}
	if kind == dto.MetricType_COUNTER {
		return m.GetCounter().GetValue()
	}
	return float64(m.GetHistogram().GetSampleCount())
}

func durableTopic(profile v1alpha1.Profile, are ...string) *v1alpha1.DurableTopic {
	t := &v1alpha1.DurableTopic{Spec: v1alpha1.DurableTopicSpec{Profile: profile}}
	for _, condition := range are {
		t.Status.Conditions = append(t.Status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue})
	}
	return t
}

// useAll takes every kind of measurement once for a cluster.
func useAll(m *Metrics, cluster string) {
	m.TopicJudged(cluster+"/orders", cluster, durableTopic("critical", v1alpha1.ConditionReady, v1alpha1.ConditionDurable))
	m.TopicJudged(cluster+"/payments", cluster, durableTopic("critical", v1alpha1.ConditionStalled, v1alpha1.ConditionDrifted))
	m.TopicJudged(cluster+"/payments", cluster, durableTopic("critical", v1alpha1.ConditionReady))
	m.Brokers(cluster, []RackBrokers{{Rack: "a", Available: 2, Fenced: 1}, {Available: 1}})
	m.Drift(cluster, "config", false)
	m.Drift(cluster, "config", false)
	m.Drift(cluster, "config", true)
	m.TopicRecreated(cluster)
	m.Request(cluster, "CreateTopics", "answered", time.Millisecond)
	m.Sweep(cluster, time.Millisecond, 5, nil)
	m.Batch(cluster, "create", 500)
	m.Moves(cluster, map[string]int{"running": 3, "waiting": 4}, 1<<20, time.Minute)
	m.MoveEnded(cluster, "done")
}

func TestSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := prometheus.NewRegistry()
		m := New(r, version.Info{Version: "v1", Commit: "abc", Go: "go1"})
		useAll(m, "x")
		time.Sleep(7 * time.Second)
		m.Sweep("x", time.Second, 5, errors.New("not complete"))
		want := map[string]float64{
			"durabletopic_topics{cluster=x,profile=critical,state=declared}":                2,
			"durabletopic_topics{cluster=x,profile=critical,state=ready}":                   2,
			"durabletopic_topics{cluster=x,profile=critical,state=durable}":                 1,
			"durabletopic_topics{cluster=x,profile=critical,state=drifted}":                 0,
			"durabletopic_topics{cluster=x,profile=critical,state=stalled}":                 0,
			"durabletopic_brokers{cluster=x,rack=a,state=available}":                        2,
			"durabletopic_brokers{cluster=x,rack=a,state=fenced}":                           1,
			"durabletopic_brokers{cluster=x,rack=,state=available}":                         1,
			"durabletopic_brokers{cluster=x,rack=,state=fenced}":                            0,
			"durabletopic_drift_detected_total{cluster=x,kind=config}":                      2,
			"durabletopic_drift_corrected_total{cluster=x,kind=config}":                     1,
			"durabletopic_topics_recreated_total{cluster=x}":                                1,
			"durabletopic_kafka_requests_total{api=CreateTopics,cluster=x,result=answered}": 1,
			"durabletopic_kafka_request_duration_seconds{api=CreateTopics,cluster=x}":       1,
			"durabletopic_sweep_duration_seconds{cluster=x}":                                1,
			"durabletopic_sweep_age_seconds{cluster=x}":                                     7,
			"durabletopic_batch_size{cluster=x,kind=create}":                                1,
			"durabletopic_moves{cluster=x,state=running}":                                   3,
			"durabletopic_moves{cluster=x,state=waiting}":                                   4,
			"durabletopic_move_bytes_left{cluster=x}":                                       1 << 20,
			"durabletopic_move_seconds_left{cluster=x}":                                     60,
			"durabletopic_moves_ended_total{cluster=x,how=done}":                            1,
			"durabletopic_build_info{commit=abc,goversion=go1,version=v1}":                  1,
		}
		if diff := cmp.Diff(want, gather(t, r)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestForgetLeavesNothingOfACluster(t *testing.T) {
	r := prometheus.NewRegistry()
	m := New(r, version.Info{})
	useAll(m, "gone")
	useAll(m, "stays")
	before := len(gather(t, r))
	m.Forget("gone")
	after := gather(t, r)
	for series := range after {
		if strings.Contains(series, "cluster=gone") {
			t.Errorf("left over: %s", series)
		}
	}
	if want := (before-1)/2 + 1; len(after) != want {
		t.Errorf("%d series are left of %d, want %d", len(after), before, want)
	}
}

func TestTopicCounts(t *testing.T) {
	m := New(prometheus.NewRegistry(), version.Info{})
	m.TopicJudged("ns/a", "x", durableTopic("telemetry", v1alpha1.ConditionReady))
	m.TopicJudged("ns/b", "x", durableTopic("critical", v1alpha1.ConditionStalled, v1alpha1.ConditionDrifted))
	m.TopicJudged("ns/c", "x", durableTopic("critical", v1alpha1.ConditionReady, v1alpha1.ConditionDurable))
	m.TopicJudged("ns/d", "y", durableTopic("critical"))
	m.TopicJudged("ns/e", "x", durableTopic("critical"))
	m.TopicForgotten("ns/e")
	want := []v1alpha1.TopicCount{
		{Profile: "critical", Total: 2, Ready: 1, Durable: 1, Drifted: 1, Stalled: 1},
		{Profile: "telemetry", Total: 1, Ready: 1},
	}
	if diff := cmp.Diff(want, m.TopicCounts("x")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := m.TopicCounts("z"); len(got) != 0 {
		t.Errorf("topics of a cluster that has none: %v", got)
	}
}

func TestBrokersReplace(t *testing.T) {
	r := prometheus.NewRegistry()
	m := New(r, version.Info{})
	m.Brokers("x", []RackBrokers{{Rack: "a", Available: 2}})
	m.Brokers("x", []RackBrokers{{Rack: "b", Available: 1}})
	got := gather(t, r)
	if _, old := got["durabletopic_brokers{cluster=x,rack=a,state=available}"]; old {
		t.Error("a rack without brokers is still there")
	}
}

func TestEveryMetricIsDocumented(t *testing.T) {
	r := prometheus.NewRegistry()
	useAll(New(r, version.Info{}), "x")
	names := map[string]struct{}{}
	for series := range gather(t, r) {
		name, _, _ := strings.Cut(series, "{")
		names[name] = struct{}{}
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]struct{}{}
	for _, m := range regexp.MustCompile("`(durabletopic_[a-z_]+)`").FindAllStringSubmatch(string(page), -1) {
		documented[m[1]] = struct{}{}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(names)), slices.Sorted(maps.Keys(documented))); diff != "" {
		t.Errorf("metrics and docs/metrics.md differ (-registered +documented):\n%s", diff)
	}
}
