package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/workflow"
	"github.com/cyclone-queue/cyclone/workflow/step"

	"github.com/cyclone-queue/cyclone/bench/internal/parallel"
)

// Runs of many steps are compared with as many jobs of a single step, enqueued and
// drained at once in the same round: that is what their "floor" is.
var (
	chainCase   = runsCase("chain", "runs of 5 steps, one after the other", 5, 3, chainOf(5))
	diamondCase = runsCase("diamond", "runs of 5 steps: one, then three, then one", 5, 3, diamond)
	fanCase     = runsCase("fan", "runs of 102 steps: one, then 100, then one", 102, 3, fanOf(100))
	taskCase    = runsCase("task", "tasks with 10 recorded steps", recordedSteps, 1.5, nil)
)

// recordedSteps is how many steps a task of the case `task` records.
const recordedSteps = 10

// shape makes the workflow of one run.
type shape func(action *cyclone.Action[string]) *workflow.Builder

// runsCase is a case of runs with the given number of steps, each of which may cost
// Redis bound times what a job of a single step does.
func runsCase(name, about string, steps int, bound float64, make shape) benchCase {
	title := "step"
	if make == nil {
		title = "recorded step"
	}
	return benchCase{
		name: name, about: about + "; against single jobs",
		floor: func(ctx context.Context, l *lab) (sample, error) {
			s, err := cycloneJobs(ctx, l, l.size.steps)
			if err == nil {
				s[runsPerSecond] = s[jobsPerSecond]
			}
			return s, err
		},
		cyclone: func(ctx context.Context, l *lab) (sample, error) {
			s, err := cycloneRuns(ctx, l, max(1, l.size.steps/steps), steps, make)
			if err == nil {
				s[runsPerSecond] = s[jobsPerSecond] / float64(steps)
			}
			return s, err
		},
		figures: []figure{
			{name + ": runs/s, against jobs/s", runsPerSecond, target{}},
			{"  " + title + "s/s, against jobs/s", jobsPerSecond, target{}},
			{"  Redis µs per " + title + ", against a job's", redisMicros, target{of: medianRatio, atMost: true, bound: bound}},
			{"  Go allocations per " + title, allocations, target{}},
		},
	}
}

func chainOf(n int) shape {
	return func(action *cyclone.Action[string]) *workflow.Builder {
		b := workflow.New("chain")
		in := workflow.Value(payload())
		last := workflow.Do(b, "n0", action, in)
		for i := 1; i < n; i++ {
			last = workflow.Do(b, fmt.Sprint("n", i), action, in, workflow.After(last))
		}
		return b
	}
}

func diamond(action *cyclone.Action[string]) *workflow.Builder { return fanOf(3)(action) }

func fanOf(width int) shape {
	return func(action *cyclone.Action[string]) *workflow.Builder {
		b := workflow.New("fan")
		in := workflow.Value(payload())
		first := workflow.Do(b, "first", action, in)
		middle := make([]workflow.Dependency, width)
		for i := range middle {
			middle[i] = workflow.Do(b, fmt.Sprint("n", i), action, in, workflow.After(first))
		}
		workflow.Do(b, "last", action, in, workflow.After(middle...))
		return b
	}
}

// recording is a task that records steps and counts each.
func recording(c *countdown) *cyclone.Task[string, string] {
	return cyclone.NewTask(kind, cyclone.HandlerFunc(func(ctx context.Context, in string) (string, error) {
		for i := range recordedSteps {
			if _, err := step.Do(ctx, fmt.Sprint("s", i), func(context.Context) (string, error) {
				c.hit()
				return in, nil
			}); err != nil {
				return "", err
			}
		}
		return "", nil
	}))
}

// cycloneJobs enqueues jobs of a single step while a worker drains them.
func cycloneJobs(ctx context.Context, l *lab, jobs int) (sample, error) {
	p, err := l.producer()
	if err != nil {
		return nil, err
	}
	defer p.close()
	return l.metered(ctx, jobs, func() (time.Duration, error) {
		return l.drain(ctx, jobs, func(ctx context.Context) error { return p.fill(ctx, jobs, plain(declared())) })
	})
}

// cycloneRuns enqueues runs while a worker drains them. Without a shape the runs
// are tasks.
func cycloneRuns(ctx context.Context, l *lab, runs, steps int, make shape) (sample, error) {
	p, err := l.producer()
	if err != nil {
		return nil, err
	}
	defer p.close()
	return l.metered(ctx, runs*steps, func() (time.Duration, error) {
		count := newCountdown(runs * steps)
		var def cyclone.Definition = noop(count)
		feed := func(ctx context.Context) error { return p.enqueueRuns(ctx, runs, make(declared())) }
		if make == nil {
			def = recording(count)
			task := cyclone.DeclareTask[string, string](kind, cyclone.WithRetention(0))
			feed = func(ctx context.Context) error {
				return p.fill(ctx, runs, func(int) cyclone.Request { return task.With(payload()) })
			}
		}
		start := time.Now()
		w, err := l.work(ctx, def)
		if err != nil {
			return 0, err
		}
		if err = feed(ctx); err == nil {
			err = w.await(ctx, count.done)
		}
		took := time.Since(start)
		if err = errors.Join(err, w.stop()); err != nil || make == nil {
			return took, err
		}
		return took, l.haveEnded(ctx, runs)
	})
}

// runProducers enqueue runs one by one: concurrent calls share script calls.
const runProducers = 50

func (p *producer) enqueueRuns(ctx context.Context, runs int, b *workflow.Builder) error {
	return parallel.Run(ctx, runProducers, func(ctx context.Context, i int) error {
		_, n := parallel.Share(runs, i, runProducers)
		for range n {
			if _, err := b.Enqueue(ctx, p.client); err != nil {
				return err
			}
		}
		return nil
	})
}

// endedKey holds the runs that have ended.
const endedKey = "cyclone:{0}:runs"

// haveEnded fails when a run has not ended: what gets stuck measures nothing.
func (l *lab) haveEnded(ctx context.Context, runs int) error {
	ended, err := l.admin.ZCard(ctx, endedKey).Result()
	if err == nil && ended != int64(runs) {
		err = fmt.Errorf("%d of %d runs have ended", ended, runs)
	}
	return err
}
