package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// floorEmptyPause is how long a bare worker waits after it found nothing while
// producers are still at work.
const floorEmptyPause = 200 * time.Microsecond

// floorFill enqueues jobs over all connections.
func floorFill(ctx context.Context, rdb *redis.Client, jobs int) error {
	return parallel(ctx, floorConnections, func(ctx context.Context, i int) error {
		first, n := share(jobs, i, floorConnections)
		return floorEnqueue(ctx, rdb, first+1, n)
	})
}

// floorDrain completes jobs over all connections and returns when the last is done.
func floorDrain(ctx context.Context, rdb *redis.Client, jobs int) error {
	var done atomic.Int64
	err := parallel(ctx, floorConnections, func(ctx context.Context, i int) error {
		worker := newFloorWorker(rdb, fmt.Sprintf("%08x", i))
		for done.Load() < int64(jobs) {
			completed, claimed, err := worker.turn(ctx, floorBatch)
			if err != nil {
				return err
			}
			if done.Add(int64(completed)); claimed > 0 {
				continue
			}
			if err := pause(ctx, floorEmptyPause); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return floorIsEmpty(ctx, rdb)
}

// floorIsEmpty fails when a job or a lease is left: a floor that loses count measures nothing.
func floorIsEmpty(ctx context.Context, rdb *redis.Client) error {
	left, err := rdb.Exists(ctx, floorBodies, floorReady, floorLeased).Result()
	if err == nil && left > 0 {
		err = fmt.Errorf("%d of the floor's keys are left after the drain", left)
	}
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
