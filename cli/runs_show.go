package cli

import (
	"context"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
	"github.com/cyclone-queue/cyclone/queue"
)

// runView is a run for programs.
type runView struct {
	RunID      cyclone.RunID    `json:"run_id"`
	Name       string           `json:"name"`
	State      cyclone.RunState `json:"state"`
	EnqueuedAt time.Time        `json:"enqueued_at,omitzero"`
	FinishedAt time.Time        `json:"finished_at,omitzero"`
	Steps      []runStep        `json:"steps"`
}

// runStep is a step of a run for programs.
type runStep struct {
	step
	// DependsOn are the nodes that it depends on.
	DependsOn []string `json:"depends_on,omitempty"`
	// Awaits are the signals that a waiting step waits for.
	Awaits []string `json:"awaits,omitempty"`
}

func (p *program) runsShow(c *urfave.Context) error {
	if picked := c.Bool("mermaid"); picked && c.Bool("dot") || p.json && (picked || c.Bool("dot")) {
		return usagef("", "--mermaid, --dot and --json exclude each other")
	}
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
	v := &runSight{run: &run}
	if v.awaits, err = awaited(c.Context, client, run.ID, run.Steps...); err != nil {
		return err
	}
	atLeast := foldFrom
	if c.Bool("full") {
		atLeast, v.full = 0, true
	}
	v.fold(atLeast)
	switch {
	case p.json:
		p.object(v.forPrograms())
	case c.Bool("mermaid"):
		p.mermaid(v)
	case c.Bool("dot"):
		p.dot(v)
	default:
		p.showRun(v)
	}
	return nil
}

// awaited returns for which signals each node waits. It asks only when one of the
// steps waits.
func awaited(ctx context.Context, client *queue.Client, id cyclone.RunID, steps ...cyclone.StepInfo) (map[string][]string, error) {
	for i := range steps {
		if steps[i].State == cyclone.StepWaiting {
			return client.Awaited(ctx, id)
		}
	}
	return nil, nil
}

func (v *runSight) forPrograms() runView {
	out := runView{
		RunID: v.run.ID, Name: v.run.Name, State: v.run.State, EnqueuedAt: utc(v.run.EnqueuedAt), FinishedAt: utc(v.run.FinishedAt), Steps: []runStep{},
	}
	for i, s := range v.run.Steps {
		one := runStep{step: stepOf(s)}
		if s.State == cyclone.StepWaiting {
			one.Awaits = v.awaits[s.Node]
		}
		for _, d := range v.deps(i) {
			one.DependsOn = append(one.DependsOn, v.run.Steps[d].Node)
		}
		out.Steps = append(out.Steps, one)
	}
	return out
}

func (p *program) showRun(v *runSight) {
	run := v.run
	state := p.paint.Paint(runColours[run.State], string(run.State))
	if run.Dependencies == nil {
		p.printf("run %v %s\n", run.ID, state)
		p.stepTable(run.Steps)
		p.nextForRun(v)
		return
	}
	p.printf("run %v  %s  %s", run.ID, p.paint.Paint(terminal.Bold, terminal.Clean(run.Name)), state)
	var about []string
	if !run.EnqueuedAt.IsZero() {
		about = append(about, "enqueued "+p.ago(run.EnqueuedAt))
	}
	if !run.FinishedAt.IsZero() {
		about = append(about, "ended "+p.ago(run.FinishedAt)+", after "+terminal.Duration(max(run.FinishedAt.Sub(run.EnqueuedAt), 0)))
	}
	about = append(about, terminal.Plural(len(run.Steps), "step", "steps"))
	p.printf("%s%s\n", p.paint.Paint(terminal.Dim, strings.Join(about, " · ")+": "), p.counts(v.count(nil), "  "))
	p.tree(v)
	p.nextForRun(v)
}

// nextForRun says what one can do about a run.
func (p *program) nextForRun(v *runSight) {
	var discarded, waiting []string // nodes, and signals
	for _, s := range v.run.Steps {
		switch s.State {
		case cyclone.StepExhausted:
			discarded = append(discarded, s.Node)
		case cyclone.StepWaiting:
			waiting = append(waiting, signalsOf(v.awaits[s.Node])...)
		}
	}
	switch {
	case len(discarded) == 1:
		p.hint("Open it again with `cyclone retry %v %s`.", v.run.ID, discarded[0])
	case len(discarded) > 1:
		p.hint("Open them again with `cyclone retry %v --all`, or one with `cyclone retry %[1]v %s`.", v.run.ID, discarded[0])
	case len(waiting) > 0:
		p.hint("Send the signal with `cyclone signal %v %s --json '…'`.", v.run.ID, waiting[0])
	}
}

// signalsOf leaves out the ends of child runs, which come by themselves.
func signalsOf(names []string) (signals []string) {
	for _, n := range names {
		if !isChild(n) {
			signals = append(signals, n)
		}
	}
	return signals
}

// isChild tells the name of a recorded child run from that of a signal.
func isChild(name string) bool { return strings.Contains(name, "#") }

// awaitText says what a waiting step waits for.
func (p *program) awaitText(s cyclone.StepInfo, names []string) string {
	var parts []string
	for _, n := range names {
		if child, _, ok := strings.Cut(n, "#"); ok {
			parts = append(parts, "the run "+child)
		} else {
			parts = append(parts, "the signal "+n)
		}
	}
	text := ""
	if len(parts) > 0 {
		text = "for " + strings.Join(parts, " or ")
	}
	switch left := p.ahead(s.DueAt); {
	case s.DueAt.IsZero():
		return text
	case text == "":
		return "wakes " + left
	default:
		return text + ", gives up " + left
	}
}
