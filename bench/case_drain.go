package main

import (
	"context"
	"time"
)

var drainCase = benchCase{
	name:  "drain",
	about: "a backlog drained by one worker process with a handler that does nothing",
	floor: floorDrained,
	figures: []figure{
		{"drain of a backlog, jobs/s", jobsPerSecond, target{of: medianRatio, bound: 0.5}},
		{"  Redis µs per drained job", redisMicros, target{of: medianRatio, atMost: true, bound: 2}},
		{"  Go allocations per job", allocations, target{}},
	},
}

func floorDrained(ctx context.Context, l *lab) (sample, error) {
	rdb := l.connect(floorConnections)
	defer rdb.Close()
	if err := floorFill(ctx, rdb, l.size.drain); err != nil {
		return nil, err
	}
	return l.metered(ctx, l.size.drain, func() (time.Duration, error) {
		start := time.Now()
		err := floorDrain(ctx, rdb, l.size.drain)
		return time.Since(start), err
	})
}
