package cli

import (
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
)

// deletable are the states that a delete reaches.
var deletable = append(slices.Clone(unfinished), cyclone.StepCompleted, cyclone.StepExhausted, cyclone.StepCancelled)

func (p *program) deleteCommand() *urfave.Command {
	return &urfave.Command{
		Name: "delete", Category: groupOperate, ArgsUsage: "RUN… | --state discarded …",
		Usage:       "remove steps with all that is kept of them, in any state",
		Description: "It cannot be undone. It wants --yes, or the run's id or the queue's name to be typed, and counts first.",
		Flags:       append(manyFlags(), yesFlag()),
		Action:      p.delete,
	}
}

func (p *program) delete(c *urfave.Context) error {
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
		return p.all(c, client, many{verb: "delete", done: "deleted", states: deletable, confirmed: true, run: client.DeleteMatching}, f)
	}
	word := ids[0].String()
	if len(ids) > 1 {
		word = "delete"
		p.note("%s will be deleted.", terminal.Plural(len(ids), "run", "runs"))
	} else if run, err := client.GetRun(c.Context, ids[0]); err != nil {
		return err
	} else {
		steps := ""
		if len(run.Steps) > 1 {
			steps = " with its " + terminal.Plural(len(run.Steps), "step", "steps")
		}
		p.note("Run %v, which is %s, will be deleted%s.", run.ID, run.State, steps)
	}
	if err := p.confirm(c.Bool("yes"), word); err != nil {
		return err
	}
	for _, id := range ids {
		if err := client.Delete(c.Context, id); err != nil {
			return err
		}
		p.did(single{Operation: "delete", RunID: id}, "deleted run %v", id)
	}
	return nil
}
