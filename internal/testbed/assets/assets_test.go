//go:build unix

package assets

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"durabletopic.io/operator/internal/testbed/progress"
)

func TestPinnedVersions(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		file    string
		pattern *regexp.Regexp
		want    string
	}{
		"kubernetes": {controlPlaneModule, kubernetesVersion, `^v1\.\d+\.\d+$`},
		"kafka":      {"hack/kafka/pom.xml", kafkaVersion, `^4\.\d+\.\d+$`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := pinned(root, tc.file, tc.pattern)
			if err != nil || !regexp.MustCompile(tc.want).MatchString(got) {
				t.Errorf("pinned() = %q, %v, want a version like %s", got, err, tc.want)
			}
		})
	}
	if _, err := pinned(root, "go.mod", kafkaVersion); err == nil {
		t.Error("pinned() of a file that names no version succeeded")
	}
}

func TestCheckNamesEverythingThatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	err := Check(t.Context(), Go, Java, Maven, Make, Git)
	if !errors.Is(err, ErrMissing) {
		t.Fatalf("Check() = %v, want ErrMissing", err)
	}
	for _, want := range []string{"go ", "java ", "mvn ", "make ", "git ", "https://go.dev/dl", "JAVA_HOME"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the message lacks %q:\n%v", want, err)
		}
	}
	if err := Check(t.Context()); err != nil {
		t.Errorf("Check() of nothing = %v", err)
	}
}

func TestAnOldJavaIsRefused(t *testing.T) {
	home := t.TempDir()
	script := "#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n"
	write(t, filepath.Join(home, "bin", "java"), script)
	if err := os.Chmod(filepath.Join(home, "bin", "java"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("JAVA_HOME", home)
	if _, _, err := findJava(t.Context()); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "is version 11") {
		t.Errorf("findJava() = %v, want ErrMissing that names version 11", err)
	}
}

func TestKubebuilderAssetsComeFirst(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KUBEBUILDER_ASSETS", dir)
	if _, err := ControlPlane(t.Context(), progress.Discard); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("ControlPlane() with an empty KUBEBUILDER_ASSETS = %v, want that a file is missing", err)
	}
	write(t, filepath.Join(dir, "etcd"), "x")
	write(t, filepath.Join(dir, "kube-apiserver"), "x")
	if got, err := ControlPlane(t.Context(), progress.Discard); err != nil || got != dir {
		t.Errorf("ControlPlane() = %q, %v, want %q", got, err, dir)
	}
}

func TestOutputEndsInTime(t *testing.T) {
	if _, err := output(t.Context(), 1, "/", "sleep", "60"); err == nil {
		t.Error("a command beyond its limit succeeded")
	}
	if _, err := output(t.Context(), envtestListTimeout, "/", "/bin/sh", "-c", "echo why >&2; exit 3"); err == nil || !strings.Contains(err.Error(), "why") {
		t.Errorf("output() = %v, want the command's words", err)
	}
	if got, err := output(t.Context(), envtestListTimeout, "/", "echo", "a path"); err != nil || got != "a path" {
		t.Errorf("output() = %q, %v", got, err)
	}
}
