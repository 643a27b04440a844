package cli

import (
	"slices"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
	"github.com/cyclone-queue/cyclone/queue"
)

func (p *program) runsCommand() *urfave.Command {
	return &urfave.Command{
		Name: "runs", Category: groupLook, Usage: "list runs of many steps, or show a run and its steps",
		Subcommands: []*urfave.Command{
			{
				Name: "list", Usage: "list runs of many steps by state and workflow",
				Description: "Those that have not ended come first, and then those that have. Runs of one step are in `cyclone steps list`.",
				Flags: []urfave.Flag{
					&urfave.StringFlag{Name: "state", Usage: "only runs in `STATE`: " + strings.Join(runStateNames, ", ")},
					&urfave.StringFlag{Name: "name", Usage: "only runs of the workflow `NAME`"},
					&urfave.IntFlag{Name: "limit", Value: 50, Usage: "list at most `N` runs, 0 for all"},
					&urfave.StringFlag{Name: "cursor", Usage: "go on at `CURSOR`, where a list ended"},
				},
				Action: p.runsList,
			},
			{
				Name: "show", ArgsUsage: "RUN", Usage: "show a run's state and its steps, as a tree",
				Description: "A step stands below the last of those that it depends on. Many steps that are alike share a line, which counts them.",
				Flags: []urfave.Flag{
					&urfave.BoolFlag{Name: "full", Usage: "give every step a line of its own", DisableDefaultText: true},
					&urfave.BoolFlag{Name: "mermaid", Usage: "print the graph for Mermaid", DisableDefaultText: true},
					&urfave.BoolFlag{Name: "dot", Usage: "print the graph for Graphviz", DisableDefaultText: true},
				},
				Action: p.runsShow,
			},
		},
	}
}

// runStates are all states of a run.
var runStates = []cyclone.RunState{cyclone.RunRunning, cyclone.RunCompleted, cyclone.RunFailed, cyclone.RunCancelled}

var runStateNames = namesOf(runStates)

var runColours = map[cyclone.RunState]terminal.Colour{
	cyclone.RunRunning: terminal.Busy, cyclone.RunCompleted: terminal.Good, cyclone.RunFailed: terminal.Bad, cyclone.RunCancelled: terminal.Dim,
}

// parseRunState reads a state's name; empty means any.
func parseRunState(text string) (cyclone.RunState, error) {
	if text != "" && !slices.Contains(runStateNames, text) {
		next := "There is: " + strings.Join(runStateNames, ", ") + "."
		if near := nearest(text, runStateNames); near != "" {
			next = "Did you mean " + near + "? " + next
		} else if slices.Contains(stateNames, text) {
			next += " That is a state of steps: `cyclone steps list --state " + text + "`."
		}
		return "", usagef(next, "--state %q is not a state of runs", text)
	}
	return cyclone.RunState(text), nil
}

// runSummary is a run in short, for programs.
type runSummary struct {
	RunID cyclone.RunID    `json:"run_id"`
	Name  string           `json:"name"`
	State cyclone.RunState `json:"state"`
	// Steps is the number of its steps, Left of those that have not ended.
	Steps      int       `json:"steps"`
	Left       int       `json:"left"`
	EnqueuedAt time.Time `json:"enqueued_at,omitzero"`
	FinishedAt time.Time `json:"finished_at,omitzero"`
}

func (p *program) runsList(c *urfave.Context) error {
	q := queue.RunQuery{Name: c.String("name"), Cursor: c.String("cursor")}
	var err error
	if q.State, err = parseRunState(c.String("state")); err != nil {
		return err
	}
	if q.Name != "" {
		if err := checkName("workflow", q.Name); err != nil {
			return err
		}
	}
	limit := c.Int("limit")
	if limit < 0 {
		return usagef("", "--limit is %d: must not be negative", limit)
	}
	client, _, err := p.connected(c, 0, 0)
	if err != nil {
		return err
	}
	n, next, err := p.listRuns(c, client, q, limit)
	if err != nil {
		return err
	}
	if next != "" {
		if p.json {
			p.writeJSON(p.Err, moreSteps{More: true, Cursor: next})
		}
		p.note("There are more: --cursor %s goes on, --limit 0 lists all.", next)
	}
	if n == 0 {
		words := "No run of many steps"
		if q.Name != "" {
			words += " of " + q.Name
		}
		if q.State != "" {
			words += " is " + string(q.State)
		}
		p.note("%s. Steps that were enqueued by themselves are in `cyclone steps list`.", words)
	}
	return nil
}

// listRuns prints runs, at most limit unless that is 0, and returns where to go on.
func (p *program) listRuns(c *urfave.Context, client *queue.Client, q queue.RunQuery, limit int) (n int, next string, err error) {
	bar := p.progress()
	defer bar.done()
	var held []queue.RunSummary // a page of the table
	flush := func() {
		if bar.done(); len(held) > 0 {
			p.runTable(held)
			held = held[:0]
		}
	}
	defer flush()
	for {
		if q.Limit = queue.MaxPage; limit > 0 {
			q.Limit = min(limit-n, queue.MaxPage)
		}
		page, err := client.ListRuns(c.Context, q)
		if err != nil {
			return n, "", err
		}
		for _, r := range page.Runs {
			if n++; p.json {
				p.object(runSummary{
					RunID: r.ID, Name: r.Name, State: r.State, Steps: r.Steps, Left: r.Left, EnqueuedAt: utc(r.EnqueuedAt), FinishedAt: utc(r.FinishedAt),
				})
				continue
			}
			held = append(held, r)
		}
		if page.Next == "" || limit > 0 && n >= limit {
			return n, page.Next, nil
		}
		q.Cursor = page.Next
		bar.tell("looking for runs: %s so far", terminal.Count(n))
		if len(held) >= queue.MaxPage {
			flush()
		}
	}
}

func (p *program) runTable(runs []queue.RunSummary) {
	t := terminal.Table{Columns: []terminal.Column{
		{Title: "run", Right: true}, {Title: "workflow"}, {Title: "state"}, {Title: "ended", Right: true}, {Title: "enqueued", Right: true}, {Title: "took", Right: true},
	}}
	for _, r := range runs {
		took := terminal.Cell{Text: "·", Colour: terminal.Dim}
		if !r.FinishedAt.IsZero() {
			took = text(terminal.Duration(max(r.FinishedAt.Sub(r.EnqueuedAt), 0)))
		}
		t.Add(text(r.ID.String()), text(r.Name), terminal.Cell{Text: terminal.Clean(string(r.State)), Colour: runColours[r.State]},
			text(terminal.Count(r.Steps-r.Left)+" of "+terminal.Count(r.Steps)), text(p.ago(r.EnqueuedAt)), took)
	}
	p.table(&t)
}
