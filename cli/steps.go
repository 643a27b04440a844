package cli

import (
	"encoding/json"
	"fmt"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

func (p *program) stepsCommand() *urfave.Command {
	return &urfave.Command{
		Name: "steps", Category: groupLook, Usage: "list steps, or show all that is known of one",
		Subcommands: []*urfave.Command{
			{
				Name: "list", Usage: "list steps by queue, state, kind, error and time",
				Description: "Sorted by queue and state; those that are due or next in line come first, of those that have ended the latest.",
				Flags: append(filterFlags(),
					&urfave.IntFlag{Name: "limit", Value: 50, Usage: "list at most `N` steps, 0 for all"},
					&urfave.StringFlag{Name: "cursor", Usage: "go on at `CURSOR`, where a list ended"},
				),
				Action: p.stepsList,
			},
			{
				Name: "show", ArgsUsage: "RUN [NODE]", Usage: "show a step's state, input, output and history",
				Description: "The node can be left out when the run has one step.",
				Action:      p.stepsShow,
			},
		},
	}
}

// moreSteps tells, on standard error, that a list has a next page.
type moreSteps struct {
	More   bool   `json:"more"`
	Cursor string `json:"cursor"`
}

func (p *program) stepsList(c *urfave.Context) error {
	f, err := p.filter(c)
	if err != nil {
		return err
	}
	limit := c.Int("limit")
	if limit < 0 {
		return usagef("", "--limit is %d: must not be negative", limit)
	}
	client, _, err := p.connected(c, 0, 0)
	if err != nil {
		return err
	}
	l := stepLister{p: p, filter: f, limit: limit}
	if err := l.run(c.Context, client); err != nil {
		return err
	}
	if l.next != "" {
		if p.json {
			p.writeJSON(p.Err, moreSteps{More: true, Cursor: l.next})
		}
		p.note("There are more: --cursor %s goes on, --limit 0 lists all.", l.next)
	}
	if l.n == 0 {
		p.note("No %s.", describe(&f))
	}
	return nil
}

func (p *program) stepsShow(c *urfave.Context) error {
	client, given, err := p.connected(c, 1, 2)
	if err != nil {
		return err
	}
	id, err := runID(given[0])
	if err != nil {
		return err
	}
	node := ""
	if len(given) == 2 {
		node = given[1]
	} else if node, err = p.onlyNode(c, client, id); err != nil {
		return err
	}
	detail, err := client.Step(c.Context, id, node)
	if err != nil {
		return p.wrongNode(c, client, id, node, err)
	}
	names, err := awaited(c.Context, client, id, detail.StepInfo)
	if err != nil {
		return err
	}
	if p.json {
		v := detailOf(detail)
		v.Awaits = names[detail.Node]
		p.object(v)
		return nil
	}
	p.showStep(detail, names[detail.Node])
	p.nextForStep(detail.StepInfo, names[detail.Node], p.alone(c, client, detail.StepInfo))
	return nil
}

// alone tells whether a step that waits for a time is the one of its run, so that it
// can be started at once.
func (p *program) alone(c *urfave.Context, client *queue.Client, s cyclone.StepInfo) bool {
	switch s.State {
	case cyclone.StepScheduled, cyclone.StepRetrying, cyclone.StepSnoozed:
		run, err := client.GetRun(c.Context, s.RunID)
		return err == nil && run.Dependencies == nil
	}
	return false
}

// onlyNode returns the node of a run that has one step.
func (p *program) onlyNode(c *urfave.Context, client *queue.Client, id cyclone.RunID) (string, error) {
	steps, err := client.ListSteps(c.Context, id)
	if err != nil {
		return "", err
	}
	if len(steps) != 1 {
		return "", usagef(fmt.Sprintf("`cyclone runs show %v` lists them: cyclone steps show %[1]v NODE.", id), "run %v has %d steps: name one of them", id, len(steps))
	}
	return steps[0].Node, nil
}

// wrongNode says which nodes there are when a node is not found.
func (p *program) wrongNode(c *urfave.Context, client *queue.Client, id cyclone.RunID, node string, err error) error {
	steps, listErr := client.ListSteps(c.Context, id)
	if listErr != nil || len(steps) == 0 {
		return err
	}
	names := make([]string, len(steps))
	for i, s := range steps {
		if names[i] = s.Node; s.Node == node {
			return err // it is there: something else is wrong
		}
	}
	next := fmt.Sprintf("It has: %s.", listed(names))
	if near := nearest(node, names); near != "" {
		next = "Did you mean " + near + "? " + next
	}
	return &failure{exit: ExitNotFound, text: fmt.Sprintf("run %v has no node %q", id, node), next: next, err: err}
}

// runID reads an argument.
func runID(text string) (cyclone.RunID, error) {
	id, err := cyclone.ParseRunID(text)
	if err != nil {
		return 0, usagef("A run id is a number, such as 12345; `cyclone steps list` shows them.", "%q is not a run id", text)
	}
	return id, nil
}

// payload is an input or output for programs: as JSON where that can be, else in
// base64.
type payload struct {
	Codec string          `json:"codec"`
	Size  int             `json:"size"`
	JSON  json.RawMessage `json:"json,omitempty"`
	Bytes []byte          `json:"base64,omitempty"`
}

func payloadOf(b queue.Payload) *payload {
	if b.Codec == "" {
		return nil
	}
	v := &payload{Codec: b.Codec, Size: len(b.Bytes), JSON: b.JSON}
	if b.JSON == nil {
		v.Bytes = b.Bytes
	}
	return v
}
