// Package options reads the operator's settings: flags, each with an environment variable for those who prefer it,
// checked once at start.
package options

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Timing of leader election and shutdown. The lease is the controller runtime's default; shutdown must end before the
// pod's terminationGracePeriodSeconds of 30.
const (
	LeaseDuration           = 15 * time.Second
	RenewDeadline           = 10 * time.Second
	RetryPeriod             = 2 * time.Second
	GracefulShutdownTimeout = 20 * time.Second
)

// EnvPrefix begins the names of the environment variables: DURABLETOPIC_WORKERS stands for --workers.
const EnvPrefix = "DURABLETOPIC_"

// maxWorkers bounds the workers: each is a goroutine that mostly waits.
const maxWorkers = 10000

// logLevels are the levels of --log-level.
var logLevels = []string{"debug", "info", "error"}

// Options are the operator's settings.
type Options struct {
	// Namespace the operator runs in, where its lease is.
	Namespace string
	// MetricsBindAddress serves /metrics; "0" for none. MetricsSecure: over TLS.
	MetricsBindAddress string
	MetricsSecure      bool
	// HealthProbeBindAddress serves /healthz and /readyz; "0" for none.
	HealthProbeBindAddress string
	// LeaderElect has several replicas agree on one that acts.
	LeaderElect bool
	// Workers is how many topics are worked on at once. Most of them wait for a shared request.
	Workers int
	// LogLevel is debug, info or error.
	LogLevel string
	// Version only: print it and end.
	Version bool
}

// serviceAccountNamespace is where a pod finds the namespace it runs in.
const serviceAccountNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// AddFlags adds the flags with their defaults.
func (o *Options) AddFlags(fs *flag.FlagSet) {
	fs.StringVar(&o.Namespace, "namespace", ownNamespace(serviceAccountNamespace), "namespace that the operator runs in, where its lease is")
	fs.StringVar(&o.MetricsBindAddress, "metrics-bind-address", ":8080", "address of the metrics endpoint; 0 for none")
	fs.BoolVar(&o.MetricsSecure, "metrics-secure", false, "serve metrics over TLS, with a certificate made at start")
	fs.StringVar(&o.HealthProbeBindAddress, "health-probe-bind-address", ":8081", "address of the health endpoints /healthz and /readyz; 0 for none")
	fs.BoolVar(&o.LeaderElect, "leader-elect", true, "act only while holding the lease, so that one of several replicas does")
	fs.IntVar(&o.Workers, "workers", 2048, "how many topics are worked on at once; most of them wait for a shared request to Kafka")
	fs.StringVar(&o.LogLevel, "log-level", "info", "debug, info or error")
	fs.BoolVar(&o.Version, "version", false, "print the version and exit")
}

// ownNamespace is the namespace of the pod; the conventional one outside of a pod.
func ownNamespace(path string) string {
	if name, err := os.ReadFile(path); err == nil && len(name) > 0 {
		return strings.TrimSpace(string(name))
	}
	return "durabletopic-system"
}

// Parse reads args, and for flags not given there the environment, and checks the result. Flags that others have added
// to fs are read likewise.
func (o *Options) Parse(fs *flag.FlagSet, args []string, env func(string) (string, bool)) error {
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: all settings are flags", fs.Arg(0))
	}
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var errs []error
	fs.VisitAll(func(f *flag.Flag) {
		value, ok := env(EnvName(f.Name))
		if !ok || given[f.Name] {
			return
		}
		if err := fs.Set(f.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("environment variable %s: %w", EnvName(f.Name), err))
		}
	})
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return o.validate()
}

// EnvName is the environment variable of a flag.
func EnvName(name string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

func (o *Options) validate() error {
	var errs []error
	if words := validation.IsDNS1123Label(o.Namespace); len(words) > 0 {
		errs = append(errs, fmt.Errorf("--namespace %q: %s", o.Namespace, strings.Join(words, "; ")))
	}
	for name, address := range map[string]string{
		"metrics-bind-address": o.MetricsBindAddress, "health-probe-bind-address": o.HealthProbeBindAddress,
	} {
		if _, _, err := net.SplitHostPort(address); address != "0" && err != nil {
			errs = append(errs, fmt.Errorf("--%s must be host:port, :port or 0: %w", name, err))
		}
	}
	if o.Workers < 1 || o.Workers > maxWorkers {
		errs = append(errs, fmt.Errorf("--workers %d must be from 1 to %d", o.Workers, maxWorkers))
	}
	if !slices.Contains(logLevels, o.LogLevel) {
		errs = append(errs, fmt.Errorf("--log-level %q must be one of %s", o.LogLevel, strings.Join(logLevels, ", ")))
	}
	return errors.Join(errs...)
}

// Usage explains flags and environment.
func Usage(fs *flag.FlagSet, w io.Writer) {
	fmt.Fprintf(w, "Usage: manager [flags]\n\nKeeps the Kafka topics that DurableTopics declare. Each flag may be given as an environment variable\n"+
		"instead, such as %s for --log-level.\n\n", EnvName("log-level"))
	fs.SetOutput(w)
	fs.PrintDefaults()
}

// Values gives the settings for one line in the log. None of them is a secret.
func (o *Options) Values() []any {
	return []any{
		"namespace", o.Namespace, "metricsBindAddress", o.MetricsBindAddress, "metricsSecure", o.MetricsSecure,
		"healthProbeBindAddress", o.HealthProbeBindAddress, "leaderElect", o.LeaderElect, "workers", o.Workers,
		"logLevel", o.LogLevel,
	}
}

// Level gives --log-level for the log; debug shows what a person needs to follow a single topic.
func (o *Options) Level() slog.Level {
	switch o.LogLevel {
	case "debug":
		return slog.LevelDebug
	case "error":
		return slog.LevelError
	}
	return slog.LevelInfo
}
