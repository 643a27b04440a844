package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone/bench/internal/figures"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/cases"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/stage"
)

// Runner runs cases on stages and tells on Progress what it is doing.
type Runner struct {
	Stages   []*stage.Stage
	Scale    stage.Scale
	Rounds   int
	Progress io.Writer
	// Late tells, when it is set, that the run takes longer than it may: then a case
	// ends after leastRounds.
	Late func() bool
}

// leastRounds are measured however late it is.
const leastRounds = 3

// entry is one contender's part in the case that is being run.
type entry struct {
	*stage.Stage
	side  *Side
	turns turns
	spent time.Duration
}

// Run measures one case. A contender that fails is left out of what is left of the
// case and named in the result; only ctx ends the run.
func (r *Runner) Run(ctx context.Context, c cases.Case) (Result, error) {
	result := Result{Case: c.Name, Title: c.Title, Curve: c.Curve, Point: c.Point, About: c.About, Sides: make([]Side, len(r.Stages))}
	var entries []*entry
	all, names := map[string]*entry{}, []string{}
	for i, s := range r.Stages {
		e := &entry{Stage: s, side: &result.Sides[i]}
		e.side.Contender = s.Name
		all[s.Name], names = e, append(names, s.Name)
		if !s.Can.Has(c.Needs) || s.Only != nil && !slices.Contains(s.Only, c.Name) {
			e.side.Cannot = true
			continue
		}
		entries = append(entries, e)
	}
	for _, e := range entries {
		r.prepare(ctx, c, e)
	}
	rounds := r.Rounds
	if c.MaxRounds > 0 {
		rounds = min(rounds, c.MaxRounds)
	}
	for round := range rounds {
		if round >= leastRounds && r.Late != nil && r.Late() {
			fmt.Fprintf(r.Progress, "      %d rounds are left out: the run takes too long\n", rounds-round)
			break
		}
		// Another one begins each time, so that none always meets the warmer machine.
		for i := range entries {
			r.turn(ctx, c, entries[(i+round)%len(entries)], round)
		}
		if ctx.Err() != nil {
			return result, ctx.Err()
		}
		r.tell(c, entries, round, rounds)
	}
	samples := map[string]turns{}
	for name, e := range all {
		e.side.Rounds = e.turns.count()
		samples[name] = e.turns
	}
	for _, row := range c.Rows {
		result.Figures = append(result.Figures, table(names, samples, row.Metric, row.Title, row.Less))
	}
	r.remember(c, entries)
	return result, nil
}

// turn measures one contender once, unless it has failed or its time is over.
func (r *Runner) turn(ctx context.Context, c cases.Case, e *entry, round int) {
	if e.side.Failed != "" || e.spent > r.Scale.Budget && e.turns.count() > 0 || ctx.Err() != nil {
		return
	}
	began := time.Now()
	sample, err := r.measure(ctx, c.Measure, e, e.side.Jobs)
	e.spent += time.Since(began)
	if err != nil {
		r.fail(ctx, c, e, err)
		return
	}
	for len(e.turns) <= round {
		e.turns = append(e.turns, nil)
	}
	e.turns[round] = sample
}

func (r *Runner) measure(ctx context.Context, measure cases.Measure, e *entry, jobs int) (stage.Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, r.Scale.Deadline)
	defer cancel()
	return e.Measure(ctx, func(ctx context.Context) (stage.Sample, error) { return measure(ctx, e.Stage, jobs) })
}

// fail names what went wrong and makes the stage ready for the next case.
func (r *Runner) fail(ctx context.Context, c cases.Case, e *entry, err error) {
	e.side.Failed = brief(err)
	if ctx.Err() != nil {
		return
	}
	fmt.Fprintf(r.Progress, "      %s failed in %s: %s\n", e.Name, c.Name, e.side.Failed)
	if err := e.Reset(ctx); err != nil {
		e.side.Failed = errors.Join(errors.New(e.side.Failed), err).Error()
	}
}

// longestFailure is how much of what went wrong is told.
const longestFailure = 400

// brief leaves out what goroutines have in common, and the end of what is long.
func brief(err error) string {
	var lines []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines, "; ")
	if len(text) > longestFailure {
		text = strings.ToValidUTF8(text[:longestFailure], "") + " …"
	}
	return text
}

func (r *Runner) tell(c cases.Case, entries []*entry, round, rounds int) {
	fmt.Fprintf(r.Progress, "      round %d of %d", round+1, rounds)
	for _, e := range entries {
		if len(e.turns) > round && e.turns[round] != nil {
			fmt.Fprintf(r.Progress, "   %s %s", e.Name, figures.Number(e.turns[round][c.Rows[0].Metric]))
		}
	}
	fmt.Fprintln(r.Progress)
}

// remember keeps what later cases want to know.
func (r *Runner) remember(c cases.Case, entries []*entry) {
	if c.Name != cases.MaximumCase {
		return
	}
	for _, e := range entries {
		if middle := figures.SpreadOf(e.turns.column(c.Rows[0].Metric)); middle != nil {
			e.Maximum = middle.Median
		}
	}
}
