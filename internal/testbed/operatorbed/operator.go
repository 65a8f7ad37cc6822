//go:build unix

// Package operatorbed runs the operator's own program against a bed, as a cluster would: leader election on, under
// the ServiceAccount and the RBAC of config/rbac, with nothing else allowed. The operator can be killed, paused and
// started again like a broker.
package operatorbed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"durabletopic.io/operator/internal/testbed/assets"
	"durabletopic.io/operator/internal/testbed/guard"
	"durabletopic.io/operator/internal/testbed/kubebed"
	"durabletopic.io/operator/internal/testbed/progress"
)

const (
	// Namespace is where the operator lives: its ServiceAccount, its lease and the Secrets it may read.
	Namespace = "durabletopic-system"
	// readyTimeout bounds the wait for the operator's readiness endpoint.
	readyTimeout = 60 * time.Second
	// termTimeout bounds the orderly end: the manager's own grace period is 30 s.
	termTimeout = 45 * time.Second
)

// Options describes how to run the operator. The zero value runs bin/manager of this checkout.
type Options struct {
	// Binary is the operator's program. Default: bin/manager of the checkout.
	Binary string
	// Args are added to the operator's flags.
	Args []string
	// LogFile takes the operator's output, appended. Default: a file in the bed's directory.
	LogFile string
	// Log takes progress lines; nil discards them.
	Log progress.Log
}

// Operator is an installed operator. Its methods may be called concurrently.
type Operator struct {
	opts       Options
	guard      *guard.Guard
	kubeconfig string

	mu      sync.Mutex // held while the process is started, ended or signalled
	proc    *guard.Process
	paused  bool
	metrics string // host:port
	health  string
}

// Start installs the operator into the cluster (namespace, config/crd, config/rbac) and starts it. It returns when the
// operator says that it is ready.
func Start(ctx context.Context, kube *kubebed.Cluster, opts Options) (*Operator, error) {
	root, err := assets.Root()
	if err != nil {
		return nil, err
	}
	opts.Log = progress.OrDiscard(opts.Log)
	if opts.Binary == "" {
		opts.Binary = filepath.Join(root, "bin", "manager")
	}
	if _, err := os.Stat(opts.Binary); err != nil {
		return nil, fmt.Errorf("find the operator's program (make build): %w", err)
	}
	user, err := install(ctx, kube, root, opts.Log)
	if err != nil {
		return nil, fmt.Errorf("install operator: %w", err)
	}
	dir, err := os.MkdirTemp("", "durabletopic-operator-")
	if err != nil {
		return nil, fmt.Errorf("make directory of operator: %w", err)
	}
	if opts.LogFile == "" {
		opts.LogFile = filepath.Join(dir, "operator.log")
	}
	g, err := guard.New(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	o := &Operator{opts: opts, guard: g, kubeconfig: user.Kubeconfig}
	if err := o.Restart(ctx); err != nil {
		return nil, errors.Join(err, o.Stop())
	}
	return o, nil
}

// install applies what the operator needs and returns its identity.
func install(ctx context.Context, kube *kubebed.Cluster, root string, log progress.Log) (kubebed.User, error) {
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetName(Namespace)
	objects, err := kubebed.Manifests(filepath.Join(root, "config", "crd", "bases"), filepath.Join(root, "config", "rbac"))
	if err != nil {
		return kubebed.User{}, err
	}
	account := ""
	for _, object := range objects {
		if object.GetKind() == "ServiceAccount" && object.GetNamespace() == Namespace {
			account = object.GetName()
		}
	}
	if account == "" {
		return kubebed.User{}, fmt.Errorf("config/rbac has no ServiceAccount in namespace %s", Namespace)
	}
	log("applying config/crd and config/rbac; the operator is %s/%s", Namespace, account)
	if err := kube.Apply(ctx, append([]*unstructured.Unstructured{namespace}, objects...)...); err != nil {
		return kubebed.User{}, err
	}
	return kube.ServiceAccount(ctx, Namespace, account)
}

// Restart starts the operator after its process has ended and returns when it is ready.
func (o *Operator) Restart(ctx context.Context) error {
	if err := o.start(); err != nil {
		return err
	}
	return o.WaitReady(ctx)
}

func (o *Operator) start() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.proc != nil && o.proc.Running() {
		return fmt.Errorf("start operator: process %d is running already", o.proc.Pid())
	}
	ports, err := freeAddrs(2)
	if err != nil {
		return fmt.Errorf("start operator: %w", err)
	}
	o.metrics, o.health = ports[0], ports[1]
	args := append([]string{
		"--kubeconfig=" + o.kubeconfig, "--namespace=" + Namespace, "--leader-elect=true",
		"--metrics-bind-address=" + o.metrics, "--health-probe-bind-address=" + o.health,
	}, o.opts.Args...)
	o.opts.Log("starting the operator, log in %s", o.opts.LogFile)
	proc, err := o.guard.Start(guard.Command{Path: o.opts.Binary, Args: args, Log: o.opts.LogFile})
	if err != nil {
		return fmt.Errorf("start operator: %w", err)
	}
	o.proc, o.paused = proc, false
	return nil
}

