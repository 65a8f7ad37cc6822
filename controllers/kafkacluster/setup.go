package kafkacluster

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
	"durabletopic.io/operator/internal/fault"
)

// Bounds of the controller.
const (
	concurrent = 4
	passTime   = time.Minute
	maxNote    = 1000 // bytes of an event's note; events.k8s.io allows 1 kB
)

// SetupWithManager registers the controller and its watches.
func (c *Controller) SetupWithManager(mgr ctrl.Manager) error {
	recovered := true
	return ctrl.NewControllerManagedBy(mgr).
		Named("kafkacluster").
		For(&v1alpha1.KafkaCluster{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.KafkaCluster{}, handler.EnqueueRequestsFromMapFunc(c.rivals), builder.WithPredicates(identityMoves())).
		WatchesRawSource(source.Func(c.queue.Start)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: concurrent, RecoverPanic: &recovered, ReconciliationTimeout: passTime,
		}).
		Complete(reconcile.Func(c.Reconcile))
}

// rivals are the other KafkaClusters: when one comes, goes or learns its identity, each learns anew who acts.
func (c *Controller) rivals(ctx context.Context, o client.Object) []reconcile.Request {
	var all v1alpha1.KafkaClusterList
	if err := c.Client.List(ctx, &all); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range all.Items {
		if all.Items[i].Name != o.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
		}
	}
	return requests
}

// identityMoves: a KafkaCluster comes, goes, begins to go, or stands for another Kafka.
func identityMoves() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.(*v1alpha1.KafkaCluster), e.ObjectNew.(*v1alpha1.KafkaCluster)
			return before.Status.ClusterID != after.Status.ClusterID ||
				before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero()
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// ClusterChanged enqueues a KafkaCluster of which Kafka shows something new.
func (c *Controller) ClusterChanged(name string) {
	c.queue.Add(0, reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
}

// tell records an event when the reason of Ready has changed.
func (c *Controller) tell(before, after *v1alpha1.KafkaCluster) {
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionReady)
	is := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionReady)
	if is == nil || was != nil && was.Reason == is.Reason {
		return
	}
	kind := corev1.EventTypeWarning
	switch {
	case is.Status == metav1.ConditionTrue, is.Reason == v1alpha1.ReasonConnecting, is.Reason == v1alpha1.ReasonSuspended:
		kind = corev1.EventTypeNormal
	}
	c.Recorder.Eventf(after, nil, kind, is.Reason, "Connect", "%s", fault.Cut(is.Message, maxNote))
}
