package main

import (
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	runtimemetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"durabletopic.io/operator/controllers/durabletopic"
	"durabletopic.io/operator/controllers/kafkacluster"
	"durabletopic.io/operator/internal/fleet"
	"durabletopic.io/operator/internal/kafka"
	"durabletopic.io/operator/internal/metrics"
	"durabletopic.io/operator/internal/options"
	"durabletopic.io/operator/internal/version"
)

// wire connects the parts: facts from Kafka enqueue objects, controllers act through the fleet.
func wire(mgr ctrl.Manager, o options.Options) error {
	build := version.Get()
	measure := metrics.New(runtimemetrics.Registry, build)
	var topics *durabletopic.Controller
	var clusters *kafkacluster.Controller
	connected := fleet.New(fleet.Options{
		Dial:            kafka.Dial,
		OnTopics:        func(cluster string, names []string, urgent bool) { topics.TopicsChanged(cluster, names, urgent) },
		OnCluster:       func(cluster string) { clusters.ClusterChanged(cluster) },
		OnFree:          func(_, key string) { topics.Enqueue(key) },
		Hold:            hold(o),
		Share:           max(1, o.Workers/2),
		Recorder:        measure,
		SoftwareVersion: build.Version,
		Log:             mgr.GetLogger().WithName("fleet"),
	})
	clusters = kafkacluster.New(kafkacluster.Options{
		Client: mgr.GetClient(), Recorder: mgr.GetEventRecorder(name), Fleet: connected, Metrics: measure,
	})
	topics = durabletopic.New(durabletopic.Options{
		Client: mgr.GetClient(), Recorder: mgr.GetEventRecorder(name), Metrics: measure, Workers: o.Workers,
		Cluster: func(cluster string) (durabletopic.Kafka, bool) {
			c, ok := connected.Cluster(cluster)
			if !ok {
				return nil, false
			}
			return c, true
		},
	})
	if err := mgr.Add(connected); err != nil {
		return fmt.Errorf("add connections: %w", err)
	}
	if err := clusters.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up controller of KafkaClusters: %w", err)
	}
	if err := topics.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up controller of DurableTopics: %w", err)
	}
	return nil
}
