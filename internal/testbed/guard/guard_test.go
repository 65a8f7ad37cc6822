//go:build unix

package guard_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"durabletopic.io/operator/internal/testbed/guard"
)

// ownerEnv makes the test binary play the owner of a guard: its value is the directory to guard.
const ownerEnv = "DURABLETOPIC_GUARD_OWNER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(ownerEnv); dir != "" {
		os.Exit(own(dir))
	}
	os.Exit(m.Run())
}

// own starts three processes (running, stopped, and started by foreign code through a wrapper), prints their ids and
// waits for its death.
func own(dir string) int {
	g, err := guard.New(dir)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for _, pause := range []bool{false, true} {
		p, err := g.Start(guard.Command{Path: "sleep", Args: []string{"600"}, Log: filepath.Join(dir, "log")})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		if pause {
			_ = p.Signal(syscall.SIGSTOP)
		}
		fmt.Println(p.Pid())
	}
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		return 1
	}
	wrapper := filepath.Join(dir, "wrapped")
	if err := g.Wrap(wrapper, sleep); err != nil {
		fmt.Println(err)
		return 1
	}
	cmd := exec.Command(wrapper, "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(cmd.Process.Pid)
	select {}
}

func TestNothingOutlivesItsOwner(t *testing.T) {
	for name, sig := range map[string]os.Signal{
		"kill -9":   syscall.SIGKILL,
		"interrupt": syscall.SIGINT,
		"panic":     syscall.SIGQUIT, // the Go runtime dies with a goroutine dump, as after a panic
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "it's guarded")
			owner := exec.Command(os.Args[0])
			owner.Env = append(os.Environ(), ownerEnv+"="+dir)
			out, err := owner.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := owner.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = owner.Process.Kill() })
			pids := readPids(t, bufio.NewScanner(out), 3)
			waitFor(t, "records of all processes", func() bool {
				files, _ := filepath.Glob(filepath.Join(dir, "pids", "*"))
				return len(files) == len(pids)
			})
			for _, pid := range pids {
				if !alive(pid) {
					t.Fatalf("process %d is not running before its owner dies", pid)
				}
			}
			if err := owner.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			_ = owner.Wait()
			waitFor(t, "end of all processes", func() bool {
				for _, pid := range pids {
					if alive(pid) {
						return false
					}
				}
				return true
			})
			waitFor(t, "removal of the directory", func() bool {
				_, err := os.Stat(dir)
				return errors.Is(err, os.ErrNotExist)
			})
		})
	}
}

func TestCloseKillsAndRefusesNewProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bed")
	g, err := guard.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	p, err := g.Start(guard.Command{Path: "sleep", Args: []string{"600"}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatalf("Close() = %v", err)
	}
	<-p.Done()
	if want := "signal: killed"; p.Exit() != want {
		t.Errorf("Exit() = %q, want %q", p.Exit(), want)
	}
	if _, err := g.Start(guard.Command{Path: "sleep", Args: []string{"600"}, Log: log}); !errors.Is(err, guard.ErrClosed) {
		t.Errorf("Start() after Close() = %v, want ErrClosed", err)
	}
	if err := g.Close(); err != nil {
		t.Errorf("second Close() = %v", err)
	}
}

func TestARecordOfAnotherProcessIsLeftAlone(t *testing.T) {
	stranger := exec.Command("sleep", "600")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stranger.Process.Kill(); _ = stranger.Wait() })
	dir := filepath.Join(t.TempDir(), "bed")
	g, err := guard.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	// The id was recorded for a process with another start time, and now belongs to the stranger.
	record := filepath.Join(dir, "pids", strconv.Itoa(stranger.Process.Pid))
	if err := os.WriteFile(record, []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if !alive(stranger.Process.Pid) {
		t.Error("the guard killed a process it had not started")
	}
}

func TestKillEndsAStoppedProcess(t *testing.T) {
	g, err := guard.New(filepath.Join(t.TempDir(), "bed"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	p, err := g.Start(guard.Command{Path: "sleep", Args: []string{"600"}, Log: filepath.Join(g.Dir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if p.Running() {
		t.Error("a stopped process survived Kill")
	}
	if err := p.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Signal() of an ended process = %v, want os.ErrProcessDone", err)
	}
}

func readPids(t *testing.T, lines *bufio.Scanner, n int) []int {
	t.Helper()
	var pids []int
	for len(pids) < n && lines.Scan() {
		pid, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
		if err != nil {
			t.Fatalf("owner said %q", lines.Text())
		}
		pids = append(pids, pid)
	}
	if len(pids) != n {
		t.Fatalf("owner started %d processes, want %d", len(pids), n)
	}
	return pids
}

// alive tells whether a process exists that is not merely waiting to be reaped.
func alive(pid int) bool {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		text := string(stat)
		return !strings.HasPrefix(text[strings.LastIndex(text, ")")+1:], " Z")
	}
	return syscall.Kill(pid, 0) == nil
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("no %s after 20 s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
