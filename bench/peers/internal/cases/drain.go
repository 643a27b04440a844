package cases

import (
	"context"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/stage"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

var drain = Case{
	Name: "drain", Title: "drain of a backlog by one worker process", Most: 400_000, Scaled: true, Quick: true,
	Tunes: []contender.Purpose{contender.ForDrain},
	Rows:  rate("jobs/s"),
	Measure: func(ctx context.Context, s *stage.Stage, jobs int) (stage.Sample, error) {
		return drained(ctx, s, contender.ForDrain, wire.Produce{Jobs: jobs}, wire.Work{Expect: jobs}, nil)
	},
}

// drained fills the queue, unless fill has no jobs, and measures a worker from the start of its start until it
// has handled the last job. What it uses until all is settled counts.
func drained(ctx context.Context, s *stage.Stage, purpose contender.Purpose, fill wire.Produce, work wire.Work, over map[string]int) (stage.Sample, error) {
	if fill.Jobs > 0 {
		if err := s.Fill(ctx, fill); err != nil {
			return nil, err
		}
	}
	c, err := s.Launch(ctx, purpose, over)
	if err != nil {
		return nil, err
	}
	meter, err := s.Meter(ctx, c)
	if err != nil {
		return nil, err
	}
	started, err := s.Work(ctx, c, work)
	if err != nil {
		return nil, err
	}
	handled, err := s.Await(ctx, c, wire.Await{Jobs: work.Expect})
	if err != nil {
		return nil, err
	}
	if err := s.StopWork(ctx, c); err != nil {
		return nil, err
	}
	sample := stage.Sample{stage.JobsPerSecond: perSecond(work.Expect, started, handled.Last)}
	return sample, meter.PerJob(ctx, work.Expect, sample)
}

var bothSingle = Case{
	Name: "both-single", Title: "enqueue and drain at once, single enqueues from 50 goroutines",
	Needs: contender.Singles, Most: 200_000, Scaled: true, Quick: true,
	Rows: rate("jobs/s"), Measure: bothSingles,
}

func bothSingles(ctx context.Context, s *stage.Stage, jobs int) (stage.Sample, error) {
	return both(ctx, s, contender.ForSingles, wire.Produce{Jobs: jobs, Goroutines: 50})
}

var bothBulk = Case{
	Name: "both-bulk", Title: "enqueue and drain at once, bulk enqueue",
	Needs: contender.Bulk, Most: 400_000, Scaled: true, Quick: true,
	Rows: rate("jobs/s"),
	Measure: func(ctx context.Context, s *stage.Stage, jobs int) (stage.Sample, error) {
		return both(ctx, s, contender.ForBulk, s.Fastest(wire.Produce{Jobs: jobs}))
	},
}

// both measures from the first enqueue until the last job was handled, with producer
// and worker in processes of their own.
func both(ctx context.Context, s *stage.Stage, purpose contender.Purpose, order wire.Produce) (stage.Sample, error) {
	w, err := s.Launch(ctx, contender.ForDrain, nil)
	if err != nil {
		return nil, err
	}
	p, err := s.Launch(ctx, purpose, nil)
	if err != nil {
		return nil, err
	}
	meter, err := s.Meter(ctx, w, p)
	if err != nil {
		return nil, err
	}
	if _, err := s.Work(ctx, w, wire.Work{Expect: order.Jobs}); err != nil {
		return nil, err
	}
	produced, err := s.Produce(ctx, p, order)
	if err != nil {
		return nil, err
	}
	handled, err := s.Await(ctx, w, wire.Await{Jobs: order.Jobs})
	if err != nil {
		return nil, err
	}
	if err := s.StopWork(ctx, w); err != nil {
		return nil, err
	}
	sample := stage.Sample{stage.JobsPerSecond: perSecond(order.Jobs, produced.Began, handled.Last)}
	return sample, meter.PerJob(ctx, order.Jobs, sample)
}
