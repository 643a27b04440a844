package cli

import (
	"fmt"
	"time"

	urfave "github.com/urfave/cli/v2"
)

func (p *program) rescheduleCommand() *urfave.Command {
	return &urfave.Command{
		Name: "reschedule", Category: groupOperate, ArgsUsage: "RUN", Usage: "give a step that waits for its time another time",
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "in", Usage: "start `DURATION` from now: 90s, 2h, 3d"},
			&urfave.StringFlag{Name: "at", Usage: "start at `TIME`: 2026-02-03T10:30:00Z, or local: \"2026-02-03 10:30\""},
		},
		Action: p.reschedule,
	}
}

func (p *program) reschedule(c *urfave.Context) error {
	given, err := args(c, 1, 1)
	if err != nil {
		return err
	}
	id, err := runID(given[0])
	if err != nil {
		return err
	}
	at, err := p.due(c)
	if err != nil {
		return err
	}
	client, err := p.connect()
	if err != nil {
		return err
	}
	if err := client.Reschedule(c.Context, id, at); err != nil {
		return err
	}
	p.did(single{Operation: "reschedule", RunID: id}, "run %v starts at %s", id, p.moment(at))
	return nil
}

// due reads --in and --at.
func (p *program) due(c *urfave.Context) (time.Time, error) {
	in, at := c.String("in"), c.String("at")
	switch {
	case (in == "") == (at == ""):
		return time.Time{}, usagef("For example: --in 2h, or --at 2026-02-03T10:30:00Z.", "%s: give either --in or --at", c.Command.Name)
	case in != "":
		d, ok := parseSpan(in)
		if !ok {
			return time.Time{}, usagef("Write 90s, 2h or 3d.", "--in %q is not a duration", in)
		}
		return p.now().Add(d), nil
	}
	t, ok := parseTime(at)
	if !ok {
		return time.Time{}, usagef("Write 2026-02-03T10:30:00Z, or in local time \"2026-02-03 10:30\".", "--at %q is not a time", at)
	}
	return t, nil
}

// manyNext leads to the steps of a run.
const manyNext = "`cyclone runs show %v` shows where it stands."

func (p *program) runNowCommand() *urfave.Command {
	return &urfave.Command{
		Name: "run-now", Category: groupOperate, ArgsUsage: "RUN", Usage: "start a scheduled, retrying or snoozed step at once",
		Action: p.runNow,
	}
}

func (p *program) runNow(c *urfave.Context) error {
	client, given, err := p.connected(c, 1, 1)
	if err != nil {
		return err
	}
	id, err := runID(given[0])
	if err != nil {
		return err
	}
	if run, err := client.GetRun(c.Context, id); err != nil {
		return err
	} else if run.Dependencies != nil {
		return refusedf(fmt.Sprintf(manyNext, id), "run %v has many steps: they start when those that they depend on have ended", id)
	}
	if err := client.RunNow(c.Context, id); err != nil {
		return err
	}
	p.did(single{Operation: "run-now", RunID: id}, "run %v is ready", id)
	return nil
}
