// Package wakeup lets what is learnt outside of Kubernetes enqueue objects of a controller. It decides nothing.
package wakeup

import (
	"context"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Queue is the queue of a controller, once that has started. Before there is nothing to enqueue: every object is looked at
// once at the start anyway.
type Queue struct {
	mu    sync.Mutex
	inner workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Start is a source of the controller (source.Func): it only takes hold of the queue.
func (q *Queue) Start(_ context.Context, inner workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inner = inner
	return nil
}

// Add enqueues requests. The priority is that of controller-runtime's queue: 0 for what users wait for, less for less.
func (q *Queue) Add(priority int, requests ...reconcile.Request) {
	q.mu.Lock()
	inner := q.inner
	q.mu.Unlock()
	if inner == nil {
		return
	}
	if ordered, ok := inner.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		ordered.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, requests...)
		return
	}
	for _, r := range requests {
		inner.Add(r)
	}
}
