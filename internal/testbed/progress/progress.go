// Package progress prints what a long-running command is doing, with the time since it began.
package progress

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// heartbeat is how often During repeats itself while nothing else happens.
const heartbeat = 15 * time.Second

// Log takes one line of progress in the manner of fmt.Printf, without a newline. It may be called concurrently.
type Log func(format string, args ...any)

// New returns a Log that writes lines like "[  12.3s] starting etcd" to w. The clock starts now.
func New(w io.Writer) Log {
	var mu sync.Mutex
	begin := time.Now()
	return func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = fmt.Fprintf(w, "[%6.1fs] %s\n", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
	}
}

// Discard is a Log for callers that do not care.
func Discard(string, ...any) {}

// OrDiscard returns log, or Discard in the place of nil.
func OrDiscard(log Log) Log {
	if log == nil {
		return Discard
	}
	return log
}

// During says what is being done, runs work, and repeats every 15 seconds that it is still at it.
func During(ctx context.Context, log Log, what string, work func(context.Context) error) error {
	log("%s", what)
	begin, done := time.Now(), make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		ticker := time.NewTicker(heartbeat)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				log("... still %s (%s)", what, time.Since(begin).Round(time.Second))
			}
		}
	})
	err := work(ctx)
	close(done)
	ticking.Wait()
	return err
}
