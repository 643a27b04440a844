package main

import (
	"context"
	"time"

	"github.com/cyclone-queue/cyclone/bench/internal/floor"
	"github.com/cyclone-queue/cyclone/bench/internal/parallel"
)

var bothCase = benchCase{
	name:    "both",
	about:   "bulk producers and one worker at the same time, until the last job is done",
	floor:   floorBoth,
	cyclone: cycloneBoth,
	figures: []figure{
		{"enqueue and drain at once, jobs/s", jobsPerSecond, target{of: medianRatio, bound: 0.5}},
		{"  Redis µs per job", redisMicros, target{}},
		{"  Go allocations per job", allocations, target{}},
		{"  jobs per script call", jobsPerCall, target{}},
	},
}

func floorBoth(ctx context.Context, l *lab) (sample, error) {
	rdb := l.connect(2 * floor.Connections)
	defer rdb.Close()
	jobs := l.size.both
	return l.metered(ctx, jobs, func() (time.Duration, error) {
		start := time.Now()
		err := parallel.Run(ctx, 2, func(ctx context.Context, i int) error {
			if i == 0 {
				return floor.Fill(ctx, rdb, jobs, floorBody())
			}
			return floor.Drain(ctx, rdb, jobs)
		})
		return time.Since(start), err
	})
}

func cycloneBoth(ctx context.Context, l *lab) (sample, error) {
	p, err := l.producer()
	if err != nil {
		return nil, err
	}
	defer p.close()
	jobs, request := l.size.both, plain(declared())
	return l.metered(ctx, jobs, func() (time.Duration, error) {
		return l.drain(ctx, jobs, func(ctx context.Context) error { return p.fill(ctx, jobs, request) })
	})
}
