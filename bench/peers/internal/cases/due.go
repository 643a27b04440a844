package cases

import (
	"context"
	"errors"
	"time"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/stage"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

var instant = Case{
	Name: "instant", Title: "many jobs due at one instant, 100,000 in a whole run", Needs: contender.Schedule, Most: 100_000, MaxRounds: 3, Quick: true,
	Tunes: []contender.Purpose{contender.ForDue},
	Rows: []Row{
		{stage.LastMillis, "the last has run after ms", true},
		{stage.MinMillis, "the first started after ms", true},
	},
	Measure: func(ctx context.Context, s *stage.Stage, jobs int) (stage.Sample, error) {
		jobs = s.Scale.Jobs(jobs)
		late, err := scheduled(ctx, s, jobs, 0)
		if err != nil {
			return nil, err
		}
		return stage.Sample{stage.LastMillis: late.Max, stage.MinMillis: late.Min}, nil
	},
}

// punctual sends one job a millisecond, for as long as jobs are paced.
var punctual = Case{
	Name: "punctual", Title: "one job falls due each millisecond; how late they start", Needs: contender.Schedule, MaxRounds: 3,
	Rows: []Row{
		{stage.P99Millis, "p99, ms", true},
		{stage.P50Millis, "p50, ms", true},
		{stage.MinMillis, "the earliest after ms", true},
	},
	Measure: func(ctx context.Context, s *stage.Stage, _ int) (stage.Sample, error) {
		late, err := scheduled(ctx, s, int(s.Scale.Paced/time.Millisecond), time.Millisecond)
		if err != nil {
			return nil, err
		}
		return stage.Sample{stage.P50Millis: late.P50, stage.P99Millis: late.P99, stage.MinMillis: late.Min}, nil
	},
}

// scheduled enqueues jobs that fall due at one instant, or one after the other, and
// returns how late they started. Where enqueueing takes longer than the lead that it
// was given, it is done again with a longer one, which later rounds begin with.
func scheduled(ctx context.Context, s *stage.Stage, jobs int, every time.Duration) (*wire.Late, error) {
	for {
		lead := max(s.Scale.Lead, s.Leads[jobs])
		late, took, err := scheduleOnce(ctx, s, jobs, every, lead)
		if !errors.Is(err, errTooSlow) {
			return late, err
		}
		if err := s.Server.Clear(ctx); err != nil {
			return nil, err
		}
		s.Leads[jobs] = lead + took + time.Second
	}
}

var errTooSlow = errors.New("the first job fell due before the last was enqueued")

func scheduleOnce(ctx context.Context, s *stage.Stage, jobs int, every, lead time.Duration) (*wire.Late, time.Duration, error) {
	due := time.Now().Add(lead).Truncate(time.Millisecond)
	order := s.Fastest(wire.Produce{Jobs: jobs, Due: due.UnixNano(), DueEvery: int64(every)})
	began := time.Now()
	if err := s.Fill(ctx, order); err != nil {
		return nil, 0, err
	}
	took := time.Since(began)
	if time.Now().Add(workerLead).After(due) {
		return nil, took, errTooSlow
	}
	w, err := s.Launch(ctx, contender.ForDue, nil)
	if err != nil {
		return nil, took, err
	}
	if _, err := s.Work(ctx, w, wire.Work{Expect: jobs}); err != nil {
		return nil, took, err
	}
	handled, err := s.Await(ctx, w, wire.Await{Jobs: jobs, Late: true})
	if err != nil {
		return nil, took, err
	}
	return handled.Late, took, s.StopWork(ctx, w)
}

// workerLead is how long before the instant a worker is at work at least.
const workerLead = 300 * time.Millisecond
