// Package statuswriter writes the status of objects: only when it differs, as a merge patch of the status alone, and
// against the newest form of the object that is known, which after an own write is not the one in the informer cache.
// It knows nothing of what a status says.
package statuswriter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AtOnce is how many writes of one Writer are in flight. The API server queues the requests of one user together, and
// refuses those beyond its queue: hundreds of statuses at once would keep the lease from being renewed.
const AtOnce = 32

// Writer writes statuses of one kind. It is safe for concurrent use; two writers of one object at a time are not.
//
// A merge patch replaces lists, conditions too. So the difference is computed against what the API server holds, and
// since the process that holds the lease is the only one that writes statuses, that is the cached object or, while the
// cache lags behind, the answer to the last own write.
type Writer[T client.Object] struct {
	client client.Client
	places chan struct{} // one for each write in flight

	mu   sync.Mutex
	last map[types.NamespacedName]T // answers to own writes which the cache has not shown yet
}

// New makes a Writer.
func New[T client.Object](c client.Client) *Writer[T] {
	return &Writer[T]{client: c, places: make(chan struct{}, AtOnce), last: map[types.NamespacedName]T{}}
}

// Base gives the newest known form of an object from the cache, to be changed by the caller at will: a copy of obj, or
// of the answer to our last write while obj is older. It never fails: an answer that cannot be compared is not used.
func (w *Writer[T]) Base(obj T) T {
	key := client.ObjectKeyFromObject(obj)
	w.mu.Lock()
	defer w.mu.Unlock()
	last, ok := w.last[key]
	if !ok {
		return clone(obj)
	}
	order, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), last.GetResourceVersion())
	if err != nil || order >= 0 || last.GetUID() != obj.GetUID() {
		delete(w.last, key)
		return clone(obj)
	}
	return clone(last)
}

// Forget drops what is remembered of an object that no longer exists.
func (w *Writer[T]) Forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, key)
}

// Patch writes the difference of the statuses of before (from Base) and after, and tells whether anything was written. It
// is written only if nobody has changed the object since before: else it is a conflict (apierrors.IsConflict), nobody's
// mistake, and the caller tries again soon and says nothing. An object that is gone is no error: nothing is written, and the
// cache will tell. Nor is a write that the end of ctx cut short.
func (w *Writer[T]) Patch(ctx context.Context, before, after T) (changed bool, err error) {
	data, err := difference(before, after)
	if err != nil {
		return false, fmt.Errorf("compute status patch of %q: %w", before.GetName(), err)
	}
	if data == nil {
		return false, nil
	}
	answer := clone(after)
	switch err := w.send(ctx, answer, data); {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		return false, nil // the process is ending; its successor judges anew
	case err != nil:
		return false, fmt.Errorf("patch status of %q: %w", before.GetName(), err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last[client.ObjectKeyFromObject(answer)] = answer
	return true, nil
}

// send waits for a place and writes. The object becomes the answer.
func (w *Writer[T]) send(ctx context.Context, obj T, data []byte) error {
	select {
	case w.places <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-w.places }()
	return w.client.Status().Patch(ctx, obj, client.RawPatch(types.MergePatchType, data))
}

// difference is the merge patch of the status alone; nil if there is none. It carries the resource version, so that an
// object of the same name made in between is left alone (the UID would not do: the API server ignores it in a merge patch of
// a status), and nothing is recorded that was judged from what somebody has edited since.
func difference[T client.Object](before, after T) ([]byte, error) {
	data, err := client.MergeFrom(before).Data(after)
	if err != nil {
		return nil, err
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, err
	}
	status, ok := whole["status"]
	if !ok {
		return nil, nil
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": before.GetResourceVersion()}, "status": status,
	})
}

func clone[T client.Object](obj T) T { return obj.DeepCopyObject().(T) }
