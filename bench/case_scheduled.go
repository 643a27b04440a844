package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cyclone-queue/cyclone"

	"github.com/cyclone-queue/cyclone/bench/internal/figures"
)

var scheduledCase = benchCase{
	name:    "scheduled",
	about:   "one step a millisecond falls due; how late handlers start (same clock as Redis')",
	cyclone: cycloneScheduled,
	figures: []figure{
		{"scheduled at 1,000/s, earliest start minus due, ms", minMillis, target{of: worstValue, bound: 0}},
		{"  p50 ms", p50Millis, target{}},
		{"  p99 ms", p99Millis, target{of: medianValue, atMost: true, bound: 10}},
	},
}

// cycloneScheduled enqueues all steps before the first is due.
func cycloneScheduled(ctx context.Context, l *lab) (sample, error) {
	steps := int(l.size.scheduled / time.Millisecond)
	first := dueTime(steps)
	late, err := l.punctual(ctx, steps, func(i int) time.Time {
		return first.Add(time.Duration(i) * time.Millisecond)
	})
	if err != nil {
		return nil, err
	}
	return sample{
		minMillis: slices.Min(late),
		p50Millis: figures.Quantile(late, 0.5),
		p99Millis: figures.Quantile(late, 0.99),
	}, nil
}

// dueTime leaves enough time to enqueue so many steps first. Redis counts whole ms.
func dueTime(steps int) time.Time {
	const slowest = 20_000 // enqueues a second
	lead := 500*time.Millisecond + time.Duration(steps)*time.Second/slowest
	return time.Now().Add(lead).Truncate(time.Millisecond)
}

// punctual enqueues steps for the times that due gives and returns how many ms
// after its time each started. A step carries its due time as its payload.
func (l *lab) punctual(ctx context.Context, steps int, due func(i int) time.Time) ([]float64, error) {
	var mu sync.Mutex
	late := make([]float64, 0, steps)
	count := newCountdown(steps)
	action := cyclone.NewAction(kind, func(_ context.Context, in string) error {
		now := time.Now()
		ms, err := strconv.ParseInt(strings.TrimSpace(in), 10, 64)
		mu.Lock()
		late = append(late, millis(now.Sub(time.UnixMilli(ms))))
		mu.Unlock()
		count.hit()
		return err
	})
	w, err := l.work(ctx, action)
	if err != nil {
		return nil, err
	}
	err = w.fill(ctx, steps, func(i int) cyclone.Request {
		at := due(i)
		in := fmt.Sprintf("%-*d", len(payload()), at.UnixMilli())
		return action.With(in, cyclone.WithStartAt(at))
	})
	if err == nil && time.Now().After(due(0)) {
		err = errors.New("the first step fell due before the last was enqueued: the machine is too slow for this size")
	}
	if err == nil {
		err = w.await(ctx, count.done)
	}
	if err = errors.Join(err, w.stop()); err != nil {
		return nil, err
	}
	return late, l.isDrained(ctx, count)
}
