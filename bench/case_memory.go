package main

import "context"

var memoryCase = benchCase{
	name:      "memory",
	about:     "what a queued job takes in Redis, by INFO memory before and after",
	maxRounds: 2,
	floor:     floorMemory,
	figures: []figure{
		{"Redis bytes per queued job", bytesPerJob, target{of: medianValue, atMost: true, bound: 250}},
	},
}

func floorMemory(ctx context.Context, l *lab) (sample, error) {
	rdb := l.connect(floorConnections)
	defer rdb.Close()
	return l.weighed(ctx, l.size.memory, func() error { return floorFill(ctx, rdb, l.size.memory) })
}

// weighed returns the memory that each of the jobs took which fill enqueues.
func (l *lab) weighed(ctx context.Context, jobs int, fill func() error) (sample, error) {
	before, err := redisMemory(ctx, l.admin)
	if err != nil {
		return nil, err
	}
	if err := fill(); err != nil {
		return nil, err
	}
	after, err := redisMemory(ctx, l.admin)
	return sample{bytesPerJob: (after - before) / float64(jobs)}, err
}
