package bounds

import (
	"context"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// jobsWeighed is how many jobs are in Redis. Hash tables grow by doubling, so what a job
// takes depends on it.
const jobsWeighed = 50_000

// Memory depends on the version of Redis and its allocator: hence more headroom.
var (
	queuedMemory   = weighing("queued job", "in the queue", plain)
	uniqueMemory   = weighing("queued job with a unique key", "in the queue, with a key of its own", unique)
	finishedMemory = workload{
		name: "finished job", unit: "job", about: "completed, without output, kept for an hour",
		figures: []figure{{redisBytes, 0.1}},
		rounds:  twoRounds,
		round: func(ctx context.Context, l *lab) (sample, error) {
			return l.weighed(ctx, backlog, func() error {
				_, err := l.drained(ctx, backlog, backlog, keeping, func(c *queue.Client) error { return fill(ctx, c, backlog, plain) })
				return err
			})
		},
	}
)

func weighing(name, about string, request func(int) cyclone.Request) workload {
	return workload{
		name: name, unit: "job", about: about,
		figures: []figure{{redisBytes, 0.1}},
		rounds:  twoRounds,
		round: func(ctx context.Context, l *lab) (sample, error) {
			return l.with(func(c *queue.Client) (sample, error) {
				return l.weighed(ctx, jobsWeighed, func() error { return fill(ctx, c, jobsWeighed, request) })
			})
		},
	}
}

// keeping is an action whose jobs are kept when they have finished.
func keeping(hit func()) cyclone.Definition {
	return cyclone.NewAction(kind, func(context.Context, string) error { hit(); return nil }, cyclone.WithRetention(time.Hour))
}
