package queue

import (
	"encoding/json"
	"time"

	"github.com/cyclone-queue/cyclone"
)

// RunInfo is what can be seen of a run from outside.
type RunInfo struct {
	ID    cyclone.RunID
	State cyclone.RunState
	// Steps are the run's steps; a run of an action, a step or a task has one.
	Steps []cyclone.StepInfo
}

// StepDetail is all that is known of a step.
type StepDetail struct {
	cyclone.StepInfo
	// Input is what the step was enqueued with, Output what it returned; the
	// output is there while a completed step is kept.
	Input, Output Payload
	// Meta is what was attached to the step with [cyclone.WithMeta].
	Meta map[string]string
	// History tells what happened to the step so far, oldest first. It is bounded:
	// of a step that fails thousands of times the first failure and the latest
	// ones are kept.
	History []HistoryEntry
}

// Payload is an encoded input or output.
type Payload struct {
	// Codec names the codec that wrote it, "" when there is no payload.
	Codec string
	Bytes []byte
	// JSON shows it as JSON; nil when it cannot be shown so.
	JSON json.RawMessage
}

// HistoryEntry is one thing that happened to a step. What does not apply is zero.
type HistoryEntry struct {
	At time.Time
	// Type is failed, snoozed, released, lost, discarded, cancelled, retried or
	// promoted.
	Type    cyclone.EventType
	Attempt int
	Error   string
	Code    string
	Stack   string
	Worker  string
	// Delay is how long the step was made to wait after it.
	Delay time.Duration
	// Started tells of a lost lease whether the handler had entered.
	Started bool
	// Reason is the operator's, of a retry, and Additional the attempts it gave.
	Reason     string
	Additional int
}
