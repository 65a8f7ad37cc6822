// Command manager is the operator: it watches KafkaClusters and DurableTopics and keeps the Kafka topics as declared.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"durabletopic.io/operator/internal/options"
	"durabletopic.io/operator/internal/version"
)

func main() {
	err := run(ctrl.SetupSignalHandler(), flag.CommandLine, os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

// run works until ctx ends.
func run(ctx context.Context, fs *flag.FlagSet, args []string) error {
	var o options.Options
	o.AddFlags(fs)
	fs.Usage = func() { options.Usage(fs, os.Stderr) }
	if err := o.Parse(fs, args, os.LookupEnv); err != nil {
		return err
	}
	if o.Version {
		fmt.Println(version.Get())
		return nil
	}
	logger := logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: o.Level()}))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger.WithName("client-go"))
	logger.Info("starting "+version.Get().String(), o.Values()...)

	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the Kubernetes API server: %w", err)
	}
	config.UserAgent = "durabletopic/" + version.Get().Version
	mgr, err := newManager(config, o)
	if err != nil {
		return err
	}
	if err := wire(mgr, o); err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	return nil
}
