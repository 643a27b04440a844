package bounds

import (
	"context"
	"errors"
	"sync"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// What enqueues goes to one connection; where one call carries one job, all is the
// same each time but for a new block of ids now and then.
var (
	singleEnqueue = workload{
		name: "single enqueue", unit: "job",
		about:   "one goroutine enqueues, one job a call",
		figures: []figure{{scriptCalls, 0}, {commands, 0}, {bytesSent, 0.02}, {bytesReceived, 0.02}, {allocations, 0.05}},
		rounds:  someRounds,
		round:   enqueueSingly,
	}
	bulkEnqueue = workload{
		name: "bulk enqueue", unit: "job",
		about:   "one goroutine enqueues, 1,000 jobs a call",
		figures: []figure{{scriptCalls, 0.1}, {commands, 0.1}, {bytesSent, 0.02}, {bytesReceived, 0.1}, {allocations, 0.05}},
		rounds:  someRounds,
		round: func(ctx context.Context, l *lab) (sample, error) {
			return l.with(func(c *queue.Client) (sample, error) {
				if err := fill(ctx, c, 10*chunk, plain); err != nil {
					return nil, err
				}
				return l.metered(ctx, 2*backlog, func() error { return fill(ctx, c, 2*backlog, plain) })
			})
		},
	}
)

func enqueueSingly(ctx context.Context, l *lab) (sample, error) {
	const warm, jobs = 10, 1000
	return l.with(func(c *queue.Client) (sample, error) {
		some := func(n int) error {
			for range n {
				if _, err := cyclone.EnqueueAction(ctx, c, action, payload); err != nil {
					return err
				}
			}
			return nil
		}
		if err := some(warm); err != nil {
			return nil, err
		}
		return l.metered(ctx, jobs, func() error { return some(jobs) })
	})
}

// producers are goroutines that enqueue at once, each one job a call.
const producers = 50

// togetherEnqueued is one batch after another of what has come together while the
// calls before were under way.
var togetherEnqueued = workload{
	name: "50 goroutines enqueue", unit: "job",
	about:   "each one job a call, which share script calls",
	figures: []figure{{scriptCalls, 0.5}, {commands, 0.5}, {bytesSent, 0.15}, {bytesReceived, 0.5}, {allocations, 0.15}},
	rounds:  someRounds,
	round: func(ctx context.Context, l *lab) (sample, error) {
		return l.with(func(c *queue.Client) (sample, error) {
			if err := fill(ctx, c, chunk, plain); err != nil {
				return nil, err
			}
			return l.metered(ctx, backlog, func() error { return enqueueTogether(ctx, c, backlog/producers) })
		})
	},
}

func enqueueTogether(ctx context.Context, c *queue.Client, each int) error {
	var wg sync.WaitGroup
	errs := make([]error, producers)
	for p := range producers {
		wg.Go(func() {
			for range each {
				if _, err := cyclone.EnqueueAction(ctx, c, action, payload); err != nil {
					errs[p] = err
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
