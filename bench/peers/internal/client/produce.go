package client

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/cyclone-queue/cyclone/bench/internal/parallel"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

// producer carries out one order to produce.
type producer struct {
	wire.Produce
	library  Library
	filling  string
	deadline time.Time
	done     atomic.Int64
}

func produce(ctx context.Context, library Library, order wire.Produce) (*wire.Produced, error) {
	p := &producer{Produce: order, library: library, filling: filling(order.Bytes)}
	began := time.Now()
	p.deadline = began.Add(time.Duration(order.Limit) * time.Millisecond)
	goroutines := max(1, order.Goroutines)
	err := parallel.Run(ctx, goroutines, func(ctx context.Context, i int) error {
		if p.Every > 0 {
			return p.paced(ctx, i, goroutines)
		}
		first, n := parallel.Share(p.Jobs, i, goroutines)
		if p.Batch > 0 {
			return p.batches(ctx, first, n)
		}
		return p.singles(ctx, first, n)
	})
	return &wire.Produced{Jobs: int(p.done.Load()), Began: began.UnixNano(), Ended: time.Now().UnixNano()}, err
}

func (p *producer) late() bool { return p.Limit > 0 && time.Now().After(p.deadline) }

// enqueue makes one call under a context that cannot end: some libraries are slower
// when they have to watch for its end, and some cannot watch for it.
func (p *producer) enqueue(ctx context.Context, job Job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return p.library.Enqueue(context.WithoutCancel(ctx), job)
}

func (p *producer) singles(ctx context.Context, first, n int) error {
	for i := range n {
		now := time.Now()
		if p.Limit > 0 && now.After(p.deadline) {
			return nil
		}
		if err := p.enqueue(ctx, p.job(first+i, now)); err != nil {
			return err
		}
		p.done.Add(1)
	}
	return nil
}

func (p *producer) batches(ctx context.Context, first, n int) error {
	jobs := make([]Job, 0, p.Batch)
	for done := 0; done < n && !p.late(); done += len(jobs) {
		jobs = jobs[:0]
		now := time.Now()
		for k := range min(p.Batch, n-done) {
			jobs = append(jobs, p.job(first+done+k, now))
		}
		if err := p.library.EnqueueMany(ctx, jobs); err != nil {
			return err
		}
		p.done.Add(int64(len(jobs)))
	}
	return nil
}

// paced sends every goroutines-th job at its own time. One that is late is sent
// at once and still carries the time at which it should have gone.
func (p *producer) paced(ctx context.Context, worker, goroutines int) error {
	for i := worker; i < p.Jobs && !p.late(); i += goroutines {
		at := time.Unix(0, p.Start+int64(i)*p.Every)
		if wait := time.Until(at); wait > 0 {
			if err := parallel.Pause(ctx, wait); err != nil {
				return err
			}
		}
		if err := p.enqueue(ctx, p.job(i, at)); err != nil {
			return err
		}
		p.done.Add(1)
	}
	return nil
}

func (p *producer) job(i int, now time.Time) Job {
	job := Job{Number: p.First + i, Unique: p.Unique, Keep: p.Keep, Queue: wire.Queue}
	switch {
	case p.Aside:
		job.Queue = wire.AsideName
	case p.Queues > 0:
		job.Queue = queueName(i % p.Queues)
	}
	if p.Due != 0 {
		now = time.Unix(0, p.Due+int64(i)*p.DueEvery)
		job.Due = now
	}
	job.Payload = payload(now, job.Number, p.filling)
	return job
}

func queueName(i int) string { return fmt.Sprint("q", i) }
