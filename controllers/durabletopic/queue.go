package durabletopic

import (
	"context"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// queue lets facts from Kafka enqueue objects. Before the controller has started there is nothing to enqueue: every object
// is looked at once at the start anyway.
type queue struct {
	mu    sync.Mutex
	inner workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// start is a source of the controller: it only takes hold of the queue.
func (q *queue) start(_ context.Context, inner workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inner = inner
	return nil
}

func (q *queue) add(priority int, keys ...string) {
	q.mu.Lock()
	inner := q.inner
	q.mu.Unlock()
	if inner == nil {
		return
	}
	for _, key := range keys {
		req := request(key)
		if pq, ok := inner.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
			pq.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, req)
			continue
		}
		inner.Add(req)
	}
}

func request(key string) reconcile.Request {
	namespace, name, _ := strings.Cut(key, "/")
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// TopicsChanged enqueues the objects behind topics of a KafkaCluster: urgent ones as user edits are, the others after them.
func (c *Controller) TopicsChanged(cluster string, topics []string, urgent bool) {
	priority := handler.LowPriority
	if urgent {
		priority = 0
	}
	c.queue.add(priority, c.memories.owners(cluster, topics)...)
}

// Enqueue hands back an object that found no place to wait for Kafka.
func (c *Controller) Enqueue(key string) { c.queue.add(0, key) }
