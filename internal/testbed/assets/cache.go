//go:build unix

package assets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"durabletopic.io/operator/internal/testbed/progress"
)

// marker is the file that tells a complete cache entry; its text says where the entry came from.
const marker = ".complete"

// CacheDir is where this project keeps what it downloaded or built: "durabletopic" in the user's cache directory.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find cache directory: %w", err)
	}
	return filepath.Join(dir, "durabletopic"), nil
}

// complete tells whether dir is a finished cache entry that has all the named files.
func complete(dir string, files ...string) bool {
	for _, file := range append([]string{marker}, files...) {
		if info, err := os.Stat(filepath.Join(dir, file)); err != nil || info.Size() == 0 {
			return false
		}
	}
	return true
}

// install makes the cache entry dir unless it is complete. fill fills a staging directory beside it and returns the
// text of the marker; the staging directory becomes dir in one rename, so that no half-made entry is ever taken. Of
// several processes one works and the others wait for it.
func install(ctx context.Context, log progress.Log, dir string, files []string,
	fill func(ctx context.Context, staging string) (source string, err error),
) error {
	if complete(dir, files...) {
		return nil
	}
	parent, name := filepath.Split(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("make cache directory: %w", err)
	}
	unlock, err := Lock(ctx, log, filepath.Join(parent, "."+name+".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if complete(dir, files...) { // somebody else's work, finished while this process waited
		return nil
	}
	staging := filepath.Join(parent, "."+name+".staging") // one at a time, under the lock
	if err := errors.Join(os.RemoveAll(staging), os.Mkdir(staging, 0o755)); err != nil {
		return fmt.Errorf("make staging directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(staging) }()
	source, err := fill(ctx, staging)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(staging, marker), []byte(source+"\n"), 0o644); err != nil {
		return fmt.Errorf("mark cache entry: %w", err)
	}
	if !complete(staging, files...) {
		return fmt.Errorf("make cache entry %s: %s did not provide all of %v", dir, source, files)
	}
	if err := errors.Join(os.RemoveAll(dir), os.Rename(staging, dir)); err != nil {
		return fmt.Errorf("publish cache entry: %w", err)
	}
	return nil
}

// Lock takes the lock file at path and holds it until unlock is called or this process ends. While another process
// has it, Lock says so and waits until ctx ends.
func Lock(ctx context.Context, log progress.Log, path string) (unlock func(), err error) {
	for waited := false; ; waited = true {
		unlock, err = TryLock(path)
		if !errors.Is(err, ErrLocked) {
			return unlock, err
		}
		if !waited {
			log("waiting for another process that holds %s", path)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("lock %s: %w", path, ctx.Err())
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// ErrLocked says that another process holds a lock.
var ErrLocked = errors.New("held by another process")

// TryLock takes the lock file at path like Lock, but fails with ErrLocked where Lock waits. The kernel frees the lock
// of a process that dies; the file stays.
func TryLock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, ErrLocked)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { _ = file.Close() }, nil
}
