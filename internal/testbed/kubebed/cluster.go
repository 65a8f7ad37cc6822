//go:build unix

// Package kubebed runs a real kube-apiserver with etcd for tests and for people. There are no controllers: nobody
// empties a deleted namespace, collects garbage or gives a namespace its default ServiceAccount. RBAC is enforced.
//
// Nothing outlives the process that called Start, whatever ends it. All data is lost with Stop.
package kubebed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"durabletopic.io/operator/internal/testbed/assets"
	"durabletopic.io/operator/internal/testbed/guard"
	"durabletopic.io/operator/internal/testbed/progress"
)

// startTimeout bounds the start of etcd and of the API server, each: generous, for machines that build meanwhile.
const startTimeout = 90 * time.Second

// Options describes a bed. The zero value is an empty API server.
type Options struct {
	// CRDPaths are files or directories with CustomResourceDefinitions to install; each must exist.
	CRDPaths []string
	// APIServerFlags are further flags of kube-apiserver, by name without dashes.
	APIServerFlags map[string]string
	// Dir is where the bed makes its own directory. Default: the directory for temporary files.
	Dir string
	// LogDir is an existing directory for the servers' logs, which then survive the bed. Default: inside the bed's own.
	LogDir string
	// Log takes progress lines; nil discards them.
	Log progress.Log
}

// Cluster is a running control plane. Its methods may be called concurrently.
type Cluster struct {
	env     *envtest.Environment
	guard   *guard.Guard
	logs    []*os.File
	kubectl string
	admin   *rest.Config

	users sync.Mutex // held while a certificate is signed
}

// Start starts etcd and kube-apiserver and returns when the API answers and the CRDs are established. Binaries that
// are missing on this machine are fetched or built first: see assets.ControlPlane.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	log := progress.OrDiscard(opts.Log)
	binaries, err := assets.ControlPlane(ctx, log)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(opts.Dir, "durabletopic-kube-")
	if err != nil {
		return nil, fmt.Errorf("make directory of control plane: %w", err)
	}
	g, err := guard.New(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	c := &Cluster{guard: g, kubectl: filepath.Join(binaries, "kubectl")}
	log("starting etcd and kube-apiserver in %s", dir)
	if err := c.start(binaries, opts); err != nil {
		return nil, errors.Join(fmt.Errorf("start control plane: %w", err), c.Stop())
	}
	log("the Kubernetes API is ready at %s", c.URL())
	return c, nil
}

func (c *Cluster) start(binaries string, opts Options) error {
	logDir := opts.LogDir
	if logDir == "" {
		logDir = c.Dir()
	}
	for _, dir := range []string{"bin", "certs", "etcd", "kubeconfigs"} {
		if err := os.Mkdir(filepath.Join(c.Dir(), dir), 0o700); err != nil {
			return err
		}
	}
	api := &envtest.APIServer{CertDir: filepath.Join(c.Dir(), "certs")}
	etcd := &envtest.Etcd{DataDir: filepath.Join(c.Dir(), "etcd")}
	for _, server := range []struct {
		name string
		path *string
	}{{"kube-apiserver", &api.Path}, {"etcd", &etcd.Path}} {
		*server.path = filepath.Join(c.Dir(), "bin", server.name)
		if err := c.guard.Wrap(*server.path, filepath.Join(binaries, server.name)); err != nil {
			return err
		}
		log, err := os.OpenFile(filepath.Join(logDir, server.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		c.logs = append(c.logs, log)
	}
	api.Out, api.Err, etcd.Out, etcd.Err = c.logs[0], c.logs[0], c.logs[1], c.logs[1]
	for flag, value := range opts.APIServerFlags {
		api.Configure().Set(flag, value)
	}
	existing := false // whatever USE_EXISTING_CLUSTER says: a bed never touches another cluster
	c.env = &envtest.Environment{
		ControlPlane:             envtest.ControlPlane{APIServer: api, Etcd: etcd, KubectlPath: c.kubectl},
		CRDDirectoryPaths:        opts.CRDPaths,
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: startTimeout,
		UseExistingCluster:       &existing,
	}
	var err error
	if c.admin, err = c.env.Start(); err != nil {
		return err
	}
	return os.WriteFile(c.Kubeconfig(), c.env.KubeConfig, 0o600)
}

// Stop ends both servers at once with SIGKILL and removes all data.
func (c *Cluster) Stop() error {
	err := c.guard.Close()
	for _, log := range c.logs {
		_ = log.Close()
	}
	return err
}

// Dir is the bed's own directory.
func (c *Cluster) Dir() string { return c.guard.Dir() }

// Kubectl is the path of a kubectl of the servers' version. With KUBEBUILDER_ASSETS it may not exist.
func (c *Cluster) Kubectl() string { return c.kubectl }

// URL is where the API server listens.
func (c *Cluster) URL() string {
	return c.env.ControlPlane.APIServer.SecureServing.URL("https", "").String()
}

// Config returns a new client configuration of a cluster admin, with a rate limit that does not slow tests.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.admin) }

// Kubeconfig is the path of the cluster admin's kubeconfig file.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.Dir(), "kubeconfigs", "admin") }
