package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/bench/internal/figures"
	"github.com/cyclone-queue/cyclone/bench/internal/floor"
	"github.com/cyclone-queue/cyclone/bench/internal/parallel"
)

var pickupCase = benchCase{
	name:    "pickup",
	about:   "how long an idle worker takes from the enqueue call to the start of the handler",
	floor:   floorPickup,
	cyclone: cyclonePickup,
	figures: []figure{
		{"idle pick-up, p50 ms", p50Millis, target{of: medianRatio, atMost: true, bound: 1.3}},
		{"  p99 ms", p99Millis, target{of: medianValue, atMost: true, bound: 3}},
	},
}

// pickupPause lets the worker fall idle between two samples. It varies, so that
// samples do not march in step with a timer.
func pickupPause() time.Duration {
	return 5*time.Millisecond + rand.N(10*time.Millisecond)
}

// floorPickup times a bare enqueue with PUBLISH and the claim by a subscriber.
func floorPickup(ctx context.Context, l *lab) (sample, error) {
	rdb := l.connect(2)
	defer rdb.Close()
	subscription := rdb.Subscribe(ctx, floor.Channel)
	defer subscription.Close()
	if _, err := subscription.Receive(ctx); err != nil {
		return nil, err
	}
	started := make(chan time.Time, 1)
	ctx, cancel := context.WithCancel(ctx)
	worker := parallel.InBackground(func() error { return floorServe(ctx, rdb, subscription, started) })
	waits, err := pickups(ctx, l.size.pickups, started, worker, func(ctx context.Context, i int) error {
		return floor.EnqueueAndWake(ctx, rdb, floor.Job{ID: strconv.Itoa(i), Body: floorBody()})
	})
	cancel()
	if err = errors.Join(err, worker.Wait()); err != nil {
		return nil, err
	}
	return latencies(waits), nil
}

// floorServe claims one job for every message and says when it had it. It
// completes the job with the next claim, as a worker does.
func floorServe(ctx context.Context, rdb *redis.Client, wakes *redis.PubSub, started chan<- time.Time) error {
	worker := floor.NewWorker(rdb, "00000000")
	messages := wakes.Channel()
	for {
		select {
		case <-ctx.Done():
			return nil // the normal end
		case <-messages:
		}
		_, claimed, err := worker.Turn(ctx, floor.Batch)
		at := time.Now()
		switch {
		case err != nil:
			return err
		case len(claimed) != 1:
			return fmt.Errorf("a wake-up brought %d jobs, not 1", len(claimed))
		}
		select {
		case <-ctx.Done():
			return nil
		case started <- at:
		}
	}
}

// pickups calls enqueue n times, each time on an idle worker and under a context that
// cannot end, and returns how long each took until the worker had started.
func pickups(ctx context.Context, n int, started <-chan time.Time, worker *parallel.Background, enqueue func(ctx context.Context, i int) error) ([]float64, error) {
	waits := make([]float64, 0, n)
	patient := context.WithoutCancel(ctx)
	for i := range n {
		if err := parallel.Pause(ctx, pickupPause()); err != nil {
			return nil, err
		}
		before := time.Now()
		if err := enqueue(patient, i+1); err != nil {
			return nil, err
		}
		select {
		case at := <-started:
			waits = append(waits, millis(at.Sub(before)))
		case <-worker.Ended:
			return nil, parallel.ErrEndedEarly
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return waits, nil
}

func latencies(waits []float64) sample {
	return sample{p50Millis: figures.Quantile(waits, 0.5), p99Millis: figures.Quantile(waits, 0.99)}
}

func cyclonePickup(ctx context.Context, l *lab) (sample, error) {
	started := make(chan time.Time, 1)
	action := cyclone.NewAction(kind, func(context.Context, string) error {
		started <- time.Now()
		return nil
	})
	w, err := l.work(ctx, action)
	if err != nil {
		return nil, err
	}
	p, err := l.producer()
	if err != nil {
		return nil, errors.Join(err, w.stop())
	}
	defer p.close()
	input := payload()
	waits, err := pickups(ctx, l.size.pickups, started, w.Background, func(ctx context.Context, _ int) error {
		_, err := cyclone.EnqueueAction(ctx, p.client, action, input)
		return err
	})
	if err = errors.Join(err, w.stop()); err != nil {
		return nil, err
	}
	return latencies(waits), nil
}
