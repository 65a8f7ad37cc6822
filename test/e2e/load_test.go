//go:build unix

package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// metrics are the operator's metrics at one time: series by name and labels, like `name{a="b",c="d"}`. Of a histogram
// it is the number of observations.
type metrics map[string]float64

func (w *world) metrics() metrics {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.ctx, http.MethodGet, w.operator.Info().Metrics, nil)
	w.must(err)
	resp, err := http.DefaultClient.Do(req)
	w.must(err)
	defer func() { _ = resp.Body.Close() }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	w.must(err)
	all := metrics{}
	for name, family := range families {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			slices.Sort(labels)
			all[name+"{"+strings.Join(labels, ",")+"}"] = m.GetCounter().GetValue() + m.GetGauge().GetValue() +
				float64(m.GetHistogram().GetSampleCount())
		}
	}
	return all
}

// sum adds up the series of a name that have all the labels, given as `cluster="default"`.
func (m metrics) sum(name string, labels ...string) float64 {
	total := 0.0
	for series, value := range m {
		family, rest, _ := strings.Cut(series, "{")
		if family == name && !slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(rest, l) }) {
			total += value
		}
	}
	return total
}

// since subtracts what was counted before.
func (m metrics) since(before metrics) metrics {
	d := metrics{}
	for series, value := range m {
		d[series] = value - before[series]
	}
	return d
}

// writeAPIs are the requests that change something in Kafka.
var writeAPIs = []string{
	"CreateTopics", "DeleteTopics", "CreatePartitions", "AlterConfigs", "IncrementalAlterConfigs",
	"AlterPartitionAssignments", "ElectLeaders", "DeleteRecords",
}

// requests splits the requests to a Kafka into reads and writes.
func (m metrics) requests(cluster string) (reads, writes float64) {
	const name = "durabletopic_kafka_requests_total"
	of := fmt.Sprintf("cluster=%q", cluster)
	for _, api := range writeAPIs {
		writes += m.sum(name, of, fmt.Sprintf("api=%q", api))
	}
	return m.sum(name, of) - writes, writes
}

// requestWords lists what was asked of a Kafka.
func (m metrics) requestWords(cluster string) string {
	var words []string
	for series, n := range m {
		if strings.HasPrefix(series, "durabletopic_kafka_requests_total{") && strings.Contains(series, fmt.Sprintf("cluster=%q", cluster)) && n > 0 {
			words = append(words, fmt.Sprintf("%s %v", strings.TrimPrefix(series, "durabletopic_kafka_requests_total"), n))
		}
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// sweeps waits until the operator has compared all topics of a Kafka with their declarations so many times more.
func (w *world) sweeps(cluster string, n int) {
	w.t.Helper()
	of := fmt.Sprintf("cluster=%q", cluster)
	sweeps := func() float64 { return w.metrics().sum("durabletopic_sweep_duration_seconds", of) }
	want := sweeps() + float64(n)
	w.eventually(fmt.Sprintf("%d sweeps", n), func() string {
		if got := sweeps(); got < want {
			return fmt.Sprintf("%v of %v", got, want)
		}
		return ""
	})
}

// call is one request of the operator to the API server, from the audit log.
type call struct {
	Verb                     string
	Stage                    string
	ObjectRef                struct{ Resource, Subresource, Namespace, Name string }
	RequestReceivedTimestamp time.Time
	StageTimestamp           time.Time
}

func (c call) took() time.Duration { return c.StageTimestamp.Sub(c.RequestReceivedTimestamp) }

func (c call) String() string {
	r := c.ObjectRef
	return fmt.Sprintf("%s %s/%s %s/%s", c.Verb, r.Resource, r.Subresource, r.Namespace, r.Name)
}

// auditMark is a place in the audit log.
func (w *world) auditMark() int64 {
	w.t.Helper()
	info, err := os.Stat(w.auditLog())
	w.must(err)
	return info.Size()
}

func (w *world) auditLog() string { return filepath.Join(w.kube.Dir(), "kube-apiserver.log") }

// calls gives the operator's requests since a mark, without its watches.
func (w *world) calls(mark int64) []call {
	w.t.Helper()
	text, err := os.ReadFile(w.auditLog())
	w.must(err)
	var calls []call
	lines := bufio.NewScanner(bytes.NewReader(text[mark:]))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !bytes.HasPrefix(lines.Bytes(), []byte(`{"kind":"Event","apiVersion":"audit.k8s.io/`)) {
			continue
		}
		var c call
		if json.Unmarshal(lines.Bytes(), &c) != nil { // the last line may be half written
			continue
		}
		if c.Verb != "watch" && c.Stage == "ResponseComplete" {
			calls = append(calls, c)
		}
	}
	w.must(lines.Err())
	return calls
}

// cost sorts the operator's requests about topics of the world.
type cost struct {
	reads        []call
	statusWrites map[string]int // by object
	eventWrites  int
	slowest      time.Duration // of the status writes
	lease        time.Duration // the slowest renewal of the lease
}

func (w *world) cost(mark int64) cost {
	w.t.Helper()
	c := cost{statusWrites: map[string]int{}}
	for _, a := range w.calls(mark) {
		switch r := a.ObjectRef; {
		case r.Resource == "leases":
			c.lease = max(c.lease, a.took())
		case a.Verb == "get" || a.Verb == "list":
			c.reads = append(c.reads, a)
		case r.Namespace != w.namespace:
		case r.Resource == "events":
			c.eventWrites++
		default:
			c.statusWrites[r.Name]++
			c.slowest = max(c.slowest, a.took())
		}
	}
	return c
}

// writes is how many requests changed something about topics.
func (c cost) writes() int {
	n := c.eventWrites
	for _, k := range c.statusWrites {
		n += k
	}
	return n
}
