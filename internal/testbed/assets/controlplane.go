//go:build unix

package assets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"durabletopic.io/operator/internal/testbed/progress"
)

const (
	controlPlaneModule = "hack/controlplane/go.mod"
	toolsModule        = "hack/tools/go.mod"

	// Bounds of one try of setup-envtest: compiling it, asking for what it offers (which tells soon whether the
	// network can be reached), and downloading.
	envtestBuildTimeout    = 3 * time.Minute
	envtestListTimeout     = 20 * time.Second
	envtestDownloadTimeout = 5 * time.Minute
)

var (
	kubernetesVersion = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v\d+\.\d+\.\d+)$`)

	// controlPlanePackages are the main packages built from Go modules, by the name of their binary.
	controlPlanePackages = []struct{ binary, path string }{
		{"etcd", "go.etcd.io/etcd/server/v3"},
		{"kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"},
		{"kubectl", "k8s.io/kubernetes/cmd/kubectl"},
	}
	controlPlaneBinaries = []string{"etcd", "kube-apiserver", "kubectl"}
)

// ControlPlane returns a directory with the binaries etcd, kube-apiserver and kubectl: KUBEBUILDER_ASSETS if that is
// set; else what the cache has for the version pinned in hack/controlplane/go.mod; else what setup-envtest downloads
// for that minor version; else, where nothing can be downloaded, what it builds from Go modules in 8 to 15 minutes.
func ControlPlane(ctx context.Context, log progress.Log) (string, error) {
	if dir := os.Getenv("KUBEBUILDER_ASSETS"); dir != "" {
		for _, name := range []string{"etcd", "kube-apiserver"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				return "", fmt.Errorf("use KUBEBUILDER_ASSETS: %w", err)
			}
		}
		return dir, nil
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	version, err := pinned(root, controlPlaneModule, kubernetesVersion)
	if err != nil {
		return "", err
	}
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "controlplane", version)
	err = install(ctx, log, dir, controlPlaneBinaries, func(ctx context.Context, staging string) (string, error) {
		source, err := downloadControlPlane(ctx, log, root, version, staging)
		if err == nil {
			return source, nil
		}
		if ctx.Err() != nil {
			return "", fmt.Errorf("get control plane: %w", ctx.Err())
		}
		log("setup-envtest cannot be used here (%v)", err)
		return version + " built from Go modules", buildControlPlane(ctx, log, root, version, staging)
	})
	if err != nil {
		return "", err
	}
	return dir, nil
}

// downloadControlPlane copies into staging what setup-envtest downloads, and says which version that was.
func downloadControlPlane(ctx context.Context, log progress.Log, root, version, staging string) (source string, err error) {
	if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(toolsModule))); err != nil {
		return "", fmt.Errorf("find setup-envtest: %w", err)
	}
	minor := version[1:strings.LastIndex(version, ".")] + ".x"
	log("asking setup-envtest for a control plane %s", minor)
	tool, err := output(ctx, envtestBuildTimeout, root, "go", "tool", "-modfile="+toolsModule, "-n", "setup-envtest")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(staging, "envtest")
	defer func() { err = errors.Join(err, removeDownload(bin)) }()
	if _, err := output(ctx, envtestListTimeout, root, tool, "list", "--bin-dir", bin, minor); err != nil {
		return "", err
	}
	var found string
	err = progress.During(ctx, log, "downloading etcd, kube-apiserver and kubectl "+minor, func(ctx context.Context) error {
		found, err = output(ctx, envtestDownloadTimeout, root, tool, "use", "--print", "path", "--bin-dir", bin, minor+"!")
		return err
	})
	if err != nil {
		return "", err
	}
	for _, name := range controlPlaneBinaries {
		if err := copyFile(filepath.Join(found, name), filepath.Join(staging, name)); err != nil {
			return "", err
		}
	}
	return filepath.Base(found) + " from setup-envtest", nil
}

// buildControlPlane compiles the pinned versions into staging and stamps them, as Kubernetes' own build does.
func buildControlPlane(ctx context.Context, log progress.Log, root, version, staging string) error {
	numbers := strings.Split(strings.TrimPrefix(version, "v"), ".")
	var stamp strings.Builder
	stamp.WriteString("-s -w")
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		fmt.Fprintf(&stamp, " -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s",
			pkg, version, numbers[0], numbers[1])
	}
	for _, pkg := range controlPlanePackages {
		what := fmt.Sprintf("building %s of Kubernetes %s from Go modules (once; 8 to 15 minutes for all three)", pkg.binary, version)
		err := progress.During(ctx, log, what, func(ctx context.Context) error {
			cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", stamp.String(),
				"-o", filepath.Join(staging, pkg.binary), pkg.path)
			cmd.Dir = filepath.Join(root, filepath.FromSlash(filepath.Dir(controlPlaneModule)))
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-buildvcs=false")
			return run(cmd)
		})
		if err != nil {
			return fmt.Errorf("build %s: %w", pkg.binary, err)
		}
	}
	return nil
}

// output runs a command of at most limit in dir and returns its trimmed standard output.
func output(ctx context.Context, limit time.Duration, dir, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	var out strings.Builder
	cmd.Stdout = &out
	err := run(cmd)
	if ctx.Err() != nil {
		err = fmt.Errorf("no answer within %s: %w", limit, ctx.Err())
	}
	if err != nil {
		return "", fmt.Errorf("run %s: %w", filepath.Base(name), err)
	}
	return strings.TrimSpace(out.String()), nil
}

// run runs cmd; its error carries the last lines that cmd wrote.
func run(cmd *exec.Cmd) error {
	var errors strings.Builder
	cmd.Stderr = &errors
	if cmd.Stdout == nil {
		cmd.Stdout = &errors
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, lastLines(errors.String(), 5))
	}
	return nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// copyFile copies an executable.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("copy executable: %w", err)
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return fmt.Errorf("copy executable: %w", err)
	}
	_, err = io.Copy(out, in)
	if err := errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("copy executable: %w", err)
	}
	return nil
}

// removeDownload removes a download directory: setup-envtest leaves its directories without the write permission.
func removeDownload(dir string) error {
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil // it did not get so far
		}
		if err == nil && entry.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return err
	})
	return errors.Join(err, os.RemoveAll(dir))
}
