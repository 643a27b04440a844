package cli

import (
	"context"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// filterFlags choose steps.
func filterFlags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.StringFlag{Name: "queue", Usage: "only steps of the queue `NAME`"},
		&urfave.StringFlag{Name: "state", Usage: "only steps in `STATE`: " + strings.Join(indexedNames, ", ")},
		&urfave.StringFlag{Name: "kind", Usage: "only steps of the kind `NAME`"},
		&urfave.StringFlag{Name: "error", Usage: "only steps whose last error contains `TEXT`, or has it as its code"},
		&urfave.StringFlag{Name: "since", Usage: "only steps that ended, or else were enqueued, at `WHEN` or later: 2h, 3d, 2026-02-03, 2026-02-03T10:30:00Z"},
		&urfave.StringFlag{Name: "until", Usage: "only steps that ended, or else were enqueued, before `WHEN`"},
	}
}

// manyFlags are those of an operation on many steps.
func manyFlags() []urfave.Flag {
	return append(filterFlags(),
		&urfave.StringFlag{Name: "cursor", Usage: "go on at `CURSOR`, where an operation was stopped"},
		&urfave.BoolFlag{Name: "dry-run", Usage: "only count what would be changed", DisableDefaultText: true},
	)
}

// filter reads the flags.
func (p *program) filter(c *urfave.Context) (queue.Filter, error) {
	f := queue.Filter{Queue: c.String("queue"), Kind: c.String("kind"), ErrorContains: c.String("error"), Cursor: c.String("cursor")}
	var err error
	if f.State, err = parseState(c.String("state")); err != nil {
		return f, err
	}
	now := p.now()
	if f.After, err = parseWhen("since", c.String("since"), now); err != nil {
		return f, err
	}
	if f.Before, err = parseWhen("until", c.String("until"), now); err != nil {
		return f, err
	}
	if !f.After.IsZero() && !f.Before.IsZero() && !f.After.Before(f.Before) {
		return f, usagef("Two durations count back from now: --since 2h --until 1h.", "--since is not before --until: nothing can match")
	}
	return f, nil
}

// filtered reports whether any flag narrows the choice.
func filtered(c *urfave.Context) bool {
	for _, f := range filterFlags() {
		if c.IsSet(f.Names()[0]) {
			return true
		}
	}
	return false
}

// narrows reports whether the filter looks into the steps themselves.
func narrows(f *queue.Filter) bool {
	return f.Kind != "" || f.ErrorContains != "" || !f.After.IsZero() || !f.Before.IsZero()
}

// matches is the filter's rule, for lists and counts; queue and state are the
// query's.
func matches(f *queue.Filter, s cyclone.StepInfo) bool {
	at := s.FinishedAt
	if at.IsZero() {
		at = s.EnqueuedAt
	}
	return (f.Kind == "" || f.Kind == s.Kind) &&
		(f.ErrorContains == "" || strings.Contains(s.Error, f.ErrorContains) || s.Code == f.ErrorContains) &&
		(f.After.IsZero() || !at.Before(f.After)) &&
		(f.Before.IsZero() || at.Before(f.Before))
}

// describe says in words what a filter chooses.
func describe(f *queue.Filter) string {
	words := []string{}
	if f.State != "" {
		words = append(words, string(f.State))
	}
	words = append(words, "steps")
	if f.Kind != "" {
		words = append(words, "of kind "+f.Kind)
	}
	if f.Queue != "" {
		words = append(words, "in queue "+f.Queue)
	}
	if f.ErrorContains != "" {
		words = append(words, `with "`+f.ErrorContains+`" in their error`)
	}
	if !f.After.IsZero() {
		words = append(words, "since "+f.After.Local().Format(time.DateTime))
	}
	if !f.Before.IsZero() {
		words = append(words, "until "+f.Before.Local().Format(time.DateTime))
	}
	return strings.Join(words, " ")
}

// countLimit is how many matching steps are counted before it is enough to say
// that there are more.
const countLimit = 10_000

// count returns how many steps a filter chooses now, at most countLimit, and
// whether there are more. allowed are the states that the operation can change.
func (p *program) count(ctx context.Context, client *queue.Client, f *queue.Filter, allowed ...cyclone.StepState) (n int, more bool, err error) {
	if f.State != "" {
		allowed = []cyclone.StepState{f.State}
	}
	if !narrows(f) {
		return countIndexes(ctx, client, f.Queue, allowed)
	}
	bar := p.progress()
	defer bar.done()
	seen := 0
	for _, state := range allowed {
		q := queue.ListQuery{Queue: f.Queue, State: state}
		for {
			page, err := client.List(ctx, q)
			if err != nil {
				return n, false, err
			}
			for _, s := range page.Steps {
				if matches(f, s) {
					n++
				}
			}
			seen += len(page.Steps)
			bar.tell("counting: looked at %d steps, %d match", seen, n)
			if n >= countLimit {
				return n, true, nil
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
	}
	return n, false, nil
}

func countIndexes(ctx context.Context, client *queue.Client, name string, states []cyclone.StepState) (n int, more bool, err error) {
	queues, err := client.Queues(ctx)
	if err != nil {
		return 0, false, err
	}
	for _, q := range queues {
		if name != "" && q.Name != name {
			continue
		}
		for _, state := range states {
			n += int(q.Counts[state])
		}
	}
	return n, false, nil
}
