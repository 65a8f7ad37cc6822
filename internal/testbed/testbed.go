//go:build unix

// Package testbed gives tests real parts: Kafka brokers, a Kubernetes API server, and the operator's own program. Its
// functions skip the test under -short, fail it when a part does not start, and end the part with the test. What they
// start never outlives the test binary.
package testbed

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"durabletopic.io/operator/internal/testbed/assets"
	"durabletopic.io/operator/internal/testbed/kafkabed"
	"durabletopic.io/operator/internal/testbed/kubebed"
	"durabletopic.io/operator/internal/testbed/operatorbed"
)

// startTimeout bounds the start of one part on a busy machine. What must be downloaded or built first has no bound:
// make test does that before (bin/bed prepare).
const startTimeout = 3 * time.Minute

// CRDPath is the directory with the CRDs of this checkout.
func CRDPath(t testing.TB) string {
	t.Helper()
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "config", "crd", "bases")
}

// Kafka starts a Kafka cluster for the test; the zero Options are six brokers in three racks. When the test fails, the
// last lines of every node's log are part of its output.
func Kafka(t testing.TB, opts kafkabed.Options) *kafkabed.Cluster {
	t.Helper()
	SkipShort(t)
	if _, err := kafkabed.Prepare(t.Context(), t.Logf); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	if opts.Log == nil {
		opts.Log = t.Logf
	}
	cluster, err := kafkabed.Start(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, node := range cluster.Nodes() {
				t.Logf("node %d is %s; end of its log:\n%s", node.ID, node.State, tail(node.Log))
			}
		}
		if err := cluster.Stop(); err != nil {
			t.Errorf("stop kafka: %v", err)
		}
	})
	return cluster
}

// Kube starts a Kubernetes API server for the test, with the CRDs of this checkout unless opts names others.
func Kube(t testing.TB, opts kubebed.Options) *kubebed.Cluster {
	t.Helper()
	SkipShort(t)
	if opts.CRDPaths == nil {
		opts.CRDPaths = []string{CRDPath(t)}
	}
	if opts.Log == nil {
		opts.Log = t.Logf
	}
	cluster, err := kubebed.Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Errorf("stop control plane: %v", err)
		}
	})
	return cluster
}

// Operator runs bin/manager for the test, under the RBAC of config/rbac. When the test fails, the end of the
// operator's log is part of its output.
func Operator(t testing.TB, kube *kubebed.Cluster, opts operatorbed.Options) *operatorbed.Operator {
	t.Helper()
	SkipShort(t)
	if opts.Log == nil {
		opts.Log = t.Logf
	}
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	operator, err := operatorbed.Start(ctx, kube, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("end of the operator's log:\n%s", tail(operator.Info().LogFile))
		}
		if err := operator.Stop(); err != nil {
			t.Errorf("stop operator: %v", err)
		}
	})
	return operator
}

// SkipShort skips a test that needs real parts under -short.
func SkipShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs real parts, which -short leaves out")
	}
}

func tail(file string) string {
	const lines = 30
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
