package operator_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"durabletopic.io/operator/api/v1alpha1"
)

// calls are the operator's own requests to the API server.
type calls struct {
	mu       sync.Mutex
	requests []string // "VERB path"; watches are WATCH
}

func (c *calls) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		verb := r.Method
		if r.URL.Query().Get("watch") != "" {
			verb = "WATCH"
		}
		c.mu.Lock()
		c.requests = append(c.requests, verb+" "+r.URL.Path)
		c.mu.Unlock()
		return next.RoundTrip(r)
	})
}

// count gives how many requests had all of the words in verb or path.
func (c *calls) count(words ...string) int { return len(c.find(words...)) }

func (c *calls) find(words ...string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []string
next:
	for _, r := range c.requests {
		for _, word := range words {
			if !strings.Contains(r, word) {
				continue next
			}
		}
		found = append(found, r)
	}
	return found
}

// writes are the requests that change something about topics: statuses, events and journals. Events of KafkaClusters, which
// are in the namespace default, follow their status at some time later.
func (c *calls) writes() []string {
	var found []string
	for _, r := range c.find() {
		read := strings.HasPrefix(r, http.MethodGet+" ") || strings.HasPrefix(r, "WATCH ")
		ofCluster := strings.Contains(r, "/kafkaclusters/") || strings.Contains(r, "/namespaces/default/events")
		if !read && !ofCluster {
			found = append(found, r)
		}
	}
	return found
}

func (c *calls) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// resourceVersions of all DurableTopics, to tell that nothing was written.
func (w *world) resourceVersions() string {
	w.t.Helper()
	var list v1alpha1.DurableTopicList
	w.must(w.kube.List(w.ctx, &list, client.MatchingLabels{worldLabel: w.id}))
	versions := map[string]string{}
	for _, t := range list.Items {
		versions[t.Namespace+"/"+t.Name] = t.ResourceVersion
	}
	text, err := json.Marshal(versions)
	w.must(err)
	return string(text)
}

// metric sums the series of the present operator that have all the labels, given as "name=value"; of histograms it
// counts the observations.
func (w *world) metric(name string, labels ...string) float64 {
	w.t.Helper()
	families, err := w.registry.Gather()
	w.must(err)
	sum := 0.0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			if labelled(m, labels) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

func labelled(m *dto.Metric, labels []string) bool {
	have := map[string]bool{}
	for _, l := range m.GetLabel() {
		have[l.GetName()+"="+l.GetValue()] = true
	}
	for _, want := range labels {
		if !have[want] {
			return false
		}
	}
	return true
}

// sweeps waits until the operator has compared all topics of KafkaCluster "default" with Kafka so many times more.
func (w *world) sweeps(n int) { w.t.Helper(); w.sweepsOf("default", n) }

func (w *world) sweepsOf(cluster string, n int) {
	w.t.Helper()
	label := "cluster=" + w.clusterName(cluster)
	want := w.metric("durabletopic_sweep_duration_seconds", label) + float64(n)
	w.eventually(fmt.Sprintf("%d sweeps", n), func() string {
		if got := w.metric("durabletopic_sweep_duration_seconds", label); got < want {
			return fmt.Sprintf("%v of %v", got, want)
		}
		return ""
	})
}

// silent fails if anything is written, to Kafka or to Kubernetes, or a topic is asked for by itself, in so many sweeps.
func (w *world) silent(sweeps int) {
	w.t.Helper()
	w.sweeps(1) // what was found before is told by now
	versions, kafkaBefore := w.resourceVersions(), w.kafka.Requests()
	w.calls.reset()
	w.sweeps(sweeps)
	if diff := cmp.Diff(versions, w.resourceVersions()); diff != "" {
		w.t.Errorf("statuses were written in quiet times:\n%s", diff)
	}
	if found := w.calls.writes(); len(found) > 0 {
		w.t.Errorf("requests to the API server in quiet times: %q", found)
	}
	after := w.kafka.Requests()
	if n := after.WriteTotal() - kafkaBefore.WriteTotal(); n > 0 {
		w.t.Errorf("%d writes to Kafka in quiet times", n)
	}
	// a sweep: DescribeCluster, DescribeTopicPartitions, DescribeConfigs, and what the brokers are asked about themselves
	if n := after.ReadTotal() - kafkaBefore.ReadTotal(); n > 8*(sweeps+1) {
		w.t.Errorf("%d reads in %d quiet sweeps", n, sweeps)
	}
}
