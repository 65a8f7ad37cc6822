//go:build unix

package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"durabletopic.io/operator/internal/testbed/progress"
)

const (
	// readyWord is the last line of a daemon that is ready.
	readyWord = "\x00ready"
	// progressFD is the file descriptor on which the daemon tells its parent what it does.
	progressFD = 3
	// spawnGrace is how long an interrupted Up waits for the daemon to end before it is killed.
	spawnGrace = 10 * time.Second
)

// Up starts a daemon in the background and returns when the bed is ready, printing what the daemon does meanwhile; or
// at once if the bed is up already. args run this program as the daemon: they must lead to ServeSpawned. If ctx ends
// before the bed is ready, the daemon is ended.
func Up(ctx context.Context, dir string, log io.Writer, args ...string) (started bool, err error) {
	if _, err := Connect(dir); !errors.Is(err, ErrDown) {
		return false, err
	}
	self, err := os.Executable()
	if err != nil {
		return false, fmt.Errorf("find this program: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return false, fmt.Errorf("make state directory: %w", err)
	}
	out, err := os.Create(serveLog(dir))
	if err != nil {
		return false, fmt.Errorf("open log of daemon: %w", err)
	}
	defer func() { _ = out.Close() }()
	read, write, err := os.Pipe()
	if err != nil {
		return false, fmt.Errorf("make pipe to daemon: %w", err)
	}
	defer func() { _ = read.Close() }()
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = out, out, []*os.File{write}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = write.Close()
	if err != nil {
		return false, fmt.Errorf("start daemon: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // why it ended is in its log
	}()
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	defer stop()
	if follow(read, log) {
		return true, nil
	}
	return false, afterFailure(ctx, cmd, ended, dir)
}

// follow prints the daemon's progress and tells whether it became ready.
func follow(daemon io.Reader, log io.Writer) bool {
	for lines := bufio.NewScanner(daemon); lines.Scan(); {
		if lines.Text() == readyWord {
			return true
		}
		_, _ = fmt.Fprintln(log, lines.Text())
	}
	return false
}

// afterFailure waits for a daemon that will not be ready and says why.
func afterFailure(ctx context.Context, cmd *exec.Cmd, ended <-chan struct{}, dir string) error {
	select {
	case <-ended:
	case <-time.After(spawnGrace):
		_ = cmd.Process.Kill()
		<-ended
	}
	if ctx.Err() != nil {
		return fmt.Errorf("start the bed: %w", ctx.Err())
	}
	text, err := os.ReadFile(serveLog(dir))
	if err != nil {
		return fmt.Errorf("start the bed: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return fmt.Errorf("start the bed: %s", strings.Join(lines[max(0, len(lines)-15):], "\n"))
}

// ServeSpawned is the daemon's side of Up: it runs Serve and reports to the parent until the bed is ready.
func ServeSpawned(ctx context.Context, dir string) error {
	parent := os.NewFile(progressFD, "parent")
	both := progress.New(io.MultiWriter(os.Stdout, ignoreErrors{parent}))
	return Serve(ctx, dir, both, func() {
		_, _ = fmt.Fprintln(parent, readyWord)
		_ = parent.Close()
	})
}

// ignoreErrors is a writer that never fails: the parent may go at any time.
type ignoreErrors struct{ io.Writer }

func (w ignoreErrors) Write(p []byte) (int, error) {
	_, _ = w.Writer.Write(p)
	return len(p), nil
}
