//go:build unix

package assets

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"durabletopic.io/operator/internal/testbed/progress"
)

// fillWith returns a fill function that writes one file and counts its calls.
func fillWith(calls *atomic.Int32, text string) func(context.Context, string) (string, error) {
	return func(_ context.Context, staging string) (string, error) {
		calls.Add(1)
		return "test", os.WriteFile(filepath.Join(staging, "tool"), []byte(text), 0o600)
	}
}

func TestInstallWorksOnceForManyAtATime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache", "v1")
	var calls atomic.Int32
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() {
			errs[i] = install(t.Context(), progress.Discard, dir, []string{"tool"}, fillWith(&calls, "works"))
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if calls.Load() != 1 {
		t.Errorf("the entry was made %d times, want once", calls.Load())
	}
	if text, err := os.ReadFile(filepath.Join(dir, "tool")); err != nil || string(text) != "works" {
		t.Errorf("tool is %q (%v)", text, err)
	}
}

func TestInstallReplacesWhatIsNotComplete(t *testing.T) {
	tests := map[string]func(t *testing.T, dir string){
		"no marker": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "tool"), "half")
		},
		"a file is missing": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, marker), "test")
		},
		"a file is empty": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, marker), "test")
			write(t, filepath.Join(dir, "tool"), "")
		},
		"an aborted staging directory": func(t *testing.T, dir string) {
			write(t, filepath.Join(filepath.Dir(dir), ".v1.staging", "tool"), "half")
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "v1")
			prepare(t, dir)
			var calls atomic.Int32
			if err := install(t.Context(), progress.Discard, dir, []string{"tool"}, fillWith(&calls, "whole")); err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(filepath.Join(dir, "tool")); err != nil || string(text) != "whole" {
				t.Errorf("tool is %q (%v), want it made anew", text, err)
			}
		})
	}
}

func TestInstallPublishesNothingOnFailure(t *testing.T) {
	broken := errors.New("broken")
	tests := map[string]func(context.Context, string) (string, error){
		"fill fails": func(_ context.Context, staging string) (string, error) {
			return "test", errors.Join(os.WriteFile(filepath.Join(staging, "tool"), []byte("x"), 0o600), broken)
		},
		"fill leaves out a file": func(context.Context, string) (string, error) { return "test", nil },
	}
	for name, fill := range tests {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "v1")
			if err := install(t.Context(), progress.Discard, dir, []string{"tool"}, fill); err == nil {
				t.Fatal("install() succeeded")
			}
			for _, path := range []string{dir, filepath.Join(parent, ".v1.staging")} {
				if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s is there: %v", path, err)
				}
			}
		})
	}
}

func TestLockIsExclusiveAndWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TryLock(path); !errors.Is(err, ErrLocked) {
		t.Errorf("second TryLock() = %v, want ErrLocked", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := Lock(ctx, progress.Discard, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Lock() of a held lock = %v, want the deadline", err)
	}
	waits := make(chan struct{})
	locked := make(chan error)
	go func() {
		unlock, err := Lock(t.Context(), func(string, ...any) { close(waits) }, path)
		if err == nil {
			unlock()
		}
		locked <- err
	}()
	<-waits
	unlock()
	if err := <-locked; err != nil {
		t.Errorf("Lock() after the holder's unlock = %v", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}
