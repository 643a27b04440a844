package cli

import (
	"time"

	"github.com/cyclone-queue/cyclone"
)

// event is a step event for programs.
type event struct {
	Type    cyclone.EventType `json:"type"`
	RunID   cyclone.RunID     `json:"run_id"`
	Node    string            `json:"node"`
	Kind    string            `json:"kind"`
	Queue   string            `json:"queue"`
	State   cyclone.StepState `json:"state"`
	Attempt int               `json:"attempt,omitempty"`
	Error   string            `json:"error,omitempty"`
	Code    string            `json:"code,omitempty"`
	At      time.Time         `json:"at"`
	DueAt   time.Time         `json:"due_at,omitzero"`
	Worker  string            `json:"worker,omitempty"`
}

func eventOf(e cyclone.StepEvent) event {
	return event{
		Type: e.Type, RunID: e.RunID, Node: e.Node, Kind: e.Kind, Queue: e.Queue, State: e.State, Attempt: e.Attempt,
		Error: e.Error, Code: e.Code, At: e.At.UTC(), DueAt: utc(e.DueAt), Worker: e.Worker,
	}
}

// utc leaves the zero time as it is.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}
