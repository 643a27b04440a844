package cli

import (
	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
)

func (p *program) runsCommand() *urfave.Command {
	return &urfave.Command{
		Name: "runs", Category: groupLook, Usage: "show a run and its steps",
		Subcommands: []*urfave.Command{
			{Name: "show", ArgsUsage: "RUN", Usage: "show a run's state and its steps", Action: p.runsShow},
		},
	}
}

// runView is a run for programs.
type runView struct {
	RunID cyclone.RunID    `json:"run_id"`
	State cyclone.RunState `json:"state"`
	Steps []step           `json:"steps"`
}

var runColours = map[cyclone.RunState]terminal.Colour{
	cyclone.RunRunning: terminal.Busy, cyclone.RunCompleted: terminal.Good, cyclone.RunFailed: terminal.Bad, cyclone.RunCancelled: terminal.Dim,
}

func (p *program) runsShow(c *urfave.Context) error {
	client, given, err := p.connected(c, 1, 1)
	if err != nil {
		return err
	}
	id, err := runID(given[0])
	if err != nil {
		return err
	}
	run, err := client.GetRun(c.Context, id)
	if err != nil {
		return err
	}
	if p.json {
		v := runView{RunID: run.ID, State: run.State, Steps: []step{}}
		for _, s := range run.Steps {
			v.Steps = append(v.Steps, stepOf(s))
		}
		p.object(v)
		return nil
	}
	p.printf("run %v %s\n", run.ID, p.paint.Paint(runColours[run.State], string(run.State)))
	p.stepTable(run.Steps)
	return nil
}
