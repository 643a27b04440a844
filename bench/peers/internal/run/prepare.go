package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/cases"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/contender"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/stage"
)

// prepare chooses the settings that the case tunes and the number of jobs of a turn.
// What it measures is a warm-up and is not reported.
func (r *Runner) prepare(ctx context.Context, c cases.Case, e *entry) {
	e.side.Jobs = c.Most
	if c.Scaled {
		e.side.Jobs = r.firstJobs(c)
	}
	for _, purpose := range c.Tunes {
		if err := r.tune(ctx, c, e, purpose); err != nil {
			r.fail(ctx, c, e, err)
			return
		}
	}
	if !c.Scaled {
		return
	}
	if err := r.scale(ctx, c, e); err != nil {
		r.fail(ctx, c, e, err)
	}
}

const (
	// firstShare of the largest number of jobs is the first trial's.
	firstShare = 100
	// growth of the jobs from trial to trial, as long as a trial is too short to
	// tell a rate.
	growth      = 8
	shortestTry = 0.15 // of a turn
)

// firstJobs is the number of jobs of a first trial.
func (r *Runner) firstJobs(c cases.Case) int { return max(1, r.Scale.Jobs(c.Most)/firstShare) }

// scale finds how many jobs the contender does in a turn.
func (r *Runner) scale(ctx context.Context, c cases.Case, e *entry) error {
	most, turn := r.Scale.Jobs(c.Most), r.Scale.Turn.Seconds()
	jobs, trial := r.firstJobs(c), c.Trial
	if trial == nil {
		trial = c.Measure
	}
	for ctx.Err() == nil {
		sample, err := r.measure(ctx, trial, e, jobs)
		if err != nil {
			return err
		}
		rate := sample[stage.JobsPerSecond]
		if took := float64(jobs) / rate; took < shortestTry*turn && jobs < most {
			jobs = min(most, jobs*growth)
			continue
		}
		e.side.Jobs = max(1, min(most, int(rate*turn)))
		return nil
	}
	return ctx.Err()
}

// tune tries all settings for a purpose and takes the best. Settings with which the
// contender fails are passed over, as long as others work.
func (r *Runner) tune(ctx context.Context, c cases.Case, e *entry, purpose contender.Purpose) error {
	tries := e.Tries[purpose]
	if r.Scale.Tries > 0 {
		tries = tries[:min(r.Scale.Tries, len(tries))]
	}
	if len(tries) < 2 {
		return nil
	}
	var chosen *contender.Settings
	var failures []error
	best := 0.0
	for i := range tries {
		e.Chosen[purpose] = tries[i]
		value, err := r.try(ctx, c, e)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			failures = append(failures, fmt.Errorf("with %s: %w", tries[i].Name, err))
			if err := e.Reset(ctx); err != nil {
				return err
			}
		case chosen == nil || (value < best) == c.Rows[0].Less:
			best, chosen = value, &tries[i]
		}
	}
	if chosen == nil {
		return errors.Join(failures...)
	}
	e.Chosen[purpose] = *chosen
	return nil
}

// try measures the figure that counts once, with the settings of now.
func (r *Runner) try(ctx context.Context, c cases.Case, e *entry) (float64, error) {
	jobs := c.Most
	if c.Scaled {
		if err := r.scale(ctx, c, e); err != nil {
			return 0, err
		}
		jobs = max(1, e.side.Jobs/2)
	}
	sample, err := r.measure(ctx, c.Measure, e, jobs)
	return sample[c.Rows[0].Metric], err
}
