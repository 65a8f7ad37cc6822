//go:build unix

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/statuscheck"
)

// topic is a declaration in the world's namespace; its name in Kafka has the world's prefix.
func (w *world) topic(name string, changes ...func(*v1alpha1.DurableTopic)) *v1alpha1.DurableTopic {
	t := &v1alpha1.DurableTopic{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: w.prefix + name},
		Spec:       v1alpha1.DurableTopicSpec{Profile: v1alpha1.ProfileCritical, Partitions: 1},
	}
	for _, change := range changes {
		change(t)
	}
	return t
}

func partitions(n int32) func(*v1alpha1.DurableTopic) {
	return func(t *v1alpha1.DurableTopic) { t.Spec.Partitions = n }
}

func inCluster(cluster string) func(*v1alpha1.DurableTopic) {
	return func(t *v1alpha1.DurableTopic) { t.Spec.ClusterRef.Name = cluster }
}

// apply creates objects as fast as a few users at once can.
func (w *world) apply(topics ...*v1alpha1.DurableTopic) {
	w.t.Helper()
	var users sync.WaitGroup
	errs := make([]error, len(topics))
	const atOnce = 16
	for u := range atOnce {
		users.Go(func() {
			for i := u; i < len(topics); i += atOnce {
				errs[i] = w.api.Create(w.ctx, topics[i])
			}
		})
	}
	users.Wait()
	for _, err := range errs {
		w.must(err)
	}
}

func (w *world) get(name string) *v1alpha1.DurableTopic {
	w.t.Helper()
	t := &v1alpha1.DurableTopic{}
	w.must(w.api.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, t))
	return t
}

func (w *world) list() []v1alpha1.DurableTopic {
	w.t.Helper()
	var list v1alpha1.DurableTopicList
	w.must(w.api.List(w.ctx, &list, client.InNamespace(w.namespace)))
	return list.Items
}

func (w *world) cluster(name string) *v1alpha1.KafkaCluster {
	w.t.Helper()
	c := &v1alpha1.KafkaCluster{}
	w.must(w.api.Get(w.ctx, client.ObjectKey{Name: name}, c))
	return c
}

// edit changes the spec of an object, again after a conflict with the operator's status.
func (w *world) edit(name string, change func(*v1alpha1.DurableTopic)) {
	w.t.Helper()
	w.retry(func() error {
		t := w.get(name)
		change(t)
		return w.api.Update(w.ctx, t)
	})
}

func (w *world) editCluster(name string, change func(*v1alpha1.KafkaCluster)) {
	w.t.Helper()
	w.retry(func() error {
		c := w.cluster(name)
		change(c)
		return w.api.Update(w.ctx, c)
	})
}

func (w *world) retry(update func() error) {
	w.t.Helper()
	err := update()
	for apierrors.IsConflict(err) {
		err = update()
	}
	w.must(err)
}

// is tells whether a condition of the newest generation is as wanted: "Ready=True", "Stalled=True:ClusterIDChanged", or
// "!Drifted" for none.
func is(o statuscheck.Object, want string) bool {
	if kind, absent := strings.CutPrefix(want, "!"); absent {
		return meta.FindStatusCondition(o.GetConditions(), kind) == nil
	}
	kind, value, _ := strings.Cut(want, "=")
	status, reason, _ := strings.Cut(value, ":")
	c := meta.FindStatusCondition(o.GetConditions(), kind)
	return c != nil && string(c.Status) == status && (reason == "" || c.Reason == reason) && c.ObservedGeneration == o.GetGeneration()
}

func conditions(o statuscheck.Object) string {
	words := []string{fmt.Sprintf("generation %d", o.GetGeneration())}
	for _, c := range o.GetConditions() {
		words = append(words, fmt.Sprintf("%s=%s:%s (%d) %q", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.Message))
	}
	return strings.Join(words, "; ")
}

// until waits for conditions of an object.
func (w *world) until(name string, wants ...string) *v1alpha1.DurableTopic {
	w.t.Helper()
	var t *v1alpha1.DurableTopic
	w.eventually(fmt.Sprintf("%s to be %v", name, wants), func() string {
		t = w.get(name)
		return lacks(t, wants)
	})
	return t
}

func (w *world) untilCluster(name string, wants ...string) time.Duration {
	w.t.Helper()
	return w.eventually(fmt.Sprintf("KafkaCluster %s to be %v", name, wants), func() string { return lacks(w.cluster(name), wants) })
}

func lacks(o statuscheck.Object, wants []string) string {
	if has(o, wants) {
		return ""
	}
	return conditions(o)
}

func has(o statuscheck.Object, wants []string) bool {
	return !slices.ContainsFunc(wants, func(want string) bool { return !is(o, want) })
}

