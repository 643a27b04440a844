package main

import (
	"context"
	"time"

	"github.com/cyclone-queue/cyclone"

	"github.com/cyclone-queue/cyclone/bench/internal/parallel"
)

const singleProducers = 50

var singlesCase = benchCase{
	name:    "singles",
	about:   "50 goroutines that enqueue one job a call, against the floor's bulk enqueue",
	floor:   floorForSingles,
	cyclone: cycloneSingles,
	figures: []figure{
		{"50 goroutines enqueue singly, jobs/s", jobsPerSecond, target{of: medianRatio, bound: 0.25}},
		{"  Redis µs per job", redisMicros, target{}},
		{"  Go allocations per job", allocations, target{}},
		{"  jobs per script call", jobsPerCall, target{}},
	},
}

func floorForSingles(ctx context.Context, l *lab) (sample, error) {
	return floorEnqueued(ctx, l, l.size.singles)
}

func cycloneSingles(ctx context.Context, l *lab) (sample, error) {
	p, err := l.producer()
	if err != nil {
		return nil, err
	}
	defer p.close()
	action, input := declared(), payload()
	return l.metered(ctx, l.size.singles, func() (time.Duration, error) {
		start := time.Now()
		err := parallel.Run(ctx, singleProducers, func(ctx context.Context, i int) error {
			_, n := parallel.Share(l.size.singles, i, singleProducers)
			patient := context.WithoutCancel(ctx)
			for range n {
				if _, err := cyclone.EnqueueAction(patient, p.client, action, input); err != nil {
					return err
				}
			}
			return nil
		})
		return time.Since(start), err
	})
}
