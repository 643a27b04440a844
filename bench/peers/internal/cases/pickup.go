package cases

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/cyclone-queue/cyclone/bench/internal/parallel"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/stage"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

var pickup = Case{
	Name: "pickup", Title: "idle pick-up: from the enqueue call to the start of the handler",
	Needs: contender.Singles, Quick: true, Tunes: []contender.Purpose{contender.ForPickup},
	Rows: []Row{
		{stage.P50Millis, "p50, ms", true},
		{stage.P99Millis, "p99, ms", true},
	},
	Measure: func(ctx context.Context, s *stage.Stage, _ int) (stage.Sample, error) {
		return pickups(ctx, s, nil, wire.Work{}, wire.Produce{})
	},
}

// pickupTime bounds the samples of a contender that is slow to notice.
const pickupTime = 3 * time.Second

// pickups enqueues one job after the other on a worker that is idle.
func pickups(ctx context.Context, s *stage.Stage, over map[string]int, work wire.Work, order wire.Produce) (stage.Sample, error) {
	w, err := s.Launch(ctx, contender.ForPickup, over)
	if err != nil {
		return nil, err
	}
	p, err := s.Launch(ctx, contender.ForSingles, over)
	if err != nil {
		return nil, err
	}
	work.Expect = s.Scale.Pickups
	if _, err := s.Work(ctx, w, work); err != nil {
		return nil, err
	}
	var handled *wire.Handled
	began := time.Now()
	for i := range s.Scale.Pickups {
		if i > 0 && time.Since(began) > pickupTime {
			break
		}
		// The pause varies, so that samples do not march in step with a timer.
		if err := parallel.Pause(ctx, 5*time.Millisecond+rand.N(10*time.Millisecond)); err != nil {
			return nil, err
		}
		one := order
		one.Jobs, one.First = 1, i
		if _, err := s.Produce(ctx, p, one); err != nil {
			return nil, err
		}
		if handled, err = s.Await(ctx, w, wire.Await{Jobs: i + 1, Late: true}); err != nil {
			return nil, err
		}
	}
	if err := s.StopWork(ctx, w); err != nil {
		return nil, err
	}
	return stage.Sample{stage.P50Millis: handled.Late.P50, stage.P99Millis: handled.Late.P99}, nil
}
