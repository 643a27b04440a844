package cases

import (
	"context"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/stage"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

// retries uses the shortest wait that a library takes; most look for retries that are
// due at intervals of their own. The number of jobs is that of a plain drain: a few
// jobs would measure that interval only.
var retries = Case{
	Name: "retries", Title: "drain in which the first attempt of every tenth job fails and is retried",
	Needs: contender.Handlers | contender.Retries, Most: 200_000, Scaled: true,
	Tunes: []contender.Purpose{contender.ForRetries}, Trial: drain.Measure,
	Rows: rate("jobs/s"),
	Measure: func(ctx context.Context, s *stage.Stage, jobs int) (stage.Sample, error) {
		return drained(ctx, s, contender.ForRetries, wire.Produce{Jobs: jobs}, wire.Work{Expect: jobs, FailEvery: 10}, nil)
	},
}
