package operator_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/statuscheck"
)

// history holds every version of every object of a world that the API server stored.
type history struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu     sync.Mutex
	topics map[string][]*durableTopic // by "namespace/name"
	all    []statuscheck.Object       // in the order they came; judged at the end, since a slow watcher is cut off
	broken string
}

// watchAll begins before there is any object.
func watchAll(w *world) *history {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	h := &history{stop: cancel, topics: map[string][]*durableTopic{}}
	for _, kind := range []func() client.ObjectList{
		func() client.ObjectList { return &v1alpha1.DurableTopicList{} }, func() client.ObjectList { return &v1alpha1.KafkaClusterList{} },
	} {
		list := kind()
		w.must(w.kube.List(w.ctx, list, client.MatchingLabels{worldLabel: w.id}))
		h.done.Go(func() {
			version := list.GetResourceVersion()
			for ctx.Err() == nil && h.trouble() == "" {
				version = h.follow(ctx, w, kind(), version)
			}
		})
	}
	return h
}

// follow watches from a version on until the API server ends it, as it does with slow watchers, and gives the last one.
func (h *history) follow(ctx context.Context, w *world, list client.ObjectList, version string) string {
	events, err := w.kube.Watch(ctx, list, client.MatchingLabels{worldLabel: w.id},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}})
	if err != nil {
		if ctx.Err() == nil {
			h.fail(fmt.Sprintf("watch: %v", err))
		}
		return version
	}
	defer events.Stop()
	for {
		select {
		case <-ctx.Done():
			return version
		case e, ok := <-events.ResultChan():
			if !ok {
				return version
			}
			if object, ok := e.Object.(client.Object); ok {
				version = object.GetResourceVersion()
			}
			h.take(e)
		}
	}
}

func (h *history) fail(trouble string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken = trouble
}

func (h *history) trouble() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.broken
}

func (h *history) take(e watch.Event) {
	object, ok := e.Object.(statuscheck.Object)
	switch {
	case !ok:
		h.fail(fmt.Sprintf("watch: %v", e.Object))
		return
	case e.Type == watch.Deleted:
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, object)
	if t, ok := object.(*durableTopic); ok {
		key := client.ObjectKeyFromObject(t).String()
		h.topics[key] = append(h.topics[key], t)
	}
}

// judge gives what is wrong with a status at any time.
func judge(object statuscheck.Object) []string {
	var troubles []string
	for _, err := range statuscheck.Check(object) {
		troubles = append(troubles, err.Error())
	}
	for _, c := range object.GetConditions() {
		troubles = append(troubles, leaks(c.Message)...)
	}
	if t, ok := object.(*durableTopic); ok {
		for _, step := range t.Status.Plan {
			troubles = append(troubles, leaks(step)...)
		}
	}
	for i, trouble := range troubles {
		troubles[i] = trouble + "\n  " + conditions(object.GetGeneration(), object.GetConditions())
	}
	return troubles
}

// leaks finds what belongs to programs, not to people: traces of formatting, Java's dumps, details of sessions.
func leaks(words string) []string {
	var found []string
	for _, bad := range []string{"%!", "<nil>", "(MISSING)", "Exception", "org.apache", "connectionId", "Session(", "\tat ", "0xc0"} {
		if strings.Contains(words, bad) {
			found = append(found, fmt.Sprintf("%q in: %s", bad, words))
		}
	}
	return found
}

// versions gives all stored versions of a DurableTopic up to the present one.
func (w *world) versions(name string) []*durableTopic {
	w.t.Helper()
	var all []*durableTopic
	w.eventually("the watch of the test to see "+name, func() string {
		now := w.get(name).ResourceVersion
		w.history.mu.Lock()
		defer w.history.mu.Unlock()
		all = slices.Clone(w.history.topics[w.key(name).String()])
		if !slices.ContainsFunc(all, func(t *durableTopic) bool { return t.ResourceVersion == now }) {
			return "not yet"
		}
		return ""
	})
	return all
}

// everReady tells whether any version said Ready=True.
func (w *world) everReady(name string) bool {
	w.t.Helper()
	return slices.ContainsFunc(w.versions(name), func(t *durableTopic) bool {
		return meta.IsStatusConditionTrue(t.Status.Conditions, v1alpha1.ConditionReady)
	})
}

// everStalled tells whether any version said Stalled=True.
func (w *world) everStalled(name string) bool {
	w.t.Helper()
	return slices.ContainsFunc(w.versions(name), func(t *durableTopic) bool {
		return meta.IsStatusConditionTrue(t.Status.Conditions, v1alpha1.ConditionStalled)
	})
}

// path is the sequence of Ready's values, each change once, like "Unknown:Suspended".
func (w *world) path(name string) []string {
	w.t.Helper()
	var steps []string
	for _, t := range w.versions(name) {
		if c := meta.FindStatusCondition(t.Status.Conditions, v1alpha1.ConditionReady); c != nil {
			steps = append(steps, ready(*c))
		}
	}
	return slices.Compact(steps)
}

func ready(c metav1.Condition) string {
	if c.Status == metav1.ConditionTrue {
		return "True"
	}
	return string(c.Status) + ":" + c.Reason
}

// close ends the watch and fails the test for every broken invariant, each once.
func (h *history) close(w *world) {
	h.stop()
	h.done.Wait()
	if trouble := h.trouble(); trouble != "" {
		w.t.Error(trouble)
	}
	told := map[string]bool{}
	for _, object := range h.all {
		for _, trouble := range judge(object) {
			if !told[trouble] {
				told[trouble] = true
				w.t.Errorf("invariant broken: version %s of %s: %s", object.GetResourceVersion(), client.ObjectKeyFromObject(object), trouble)
			}
		}
	}
}

// checkEvents judges the words of all events.
func (w *world) checkEvents() {
	w.t.Helper()
	for _, namespace := range append(w.namespaces(), metav1.NamespaceDefault) {
		var list eventsv1.EventList
		w.must(w.kube.List(w.ctx, &list, client.InNamespace(namespace)))
		for _, e := range list.Items {
			if !strings.HasPrefix(e.Regarding.Name, w.id+"-") && namespace == metav1.NamespaceDefault {
				continue
			}
			for _, err := range statuscheck.Message(e.Note) {
				w.t.Errorf("event %s of %s: %v", e.Reason, e.Regarding.Name, err)
			}
			for _, leak := range leaks(e.Note) {
				w.t.Errorf("event %s of %s has %s", e.Reason, e.Regarding.Name, leak)
			}
		}
	}
}
