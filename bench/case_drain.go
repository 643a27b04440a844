package main

import (
	"context"
	"errors"
	"time"

	"github.com/cyclone-queue/cyclone/bench/internal/floor"
)

var drainCase = benchCase{
	name:    "drain",
	about:   "a backlog drained by one worker process with a handler that does nothing",
	floor:   floorDrained,
	cyclone: cycloneDrained,
	figures: []figure{
		{"drain of a backlog, jobs/s", jobsPerSecond, target{of: medianRatio, bound: 0.5}},
		{"  Redis µs per drained job", redisMicros, target{of: medianRatio, atMost: true, bound: 2}},
		{"  Go allocations per job", allocations, target{}},
		{"  jobs per script call", jobsPerCall, target{}},
	},
}

func floorDrained(ctx context.Context, l *lab) (sample, error) {
	rdb := l.connect(floor.Connections)
	defer rdb.Close()
	if err := floor.Fill(ctx, rdb, l.size.drain, floorBody()); err != nil {
		return nil, err
	}
	return l.metered(ctx, l.size.drain, func() (time.Duration, error) {
		start := time.Now()
		err := floor.Drain(ctx, rdb, l.size.drain)
		return time.Since(start), err
	})
}

func cycloneDrained(ctx context.Context, l *lab) (sample, error) {
	p, err := l.producer()
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := p.fill(ctx, l.size.drain, plain(declared())); err != nil {
		return nil, err
	}
	return l.metered(ctx, l.size.drain, func() (time.Duration, error) {
		return l.drain(ctx, l.size.drain, func(context.Context) error { return nil })
	})
}

// drain starts a worker, runs feed beside it and returns how long it took until
// the last of the jobs was handled. The worker has settled everything when it returns.
func (l *lab) drain(ctx context.Context, jobs int, feed func(context.Context) error) (time.Duration, error) {
	count := newCountdown(jobs)
	start := time.Now()
	w, err := l.work(ctx, noop(count))
	if err != nil {
		return 0, err
	}
	err = feed(ctx)
	if err == nil {
		err = w.await(ctx, count.done)
	}
	took := time.Since(start)
	if err = errors.Join(err, w.stop()); err != nil {
		return 0, err
	}
	return took, l.isDrained(ctx, count)
}
