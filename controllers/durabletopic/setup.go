package durabletopic

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/core/ownership"
	"durabletopic.io/operator/internal/core/verdict"
	"durabletopic.io/operator/internal/fault"
)

// Indexes of the cache.
const (
	indexTopicName   = "kafkaTopicName"
	indexClusterName = "kafkaClusterName"
)

// maxNote bounds the note of an event, in bytes (events.k8s.io allows 1 kB).
const maxNote = 1000

// SetupWithManager registers the controller, its indexes and its watches.
func (c *Controller) SetupWithManager(mgr ctrl.Manager) error {
	for name, value := range map[string]func(*v1alpha1.DurableTopic) string{
		indexTopicName:   (*v1alpha1.DurableTopic).KafkaTopicName,
		indexClusterName: (*v1alpha1.DurableTopic).ClusterName,
	} {
		err := mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.DurableTopic{}, name,
			func(o client.Object) []string { return []string{value(o.(*v1alpha1.DurableTopic))} })
		if err != nil {
			return err
		}
	}
	recoverPanic := true
	return ctrl.NewControllerManagedBy(mgr).
		Named("durabletopic").
		For(&v1alpha1.DurableTopic{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.DurableTopic{}, handler.EnqueueRequestsFromMapFunc(c.siblings),
			builder.WithPredicates(ownershipMoves())).
		Watches(&v1alpha1.KafkaCluster{}, handler.WithLowPriorityWhenUnchanged(handler.EnqueueRequestsFromMapFunc(c.topicsOf)),
			builder.WithPredicates(clusterMatters())).
		WatchesRawSource(source.Func(c.queue.Start)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: c.Workers, RecoverPanic: &recoverPanic, ReconciliationTimeout: time.Minute,
		}).
		Complete(reconcile.Func(c.Reconcile))
}

// siblings are the other objects for the same topic: when one comes or goes, each learns anew who owns it.
func (c *Controller) siblings(ctx context.Context, o client.Object) []reconcile.Request {
	t := o.(*v1alpha1.DurableTopic)
	var topics v1alpha1.DurableTopicList
	if err := c.Client.List(ctx, &topics, client.MatchingFields{indexTopicName: t.KafkaTopicName()}); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range topics.Items {
		if other := &topics.Items[i]; other.UID != t.UID {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(other)})
		}
	}
	return requests
}

// ownershipMoves: an object comes, goes, or begins to go.
func ownershipMoves() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// topicsOf are the objects that a change of a KafkaCluster may concern. Clusters that reach the same Kafka decide together
// who acts, so a change of one concerns the topics of all of them.
func (c *Controller) topicsOf(ctx context.Context, o client.Object) []reconcile.Request {
	changed := o.(*v1alpha1.KafkaCluster)
	names := map[string]bool{changed.Name: true}
	var clusters v1alpha1.KafkaClusterList
	if err := c.Client.List(ctx, &clusters); err != nil {
		return nil
	}
	for i := range clusters.Items {
		if ownership.Identity(&clusters.Items[i]) == ownership.Identity(changed) {
			names[clusters.Items[i].Name] = true
		}
	}
	var requests []reconcile.Request
	for name := range names {
		var topics v1alpha1.DurableTopicList
		if err := c.Client.List(ctx, &topics, client.MatchingFields{indexClusterName: name}); err != nil {
			return nil
		}
		for i := range topics.Items {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&topics.Items[i])})
		}
	}
	return requests
}

// clusterMatters: the spec, the recorded Kafka or the life of a KafkaCluster changed; its counts do not matter.
func clusterMatters() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.(*v1alpha1.KafkaCluster), e.ObjectNew.(*v1alpha1.KafkaCluster)
			return before.Generation != after.Generation || before.Status.ClusterID != after.Status.ClusterID ||
				before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero()
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// tell records events. A note never ends up longer than the API allows.
func (c *Controller) tell(t *v1alpha1.DurableTopic, events []verdict.Event) {
	for _, e := range events {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		c.Recorder.Eventf(t, nil, kind, e.Reason, e.Action, "%s", fault.Cut(e.Note, maxNote))
	}
}
