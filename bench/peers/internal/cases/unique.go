package cases

import (
	"context"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/stage"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

var unique = Case{
	Name: "unique", Title: "unique enqueues, a key for every job, from 50 goroutines",
	Needs: contender.Singles | contender.Unique, Most: 200_000, Scaled: true,
	Rows: rate("jobs/s"),
	Measure: func(ctx context.Context, s *stage.Stage, jobs int) (stage.Sample, error) {
		return enqueued(ctx, s, contender.ForSingles, wire.Produce{Jobs: jobs, Goroutines: 50, Unique: true})
	},
}