// untilAll waits for conditions of all objects of the world and tells how long that took.
func (w *world) untilAll(count int, wants ...string) time.Duration {
	w.t.Helper()
	return w.eventually(fmt.Sprintf("%d topics to be %v", count, wants), func() string {
		// the watch knows without asking; what it says last is checked against the API server
		if missing := allAre(count, w.history.newest(), wants); missing != "" {
			return missing
		}
		var now []*v1alpha1.DurableTopic
		for _, t := range w.list() {
			now = append(now, &t)
		}
		return allAre(count, now, wants)
	})
}

func allAre(count int, topics []*v1alpha1.DurableTopic, wants []string) string {
	first, are := "", 0
	for _, t := range topics {
		if has(t, wants) {
			are++
		} else if first == "" {
			first = t.Name + ": " + conditions(t)
		}
	}
	if are == count && len(topics) == count {
		return ""
	}
	return fmt.Sprintf("%d of %d; %s", are, len(topics), first)
}

// events of the world's namespace.
func (w *world) events() []eventsv1.Event { w.t.Helper(); return w.eventsIn(w.namespace) }

func (w *world) eventsIn(namespace string) []eventsv1.Event {
	w.t.Helper()
	var list eventsv1.EventList
	w.must(w.api.List(w.ctx, &list, client.InNamespace(namespace)))
	return list.Items
}

// happened counts how often an event was told about an object.
func (w *world) happened(object, reason string) int {
	w.t.Helper()
	n := 0
	for _, e := range w.events() {
		if e.Regarding.Name != object || e.Reason != reason {
			continue
		}
		n++
		if e.Series != nil {
			n += int(e.Series.Count) - 1
		}
	}
	return n
}

// version is a stored version of an object and when the test saw it.
type version struct {
	*v1alpha1.DurableTopic
	at time.Time
}

// history holds every version of every DurableTopic of a world that the API server stored.
type history struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu       sync.Mutex
	versions map[string][]version // by name
	all      []*v1alpha1.DurableTopic
	broken   error
}

func (w *world) watch() *history {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	h := &history{stop: cancel, versions: map[string][]version{}}
	var list v1alpha1.DurableTopicList
	w.must(w.api.List(ctx, &list, client.InNamespace(w.namespace)))
	h.done.Go(func() {
		from := list.ResourceVersion
		for ctx.Err() == nil && h.broken == nil {
			from = h.follow(ctx, w, from)
		}
	})
	return h
}

// follow takes what comes until the API server ends the watch, as it may do at any time, and gives where to go on.
func (h *history) follow(ctx context.Context, w *world, from string) string {
	events, err := w.api.Watch(ctx, &v1alpha1.DurableTopicList{}, &client.ListOptions{
		Namespace: w.namespace, Raw: &metav1.ListOptions{ResourceVersion: from},
	})
	if err != nil {
		h.broke(fmt.Errorf("watch from version %s: %w", from, err))
		return from
	}
	defer events.Stop()
	for {
		select {
		case <-ctx.Done():
			return from
		case e, ok := <-events.ResultChan():
			if !ok {
				return from
			}
			t, isTopic := e.Object.(*v1alpha1.DurableTopic)
			if !isTopic {
				h.broke(apierrors.FromObject(e.Object))
				return from
			}
			h.take(e.Type, t)
			from = t.ResourceVersion
		}
	}
}

func (h *history) broke(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken = err
}

// take only notes, since the API server ends the watch of a reader that is slow.
func (h *history) take(kind watch.EventType, t *v1alpha1.DurableTopic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, t)
	if kind == watch.Deleted {
		delete(h.versions, t.Name)
		return
	}
	h.versions[t.Name] = append(h.versions[t.Name], version{t, time.Now()})
}

// of gives all versions of one object so far.
func (h *history) of(name string) []version {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.versions[name])
}

func (h *history) newest() []*v1alpha1.DurableTopic {
	h.mu.Lock()
	defer h.mu.Unlock()
	newest := make([]*v1alpha1.DurableTopic, 0, len(h.versions))
	for _, versions := range h.versions {
		newest = append(newest, versions[len(versions)-1].DurableTopic)
	}
	return newest
}

// since gives the versions of all objects that were seen after a time.
func (h *history) since(from time.Time) []version {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []version
	for _, versions := range h.versions {
		for _, v := range versions {
			if v.at.After(from) {
				found = append(found, v)
			}
		}
	}
	return found
}

// close ends the watch and judges everything that was seen.
func (h *history) close(t *testing.T) {
	t.Helper()
	h.stop()
	h.done.Wait()
	if h.broken != nil && !errors.Is(h.broken, context.Canceled) {
		t.Errorf("the test lost sight of its objects: %v", h.broken)
	}
	troubles := map[string]bool{}
	for _, o := range h.all {
		for _, trouble := range judge(o) {
			troubles[trouble] = true
		}
	}
	for _, trouble := range slices.Sorted(maps.Keys(troubles)) {
		t.Errorf("invariant broken: %s", trouble)
	}
}
