//go:build unix

package e2e_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"durabletopic.io/operator/api/v1alpha1"
)

// The main job goes on undisturbed while another Kafka is out of reach (see TestAllBrokersOutOfReach, at the same time).
func TestWhileAnotherKafkaIsOutOfReach(t *testing.T) {
	t.Parallel()
	t.Run("EligibleLeaders", eligibleLeaders) // first: it restarts brokers, which takes long among many topics
	t.Run("PausedBroker", pausedBroker)
	t.Run("ManyTopics", manyTopics)
}

const manyCount = 500

// Five hundred topics at once: what it costs on both sides, and that nothing is written once all is well.
func manyTopics(t *testing.T) {
	w := enter(t, "many")
	w.createMany()
	w.silence()
	w.foreignSettings()
	before, err := w.main.onTopic(w.ctx, w.mainNames())
	w.must(err)
	w.driftOfAll(minISR, "1", "2")
	w.driftOfAll(unclean, "true", "false")
	after, err := w.main.onTopic(w.ctx, w.mainNames())
	w.must(err)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("configs after the corrections (-before +after):\n%s", diff)
	}
	w.silence()
}

func (w *world) createMany() {
	w.t.Helper()
	before, mark, began := w.metrics(), w.auditMark(), time.Now()
	w.apply(w.many("t", manyCount)...)
	applied := time.Since(began)
	w.untilAll(manyCount, "Ready=True", "Durable=True", "!Drifted", "!Reconciling", "!Stalled")
	took := time.Since(began)
	did := w.metrics().since(before)
	reads, writes := did.requests(mainCluster)
	w.t.Logf("%d topics of 3 partitions: applied in %s, all Ready after %s; Kafka requests: %s", manyCount, rounded(applied),
		rounded(took), did.requestWords(mainCluster))
	if most := time.Minute + allowance; took > most {
		w.t.Errorf("all Ready after %s, want at most %s", took, most)
	}
	if most := float64(manyCount) / 10; writes > most {
		w.t.Errorf("%v write requests, want at most %v", writes, most)
	}
	if perSecond := reads / max(took.Seconds(), 1); perSecond > 10 {
		w.t.Errorf("%.1f reads a second, want at most 10", perSecond)
	}
	w.told(mark, manyCount)
	c := w.cost(mark)
	w.atMost(c, 2)
	if len(c.reads) > 0 {
		w.t.Errorf("%d reads from the API server besides watches, the first: %s", len(c.reads), c.reads[0])
	}
	w.asDeclared()
}

// told waits for the events, which are sent behind the statuses: one for each topic and no more.
func (w *world) told(mark int64, count int) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%d events", count), func() string {
		if n := w.cost(mark).eventWrites; n < count {
			return fmt.Sprint(n)
		}
		return ""
	})
}

// atMost bounds what was written for each topic: statuses, and one event.
func (w *world) atMost(c cost, statuses int) {
	w.t.Helper()
	total, most := 0, 0
	var over []string
	// Brokers that are starved by others lose in-sync replicas: that is told, and not counted here.
	shaken, tellings := map[string]bool{}, 0
	for _, e := range w.events() {
		if strings.HasPrefix(e.Reason, "Guarantees") {
			shaken[e.Regarding.Name] = true
			tellings++
		}
	}
	for name, n := range c.statusWrites {
		total, most = total+n, max(most, n)
		if n > statuses && !shaken[name[strings.LastIndex(name, "/")+1:]] {
			over = append(over, name)
		}
	}
	if len(over) > 0 {
		w.t.Errorf("%d topics had more than %d status writes; the first:\n%s", len(over), statuses, w.story(over[0]))
	}
	if c.eventWrites-tellings > manyCount {
		told := map[string]int{}
		for _, e := range w.events() {
			told[e.Reason]++
		}
		w.t.Errorf("%d events written for %d topics: %v", c.eventWrites, manyCount, told)
	}
	if n := len(shaken); n > manyCount/20 {
		w.t.Errorf("%d topics lost in-sync replicas: brokers were given more than they can take in", n)
	}
	w.t.Logf("API server: %d status writes (at most %d for one topic, the slowest took %s), %d events; the slowest renewal of the lease took %s",
		total, most, rounded(c.slowest), c.eventWrites, rounded(c.lease))
}

// story tells what became of an object, version by version.
func (w *world) story(name string) string {
	var words []string
	for _, v := range w.history.of(name) {
		words = append(words, v.at.Format("  15:04:05.000 ")+conditions(v))
	}
	return strings.Join(words, "\n")
}

