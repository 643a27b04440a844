package cli

import (
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone"
)

// unfinished are the states that a cancel can change.
var unfinished = []cyclone.StepState{
	cyclone.StepScheduled, cyclone.StepReady, cyclone.StepRunning, cyclone.StepRetrying, cyclone.StepSnoozed, cyclone.StepWaiting,
}

func (p *program) cancelCommand() *urfave.Command {
	return &urfave.Command{
		Name: "cancel", Category: groupOperate, ArgsUsage: "RUN… | RUN NODE | --queue mail …",
		Usage: "end runs for good, wherever they are",
		Description: "  cyclone cancel 12345                a run, with all of its steps\n" +
			"  cyclone cancel 12345 approval       one step of a run of many, which counts as its failure\n" +
			"  cyclone cancel --queue mail --yes   every step that the flags choose\n" +
			"A running handler is told within a second; what it returns is dropped. By filter, it counts first and wants --yes or\n" +
			"the queue's name. A node that is named like a number is given with --node.",
		Flags: append([]urfave.Flag{
			&urfave.StringFlag{Name: "node", Usage: "only the step `NODE` of the run"},
		}, append(manyFlags(), yesFlag())...),
		Action: p.cancel,
	}
}

func (p *program) cancel(c *urfave.Context) error {
	if id, node, ok, err := oneNode(c); ok || err != nil {
		return p.cancelNode(c, id, node, err)
	}
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

// oneNode returns the node that the arguments name: with --node, or as the second of
// two when that is no run's id.
func oneNode(c *urfave.Context) (id cyclone.RunID, node string, ok bool, err error) {
	given := c.Args().Slice()
	switch {
	case c.IsSet("node") && len(given) != 1:
		return 0, "", false, usagef("Write it as cyclone cancel RUN --node NODE.", "cancel: --node needs one run")
	case c.IsSet("node"):
		node = c.String("node")
	case len(given) == 2:
		if _, err := cyclone.ParseRunID(given[1]); err == nil {
			return 0, "", false, nil
		}
		node = given[1]
	default:
		return 0, "", false, nil
	}
	if filtered(c) || c.IsSet("cursor") || c.Bool("dry-run") {
		return 0, "", false, usagef("Give one of them.", "cancel: a node and a filter exclude each other")
	}
	id, err = runID(given[0])
	return id, node, err == nil, err
}

// cancelNode cancels one node and tells what that means for its run.
func (p *program) cancelNode(c *urfave.Context, id cyclone.RunID, node string, err error) error {
	if err != nil {
		return err
	}
	client, err := p.connect()
	if err != nil {
		return err
	}
	if err := client.CancelNode(c.Context, id, node); err != nil {
		return p.wrongNode(c, client, id, node, err)
	}
	p.did(single{Operation: "cancel", RunID: id, Node: node}, "cancelled %s of run %v", node, id)
	if run, err := client.GetRun(c.Context, id); err == nil && !p.json {
		after := "goes on"
		if run.State.Finished() {
			after = "is " + string(run.State) + " now"
		}
		p.note("The run %s: `cyclone runs show %v`.", after, id)
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
