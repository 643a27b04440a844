package lab

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// Running is a worker that runs, with a client of its own.
type Running struct {
	*worker.Worker
	*Plug

	Client *queue.Client
	// Redis is the client under Client.
	Redis  *redis.Client
	lab    *Lab
	cancel context.CancelFunc
	done   chan struct{}
	err    error
	once   sync.Once
}

// Start runs a worker with these definitions until the test ends.
func (l *Lab) Start(cfg worker.Config, defs ...cyclone.Definition) *Running {
	l.Helper()
	r := l.Prepare(cfg)
	r.Register(defs...)
	r.Go()
	return r
}

// Prepare makes a worker that does not run yet.
func (l *Lab) Prepare(cfg worker.Config) *Running {
	l.Helper()
	r := &Running{lab: l, done: make(chan struct{})}
	r.Client, r.Redis, r.Plug = l.NewClient(l.config)
	cfg.Logger = l.Logger()
	var err error
	if r.Worker, err = worker.New(r.Client, cfg); err != nil {
		l.Fatal(err)
	}
	return r
}

// Go runs the prepared worker.
func (r *Running) Go() {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	go func() {
		defer close(r.done)
		r.err = r.Run(ctx)
	}()
	r.lab.Cleanup(func() {
		r.Insert()
		if err := r.Stop(); err != nil {
			r.lab.Errorf("worker %s: %v", r.ID(), err)
		}
	})
}

// Signal begins the worker's soft stop.
func (r *Running) Signal() { r.cancel() }

// Done is closed when the worker has stopped.
func (r *Running) Done() <-chan struct{} { return r.done }

// Stop stops the worker softly and returns what Run returned; nil when it was
// stopped before.
func (r *Running) Stop() (err error) {
	r.cancel()
	<-r.done
	r.once.Do(func() { err = r.err })
	return err
}
