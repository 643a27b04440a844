package cases

import (
	"context"
	"fmt"
	"time"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/stage"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

// MaximumCase is the case whose first row is a contender's own maximum.
const MaximumCase = "both-single"

// latency sends jobs at a share of the contender's own maximum and measures from the
// time at which a job should have gone out, so that a producer that is held up hides
// nothing.
func latency(percent int) Case {
	return Case{
		Name:  fmt.Sprint("latency-", percent),
		Title: fmt.Sprintf("latency at %d %% of the contender's own maximum, from when a job should be sent to the start of its handler", percent),
		Needs: contender.Singles | contender.Handlers,
		Rows: []Row{
			{stage.P99Millis, "p99, ms", true},
			{stage.P50Millis, "p50, ms", true},
			{stage.P999Millis, "p99.9, ms", true},
			{stage.JobsPerSecond, "at jobs/s", false},
		},
		Measure: func(ctx context.Context, s *stage.Stage, _ int) (stage.Sample, error) {
			if s.Maximum == 0 {
				if err := findMaximum(ctx, s); err != nil {
					return nil, err
				}
			}
			return paced(ctx, s, s.Maximum*float64(percent)/100)
		},
	}
}

// findMaximum is for runs that leave the case out which tells it.
func findMaximum(ctx context.Context, s *stage.Stage) error {
	jobs := s.Scale.Jobs(maximumJobs)
	sample, err := bothSingles(ctx, s, jobs)
	if err != nil {
		return err
	}
	s.Maximum = sample[stage.JobsPerSecond]
	return s.Server.Clear(ctx)
}

const (
	maximumJobs     = 10_000
	pacedGoroutines = 50
	pacedLead       = 100 * time.Millisecond
)

// paced sends jobs at a rate to a worker.
func paced(ctx context.Context, s *stage.Stage, rate float64) (stage.Sample, error) {
	w, err := s.Launch(ctx, contender.ForDrain, nil)
	if err != nil {
		return nil, err
	}
	p, err := s.Launch(ctx, contender.ForSingles, nil)
	if err != nil {
		return nil, err
	}
	jobs := max(1, int(rate*s.Scale.Paced.Seconds()))
	if _, err := s.Work(ctx, w, wire.Work{Expect: jobs}); err != nil {
		return nil, err
	}
	_, err = s.Produce(ctx, p, wire.Produce{
		Jobs: jobs, Goroutines: pacedGoroutines,
		Start: time.Now().Add(pacedLead).UnixNano(), Every: int64(float64(time.Second) / rate),
	})
	if err != nil {
		return nil, err
	}
	handled, err := s.Await(ctx, w, wire.Await{Jobs: jobs, Late: true})
	if err != nil {
		return nil, err
	}
	if err := s.StopWork(ctx, w); err != nil {
		return nil, err
	}
	late := handled.Late
	return stage.Sample{
		stage.P50Millis: late.P50, stage.P99Millis: late.P99, stage.P999Millis: late.P999, stage.JobsPerSecond: rate,
	}, nil
}
