//go:build unix

package testbed_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"durabletopic.io/operator/internal/testbed"
	"durabletopic.io/operator/internal/testbed/kafkabed"
	"durabletopic.io/operator/internal/testbed/kubebed"
)

// ownerEnv makes the test binary play the owner of a bed.
const ownerEnv = "DURABLETOPIC_BED_OWNER"

func TestMain(m *testing.M) {
	if os.Getenv(ownerEnv) != "" {
		if err := own(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		select {} // until the test kills this process
	}
	os.Exit(m.Run())
}

// own starts Kafka with one broker paused, and a control plane, and prints where they live.
func own() error {
	ctx := context.Background()
	kafka, err := kafkabed.Start(ctx, kafkabed.Options{Racks: []string{"a", "b"}})
	if err != nil {
		return err
	}
	kube, err := kubebed.Start(ctx, kubebed.Options{})
	if err != nil {
		return err
	}
	if err := kafka.Pause(2); err != nil {
		return err
	}
	fmt.Println(kafka.Dir())
	fmt.Println(kube.Dir())
	return nil
}

// A bed whose owner is killed with SIGKILL leaves no process and no data behind: not the paused broker either.
func TestNoBedOutlivesItsOwner(t *testing.T) {
	testbed.SkipShort(t)
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), ownerEnv+"=1")
	owner.Stderr = os.Stderr
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = owner.Process.Kill() })
	var dirs []string
	for lines := bufio.NewScanner(out); len(dirs) < 2 && lines.Scan(); {
		dirs = append(dirs, lines.Text())
	}
	if len(dirs) != 2 {
		t.Fatalf("the owner named %v, want two directories", dirs)
	}
	pids := recordedPids(t, dirs)
	if want := 5; len(pids) < want { // controller, two brokers, etcd, kube-apiserver
		t.Fatalf("%d processes are running, want at least %d", len(pids), want)
	}

	if err := owner.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()

	deadline := time.Now().Add(20 * time.Second)
	for left := remains(dirs, pids); len(left) > 0; left = remains(dirs, pids) {
		if time.Now().After(deadline) {
			t.Fatalf("20 s after the owner's death these are left: %s", strings.Join(left, ", "))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// recordedPids returns the processes of the beds in dirs that run.
func recordedPids(t *testing.T, dirs []string) []string {
	t.Helper()
	var pids []string
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "pids", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if pid := filepath.Base(file); alive(pid) {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// remains names the processes and directories that still exist.
func remains(dirs, pids []string) []string {
	var left []string
	for _, dir := range dirs {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			left = append(left, dir)
		}
	}
	for _, pid := range pids {
		if alive(pid) {
			left = append(left, "process "+pid)
		}
	}
	return left
}

// alive tells whether a process exists that is not merely waiting to be reaped.
func alive(pid string) bool {
	out, err := exec.Command("/bin/sh", "-c", `
		if [ -d /proc/self ]; then sed 's/.*) //' "/proc/$1/stat"; else ps -o state= -p "$1"; fi`, "alive", pid).Output()
	return err == nil && len(out) > 0 && out[0] != 'Z'
}
