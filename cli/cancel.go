package cli

import (
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone"
)

// unfinished are the states that a cancel can change.
var unfinished = []cyclone.StepState{
	cyclone.StepScheduled, cyclone.StepReady, cyclone.StepRunning, cyclone.StepRetrying, cyclone.StepSnoozed,
}

func (p *program) cancelCommand() *urfave.Command {
	return &urfave.Command{
		Name: "cancel", Category: groupOperate, ArgsUsage: "RUN… | --queue mail …",
		Usage: "end runs for good, wherever they are",
		Description: "A running handler is told within a second; what it returns is dropped. By filter, it counts first and wants --yes or\n" +
			"the queue's name.",
		Flags:  append(manyFlags(), yesFlag()),
		Action: p.cancel,
	}
}

func (p *program) cancel(c *urfave.Context) error {
	ids, byFilter, err := p.chosen(c)
	if err != nil {
		return err
	}
	client, err := p.connect()
	if err != nil {
		return err
	}
	if byFilter {
		f, err := p.filter(c)
		if err != nil {
			return err
		}
		if f.State != "" && !slices.Contains(unfinished, f.State) {
			return usagef("", "cancel: a step that is %s has ended", f.State)
		}
		return p.all(c, client, many{verb: "cancel", done: "cancelled", states: unfinished, confirmed: true, run: client.CancelMatching}, f)
	}
	for _, id := range ids {
		if err := client.Cancel(c.Context, id); err != nil {
			return err
		}
		p.did(single{Operation: "cancel", RunID: id}, "cancelled run %v", id)
	}
	return nil
}

// maxRuns is how many runs one command line names at most.
const maxRuns = 1000

// chosen returns the runs that the arguments name, or that a filter does.
func (p *program) chosen(c *urfave.Context) (ids []cyclone.RunID, byFilter bool, err error) {
	given, err := args(c, 0, maxRuns)
	if err != nil {
		return nil, false, err
	}
	byFilter = filtered(c) || c.IsSet("cursor") || c.Bool("dry-run")
	switch {
	case byFilter && len(given) > 0:
		return nil, false, usagef("Give one of them.", "%s: runs and a filter exclude each other", c.Command.Name)
	case !byFilter && len(given) == 0:
		return nil, false, usagef("Name runs, or choose steps: --queue, --state, --kind, --error, --since, --until.", "%s: which steps?", c.Command.Name)
	}
	for _, text := range given {
		id, err := runID(text)
		if err != nil {
			return nil, false, err
		}
		ids = append(ids, id)
	}
	return ids, byFilter, nil
}
