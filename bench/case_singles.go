package main

import "context"

var singlesCase = benchCase{
	name:  "singles",
	about: "50 goroutines that enqueue one job a call, against the floor's bulk enqueue",
	floor: floorForSingles,
	figures: []figure{
		{"50 goroutines enqueue singly, jobs/s", jobsPerSecond, target{of: medianRatio, bound: 0.25}},
		{"  Redis µs per job", redisMicros, target{}},
		{"  Go allocations per job", allocations, target{}},
	},
}

func floorForSingles(ctx context.Context, l *lab) (sample, error) {
	return floorEnqueued(ctx, l, l.size.singles)
}
