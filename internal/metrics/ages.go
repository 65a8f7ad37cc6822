package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ages shows per cluster how long ago something happened, at the moment it is asked.
type ages struct {
	desc *prometheus.Desc

	mu   sync.Mutex
	last map[string]time.Time
}

func newAges(name, help string) *ages {
	return &ages{
		desc: prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, []string{"cluster"}, nil),
		last: map[string]time.Time{},
	}
}

func (a *ages) reset(cluster string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last[cluster] = now
}

func (a *ages) forget(cluster string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.last, cluster)
}

// Describe implements prometheus.Collector.
func (a *ages) Describe(descs chan<- *prometheus.Desc) { descs <- a.desc }

// Collect implements prometheus.Collector.
func (a *ages) Collect(values chan<- prometheus.Metric) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for cluster, last := range a.last {
		values <- prometheus.MustNewConstMetric(a.desc, prometheus.GaugeValue, time.Since(last).Seconds(), cluster)
	}
}
