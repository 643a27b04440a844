package main

import (
	"context"
	"runtime"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/bench/internal/redisserver"
)

// reading is where the counters stand.
type reading struct {
	redisMicros float64
	scriptCalls int
	allocations uint64
}

func readCounters(ctx context.Context, rdb *redis.Client) (reading, error) {
	micros, err := redisserver.CPU(ctx, rdb)
	if err != nil {
		return reading{}, err
	}
	counts, err := redisserver.CommandCounts(ctx, rdb)
	if err != nil {
		return reading{}, err
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return reading{micros, counts["evalsha"], memory.Mallocs}, nil
}

// metered runs work, which handles the given number of jobs and says how long
// that took, and returns its rate, Redis' processor time and Go's allocations
// per job, and how many jobs shared a script call.
func (l *lab) metered(ctx context.Context, jobs int, work func() (time.Duration, error)) (sample, error) {
	before, err := readCounters(ctx, l.admin)
	if err != nil {
		return nil, err
	}
	took, err := work()
	if err != nil {
		return nil, err
	}
	after, err := readCounters(ctx, l.admin)
	if err != nil {
		return nil, err
	}
	n := float64(jobs)
	return sample{
		jobsPerSecond: n / took.Seconds(),
		redisMicros:   (after.redisMicros - before.redisMicros) / n,
		allocations:   float64(after.allocations-before.allocations) / n,
		jobsPerCall:   n / float64(max(1, after.scriptCalls-before.scriptCalls)),
	}, nil
}
