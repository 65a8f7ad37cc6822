//go:build unix

package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"durabletopic.io/operator/internal/testbed/assets"
	"durabletopic.io/operator/internal/testbed/kafkabed"
	"durabletopic.io/operator/internal/testbed/kubebed"
	"durabletopic.io/operator/internal/testbed/operatorbed"
	"durabletopic.io/operator/internal/testbed/progress"
)

// downTimeout bounds how long the daemon waits for its running commands when it ends.
const downTimeout = 2 * time.Second

// lockTimeout is how long a daemon tries to get its lock: a command holds it for a moment when it looks for a daemon.
const lockTimeout = 2 * time.Second

// server owns the bed.
type server struct {
	dir   string
	since time.Time
	log   progress.Log
	down  context.CancelFunc

	kafkaVersion string
	kafka        *kafkabed.Cluster
	kube         *kubebed.Cluster

	mu       sync.Mutex // held while the operator is installed or removed
	operator *operatorbed.Operator
}

// Serve starts the standard bed with its state in dir, calls ready, and serves commands until ctx ends or a command
// ends it. It holds dir's lock all the while; a second daemon fails.
func Serve(ctx context.Context, dir string, log progress.Log, ready func()) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make state directory: %w", err)
	}
	waiting, cancelWait := context.WithTimeout(ctx, lockTimeout)
	defer cancelWait()
	unlock, err := assets.Lock(waiting, log, lockFile(dir))
	if err != nil {
		return err
	}
	defer unlock()
	if err := clean(dir, append(removable(dir), nodeLogs(dir), operatorLog(dir))); err != nil {
		return err
	}
	defer func() { _ = clean(dir, removable(dir)) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{dir: dir, since: time.Now(), log: log, down: cancel}
	defer s.stop()
	if err := s.start(ctx); err != nil {
		return err
	}
	return s.serve(ctx, ready)
}

func clean(dir string, paths []string) error {
	for _, path := range paths {
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("clean state directory %s: %w", dir, err)
		}
	}
	return nil
}

// start starts Kafka and the API server side by side.
func (s *server) start(ctx context.Context) error {
	if err := os.MkdirAll(nodeLogs(s.dir), 0o755); err != nil {
		return fmt.Errorf("make log directory: %w", err)
	}
	installed, err := Prepare(ctx, s.log)
	if err != nil {
		return err
	}
	s.kafkaVersion = installed.Version
	var kafkaErr, kubeErr error
	var wg sync.WaitGroup
	wg.Go(func() {
		s.kafka, kafkaErr = kafkabed.Start(ctx, kafkabed.Options{LogDir: nodeLogs(s.dir), Log: s.log})
	})
	wg.Go(func() {
		s.kube, kubeErr = kubebed.Start(ctx, kubebed.Options{LogDir: nodeLogs(s.dir), Log: s.log})
	})
	wg.Wait()
	if err := errors.Join(kafkaErr, kubeErr); err != nil {
		return err
	}
	config, err := os.ReadFile(s.kube.Kubeconfig())
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	if err := os.WriteFile(adminConfig(s.dir), config, 0o600); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return writeTools(toolsDir(s.dir), installed, s.kube.Kubectl())
}

// Prepare fetches or builds everything the bed runs, and starts nothing that stays.
func Prepare(ctx context.Context, log progress.Log) (assets.Kafka, error) {
	if err := assets.Check(ctx, assets.Go, assets.Java); err != nil {
		return assets.Kafka{}, err
	}
	kafka, err := kafkabed.Prepare(ctx, log)
	if err != nil {
		return kafka, err
	}
	binaries, err := assets.ControlPlane(ctx, log)
	if err != nil {
		return kafka, err
	}
	log("the bed has all it needs: Kafka %s, Kubernetes in %s", kafka.Version, binaries)
	return kafka, nil
}

// stop ends whatever has been started.
func (s *server) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	if s.operator != nil {
		errs = append(errs, s.operator.Stop())
	}
	if s.kafka != nil {
		errs = append(errs, s.kafka.Stop())
	}
	if s.kube != nil {
		errs = append(errs, s.kube.Stop())
	}
	if err := errors.Join(errs...); err != nil {
		s.log("stopping the bed: %v", err)
	}
	s.log("the bed is down")
}

// serve answers commands on a socket until ctx ends.
func (s *server) serve(ctx context.Context, ready func()) error {
	// Not in the state directory: a socket's path may have about 100 characters, and a checkout may lie deep.
	socket := filepath.Join(s.kube.Dir(), "bed.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return fmt.Errorf("listen for commands: %w", err)
	}
	server := &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	if err := writeRecord(s.dir, record{Pid: os.Getpid(), Socket: socket}); err != nil {
		return errors.Join(err, server.Close())
	}
	s.log("the bed is up, daemon process %d", os.Getpid())
	ready()
	select {
	case err := <-failed:
		return fmt.Errorf("serve commands: %w", err)
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), downTimeout)
	defer cancel()
	if server.Shutdown(closing) != nil {
		_ = server.Close()
	}
	return nil
}
