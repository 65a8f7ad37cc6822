// Package crd tests what is under config/ on a real API server: what the CustomResourceDefinitions refuse, with which
// words, and what they accept; the roles; the samples. Objects are sent as raw YAML, as users send them, so that nothing
// is repaired by a Go type on the way.
package crd

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"durabletopic.io/operator/internal/testbed/kubebed"
	"durabletopic.io/operator/internal/testbed/progress"
)

// startTimeout bounds the start of the API server, whose programs may have to be built first.
const startTimeout = 40 * time.Minute

// configDir holds the manifests under test.
var configDir = filepath.Join("..", "..", "config")

// server is the API server under test; nil under -short.
var server *apiServer

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		os.Exit(m.Run())
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	bed, err := kubebed.Start(ctx, kubebed.Options{
		CRDPaths: []string{filepath.Join(configDir, "crd", "bases")},
		Log:      progress.New(os.Stderr),
	})
	if err != nil {
		return fail("start API server: %v", err)
	}
	defer func() {
		if err := bed.Stop(); err != nil {
			fail("stop API server: %v", err)
		}
	}()
	if server, err = newAPIServer(bed); err != nil {
		return fail("connect to API server: %v", err)
	}
	return m.Run()
}

func fail(format string, args ...any) int {
	_, _ = fmt.Fprintf(os.Stderr, format+"\n", args...)
	return 1
}
