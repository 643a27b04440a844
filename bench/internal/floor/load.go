package floor

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/bench/internal/parallel"
)

// EmptyPause is how long a bare worker waits after it found nothing while
// producers are still at work.
const EmptyPause = 200 * time.Microsecond

// Fill enqueues jobs with equal bodies over all connections.
func Fill(ctx context.Context, rdb *redis.Client, jobs int, body string) error {
	return parallel.Run(ctx, Connections, func(ctx context.Context, i int) error {
		first, n := parallel.Share(jobs, i, Connections)
		batch := make([]Job, 0, Batch)
		for done := 0; done < n; done += len(batch) {
			batch = batch[:0]
			for k := range min(Batch, n-done) {
				batch = append(batch, Job{strconv.Itoa(first + done + k + 1), body})
			}
			if err := Enqueue(ctx, rdb, batch...); err != nil {
				return err
			}
		}
		return nil
	})
}

// Drain completes jobs over all connections and returns when the last is done.
// A job or a lease that is left is an error: a floor that loses count measures
// nothing.
func Drain(ctx context.Context, rdb *redis.Client, jobs int) error {
	var done atomic.Int64
	err := parallel.Run(ctx, Connections, func(ctx context.Context, i int) error {
		worker := NewWorker(rdb, fmt.Sprintf("%08x", i))
		for done.Load() < int64(jobs) {
			completed, bodies, err := worker.Turn(ctx, Batch)
			if err != nil {
				return err
			}
			if done.Add(int64(completed)); len(bodies) > 0 {
				continue
			}
			if err := parallel.Pause(ctx, EmptyPause); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return IsEmpty(ctx, rdb)
}

// IsEmpty fails when a job or a lease is left.
func IsEmpty(ctx context.Context, rdb *redis.Client) error {
	left, err := rdb.Exists(ctx, bodiesKey, readyKey, leasedKey).Result()
	if err == nil && left > 0 {
		err = fmt.Errorf("%d of the floor's keys are left after the drain", left)
	}
	return err
}
