package cli

import (
	"fmt"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
	"github.com/cyclone-queue/cyclone/queue"
)

func (p *program) workersCommand() *urfave.Command {
	return &urfave.Command{
		Name: "workers", Category: groupLook, Usage: "list the worker processes and what they run",
		Description: "A worker that was killed stays on the list for some minutes and is shown as silent.",
		Action:      p.workers,
	}
}

// workerView is a worker for programs.
type workerView struct {
	ID          string        `json:"id"`
	Host        string        `json:"host"`
	PID         int           `json:"pid"`
	StartedAt   time.Time     `json:"started_at"`
	LastSeen    time.Time     `json:"last_seen"`
	Queues      []string      `json:"queues"`
	Concurrency int           `json:"concurrency"`
	Busy        int           `json:"busy"`
	Stopping    bool          `json:"stopping"`
	Silent      bool          `json:"silent"` // no heartbeat for a while
	Running     []runningView `json:"running"`
}

type runningView struct {
	RunID   cyclone.RunID `json:"run_id"`
	Node    string        `json:"node"`
	Kind    string        `json:"kind"`
	Queue   string        `json:"queue"`
	Attempt int           `json:"attempt"`
	Since   time.Time     `json:"since"`
}

// silent reports whether a worker has missed its heartbeats for a whole lease.
func (p *program) silent(w queue.WorkerInfo) bool {
	return p.now().Sub(w.LastSeen) > max(w.Lease, 5*time.Second)
}

func (p *program) workers(c *urfave.Context) error {
	client, _, err := p.connected(c, 0, 0)
	if err != nil {
		return err
	}
	all, err := client.Workers(c.Context)
	if err != nil {
		return err
	}
	if p.json {
		for _, w := range all {
			v := workerView{
				ID: w.ID, Host: w.Host, PID: w.PID, StartedAt: w.Started.UTC(), LastSeen: w.LastSeen.UTC(), Queues: w.Queues,
				Concurrency: w.Concurrency, Busy: w.Busy, Stopping: w.Stopping, Silent: p.silent(w), Running: []runningView{},
			}
			for _, r := range w.Running {
				v.Running = append(v.Running, runningView{RunID: r.RunID, Node: r.Node, Kind: r.Kind, Queue: r.Queue, Attempt: r.Attempt, Since: r.Since.UTC()})
			}
			p.object(v)
		}
		return nil
	}
	if len(all) == 0 {
		p.note("No worker is running. Steps wait until one is.")
		return nil
	}
	p.workerTable(all)
	return nil
}

func (p *program) workerTable(all []queue.WorkerInfo) {
	t := terminal.Table{Columns: []terminal.Column{
		{Title: "worker"}, {Title: "host"}, {Title: "pid", Right: true}, {Title: "up", Right: true}, {Title: "seen", Right: true}, {Title: "busy", Right: true}, {Title: "queues"},
	}}
	for _, w := range all {
		name, seen := text(w.ID), text(p.ago(w.LastSeen))
		switch {
		case p.silent(w):
			name.Colour, seen.Colour = terminal.Bad, terminal.Bad
			seen.Text = "silent, " + seen.Text
		case w.Stopping:
			name.Colour = terminal.Warn
			seen.Text = "stopping, " + seen.Text
		}
		busy := fmt.Sprintf("%d of %d", w.Busy, w.Concurrency)
		if p.silent(w) {
			busy = "?" // others have its steps by now, or will soon
		}
		t.Add(name, text(w.Host), text(fmt.Sprint(w.PID)), text(terminal.Duration(p.now().Sub(w.Started))), seen,
			text(busy), text(strings.Join(w.Queues, ", ")))
	}
	p.table(&t)
	p.runningTable(all)
}

func (p *program) runningTable(all []queue.WorkerInfo) {
	t := terminal.Table{Columns: []terminal.Column{
		{Title: "run", Right: true}, {Title: "node"}, {Title: "queue"}, {Title: "attempt", Right: true}, {Title: "running for", Right: true}, {Title: "worker"},
	}}
	for _, w := range all {
		if p.silent(w) {
			continue
		}
		for _, r := range w.Running {
			t.Add(text(r.RunID.String()), text(r.Node), text(r.Queue), text(fmt.Sprint(r.Attempt)), text(terminal.Duration(max(p.now().Sub(r.Since), 0))), text(w.ID))
		}
	}
	if t.Len() > 0 {
		p.printf("")
		p.table(&t)
	}
}
