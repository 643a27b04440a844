package cli

import (
	"io"
	"os"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone"
)

func (p *program) enqueueCommand() *urfave.Command {
	return &urfave.Command{
		Name: "enqueue", Category: groupOperate, ArgsUsage: "KIND --json '…'",
		Usage: "enqueue a step with an input in JSON",
		Description: "It prints the run's id. The program that defines the kind need not be at hand: its defaults for attempts, timeout and\n" +
			"the like apply in the worker. Here --json is the input; to get the result as JSON say `cyclone --json enqueue …`.",
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "json", Value: "null", Usage: "the input as `JSON`; @FILE reads a file, - standard input"},
			&urfave.StringFlag{Name: "queue", Usage: "into the queue `NAME`", DefaultText: "default"},
			&urfave.StringFlag{Name: "priority", Usage: "`WHICH`: high, default or low", DefaultText: "default"},
			&urfave.StringFlag{Name: "in", Usage: "start `DURATION` from now"},
			&urfave.StringFlag{Name: "at", Usage: "start at `TIME`"},
			&urfave.StringFlag{Name: "expires-in", Usage: "discard it when it has not started `DURATION` from now"},
			&urfave.IntFlag{Name: "max-attempts", Usage: "try it `N` times in all", DefaultText: "as defined"},
			&urfave.DurationFlag{Name: "timeout", Usage: "limit each attempt to `DURATION`", DefaultText: "as defined"},
			&urfave.DurationFlag{Name: "retention", Usage: "keep it for `DURATION` after it has completed", DefaultText: "as defined"},
			&urfave.StringFlag{Name: "unique-key", Usage: "only if no unfinished step holds `KEY`; else print the holder's run"},
			&urfave.StringFlag{Name: "request-key", Usage: "enqueue once for `KEY`, however often the command is repeated within a day"},
			&urfave.StringSliceFlag{Name: "meta", Usage: "attach `KEY=VALUE`; may be repeated"},
			&urfave.BoolFlag{Name: "wait", Usage: "wait until the run has ended", DisableDefaultText: true},
		},
		Action: p.enqueue,
	}
}

// enqueued is a new run for programs.
type enqueued struct {
	RunID    cyclone.RunID `json:"run_id"`
	Kind     string        `json:"kind"`
	Existing bool          `json:"existing"`
	// State is there after --wait.
	State cyclone.RunState `json:"state,omitempty"`
}

func (p *program) enqueue(c *urfave.Context) error {
	given, err := args(c, 1, 1)
	if err != nil {
		return err
	}
	kind := given[0]
	input, err := p.input(c.String("json"))
	if err != nil {
		return err
	}
	opts, err := p.enqueueOptions(c)
	if err != nil {
		return err
	}
	if err := checkEnqueue(c.Context, kind, input, opts); err != nil {
		return err
	}
	client, err := p.connect()
	if err != nil {
		return err
	}
	run, err := cyclone.EnqueueJSON(c.Context, client, kind, input, opts...)
	if err != nil {
		if run == nil {
			return err
		}
		p.note("The run would be %v.", run.ID())
		return err
	}
	out := enqueued{RunID: run.ID(), Kind: kind, Existing: run.Existing()}
	if c.Bool("wait") {
		if err := run.Wait(c.Context); err != nil {
			return err
		}
		out.State = cyclone.RunCompleted
	}
	if p.json {
		p.object(out)
		return nil
	}
	p.printf("%v", run.ID())
	if run.Existing() {
		p.note("It was there before: nothing new was enqueued.")
	}
	return nil
}

// maxInput bounds what is read; the library's own limit is lower.
const maxInput = 4 << 20

// input returns the JSON that the flag means.
func (p *program) input(value string) ([]byte, error) {
	var from io.Reader
	switch file, isFile := strings.CutPrefix(value, "@"); {
	case value == "-":
		from = p.In
	case isFile:
		f, err := os.Open(file)
		if err != nil {
			return nil, usagef("", "--json: %v", err)
		}
		defer f.Close()
		from = f
	default:
		return []byte(value), nil
	}
	b, err := io.ReadAll(io.LimitReader(from, maxInput))
	if err != nil {
		return nil, usagef("", "--json: %v", err)
	}
	return b, nil
}

func (p *program) enqueueOptions(c *urfave.Context) ([]cyclone.EnqueueOption, error) {
	var opts []cyclone.EnqueueOption
	add := func(name string, opt func() cyclone.EnqueueOption) {
		if c.IsSet(name) {
			opts = append(opts, opt())
		}
	}
	add("queue", func() cyclone.EnqueueOption { return cyclone.WithQueue(c.String("queue")) })
	add("max-attempts", func() cyclone.EnqueueOption { return cyclone.WithMaxAttempts(c.Int("max-attempts")) })
	add("timeout", func() cyclone.EnqueueOption { return cyclone.WithTimeout(c.Duration("timeout")) })
	add("retention", func() cyclone.EnqueueOption { return cyclone.WithRetention(c.Duration("retention")) })
	add("unique-key", func() cyclone.EnqueueOption { return cyclone.WithUnique(cyclone.Unique{Key: c.String("unique-key")}) })
	add("request-key", func() cyclone.EnqueueOption { return cyclone.WithRequestKey(c.String("request-key")) })
	if c.IsSet("priority") {
		priority, err := parsePriority(c.String("priority"))
		if err != nil {
			return nil, err
		}
		opts = append(opts, cyclone.WithPriority(priority))
	}
	if c.IsSet("in") || c.IsSet("at") {
		at, err := p.due(c)
		if err != nil {
			return nil, err
		}
		if c.IsSet("in") {
			opts = append(opts, cyclone.WithDelay(at.Sub(p.now()).Round(time.Millisecond)))
		} else {
			opts = append(opts, cyclone.WithStartAt(at))
		}
	}
	if c.IsSet("expires-in") {
		d, ok := parseSpan(c.String("expires-in"))
		if !ok {
			return nil, usagef("Write 90s, 2h or 3d.", "--expires-in %q is not a duration", c.String("expires-in"))
		}
		opts = append(opts, cyclone.WithExpiry(d))
	}
	for _, pair := range c.StringSlice("meta") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, usagef("Write it as --meta key=value.", "--meta %q has no =", pair)
		}
		opts = append(opts, cyclone.WithMeta(key, value))
	}
	return opts, nil
}

func parsePriority(text string) (cyclone.Priority, error) {
	for _, p := range []cyclone.Priority{cyclone.High, cyclone.Default, cyclone.Low} {
		if text == p.String() {
			return p, nil
		}
	}
	return 0, usagef("Use high, default or low.", "--priority %q is not a priority", text)
}
