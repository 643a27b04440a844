package cli

import (
	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
	"github.com/cyclone-queue/cyclone/queue"
)

func (p *program) queuesCommand() *urfave.Command {
	return &urfave.Command{
		Name: "queues", Category: groupLook, ArgsUsage: "[QUEUE]", Usage: "list the queues and what is in them",
		Description: "`oldest` is how long ago the step that is next in line was enqueued. Blocked steps are in no queue yet: `cyclone runs show`.",
		Action:      p.queues,
	}
}

// queueView is a queue for programs.
type queueView struct {
	Name   string `json:"name"`
	Paused bool   `json:"paused"`
	// Counts has every state but blocked, zero or not.
	Counts             map[cyclone.StepState]int64 `json:"counts"`
	OldestReadySeconds float64                     `json:"oldest_ready_seconds"`
}

func queueOf(q queue.QueueInfo) queueView {
	v := queueView{Name: q.Name, Paused: q.Paused, Counts: make(map[cyclone.StepState]int64, len(indexed)), OldestReadySeconds: q.OldestReady.Seconds()}
	for _, s := range indexed {
		v.Counts[s] = q.Counts[s]
	}
	return v
}

func (p *program) queues(c *urfave.Context) error {
	client, given, err := p.connected(c, 0, 1)
	if err != nil {
		return err
	}
	all, err := client.Queues(c.Context)
	if err != nil {
		return err
	}
	if len(given) == 1 {
		q, err := pick(all, given[0])
		if err != nil {
			return err
		}
		all = []queue.QueueInfo{q}
	}
	if p.json {
		for _, q := range all {
			p.object(queueOf(q))
		}
		return nil
	}
	if len(all) == 0 {
		p.note("No queue has had a step yet. `cyclone enqueue KIND` makes one; `cyclone demo` shows how it looks.")
		return nil
	}
	p.queueTable(all)
	return nil
}

// pick returns the queue with a name.
func pick(all []queue.QueueInfo, name string) (queue.QueueInfo, error) {
	names := make([]string, len(all))
	for i, q := range all {
		if q.Name == name {
			return q, nil
		}
		names[i] = q.Name
	}
	next := "`cyclone queues` lists them."
	if near := nearest(name, names); near != "" {
		next = "Did you mean " + near + "? " + next
	}
	return queue.QueueInfo{}, &failure{exit: ExitNotFound, text: "there is no queue " + name, next: next}
}

func (p *program) queueTable(all []queue.QueueInfo) {
	shown := []cyclone.StepState{
		cyclone.StepReady, cyclone.StepRunning, cyclone.StepScheduled, cyclone.StepRetrying, cyclone.StepSnoozed, cyclone.StepWaiting,
		cyclone.StepCompleted, cyclone.StepExhausted, cyclone.StepCancelled,
	}
	t := terminal.Table{Columns: []terminal.Column{{Title: "queue"}}}
	for _, s := range shown {
		t.Columns = append(t.Columns, terminal.Column{Title: string(s), Right: true})
	}
	t.Columns = append(t.Columns, terminal.Column{Title: "oldest", Right: true}, terminal.Column{})
	for _, q := range all {
		row := []terminal.Cell{text(q.Name)}
		for _, s := range shown {
			row = append(row, number(q.Counts[s], stateColours[s]))
		}
		oldest, paused := terminal.Cell{Text: "·", Colour: terminal.Dim}, terminal.Cell{}
		if q.OldestReady > 0 {
			oldest = text(terminal.Duration(q.OldestReady))
		}
		if q.Paused {
			paused = terminal.Cell{Text: "paused", Colour: terminal.Warn}
		}
		t.Add(append(row, oldest, paused)...)
	}
	p.table(&t)
}
