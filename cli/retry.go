package cli

import (
	"context"
	"fmt"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

func (p *program) retryCommand() *urfave.Command {
	return &urfave.Command{
		Name: "retry", Category: groupOperate, ArgsUsage: "RUN NODE | RUN --all | --state discarded …",
		Usage: "open discarded steps again, with what their failure had cancelled",
		Description: "  cyclone retry 12345 send_email                    one step of a run\n" +
			"  cyclone retry 12345 --all                         every discarded step of a run\n" +
			"  cyclone retry --kind send_email --error timeout   every discarded step that the flags choose\n" +
			"Each gets one more attempt, or as many as --attempts says, at once. In a run of many steps what its failure had cancelled\n" +
			"comes back, and what has completed does not run again. Cancelled steps are opened with --state cancelled.",
		Flags: append([]urfave.Flag{
			&urfave.BoolFlag{Name: "all", Usage: "every discarded step of the run", DisableDefaultText: true},
			&urfave.IntFlag{Name: "attempts", Usage: "give each step `N` more attempts", DefaultText: "1"},
			&urfave.StringFlag{Name: "reason", Usage: "`TEXT` for the step's history"},
		}, manyFlags()...),
		Action: p.retry,
	}
}

func (p *program) retry(c *urfave.Context) error {
	given, err := args(c, 0, 2)
	if err != nil {
		return err
	}
	usage := "`cyclone retry --help` shows the three ways to say which steps."
	all, byFilter := c.Bool("all"), filtered(c) || c.IsSet("cursor") || c.Bool("dry-run")
	var opts []cyclone.RetryOption
	if c.IsSet("attempts") {
		opts = append(opts, cyclone.RetryAdditionalAttempts(c.Int("attempts")))
	}
	if reason := c.String("reason"); reason != "" {
		opts = append(opts, cyclone.RetryReason(reason))
	}
	if n := c.Int("attempts"); c.IsSet("attempts") && n < 1 {
		return usagef("", "--attempts is %d: must be at least 1", n)
	}
	switch {
	case len(given) == 0 && all:
		return usagef("Name the run: cyclone retry 12345 --all; or choose by filter, such as --state discarded.", "retry: --all needs a run")
	case len(given) == 0 && byFilter:
		return p.retryMany(c, opts)
	case len(given) == 0:
		return usagef(usage, "retry: which steps?")
	case byFilter:
		return usagef(usage, "retry: a run and a filter exclude each other")
	case len(given) == 1 && !all:
		return usagef(fmt.Sprintf("Name the node: cyclone retry %s NODE; or all of them: cyclone retry %[1]s --all.", given[0]), "retry: which step of the run?")
	case len(given) == 2 && all:
		return usagef(usage, "retry: a node and --all exclude each other")
	}
	id, err := runID(given[0])
	if err != nil {
		return err
	}
	client, err := p.connect()
	if err != nil {
		return err
	}
	node := ""
	if !all {
		node = given[1]
	}
	return p.retryRun(c, client, id, node, opts)
}

func (p *program) retryMany(c *urfave.Context, opts []cyclone.RetryOption) error {
	f, err := p.filter(c)
	if err != nil {
		return err
	}
	if f.State == "" {
		f.State = cyclone.StepExhausted
	}
	if f.State != cyclone.StepExhausted && f.State != cyclone.StepCancelled {
		return usagef("To start one that waits at once, use `cyclone run-now RUN`.", "retry: only discarded and cancelled steps can be opened again, not %s ones", f.State)
	}
	client, err := p.connect()
	if err != nil {
		return err
	}
	return p.all(c, client, many{
		verb: "retry", done: "retried", states: []cyclone.StepState{f.State},
		run: func(ctx context.Context, f queue.Filter, progress func(queue.Progress)) (queue.Progress, error) {
			return client.RetryMatching(ctx, f, progress, opts...)
		},
	}, f)
}
