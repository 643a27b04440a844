package main

import (
	"context"
	"fmt"

	"github.com/cyclone-queue/cyclone"

	"github.com/cyclone-queue/cyclone/bench/internal/floor"
	"github.com/cyclone-queue/cyclone/bench/internal/redisserver"
)

// memoryRounds: memory does not drift, one repetition shows that.
const memoryRounds = 2

var memoryCase = benchCase{
	name:      "memory",
	about:     "what a queued job takes in Redis, by INFO memory before and after",
	maxRounds: memoryRounds,
	floor:     floorMemory,
	cyclone: func(ctx context.Context, l *lab) (sample, error) {
		return l.cycloneMemory(ctx, plain(declared()))
	},
	figures: []figure{
		{"Redis bytes per queued job", bytesPerJob, target{of: medianValue, atMost: true, bound: 250}},
	},
}

var uniqueMemoryCase = benchCase{
	name:      "memory-unique",
	about:     "the same for jobs with a unique key each",
	maxRounds: memoryRounds,
	cyclone: func(ctx context.Context, l *lab) (sample, error) {
		return l.cycloneMemory(ctx, unique(declared()))
	},
	figures: []figure{
		{"  with a unique key", bytesPerJob, target{of: medianValue, atMost: true, bound: 450}},
	},
}

func floorMemory(ctx context.Context, l *lab) (sample, error) {
	rdb := l.connect(floor.Connections)
	defer rdb.Close()
	return l.weighed(ctx, l.size.memory, func() error { return floor.Fill(ctx, rdb, l.size.memory, floorBody()) })
}

func (l *lab) cycloneMemory(ctx context.Context, request func(int) cyclone.Request) (sample, error) {
	p, err := l.producer()
	if err != nil {
		return nil, err
	}
	defer p.close()
	return l.weighed(ctx, l.size.memory, func() error { return p.fill(ctx, l.size.memory, request) })
}

// unique makes requests with a key of their own.
func unique(action *cyclone.Action[string]) func(int) cyclone.Request {
	input := payload()
	return func(i int) cyclone.Request {
		return action.With(input, cyclone.WithUnique(cyclone.Unique{Key: fmt.Sprintf("invoice-%d", i)}))
	}
}

// weighed returns the memory that each of the jobs took which fill enqueues.
func (l *lab) weighed(ctx context.Context, jobs int, fill func() error) (sample, error) {
	before, err := redisserver.Memory(ctx, l.admin)
	if err != nil {
		return nil, err
	}
	if err := fill(); err != nil {
		return nil, err
	}
	after, err := redisserver.Memory(ctx, l.admin)
	return sample{bytesPerJob: (after - before) / float64(jobs)}, err
}
