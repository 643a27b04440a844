package cases

import (
	"context"
	"time"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/stage"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

const (
	sleepers  = 1000
	sleepTime = 10 * time.Millisecond
)

var sleeping = Case{
	Name: "sleep", Title: "handlers of 10 ms at concurrency 1000", Needs: contender.Handlers, Most: 150_000, Scaled: true, Quick: true,
	Rows: append([]Row{
		{stage.Share, "share of the ideal 100,000/s", false},
		{stage.JobsPerSecond, "jobs/s", false},
	}, costs()...),
	Measure: func(ctx context.Context, s *stage.Stage, jobs int) (stage.Sample, error) {
		sample, err := drained(ctx, s, contender.ForDrain, wire.Produce{Jobs: jobs}, wire.Work{Expect: jobs, Sleep: int64(sleepTime)},
			map[string]int{wire.Concurrency: sleepers})
		if err == nil {
			sample[stage.Share] = sample[stage.JobsPerSecond] / (sleepers / sleepTime.Seconds())
		}
		return sample, err
	},
}