// asDeclared looks at all topics of the world in Kafka.
func (w *world) asDeclared() {
	w.t.Helper()
	w.shown(manyCount)
	shown, err := w.main.partitions(w.ctx, w.prefix)
	w.must(err)
	leads := map[int32]int{} // by preferred leader
	for name, list := range shown {
		if len(list) != 3 {
			w.t.Errorf("%s has %d partitions, want 3", name, len(list))
		}
		for _, p := range list {
			leads[p.Replicas[0]]++
			if wrong := w.main.placed(p); wrong != "" {
				w.t.Error(wrong)
			}
		}
	}
	counts := slices.Sorted(maps.Values(leads))
	// One batch is even to one leader. These are many batches, some of them placed beside topics that other tests have just
	// removed and that still count for a moment.
	if len(shown) != manyCount || len(counts) != 6 || counts[5]-counts[0] > 2 {
		w.t.Errorf("%d topics; partitions led by broker: %v, want them even", len(shown), leads)
	}
	if n := w.setRight(w.mainNames()); n != manyCount {
		w.t.Errorf("the locks of %d topics are on the topic, want %d", n, manyCount)
	}
}

// silence: while nothing changes nothing is written, and nothing is read but the sweeps.
func (w *world) silence() {
	w.t.Helper()
	w.sweeps(mainCluster, 1) // what was found before is told by now
	const sweeps = 3
	before, mark, from := w.metrics(), w.auditMark(), time.Now()
	w.sweeps(mainCluster, sweeps)
	did := w.metrics().since(before)
	reads, writes := did.requests(mainCluster)
	if writes > 0 {
		w.t.Errorf("writes to Kafka in quiet times: %s", did.requestWords(mainCluster))
	}
	// a sweep of these topics is four requests; and what the brokers are asked about themselves, and a listing a minute
	if most := 8.0 * (sweeps + 1); reads > most {
		w.t.Errorf("%v reads in %d quiet sweeps, want at most %v: %s", reads, sweeps, most, did.requestWords(mainCluster))
	}
	if c := w.cost(mark); c.writes() > 0 || len(c.reads) > 0 {
		w.t.Errorf("requests to the API server in quiet times: %d writes, %d reads", c.writes(), len(c.reads))
	}
	if n := len(w.history.since(from)); n > 0 {
		w.t.Errorf("%d objects changed in quiet times", n)
	}
}

// foreignSettings: somebody moves replicas under a throttle, and sets a key that nobody declared.
func (w *world) foreignSettings() {
	w.t.Helper()
	names := w.mainNames()[:50]
	w.must(w.main.set(w.ctx, names,
		"leader.replication.throttled.replicas", "0:1,1:2", "follower.replication.throttled.replicas", "*",
		"segment.ms", "86400000", "max.message.bytes", "1234567"))
	w.sweeps(mainCluster, 2)
}

// untilCorrected waits until the operator has corrected a key of each topic and Kafka shows all right. Kafka alone does not
// tell: a broker may still show what was before the drift. It is asked last, since asking for hundreds of topics again and
// again would be most of the load.
func (w *world) untilCorrected(before metrics, names ...string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("the drift of %d topics to be corrected", len(names)), func() string {
		corrected := w.metrics().since(before).sum("durabletopic_drift_corrected_total", `cluster="default"`)
		if corrected < float64(len(names)) {
			return fmt.Sprintf("%v corrected", corrected)
		}
		if right := w.setRight(names); right < len(names) {
			return fmt.Sprintf("%v corrected, %d right", corrected, right)
		}
		return ""
	})
}

// driftOfAll has somebody change a lock of all topics in one request.
func (w *world) driftOfAll(key, bad, good string) {
	w.t.Helper()
	names := w.mainNames()
	before, mark := w.metrics(), w.auditMark()
	began := time.Now()
	w.must(w.main.set(w.ctx, names, key, bad))
	answered := time.Now()
	w.untilCorrected(before, names...)
	took := time.Since(answered)
	w.t.Logf("%s on %d topics: right again after %s, with a check interval of %s", key, len(names), rounded(took), mainInterval)
	if most := mainInterval + time.Second + driftAllowance; took > most {
		w.t.Errorf("%s was right again after %s, want at most %s", key, took, most)
	}
	want := v1alpha1.DriftChange{Key: key, From: bad, To: good}
	w.eventually("every status to tell the drift", func() string {
		for _, d := range w.history.newest() {
			last := d.Status.LastDrift
			if last == nil || last.Time.Time.Before(began.Truncate(time.Second)) || !slices.Equal(last.Changes, []v1alpha1.DriftChange{want}) {
				return fmt.Sprintf("%s: %v", d.Name, last)
			}
		}
		return ""
	})
	w.told(mark, len(names))
	w.atMost(w.cost(mark), 1)
	did := w.metrics().since(before)
	for _, name := range []string{"durabletopic_drift_detected_total", "durabletopic_drift_corrected_total"} {
		if n := did.sum(name, `cluster="default"`); n != float64(len(names)) {
			w.t.Errorf("%s rose by %v, want %d", name, n, len(names))
		}
	}
	if _, writes := did.requests(mainCluster); writes > manyCount/10 {
		w.t.Errorf("%v write requests", writes)
	}
	for _, v := range w.history.since(began) {
		if !is(v, "Ready=True") || !is(v, "!Drifted") {
			w.t.Errorf("%s did not stay Ready: %s", v.Name, conditions(v))
		}
	}
}
