package main

import (
	ctrl "sigs.k8s.io/controller-runtime"
	runtimemetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"durabletopic.io/operator/internal/assembly"
	"durabletopic.io/operator/internal/kafka"
	"durabletopic.io/operator/internal/metrics"
	"durabletopic.io/operator/internal/options"
	"durabletopic.io/operator/internal/version"
)

// wire connects the parts as the options say.
func wire(mgr ctrl.Manager, o options.Options) error {
	build := version.Get()
	_, err := assembly.Assemble(mgr, assembly.Options{
		Recorder: name, Dial: kafka.Dial, Metrics: metrics.New(runtimemetrics.Registry, build), Workers: o.Workers, Hold: hold(o),
		SoftwareVersion: build.Version, Namespace: o.Namespace,
	})
	return err
}
