package metrics

import (
	"cmp"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"

	"durabletopic.io/operator/api/v1alpha1"
)

// States of topics. They overlap: a topic may be ready and durable.
const (
	StateDeclared = "declared"
	StateReady    = "ready"
	StateDurable  = "durable"
	StateDrifted  = "drifted"
	StateStalled  = "stalled"
)

// inventory knows the state of every topic and shows their numbers.
type inventory struct {
	desc *prometheus.Desc

	mu     sync.Mutex
	topics map[string]entry // by object
}

type entry struct {
	group
	ready, durable, drifted, stalled bool
}

type group struct {
	cluster string
	profile v1alpha1.Profile
}

func newInventory(name, help string) *inventory {
	return &inventory{
		desc:   prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, []string{"cluster", "profile", "state"}, nil),
		topics: map[string]entry{},
	}
}

// TopicJudged takes in the state of one DurableTopic, known by object, as its conditions tell it.
func (m *Metrics) TopicJudged(object, cluster string, t *v1alpha1.DurableTopic) {
	is := func(condition string) bool { return meta.IsStatusConditionTrue(t.Status.Conditions, condition) }
	e := entry{
		group: group{cluster, t.Spec.Profile},
		ready: is(v1alpha1.ConditionReady), durable: is(v1alpha1.ConditionDurable),
		drifted: is(v1alpha1.ConditionDrifted), stalled: is(v1alpha1.ConditionStalled),
	}
	m.topics.mu.Lock()
	defer m.topics.mu.Unlock()
	m.topics.topics[object] = e
}

// TopicForgotten drops a DurableTopic that is gone.
func (m *Metrics) TopicForgotten(object string) {
	m.topics.mu.Lock()
	defer m.topics.mu.Unlock()
	delete(m.topics.topics, object)
}

// TopicCounts counts the topics of a cluster by profile, in the order of the profiles.
func (m *Metrics) TopicCounts(cluster string) []v1alpha1.TopicCount {
	var counts []v1alpha1.TopicCount
	for g, c := range m.topics.count() {
		if g.cluster == cluster {
			counts = append(counts, c)
		}
	}
	slices.SortFunc(counts, func(a, b v1alpha1.TopicCount) int { return cmp.Compare(a.Profile, b.Profile) })
	return counts
}

func (i *inventory) forgetCluster(cluster string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for object, e := range i.topics {
		if e.cluster == cluster {
			delete(i.topics, object)
		}
	}
}

func (i *inventory) count() map[group]v1alpha1.TopicCount {
	i.mu.Lock()
	defer i.mu.Unlock()
	counts := map[group]v1alpha1.TopicCount{}
	for _, e := range i.topics {
		c := counts[e.group]
		c.Profile = e.profile
		c.Total++
		c.Ready += one(e.ready)
		c.Durable += one(e.durable)
		c.Drifted += one(e.drifted)
		c.Stalled += one(e.stalled)
		counts[e.group] = c
	}
	return counts
}

func one(is bool) int32 {
	if is {
		return 1
	}
	return 0
}

// Describe implements prometheus.Collector.
func (i *inventory) Describe(descs chan<- *prometheus.Desc) { descs <- i.desc }

// Collect implements prometheus.Collector.
func (i *inventory) Collect(values chan<- prometheus.Metric) {
	for g, c := range i.count() {
		for state, n := range map[string]int32{
			StateDeclared: c.Total, StateReady: c.Ready, StateDurable: c.Durable, StateDrifted: c.Drifted, StateStalled: c.Stalled,
		} {
			values <- prometheus.MustNewConstMetric(i.desc, prometheus.GaugeValue, float64(n), g.cluster, string(g.profile), state)
		}
	}
}
