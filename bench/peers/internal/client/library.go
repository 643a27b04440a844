// Package client is a client process of a contender that is written in Go: it
// carries out the commands of package wire with one library.
package client

import (
	"context"
	"errors"
	"time"
)

// Library is what a contender's library has to do.
type Library interface {
	// Enqueue enqueues one job by the call that is made for one. It is called from
	// many goroutines.
	Enqueue(ctx context.Context, job Job) error
	// EnqueueMany enqueues jobs by the call that takes many. It returns ErrCannot
	// where there is none.
	EnqueueMany(ctx context.Context, jobs []Job) error
	// Work starts a worker and returns when it works. stop ends it softly: what
	// was handled is settled when it returns.
	Work(ctx context.Context, w Worker) (stop func() error, err error)
	// Close disconnects.
	Close() error
}

// Job is one thing to do.
type Job struct {
	Payload string
	Number  int
	Due     time.Time // zero: at once
	Unique  bool
	Keep    bool
	Queue   string
}

// Worker is how to work.
type Worker struct {
	// Handle is the handler of every job.
	Handle func(ctx context.Context, payload string) error
	// Retry is the wait before the next attempt; Attempts how many there are, 0 for
	// the library's default.
	Retry    time.Duration
	Attempts int
	// Queues are the names of the queues to serve.
	Queues []string
}

// ErrCannot is returned for what a library has no way of doing.
var ErrCannot = errors.New("the library has no way of doing that")

// Opener connects a library to its server.
type Opener func(ctx context.Context, address string, settings map[string]int) (Library, error)
