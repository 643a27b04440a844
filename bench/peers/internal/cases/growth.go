package cases

import (
	"context"
	"fmt"
	"time"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/stage"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

// Growth are the cases of a growth run: every point of every curve. They show whether
// a figure stays what it is when something else grows.
var Growth = growth()

const (
	// beside is how many jobs lie about beside the work.
	beside = 1_000_000
	// grown is how many jobs are drained at a point.
	grown = 200_000
)

var growthRows = []Row{
	{stage.JobsPerSecond, "drained/s", false},
	{stage.ServerMicros, "server µs/job", true},
	{stage.P50Millis, "pick-up p50, ms", true},
	{stage.P99Millis, "pick-up p99, ms", true},
}

func growth() []Case {
	var all []Case
	add := func(curve, title, point string, needs contender.Ability, rows []Row, measure Measure) {
		all = append(all, Case{
			Name: curve + "-" + point, Title: title + ": " + point, Curve: curve, Point: point, About: title,
			Needs: needs, MaxRounds: growthRounds, Rows: rows, Measure: measure,
		})
	}
	for _, n := range []int{100_000, 1_000_000, 5_000_000} {
		add("queued", "jobs queued", short(n), 0, growthRows, backlog(n))
	}
	for _, kind := range []struct {
		name  string
		needs contender.Ability
		put   put
	}{
		{"nothing", 0, nil}, {"scheduled", contender.Schedule, putScheduled},
		{"retrying", contender.Retries, putFailed(false)}, {"discarded", contender.Discards, putFailed(true)},
	} {
		add("beside", "a million jobs beside", kind.name, kind.needs|contender.Handlers, growthRows, besides(kind.put))
	}
	for _, n := range []int{1, 10, 1000} {
		add("queues", "queues that one worker serves", fmt.Sprint(n), contender.Queues, growthRows[:2], queues(n))
	}
	for _, n := range []int{1, 4, 16} {
		add("partitions", "partitions", fmt.Sprint(n), contender.Partitions, growthRows, partitions(n))
	}
	for _, n := range []int{1, 4, 16} {
		add("workers", "worker processes", fmt.Sprint(n), 0, growthRows[:2], processes(n))
	}
	return all
}

// growthRounds: points are held against each other, not rounds.
const growthRounds = 3

func short(n int) string {
	if n >= 1_000_000 {
		return fmt.Sprintf("%dM", n/1_000_000)
	}
	return fmt.Sprintf("%dk", n/1000)
}

// backlog measures pick-ups in a queue beside a backlog, and then drains a part of it.
func backlog(n int) Measure {
	return func(ctx context.Context, s *stage.Stage, _ int) (stage.Sample, error) {
		n := s.Scale.Jobs(n)
		if err := s.Fill(ctx, wire.Produce{Jobs: n}); err != nil {
			return nil, err
		}
		sample := stage.Sample{}
		if s.Can.Has(contender.Queues) {
			var err error
			if sample, err = pickups(ctx, s, nil, wire.Work{Queues: 1}, wire.Produce{Queues: 1}); err != nil {
				return nil, err
			}
		}
		return sample, partly(ctx, s, nil, wire.Work{}, min(n, s.Scale.Jobs(grown)), sample)
	}
}

// partly drains at least so many jobs and adds the rate and the costs to the sample.
func partly(ctx context.Context, s *stage.Stage, over map[string]int, work wire.Work, jobs int, into stage.Sample) error {
	c, err := s.Launch(ctx, contender.ForDrain, over)
	if err != nil {
		return err
	}
	meter, err := s.Meter(ctx, c)
	if err != nil {
		return err
	}
	work.Expect = jobs
	started, err := s.Work(ctx, c, work)
	if err != nil {
		return err
	}
	handled, err := s.AwaitAtLeast(ctx, c, jobs)
	if err != nil {
		return err
	}
	if err := meter.PerJob(ctx, handled.Jobs, into); err != nil {
		return err
	}
	into[stage.JobsPerSecond] = perSecond(handled.Jobs, started, handled.Last)
	return s.StopWork(ctx, c)
}

// put leaves so many jobs behind that are not ready.
type put func(ctx context.Context, s *stage.Stage, n int) error

func putScheduled(ctx context.Context, s *stage.Stage, n int) error {
	due := time.Now().Add(time.Hour)
	return s.Fill(ctx, wire.Produce{Jobs: n, Due: due.UnixNano(), DueEvery: int64(time.Millisecond)})
}

// putFailed lets jobs fail, for good or until a retry in an hour.
func putFailed(discard bool) put {
	return func(ctx context.Context, s *stage.Stage, n int) error {
		_, err := drained(ctx, s, contender.ForDrain, wire.Produce{Jobs: n}, wire.Work{Expect: n, FailAll: true, Discard: discard}, nil)
		return err
	}
}

func besides(leave put) Measure {
	return func(ctx context.Context, s *stage.Stage, _ int) (stage.Sample, error) {
		if leave != nil {
			if err := leave(ctx, s, s.Scale.Jobs(beside)); err != nil {
				return nil, err
			}
		}
		return pickedAndDrained(ctx, s, nil)
	}
}

// pickedAndDrained measures pick-ups and then a drain.
func pickedAndDrained(ctx context.Context, s *stage.Stage, over map[string]int) (stage.Sample, error) {
	sample, err := pickups(ctx, s, over, wire.Work{}, wire.Produce{})
	if err != nil {
		return nil, err
	}
	jobs := s.Scale.Jobs(grown)
	if err := s.FillWith(ctx, over, wire.Produce{Jobs: jobs}); err != nil {
		return nil, err
	}
	return sample, partly(ctx, s, over, wire.Work{}, jobs, sample)
}

func partitions(n int) Measure {
	return func(ctx context.Context, s *stage.Stage, _ int) (stage.Sample, error) {
		return pickedAndDrained(ctx, s, map[string]int{wire.Partitions: n})
	}
}

func queues(n int) Measure {
	return func(ctx context.Context, s *stage.Stage, _ int) (stage.Sample, error) {
		jobs := s.Scale.Jobs(grown)
		return drained(ctx, s, contender.ForDrain, wire.Produce{Jobs: jobs, Queues: n}, wire.Work{Expect: jobs, Queues: n}, nil)
	}
}

// processes drains with several worker processes.
func processes(n int) Measure {
	return func(ctx context.Context, s *stage.Stage, _ int) (stage.Sample, error) {
		jobs := s.Scale.Jobs(grown)
		if err := s.Fill(ctx, wire.Produce{Jobs: jobs}); err != nil {
			return nil, err
		}
		clients := make([]*contender.Client, n)
		for i := range clients {
			var err error
			if clients[i], err = s.Launch(ctx, contender.ForDrain, nil); err != nil {
				return nil, err
			}
		}
		meter, err := s.Meter(ctx, clients...)
		if err != nil {
			return nil, err
		}
		started := time.Now().UnixNano()
		for _, c := range clients {
			if _, err := s.Work(ctx, c, wire.Work{Expect: jobs}); err != nil {
				return nil, err
			}
		}
		last, err := s.AwaitTogether(ctx, clients, jobs)
		if err != nil {
			return nil, err
		}
		for _, c := range clients {
			if err := s.StopWork(ctx, c); err != nil {
				return nil, err
			}
		}
		sample := stage.Sample{stage.JobsPerSecond: perSecond(jobs, started, last)}
		return sample, meter.PerJob(ctx, jobs, sample)
	}
}
