package main

import (
	"context"
	"errors"
	"sync"
)

// parallel runs work n times at once and returns all their errors. The first
// error cancels the context of the others.
func parallel(ctx context.Context, n int, work func(ctx context.Context, i int) error) error {
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

// share returns the part of 0..n-1 that belongs to worker i of k.
func share(n, i, k int) (first, count int) {
	first = n * i / k
	return first, n*(i+1)/k - first
}

// errEndedEarly is returned when a worker ends while its work is still awaited;
// its own error is joined to it.
var errEndedEarly = errors.New("the worker ended early")

// background is work that goes on beside a measurement.
type background struct {
	ended chan struct{}
	err   error // once ended is closed
}

func inBackground(work func() error) *background {
	b := &background{ended: make(chan struct{})}
	go func() {
		defer close(b.ended)
		b.err = work()
	}()
	return b
}

// wait returns the work's error once it has ended.
func (b *background) wait() error {
	<-b.ended
	return b.err
}
