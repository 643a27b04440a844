package cases

import (
	"context"
	"fmt"
	"time"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/stage"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

// singles enqueues one job a call from so many goroutines, each of which waits for
// its answer.
func singles(goroutines int) Case {
	c := Case{
		Name: fmt.Sprint("singles-", goroutines), Title: fmt.Sprintf("single enqueues from %d goroutines", goroutines),
		Needs: contender.Singles, Most: 200_000, Scaled: true, Quick: goroutines <= 50,
		Rows: rate("jobs/s"),
		Measure: func(ctx context.Context, s *stage.Stage, jobs int) (stage.Sample, error) {
			return enqueued(ctx, s, contender.ForSingles, wire.Produce{Jobs: jobs, Goroutines: goroutines})
		},
	}
	if goroutines == 50 {
		c.Tunes = []contender.Purpose{contender.ForSingles}
	}
	return c
}

var bulk = Case{
	Name: "bulk", Title: "bulk enqueue", Needs: contender.Bulk, Most: 400_000, Scaled: true, Quick: true,
	Tunes: []contender.Purpose{contender.ForBulk},
	Rows:  rate("jobs/s"),
	Measure: func(ctx context.Context, s *stage.Stage, jobs int) (stage.Sample, error) {
		return enqueued(ctx, s, contender.ForBulk, s.Fastest(wire.Produce{Jobs: jobs}))
	},
}

// enqueued measures one order to produce.
func enqueued(ctx context.Context, s *stage.Stage, purpose contender.Purpose, order wire.Produce) (stage.Sample, error) {
	c, err := s.Launch(ctx, purpose, nil)
	if err != nil {
		return nil, err
	}
	meter, err := s.Meter(ctx, c)
	if err != nil {
		return nil, err
	}
	produced, err := s.Produce(ctx, c, order)
	if err != nil {
		return nil, err
	}
	sample := stage.Sample{stage.JobsPerSecond: perSecond(produced.Jobs, produced.Began, produced.Ended)}
	return sample, meter.PerJob(ctx, produced.Jobs, sample)
}

// perSecond is a rate between two times in ns.
func perSecond(jobs int, began, ended int64) float64 {
	return float64(jobs) / time.Duration(max(1, ended-began)).Seconds()
}
