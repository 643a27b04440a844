package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
)

// step is a step for programs. Counts are always there, times and texts when
// they apply.
type step struct {
	RunID         cyclone.RunID     `json:"run_id"`
	Node          string            `json:"node"`
	Kind          string            `json:"kind"`
	Queue         string            `json:"queue"`
	Priority      string            `json:"priority"`
	State         cyclone.StepState `json:"state"`
	Attempts      int               `json:"attempts"`
	MaxAttempts   int               `json:"max_attempts"` // 0: the worker's definition decides
	Error         string            `json:"error,omitempty"`
	Code          string            `json:"code,omitempty"`
	EnqueuedAt    time.Time         `json:"enqueued_at,omitzero"`
	DueAt         time.Time         `json:"due_at,omitzero"`
	FinishedAt    time.Time         `json:"finished_at,omitzero"`
	Worker        string            `json:"worker,omitempty"`
	Snoozes       int               `json:"snoozes"`
	LostStarted   int               `json:"lost_started"`
	LostUnstarted int               `json:"lost_unstarted"`
	Interruptions int               `json:"interruptions"`
}

func stepOf(s cyclone.StepInfo) step {
	return step{
		RunID: s.RunID, Node: s.Node, Kind: s.Kind, Queue: s.Queue, Priority: s.Priority.String(), State: s.State,
		Attempts: s.Attempts, MaxAttempts: s.MaxAttempts, Error: s.Error, Code: s.Code,
		EnqueuedAt: utc(s.EnqueuedAt), DueAt: utc(s.DueAt), FinishedAt: utc(s.FinishedAt), Worker: s.Worker,
		Snoozes: s.Snoozes, LostStarted: s.LostStarted, LostUnstarted: s.LostUnstarted, Interruptions: s.Interruptions,
	}
}

// states are all states, in the order in which a step goes through them.
var states = []cyclone.StepState{
	cyclone.StepBlocked, cyclone.StepWaiting, cyclone.StepScheduled, cyclone.StepReady, cyclone.StepRunning,
	cyclone.StepRetrying, cyclone.StepSnoozed, cyclone.StepCompleted, cyclone.StepExhausted, cyclone.StepCancelled,
}

// indexed are the states that lists and operations on many steps can choose. A
// blocked step is in no queue yet: its run knows it.
var indexed = states[1:]

var stateNames, indexedNames = namesOf(states), namesOf(indexed)

func namesOf[S ~string](all []S) []string {
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = string(s)
	}
	return names
}

// parseState reads a state's name; empty means any.
func parseState(text string) (cyclone.StepState, error) {
	switch {
	case text == string(cyclone.StepBlocked):
		return "", usagef("`cyclone runs list --state running` lists the runs that have such steps, `cyclone runs show RUN` shows them.",
			"--state blocked cannot be chosen: a blocked step is in no queue yet")
	case text != "" && !slices.Contains(indexedNames, text):
		next := "There is: " + strings.Join(indexedNames, ", ") + "."
		if near := nearest(text, indexedNames); near != "" {
			next = "Did you mean " + near + "? " + next
		}
		return "", usagef(next, "--state %q is not a state", text)
	}
	return cyclone.StepState(text), nil
}

// stateColours say at a glance how it stands with a step.
var stateColours = map[cyclone.StepState]terminal.Colour{
	cyclone.StepReady: terminal.Plain, cyclone.StepRunning: terminal.Busy, cyclone.StepRetrying: terminal.Warn,
	cyclone.StepSnoozed: terminal.Wait, cyclone.StepScheduled: terminal.Wait, cyclone.StepWaiting: terminal.Wait, cyclone.StepBlocked: terminal.Dim,
	cyclone.StepCompleted: terminal.Good,
	cyclone.StepExhausted: terminal.Bad, cyclone.StepCancelled: terminal.Dim,
}

func stateCell(s cyclone.StepState) terminal.Cell {
	return terminal.Cell{Text: terminal.Clean(string(s)), Colour: stateColours[s]}
}

// attempts shows "2 of 5", or "2" when the worker's definition sets the limit.
func attempts(s cyclone.StepInfo) string {
	if s.MaxAttempts > 0 {
		return fmt.Sprintf("%d of %d", s.Attempts, s.MaxAttempts)
	}
	return fmt.Sprint(s.Attempts)
}

// when shows the time that matters most about a step, as seen from now.
func (p *program) when(s cyclone.StepInfo) string {
	switch {
	case !s.FinishedAt.IsZero():
		return p.ago(s.FinishedAt)
	case !s.DueAt.IsZero():
		return p.ahead(s.DueAt)
	case !s.EnqueuedAt.IsZero():
		return p.ago(s.EnqueuedAt)
	}
	return ""
}

func (p *program) ago(t time.Time) string {
	return terminal.Duration(max(p.now().Sub(t), 0)) + " ago"
}

func (p *program) ahead(t time.Time) string {
	if d := t.Sub(p.now()); d > 0 {
		return "in " + terminal.Duration(d)
	}
	return "now"
}

// moment shows a time in full, and how far away it is.
func (p *program) moment(t time.Time) string {
	away := p.ago(t)
	if t.After(p.now()) {
		away = p.ahead(t)
	}
	return t.Local().Format("2006-01-02 15:04:05.000 MST") + "  (" + away + ")"
}

// stepTable lists steps.
func (p *program) stepTable(steps []cyclone.StepInfo) {
	t := terminal.Table{Columns: []terminal.Column{
		{Title: "run", Right: true}, {Title: "node"}, {Title: "queue"}, {Title: "state"}, {Title: "attempts"}, {Title: "when"}, {Title: "error"},
	}}
	for _, s := range steps {
		t.Add(text(s.RunID.String()), text(s.Node), text(s.Queue), stateCell(s.State), text(attempts(s)), text(p.when(s)), text(s.Error))
	}
	p.table(&t)
}
