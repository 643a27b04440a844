package bounds

import (
	"context"
	"fmt"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/workflow"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

const (
	chains      = 1000
	chainLength = 5
	tasks       = 500
	recorded    = 10 // steps of one task
)

var (
	chainEnqueued = workload{
		name: "chain of 5, enqueue", unit: "step",
		about:   "one goroutine enqueues runs of five steps, one behind the other, one run a call",
		figures: []figure{{scriptCalls, 0}, {commands, 0}, {bytesSent, 0.02}, {bytesReceived, 0.02}, {allocations, 0.05}},
		rounds:  someRounds,
		round: func(ctx context.Context, l *lab) (sample, error) {
			return l.with(func(c *queue.Client) (sample, error) {
				if err := enqueueChains(ctx, c, 10); err != nil {
					return nil, err
				}
				return l.metered(ctx, chains*chainLength, func() error { return enqueueChains(ctx, c, chains) })
			})
		},
	}
	chainDrained = workload{
		name: "chain of 5, drain", unit: "step",
		about:   "a worker runs 1,000 of these runs, 400 steps at once",
		figures: []figure{{scriptCalls, 0.25}, {commands, 0.25}, {bytesSent, 0.05}, {bytesReceived, 0.05}, {allocations, 0.05}},
		rounds:  someRounds,
		round: func(ctx context.Context, l *lab) (sample, error) {
			const steps = chains * chainLength
			return l.drained(ctx, steps, steps, noop, func(c *queue.Client) error { return enqueueChains(ctx, c, chains) })
		},
	}
	taskDrained = workload{
		name: "task with 10 recorded steps", unit: "recorded step",
		about:   "a worker runs 500 of these tasks, 400 at once",
		figures: []figure{{scriptCalls, 0.25}, {commands, 0.25}, {bytesSent, 0.05}, {bytesReceived, 0.05}, {allocations, 0.05}},
		rounds:  someRounds,
		round: func(ctx context.Context, l *lab) (sample, error) {
			task := cyclone.DeclareTask[string, string](kind, cyclone.WithRetention(0))
			request := func(int) cyclone.Request { return task.With(payload) }
			const steps = tasks * recorded
			return l.drained(ctx, steps, steps, recording, func(c *queue.Client) error { return fill(ctx, c, tasks, request) })
		},
	}
)

func enqueueChains(ctx context.Context, c *queue.Client, n int) error {
	b := workflow.New("chain")
	in := workflow.Value(payload)
	last := workflow.Do(b, "n0", action, in)
	for i := 1; i < chainLength; i++ {
		last = workflow.Do(b, fmt.Sprint("n", i), action, in, workflow.After(last))
	}
	for range n {
		if _, err := b.Enqueue(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// recording is a task that records its input again and again.
func recording(hit func()) cyclone.Definition {
	return cyclone.NewTask(kind, cyclone.HandlerFunc(func(ctx context.Context, in string) (string, error) {
		for i := range recorded {
			if _, err := step.Do(ctx, fmt.Sprint("s", i), func(context.Context) (string, error) { hit(); return in, nil }); err != nil {
				return "", err
			}
		}
		return "", nil
	}))
}
