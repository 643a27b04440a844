// Package parallel runs the two sides of a measurement at once.
package parallel

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Run runs work n times at once and returns all their errors. The first
// error cancels the context of the others.
func Run(ctx context.Context, n int, work func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failures := make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			if failures[i] = work(ctx, i); failures[i] != nil {
				cancel()
			}
		})
	}
	group.Wait()
	return errors.Join(failures...)
}

// Share returns the part of 0..n-1 that belongs to worker i of k.
func Share(n, i, k int) (first, count int) {
	first = n * i / k
	return first, n*(i+1)/k - first
}

// ErrEndedEarly is returned when a worker ends while its work is still awaited;
// its own error is joined to it.
var ErrEndedEarly = errors.New("the worker ended early")

// Background is work that goes on beside a measurement.
type Background struct {
	Ended chan struct{} // closed at its end
	err   error         // once Ended is closed
}

// InBackground starts work.
func InBackground(work func() error) *Background {
	b := &Background{Ended: make(chan struct{})}
	go func() {
		defer close(b.Ended)
		b.err = work()
	}()
	return b
}

// Wait returns the work's error once it has ended.
func (b *Background) Wait() error {
	<-b.Ended
	return b.err
}

// Pause waits for d and returns nil, or ctx's error when that is done first.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
