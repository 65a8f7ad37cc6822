package durabletopic

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

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
	keys := c.memories.owners(cluster, topics)
	requests := make([]reconcile.Request, 0, len(keys))
	for _, key := range keys {
		requests = append(requests, request(key))
	}
	c.queue.Add(priority, requests...)
}

// Enqueue hands back an object that found no place to wait for Kafka.
func (c *Controller) Enqueue(key string) { c.queue.Add(0, request(key)) }
