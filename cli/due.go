package cli

import (
	"errors"
	"fmt"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

func (p *program) rescheduleCommand() *urfave.Command {
	return &urfave.Command{
		Name: "reschedule", Category: groupOperate, ArgsUsage: "RUN [NODE]", Usage: "give a step that waits for its time another time",
		Description: "A sleep then ends at that time, and a wait for a signal times out. " + oneStepOf,
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "in", Usage: "start `DURATION` from now: 90s, 2h, 3d"},
			&urfave.StringFlag{Name: "at", Usage: "start at `TIME`: 2026-02-03T10:30:00Z, or local: \"2026-02-03 10:30\""},
			nodeFlag(),
		},
		Action: p.reschedule,
	}
}

// oneStepOf says how a step of a run of many is named.
const oneStepOf = "Of a run of many steps, name one."

func nodeFlag() urfave.Flag {
	return &urfave.StringFlag{Name: "node", Usage: "the step `NODE` of the run"}
}

// givenStep reads RUN, and NODE as the second argument or with --node; it is empty where
// none is given.
func givenStep(c *urfave.Context) (id cyclone.RunID, node string, err error) {
	most := 2
	if c.IsSet("node") {
		node, most = c.String("node"), 1
	}
	given, err := args(c, 1, most)
	if err != nil {
		return 0, "", err
	}
	if len(given) == 2 {
		node = given[1]
	}
	id, err = runID(given[0])
	return id, node, err
}

func (p *program) reschedule(c *urfave.Context) error {
	id, node, err := givenStep(c)
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
	if node == "" {
		err = client.Reschedule(c.Context, id, at)
	} else {
		err = client.RescheduleNode(c.Context, id, node, at)
	}
	if err != nil {
		return p.wrongTime(c, client, id, node, err)
	}
	p.did(single{Operation: "reschedule", RunID: id, Node: node}, "%s starts at %s", stepName(id, node), p.moment(at))
	return nil
}

// stepName is a step as the commands answer it.
func stepName(id cyclone.RunID, node string) string {
	if node == "" {
		return fmt.Sprintf("run %v", id)
	}
	return fmt.Sprintf("%s of run %v", node, id)
}

// wrongTime explains why a step gets no other time.
func (p *program) wrongTime(c *urfave.Context, client *queue.Client, id cyclone.RunID, node string, err error) error {
	switch {
	case errors.Is(err, queue.ErrManySteps):
		return refusedf(fmt.Sprintf(manyNext, id), "run %v has many steps, and has no time of its own: name one of them", id)
	case errors.Is(err, queue.ErrAwaitsSignal):
		return refusedf(fmt.Sprintf("`cyclone signal %v NAME` sends one.", id), "%v", err)
	case errors.Is(err, queue.ErrBlocked), errors.Is(err, queue.ErrNotWaiting):
		return refusedf(fmt.Sprintf(manyNext, id), "%v", err)
	case node == "":
		return err
	}
	return p.wrongNode(c, client, id, node, err)
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
		Name: "run-now", Category: groupOperate, ArgsUsage: "RUN [NODE]", Usage: "start a step that waits for its time at once",
		Description: "It goes on as though its time had come: a sleep is over, a wait for a signal times out. " + oneStepOf,
		Flags:       []urfave.Flag{nodeFlag()},
		Action:      p.runNow,
	}
}

func (p *program) runNow(c *urfave.Context) error {
	id, node, err := givenStep(c)
	if err != nil {
		return err
	}
	client, err := p.connect()
	if err != nil {
		return err
	}
	if node == "" {
		err = client.RunNow(c.Context, id)
	} else {
		err = client.RunNodeNow(c.Context, id, node)
	}
	if err != nil {
		return p.wrongTime(c, client, id, node, err)
	}
	p.did(single{Operation: "run-now", RunID: id, Node: node}, "%s is ready", stepName(id, node))
	return nil
}
