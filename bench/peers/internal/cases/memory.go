package cases

import (
	"context"
	"time"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/stage"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

// memoryRounds: memory does not drift, one repetition shows that.
const memoryRounds = 2

// memoryJobs are enough to hide what a server takes besides.
const memoryJobs = 50_000

func memory(name, title string, needs contender.Ability) Case {
	return Case{
		Name: "memory-" + name, Title: "memory per " + title, Needs: needs, Most: memoryJobs, MaxRounds: memoryRounds,
		Quick: name == "queued", Rows: []Row{{stage.BytesPerJob, "bytes", true}},
	}
}

var (
	memoryQueued    = withMeasure(memory("queued", "queued job", contender.Singles), weighQueued)
	memoryScheduled = withMeasure(memory("scheduled", "scheduled job", contender.Schedule), weighScheduled)
	memoryFinished  = withMeasure(memory("finished", "finished job that is kept", contender.Keep), weighFinished)
)

func withMeasure(c Case, measure Measure) Case {
	c.Measure = measure
	return c
}

func weighQueued(ctx context.Context, s *stage.Stage, jobs int) (stage.Sample, error) {
	return weigh(ctx, s, jobs, func(jobs int) error { return s.Fill(ctx, wire.Produce{Jobs: jobs}) })
}

func weighScheduled(ctx context.Context, s *stage.Stage, jobs int) (stage.Sample, error) {
	due := time.Now().Add(time.Hour).UnixNano()
	return weigh(ctx, s, jobs, func(jobs int) error {
		return s.Fill(ctx, wire.Produce{Jobs: jobs, Due: due, DueEvery: int64(time.Millisecond)})
	})
}

func weighFinished(ctx context.Context, s *stage.Stage, jobs int) (stage.Sample, error) {
	return weigh(ctx, s, jobs, func(jobs int) error {
		_, err := drained(ctx, s, contender.ForDrain, wire.Produce{Jobs: jobs, Keep: true}, wire.Work{Expect: jobs}, nil)
		return err
	})
}

// weigh returns the memory that each of the jobs takes which fill leaves behind.
func weigh(ctx context.Context, s *stage.Stage, jobs int, fill func(jobs int) error) (stage.Sample, error) {
	jobs = s.Scale.Jobs(jobs)
	before, err := s.Server.Memory(ctx)
	if err != nil {
		return nil, err
	}
	if err := fill(jobs); err != nil {
		return nil, err
	}
	after, err := s.Server.Memory(ctx)
	return stage.Sample{stage.BytesPerJob: (after - before) / float64(jobs)}, err
}
