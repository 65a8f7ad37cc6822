package durabletopic

import (
	"maps"
	"sync"
	"time"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/durability"
	"durabletopic.io/operator/internal/core/plan"
	"durabletopic.io/operator/internal/core/verdict"
	"durabletopic.io/operator/internal/fault"
)

// refusalHolds is how long a broker's refusal stands before the same is asked again.
const refusalHolds = 5 * time.Minute

// memory is what the controller keeps of one object between passes. All of it can be lost: then fights start anew, and a
// refused change is asked for once more.
type memory struct {
	uid        string
	generation int64
	// cluster and topic are what the object has declared to the fleet; empty if nothing.
	cluster, topic string
	// settled are the values each key was seen to have as declared. Only what was settled can drift.
	settled map[string]string
	fights  map[string]plan.Fight
	// feuds are the words about keys that are fought over.
	feuds   map[string]string
	refused map[string]refusal
	// drifting are the keys whose drift was counted already.
	drifting map[string]bool
	// deeds are what was done and not yet told in a status.
	deeds verdict.Deeds
	// doneAt is when the oldest untold deed was done.
	doneAt time.Time
	// wroteAt is when the status was last written.
	wroteAt time.Time
	// awaited: our create was answered with success and no read has shown the topic since.
	awaited  bool
	failures int // passes in a row with a failure
}

// refusal is what a broker refused, and until when it is not asked again.
type refusal struct {
	why   *fault.Fault
	until time.Time
}

// memories holds the memory of every object. One reconcile at a time uses an object's memory.
type memories struct {
	mu    sync.Mutex
	byKey map[string]*memory
	// claimants are the objects behind declared topics. One topic has one owner, hence one claimant.
	claimants map[declaration]string
}

// declaration is a topic of a cluster.
type declaration struct{ cluster, topic string }

func newMemories() *memories {
	return &memories{byKey: map[string]*memory{}, claimants: map[declaration]string{}}
}

// of gives the memory of an object; another object of the same name starts with none but the declaration it must take back.
func (m *memories) of(key string, t *v1alpha1.DurableTopic) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	mem, ok := m.byKey[key]
	if !ok {
		mem = &memory{}
		m.byKey[key] = mem
	}
	if mem.uid != string(t.UID) {
		*mem = memory{uid: string(t.UID), cluster: mem.cluster, topic: mem.topic}
		mem.reset()
	}
	if mem.generation != t.Generation {
		mem.generation, mem.failures = t.Generation, 0
		clear(mem.refused)
	}
	return mem
}

func (m *memories) drop(key string) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	mem := m.byKey[key]
	delete(m.byKey, key)
	return mem
}

// owners lists the objects that have declared one of the topics of a cluster.
func (m *memories) owners(cluster string, topics []string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := make([]string, 0, len(topics))
	for _, t := range topics {
		if key, ok := m.claimants[declaration{cluster, t}]; ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// declare notes what the object has declared; empty names take it back.
func (m *memories) declare(key string, mem *memory, cluster, topic string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := (declaration{mem.cluster, mem.topic}); m.claimants[old] == key {
		delete(m.claimants, old)
	}
	mem.cluster, mem.topic = cluster, topic
	if cluster != "" {
		m.claimants[declaration{cluster, topic}] = key
	}
}

func (m *memory) reset() {
	m.settled, m.drifting, m.feuds = map[string]string{}, map[string]bool{}, map[string]string{}
	m.fights, m.refused = map[string]plan.Fight{}, map[string]refusal{}
}

// told forgets the deeds that a status and events have told.
func (m *memory) told() { m.deeds, m.doneAt = verdict.Deeds{}, time.Time{} }

// did notes that something was done now.
func (m *memory) did(now time.Time) {
	if m.doneAt.IsZero() {
		m.doneAt = now
	}
}

// settle learns what is as declared now: every wanted key that does not differ. A key that differs from what it was
// settled to stays so: correcting it is correcting drift.
func (m *memory) settle(wanted map[string]string, differences []durability.Difference) {
	differs, heldDown := map[string]bool{}, map[string]bool{}
	for _, d := range differences {
		differs[d.Key] = true
		heldDown[d.Key] = heldDown[d.Key] || d.HeldDown
	}
	settled := make(map[string]string, len(wanted))
	for key, value := range wanted {
		if !differs[key] || !heldDown[key] && m.drifts(key, value) {
			settled[key] = value
		}
	}
	m.settled = settled
	maps.DeleteFunc(m.drifting, func(key string, _ bool) bool { return !differs[key] })
}

// drifts tells whether a difference in key is drift: it had been as wanted before.
func (m *memory) drifts(key, wanted string) bool {
	value, ok := m.settled[key]
	return ok && value == wanted
}

// calm shortens the wait, of which zero is the longest, to the end of the first fight that nobody goes on with.
func (m *memory) calm(wait time.Duration, now time.Time) time.Duration {
	for key := range m.feuds {
		if end := m.fights[key].Ends().Sub(now) + time.Millisecond; end > 0 && (wait == 0 || end < wait) {
			wait = end
		}
	}
	return wait
}

// backoff doubles the wait while passes fail, up to a minute.
func (m *memory) backoff(wait time.Duration, failed bool) time.Duration {
	if !failed {
		m.failures = 0
		return wait
	}
	m.failures = min(m.failures+1, 7)
	return max(wait, time.Duration(1<<(m.failures-1))*time.Second)
}

// refusals gives what need not be asked again now.
func (m *memory) refusals(now time.Time) map[string]*fault.Fault {
	standing := map[string]*fault.Fault{}
	for key, r := range m.refused {
		if now.Before(r.until) {
			standing[key] = r.why
		}
	}
	return standing
}
