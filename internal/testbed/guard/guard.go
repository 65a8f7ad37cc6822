//go:build unix

// Package guard starts processes that do not outlive the process that wants them: not when it returns, panics, is
// interrupted or is killed with SIGKILL.
//
// The kernel's parent-death signal is tied to the thread that forked, and Go moves goroutines between threads; so a
// Guard is a small shell process in a session of its own. It reads a pipe whose other end only the owner holds. When
// the owner goes, for whatever reason, the pipe ends, and the guard kills what the owner has started (stopped
// processes as well) and removes the directory they worked in. An orderly end takes the same way.
package guard

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

//go:embed guard.sh
var script []byte

// ErrClosed is returned by Start after Close.
var ErrClosed = errors.New("guard is closed")

// Guard owns a directory and the processes started through it. Its methods may be called concurrently.
type Guard struct {
	dir    string
	script string
	cmd    *exec.Cmd

	mu     sync.Mutex
	owner  *os.File // the write end of the pipe; nil once closed
	closed error
}

// New starts the guard of dir, which must exist and be empty or hold only what may be deleted with it: the whole
// directory is removed when the guard is closed or its owner dies.
func New(dir string) (*Guard, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("resolve directory of guard: %w", err)
	}
	g := &Guard{dir: dir, script: filepath.Join(dir, "guard.sh")}
	if err := os.MkdirAll(filepath.Join(dir, "pids"), 0o700); err != nil {
		return nil, fmt.Errorf("make directory of guard: %w", err)
	}
	if err := os.WriteFile(g.script, script, 0o700); err != nil {
		return nil, fmt.Errorf("write script of guard: %w", err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe of guard: %w", err)
	}
	defer func() { _ = read.Close() }()
	g.cmd = exec.Command("/bin/sh", g.script, "watch", dir)
	g.cmd.Dir = "/"
	g.cmd.Stdin = read
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := g.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start guard: %w", err), write.Close())
	}
	g.owner = write
	return g, nil
}

// Dir is the absolute path of the guarded directory.
func (g *Guard) Dir() string { return g.dir }

// Close kills every process of the guard with SIGKILL, removes the directory and returns when both are done. Further
// calls return the first result.
func (g *Guard) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.owner == nil {
		return g.closed
	}
	g.closed = g.owner.Close()
	g.owner = nil
	if err := g.cmd.Wait(); err != nil {
		g.closed = errors.Join(g.closed, fmt.Errorf("end guard of %s: %w", g.dir, err))
	}
	return g.closed
}

// Wrap writes an executable script to path that runs the program target under the guard: for processes that other
// code starts by their path. Such a process must lead its own process group.
func (g *Guard) Wrap(path, target string) error {
	text := fmt.Sprintf("#!/bin/sh\nexec /bin/sh %s run %s %s \"$@\"\n", Quote(g.script), Quote(g.dir), Quote(target))
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		return fmt.Errorf("write guarded wrapper of %s: %w", filepath.Base(target), err)
	}
	return nil
}

// Quote returns s as one word of a POSIX shell.
func Quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
