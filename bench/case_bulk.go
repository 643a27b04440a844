package main

import (
	"context"
	"time"

	"github.com/cyclone-queue/cyclone/bench/internal/floor"
)

var bulkCase = benchCase{
	name:    "bulk",
	about:   "jobs enqueued in bulk",
	floor:   floorBulk,
	cyclone: cycloneBulk,
	figures: []figure{
		{"bulk enqueue, jobs/s", jobsPerSecond, target{of: medianRatio, bound: 0.6}},
		{"  Redis µs per job", redisMicros, target{}},
		{"  Go allocations per job", allocations, target{}},
		{"  jobs per script call", jobsPerCall, target{}},
	},
}

func floorBulk(ctx context.Context, l *lab) (sample, error) {
	return floorEnqueued(ctx, l, l.size.enqueue)
}

// floorEnqueued measures the floor's bulk enqueue of so many jobs.
func floorEnqueued(ctx context.Context, l *lab, jobs int) (sample, error) {
	rdb := l.connect(floor.Connections)
	defer rdb.Close()
	return l.metered(ctx, jobs, func() (time.Duration, error) {
		start := time.Now()
		err := floor.Fill(ctx, rdb, jobs, floorBody())
		return time.Since(start), err
	})
}

func cycloneBulk(ctx context.Context, l *lab) (sample, error) {
	p, err := l.producer()
	if err != nil {
		return nil, err
	}
	defer p.close()
	request := plain(declared())
	return l.metered(ctx, l.size.enqueue, func() (time.Duration, error) {
		start := time.Now()
		err := p.fill(ctx, l.size.enqueue, request)
		return time.Since(start), err
	})
}
