package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"durabletopic.io/operator/api/v1alpha1"
	"durabletopic.io/operator/internal/options"
)

// The lease, and the events about who holds it.
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=durabletopic-system,resources=leases,verbs=get;create;update
// +kubebuilder:rbac:groups="",namespace=durabletopic-system,resources=events,verbs=create;patch

// name is the operator's name in leases, events and managed fields.
const name = "durabletopic-manager"

// newManager makes the controller runtime's manager: no webhook, one lease, caches of both kinds.
func newManager(config *rest.Config, o options.Options) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("build scheme: %w", err)
		}
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Client:                        client.Options{FieldOwner: name, FieldValidation: metav1.FieldValidationStrict},
		Metrics:                       metricsserver.Options{BindAddress: o.MetricsBindAddress, SecureServing: o.MetricsSecure},
		HealthProbeBindAddress:        o.HealthProbeBindAddress,
		WebhookServer:                 webhook.NewServer(webhook.Options{Port: -1}),
		LeaderElection:                o.LeaderElect,
		LeaderElectionID:              name,
		LeaderElectionNamespace:       o.Namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 new(options.LeaseDuration),
		RenewDeadline:                 new(options.RenewDeadline),
		RetryPeriod:                   new(options.RetryPeriod),
		GracefulShutdownTimeout:       new(options.GracefulShutdownTimeout),
	})
	if err != nil {
		return nil, fmt.Errorf("make manager: %w", err)
	}
	// A standby fills its caches, so that it can act as soon as it gets the lease.
	for _, kind := range []client.Object{&v1alpha1.KafkaCluster{}, &v1alpha1.DurableTopic{}} {
		if _, err := mgr.GetCache().GetInformer(context.Background(), kind); err != nil {
			return nil, fmt.Errorf("watch %T: %w", kind, err)
		}
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, fmt.Errorf("add health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("caches", synced(mgr.GetCache())); err != nil {
		return nil, fmt.Errorf("add readiness check: %w", err)
	}
	return mgr, nil
}

// readyWait bounds a readiness check; the kubelet's default is a second.
const readyWait = 500 * time.Millisecond

var errNotSynced = errors.New("caches are not filled yet")

// synced is ready when the caches are filled. It never asks Kafka: a Kafka that is down must not take the operator down.
func synced(c cache.Cache) healthz.Checker {
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), readyWait)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errNotSynced
		}
		return nil
	}
}
