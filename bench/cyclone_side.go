package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/bench/internal/parallel"
)

// Cyclone's side of the cases. Enqueuer and worker have clients of their own,
// as two processes would, and nothing is set but the worker's concurrency.
const (
	kind        = "noop"
	producers   = 4
	bulkChunk   = 1000 // requests of one EnqueueMany
	stepsKey    = "cyclone:{0}:steps"
	defaultPool = 0 // go-redis' default pool size
)

// producer is a client that enqueues.
type producer struct {
	rdb    *redis.Client
	client *queue.Client
}

func (l *lab) producer() (*producer, error) {
	rdb := l.connect(defaultPool)
	client, err := queue.NewClient(rdb, queue.Config{})
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	return &producer{rdb, client}, nil
}

func (p *producer) close() error { return errors.Join(p.client.Close(), p.rdb.Close()) }

// fill enqueues jobs in chunks from several goroutines; request makes the i-th, from 0.
func (p *producer) fill(ctx context.Context, jobs int, request func(i int) cyclone.Request) error {
	return parallel.Run(ctx, producers, func(ctx context.Context, worker int) error {
		first, n := parallel.Share(jobs, worker, producers)
		requests := make([]cyclone.Request, 0, bulkChunk)
		for done := 0; done < n; done += len(requests) {
			requests = requests[:0]
			for i := range min(bulkChunk, n-done) {
				requests = append(requests, request(first+done+i))
			}
			if _, err := cyclone.EnqueueMany(ctx, p.client, requests...); err != nil {
				return err
			}
		}
		return nil
	})
}

// running is a worker at work.
type running struct {
	*producer
	*parallel.Background
	cancel context.CancelFunc
}

// work starts a worker for one definition.
func (l *lab) work(ctx context.Context, def cyclone.Definition, hooks ...redis.Hook) (*running, error) {
	p, err := l.producer()
	if err != nil {
		return nil, err
	}
	for _, hook := range hooks {
		p.rdb.AddHook(hook)
	}
	w, err := worker.New(p.client, worker.Config{Concurrency: l.concurrency})
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	w.Register(def)
	ctx, cancel := context.WithCancel(ctx)
	return &running{p, parallel.InBackground(func() error { return w.Run(ctx) }), cancel}, nil
}

// await returns nil when done is closed first, and an error when the worker
// ends or ctx is done before.
func (r *running) await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-r.Ended:
		return parallel.ErrEndedEarly
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stop ends the worker softly: what it finished is settled when it returns.
func (r *running) stop() error {
	r.cancel()
	return errors.Join(r.Wait(), r.close())
}

// countdown closes done at the n-th call of hit.
type countdown struct {
	left atomic.Int64
	done chan struct{}
}

func newCountdown(n int) *countdown {
	c := &countdown{done: make(chan struct{})}
	c.left.Store(int64(n))
	return c
}

func (c *countdown) hit() {
	if c.left.Add(-1) == 0 {
		close(c.done)
	}
}

// isDrained fails when a step is left or ran twice: a drain that loses count measures nothing.
func (l *lab) isDrained(ctx context.Context, c *countdown) error {
	left, err := l.admin.HLen(ctx, stepsKey).Result()
	switch {
	case err != nil:
		return err
	case left > 0 || c.left.Load() != 0:
		return fmt.Errorf("after the drain %d steps are left and %d handlers too many ran", left, -c.left.Load())
	}
	return nil
}

// plain makes equal requests of an action.
func plain(action *cyclone.Action[string]) func(int) cyclone.Request {
	input := payload()
	return func(int) cyclone.Request { return action.With(input) }
}

// declared is the action for processes that only enqueue.
func declared() *cyclone.Action[string] { return cyclone.DeclareAction[string](kind) }

// noop counts and does nothing else.
func noop(c *countdown) *cyclone.Action[string] {
	return cyclone.NewAction(kind, func(context.Context, string) error { c.hit(); return nil })
}
