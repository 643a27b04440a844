package cyclone

import "time"

// StepInfo is what can be seen of a step from outside. What does not apply is zero.
type StepInfo struct {
	RunID    RunID
	Node     string
	Kind     string
	Queue    string
	Priority Priority
	State    StepState
	// Attempts is the number of attempts so far: the failed ones, and the current
	// one of a running or completed step.
	Attempts    int
	MaxAttempts int
	// Error and Code tell of the last failure.
	Error string
	Code  string
	// DueAt is when a scheduled, retrying or snoozed step becomes ready.
	DueAt      time.Time
	EnqueuedAt time.Time
	// FinishedAt is when the step was completed, discarded or cancelled.
	FinishedAt time.Time
	// Snoozes counts how often the handler put the step back.
	Snoozes int
	// LostStarted and LostUnstarted count the leases that expired after, and
	// before, a handler had entered.
	LostStarted   int
	LostUnstarted int
	// Interruptions counts how often a worker gave the step back unfinished.
	Interruptions int
	// Worker is the worker that runs the step.
	Worker string
}
