//go:build unix

package guard

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// Command is a process to start under a guard.
type Command struct {
	Path string   // program, absolute or looked up in PATH
	Args []string // arguments without the program's name
	Env  []string // "key=value" added to the owner's environment
	Log  string   // file that takes standard output and error, appended to
}

// Process is one started process. Its methods may be called concurrently.
type Process struct {
	pid    int
	record string
	proc   *os.Process
	done   chan struct{}
	state  *os.ProcessState // set before done is closed
}

// Start starts c as the leader of a process group of its own. When it returns, the guard knows the process: it may be
// stopped or killed at any moment.
func (g *Guard) Start(c Command) (*Process, error) {
	path, err := exec.LookPath(c.Path)
	if err != nil {
		return nil, fmt.Errorf("find program: %w", err)
	}
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", filepath.Base(path), err)
	}
	defer func() { _ = log.Close() }()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.owner == nil {
		return nil, ErrClosed
	}
	cmd := exec.Command("/bin/sh", append([]string{g.script, "run", g.dir, path}, c.Args...)...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := startRecorded(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(path), err)
	}
	p := &Process{
		pid:    cmd.Process.Pid,
		record: filepath.Join(g.dir, "pids", strconv.Itoa(cmd.Process.Pid)),
		proc:   cmd.Process,
		done:   make(chan struct{}),
	}
	go p.reap(cmd)
	return p, nil
}

// startRecorded starts cmd and waits until the script has written its record and has become the program.
func startRecorded(cmd *exec.Cmd) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = read.Close() }()
	cmd.ExtraFiles = []*os.File{write} // file descriptor 3
	err = cmd.Start()
	_ = write.Close()
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, read)
	return err
}

func (p *Process) reap(cmd *exec.Cmd) {
	_ = cmd.Wait() // how it ended is in ProcessState
	_ = os.Remove(p.record)
	p.state = cmd.ProcessState
	close(p.done)
}

// Pid is the process id; it stays what it was after the process has ended.
func (p *Process) Pid() int { return p.pid }

// Done is closed once the process has ended and was reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running tells whether the process has not ended. A stopped (SIGSTOP) process is running.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Exit describes how the process ended, as in "exit status 1" or "signal: killed"; "" while it runs.
func (p *Process) Exit() string {
	if p.Running() {
		return ""
	}
	return p.state.String()
}

// Signal sends sig. A process that has ended is an error that is os.ErrProcessDone.
func (p *Process) Signal(sig os.Signal) error {
	if err := p.proc.Signal(sig); err != nil {
		return fmt.Errorf("signal process %d: %w", p.pid, err)
	}
	return nil
}

// Kill ends the process with SIGKILL, also a stopped one, and returns when it is gone. One that has ended is no error.
func (p *Process) Kill() error {
	if err := p.Signal(os.Kill); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return nil
}