// WaitReady returns when the operator's readiness endpoint answers, and fails when its process ends before.
func (o *Operator) WaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	proc, url := o.process(), o.Info().Health
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		last := probe(ctx, url)
		if last == nil {
			o.opts.Log("the operator is ready: process %d", proc.Pid())
			return nil
		}
		select {
		case <-proc.Done():
			return fmt.Errorf("operator ended (%s); last words:\n%s", proc.Exit(), o.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("wait for operator to be ready: %w: %w; last words:\n%s", ctx.Err(), last, o.lastWords())
		case <-ticker.C:
		}
	}
}

// probe asks a health endpoint.
func probe(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("get %s: %s", url, resp.Status)
	}
	return nil
}

func (o *Operator) process() *guard.Process {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.proc
}

func (o *Operator) lastWords() string {
	text, err := os.ReadFile(o.opts.LogFile)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// Kill ends the operator with SIGKILL: the lease stays behind.
func (o *Operator) Kill() error { return o.process().Kill() }

// Term ends the operator with SIGTERM and waits until it is gone. An operator that has ended is no error.
func (o *Operator) Term(ctx context.Context) error {
	proc := o.process()
	if err := proc.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop operator: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, termTimeout)
	defer cancel()
	select {
	case <-proc.Done():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop operator: still running: %w", ctx.Err())
	}
}

// Pause freezes the operator with SIGSTOP.
func (o *Operator) Pause() error { return o.setPaused(true, syscall.SIGSTOP) }

// Resume lets a paused operator go on.
func (o *Operator) Resume() error { return o.setPaused(false, syscall.SIGCONT) }

func (o *Operator) setPaused(paused bool, sig syscall.Signal) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.proc.Signal(sig); err != nil {
		return fmt.Errorf("signal operator: %w", err)
	}
	o.paused = paused
	return nil
}

// Stop ends the operator at once with SIGKILL. It cannot be started again; what was installed stays.
func (o *Operator) Stop() error { return o.guard.Close() }

// State is what the operator's process does.
type State string

// The states of the operator's process.
const (
	Running State = "running"
	Paused  State = "paused"
	Stopped State = "stopped"
)

// Info describes the operator's process.
type Info struct {
	Pid     int    `json:"pid"`
	State   State  `json:"state"`
	Exit    string `json:"exit,omitempty"`
	Metrics string `json:"metrics"` // URL
	Health  string `json:"health"`  // URL of the readiness endpoint
	LogFile string `json:"logFile"`
}

// Info describes the operator's process now.
func (o *Operator) Info() Info {
	o.mu.Lock()
	defer o.mu.Unlock()
	info := Info{
		Pid: o.proc.Pid(), State: Running, Exit: o.proc.Exit(), LogFile: o.opts.LogFile,
		Metrics: "http://" + o.metrics + "/metrics", Health: "http://" + o.health + "/readyz",
	}
	switch {
	case !o.proc.Running():
		info.State = Stopped
	case o.paused:
		info.State = Paused
	}
	return info
}

// freeAddrs returns n loopback addresses that nobody listens on.
func freeAddrs(n int) ([]string, error) {
	addrs := make([]string, n)
	for i := range addrs {
		listener, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer func() { _ = listener.Close() }()
		addrs[i] = listener.Addr().String()
	}
	return addrs, nil
}
