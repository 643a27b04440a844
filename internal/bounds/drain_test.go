package bounds

import (
	"context"

	"github.com/cyclone-queue/cyclone/queue"
)

const backlog = 20_000

// drained counts from the worker's start to its end, so it has a share of what only
// these two cost. The handler counts and does nothing else.
var drained = workload{
	name: "drain", unit: "job",
	about:   "a worker drains a backlog, 400 jobs at once",
	figures: []figure{{scriptCalls, 0.25}, {commands, 0.25}, {bytesSent, 0.05}, {bytesReceived, 0.05}, {allocations, 0.05}},
	rounds:  someRounds,
	round: func(ctx context.Context, l *lab) (sample, error) {
		return l.drained(ctx, backlog, backlog, noop, func(c *queue.Client) error { return fill(ctx, c, backlog, plain) })
	},
}

// drained measures a worker that drains what enqueue has left: n jobs or steps, which call
// the handler's hit so many times.
func (l *lab) drained(ctx context.Context, n, hits int, d definition, enqueue func(*queue.Client) error) (sample, error) {
	return l.with(func(c *queue.Client) (sample, error) {
		if err := enqueue(c); err != nil {
			return nil, err
		}
		return l.metered(ctx, n, func() error { return l.drain(ctx, hits, d) })
	})
}
