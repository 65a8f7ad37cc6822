// Package metrics measures the operator for Prometheus. Names start with durabletopic_, labels are few and bounded:
// a cluster, a rack, a kind, never a topic. docs/metrics.md describes each of them.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"durabletopic.io/operator/internal/version"
)

const namespace = "durabletopic"

// States of brokers.
const (
	BrokerAvailable = "available"
	BrokerFenced    = "fenced"
)

// Metrics are all measurements of the operator. Methods may be called from any goroutine and return at once.
type Metrics struct {
	topics          *inventory
	brokers         *prometheus.GaugeVec
	driftDetected   *prometheus.CounterVec
	driftCorrected  *prometheus.CounterVec
	recreated       *prometheus.CounterVec
	requests        *prometheus.CounterVec
	requestDuration *prometheus.HistogramVec
	batchSize       *prometheus.HistogramVec
	sweepDuration   *prometheus.HistogramVec
	sweepAge        *ages
	moves           *prometheus.GaugeVec
	moveBytesLeft   *prometheus.GaugeVec
	moveTimeLeft    *prometheus.GaugeVec
	movesEnded      *prometheus.CounterVec
}

// New registers the metrics. It panics if they are registered already.
func New(r prometheus.Registerer, build version.Info) *Metrics {
	m := &Metrics{
		topics:         newInventory("topics", "DurableTopics by profile and state; states overlap."),
		brokers:        gauge("brokers", "Registered brokers by rack and state.", "cluster", "rack", "state"),
		driftDetected:  counter("drift_detected_total", "Differences from a declaration that were found in Kafka.", "cluster", "kind"),
		driftCorrected: counter("drift_corrected_total", "Differences from a declaration that were corrected.", "cluster", "kind"),
		recreated:      counter("topics_recreated_total", "Topics that had vanished from Kafka, with their records, and were created again empty.", "cluster"),
		requests:       counter("kafka_requests_total", "Requests sent to Kafka by API and whether an answer came.", "cluster", "api", "result"),
		requestDuration: histogram("kafka_request_duration_seconds", "Time until a request to Kafka was answered or given up.",
			[]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}, "cluster", "api"),
		batchSize: histogram("batch_size", "Items in one write to Kafka.",
			[]float64{1, 2, 5, 10, 20, 50, 100, 200, 500}, "cluster", "kind"),
		sweepDuration: histogram("sweep_duration_seconds", "Time spent reading Kafka in one complete sweep over the declared topics.",
			[]float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}, "cluster"),
		moves:         gauge("moves", "Partitions whose replicas move or should, by state.", "cluster", "state"),
		moveBytesLeft: gauge("move_bytes_left", "Bytes that moving replicas still have to copy, as last measured.", "cluster"),
		moveTimeLeft:  gauge("move_seconds_left", "Time until running moves are done at the speed of the last minute; -1 if not known.", "cluster"),
		movesEnded:    counter("moves_ended_total", "Moves of partitions that are over, by how they ended.", "cluster", "how"),
		sweepAge:      newAges("sweep_age_seconds", "Time since the last complete sweep over the declared topics."),
	}
	info := gauge("build_info", "The build of the operator; always 1.", "version", "commit", "goversion")
	info.WithLabelValues(build.Version, build.Commit, build.Go).Set(1)
	r.MustRegister(m.topics, m.brokers, m.driftDetected, m.driftCorrected, m.recreated, m.requests, m.requestDuration,
		m.batchSize, m.sweepDuration, m.sweepAge, m.moves, m.moveBytesLeft, m.moveTimeLeft, m.movesEnded, info)
	return m
}

func gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
}

// RackBrokers are the brokers of one rack; the empty name stands for those without.
type RackBrokers struct {
	Rack              string
	Available, Fenced int
}

// Brokers replaces what is known about the brokers of a cluster.
func (m *Metrics) Brokers(cluster string, racks []RackBrokers) {
	m.brokers.DeletePartialMatch(of(cluster))
	for _, r := range racks {
		m.brokers.WithLabelValues(cluster, r.Rack, BrokerAvailable).Set(float64(r.Available))
		m.brokers.WithLabelValues(cluster, r.Rack, BrokerFenced).Set(float64(r.Fenced))
	}
}

// Drift counts a difference from a declaration by its kind: that it was found, or that it was corrected.
func (m *Metrics) Drift(cluster, kind string, corrected bool) {
	if corrected {
		m.driftCorrected.WithLabelValues(cluster, kind).Inc()
		return
	}
	m.driftDetected.WithLabelValues(cluster, kind).Inc()
}

// TopicRecreated counts a topic that had vanished and was created again.
func (m *Metrics) TopicRecreated(cluster string) { m.recreated.WithLabelValues(cluster).Inc() }

// Request counts a request to Kafka.
func (m *Metrics) Request(cluster, api, result string, took time.Duration) {
	m.requests.WithLabelValues(cluster, api, result).Inc()
	m.requestDuration.WithLabelValues(cluster, api).Observe(took.Seconds())
}

// Sweep records the end of a sweep. One that is not complete leaves the age of the last complete one growing.
func (m *Metrics) Sweep(cluster string, took time.Duration, _ int, err error) {
	if err != nil {
		return
	}
	m.sweepDuration.WithLabelValues(cluster).Observe(took.Seconds())
	m.sweepAge.reset(cluster, time.Now())
}

// Batch records the size of one write.
func (m *Metrics) Batch(cluster, kind string, size int) {
	m.batchSize.WithLabelValues(cluster, kind).Observe(float64(size))
}

// Moves records the partitions that move or should by state, the bytes that are left to copy and for how long; a negative
// time is not known.
func (m *Metrics) Moves(cluster string, states map[string]int, bytesLeft int64, timeLeft time.Duration) {
	for state, n := range states {
		m.moves.WithLabelValues(cluster, state).Set(float64(n))
	}
	m.moveBytesLeft.WithLabelValues(cluster).Set(float64(bytesLeft))
	m.moveTimeLeft.WithLabelValues(cluster).Set(max(-1, timeLeft.Seconds()))
}

// MoveEnded counts a move that is over.
func (m *Metrics) MoveEnded(cluster, how string) { m.movesEnded.WithLabelValues(cluster, how).Inc() }

// Forget deletes every series of a cluster.
func (m *Metrics) Forget(cluster string) {
	for _, vec := range []interface {
		DeletePartialMatch(prometheus.Labels) int
	}{
		m.brokers, m.driftDetected, m.driftCorrected, m.recreated, m.requests, m.requestDuration, m.batchSize, m.sweepDuration,
		m.moves, m.moveBytesLeft, m.moveTimeLeft, m.movesEnded,
	} {
		vec.DeletePartialMatch(of(cluster))
	}
	m.sweepAge.forget(cluster)
	m.topics.forgetCluster(cluster)
}

func of(cluster string) prometheus.Labels { return prometheus.Labels{"cluster": cluster} }
