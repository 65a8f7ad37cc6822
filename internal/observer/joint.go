package observer

import (
	"context"
	"sync"
)

// joint lets any number of callers share one run of a read that starts after each of them asked.
type joint[T any] struct {
	mu      sync.Mutex
	waiting []chan<- outcome[T]
	wake    chan struct{}
}

type outcome[T any] struct {
	value T
	err   error
}

func newJoint[T any]() *joint[T] { return &joint[T]{wake: make(chan struct{}, 1)} }

// join waits for the outcome of a run that starts after the call.
func (j *joint[T]) join(ctx context.Context, stopped <-chan struct{}) (T, error) {
	ch := make(chan outcome[T], 1)
	j.mu.Lock()
	j.waiting = append(j.waiting, ch)
	j.mu.Unlock()
	j.poke()
	var none T
	select {
	case got := <-ch:
		return got.value, got.err
	case <-ctx.Done():
		return none, ctx.Err()
	case <-stopped:
		return none, errStopped
	}
}

func (j *joint[T]) poke() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// take gives those who wait now; they must be answered.
func (j *joint[T]) take() []chan<- outcome[T] {
	j.mu.Lock()
	defer j.mu.Unlock()
	taken := j.waiting
	j.waiting = nil
	return taken
}

func answer[T any](to []chan<- outcome[T], value T, err error) {
	for _, ch := range to {
		ch <- outcome[T]{value, err}
	}
}
