package cli

import (
	"context"
	"fmt"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
	"github.com/cyclone-queue/cyclone/queue"
)

// many is an operation on all steps that a filter chooses.
type many struct {
	verb, done string // retry, retried
	// states are those that it can change, confirmed whether it must be.
	states    []cyclone.StepState
	confirmed bool
	run       func(ctx context.Context, f queue.Filter, progress func(queue.Progress)) (queue.Progress, error)
}

// manyResult is how an operation on many steps ended, for programs.
type manyResult struct {
	Operation string `json:"operation"`
	DryRun    bool   `json:"dry_run,omitempty"`
	Seen      int    `json:"seen"`
	Matched   int    `json:"matched"`
	Done      int    `json:"done"`
	// Cursor is where to go on when it was stopped.
	Cursor string `json:"cursor,omitempty"`
}

// all runs the operation: it counts, asks if it must, and shows how far it is.
func (p *program) all(c *urfave.Context, client *queue.Client, m many, f queue.Filter) error {
	dry, yes := c.Bool("dry-run"), c.Bool("yes")
	total := -1
	if dry || m.confirmed || p.tty(p.Err) {
		n, more, err := p.count(c.Context, client, &f, m.states...)
		if err != nil {
			return err
		}
		total = n
		what := terminal.Plural(n, "step", "steps")
		if more {
			what = "more than " + what
		}
		if dry || m.confirmed && n > 0 {
			p.note("%s match: %s.", what, describe(&f))
		}
		if dry {
			if p.json {
				p.object(manyResult{Operation: m.verb, DryRun: true, Seen: n, Matched: n})
			}
			return nil
		}
		if m.confirmed && n > 0 {
			word := f.Queue
			if word == "" {
				word = m.verb
			}
			if err := p.confirm(yes, word); err != nil {
				return err
			}
		}
	}
	return p.allConfirmed(c.Context, m, f, total)
}

func (p *program) allConfirmed(ctx context.Context, m many, f queue.Filter, total int) error {
	bar := p.progress()
	result, err := m.run(ctx, f, func(done queue.Progress) {
		of := ""
		if total > 0 {
			of = " of about " + terminal.Count(total)
		}
		bar.tell("%s %s%s (looked at %s)", m.done, terminal.Count(done.Done), of, terminal.Count(done.Seen))
	})
	bar.done()
	if err != nil && result.Cursor != "" {
		p.note("%s %s so far; --cursor %s goes on where it stopped.", m.done, terminal.Plural(result.Done, "step", "steps"), result.Cursor)
	}
	if p.json && (err == nil || result.Cursor != "") {
		p.object(manyResult{Operation: m.verb, Seen: result.Seen, Matched: result.Matched, Done: result.Done, Cursor: result.Cursor})
	}
	if err != nil || p.json {
		return err
	}
	line := fmt.Sprintf("%s %s", m.done, terminal.Plural(result.Done, "step", "steps"))
	if left := result.Matched - result.Done; left > 0 {
		line += fmt.Sprintf("; %s had changed meanwhile or could not be", terminal.Count(left))
	}
	p.printf("%s", line)
	return nil
}

// yesFlag lets a destructive command go on without being asked.
func yesFlag() urfave.Flag {
	return &urfave.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do it without being asked", DisableDefaultText: true}
}

// single is the result of an operation on one run or queue, for programs.
type single struct {
	Operation string        `json:"operation"`
	RunID     cyclone.RunID `json:"run_id,omitempty"`
	Node      string        `json:"node,omitempty"`
	Queue     string        `json:"queue,omitempty"`
}

// did prints the result of an operation on one thing.
func (p *program) did(s single, format string, args ...any) {
	if p.json {
		p.object(s)
		return
	}
	p.printf("%s", terminal.Clean(fmt.Sprintf(format, args...)))
}
