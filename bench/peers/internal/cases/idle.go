package cases

import (
	"context"

	"github.com/cyclone-queue/cyclone/bench/internal/parallel"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/stage"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

// idle uses the settings that the pick-up was measured with: who wants jobs picked
// up so fast pays this.
var idle = Case{
	Name: "idle", Title: "what an idle worker costs, set up as for the pick-up", Needs: contender.Handlers, MaxRounds: 2, Quick: true,
	Rows: []Row{
		{stage.ClientPercent, "client, % of a core", true},
		{stage.ServerPercent, "server, % of a core", true},
		{stage.CommandsPerSec, "commands/s", true},
	},
	Measure: func(ctx context.Context, s *stage.Stage, _ int) (stage.Sample, error) {
		w, err := s.Launch(ctx, contender.ForPickup, nil)
		if err != nil {
			return nil, err
		}
		if _, err := s.Work(ctx, w, wire.Work{Expect: 1}); err != nil {
			return nil, err
		}
		// One job, so that the worker has seen work.
		if err := s.Fill(ctx, wire.Produce{Jobs: 1}); err != nil {
			return nil, err
		}
		if _, err := s.Await(ctx, w, wire.Await{Jobs: 1}); err != nil {
			return nil, err
		}
		if err := parallel.Pause(ctx, s.Scale.Watch/4); err != nil {
			return nil, err
		}
		meter, err := s.Meter(ctx, w)
		if err != nil {
			return nil, err
		}
		if err := parallel.Pause(ctx, s.Scale.Watch); err != nil {
			return nil, err
		}
		sample := stage.Sample{}
		if err := meter.PerSecond(ctx, sample); err != nil {
			return nil, err
		}
		return sample, s.StopWork(ctx, w)
	},
}
