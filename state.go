package cyclone

// StepState is where a step stands. A step is in exactly one state, and its text
// is what is stored and shown.
type StepState string

const (
	// StepBlocked waits for the nodes that it depends on.
	StepBlocked StepState = "blocked"
	// StepWaiting waits for a signal or sleeps; it holds no worker slot.
	StepWaiting StepState = "waiting"
	// StepScheduled waits for its start time.
	StepScheduled StepState = "scheduled"
	// StepReady waits for a worker.
	StepReady StepState = "ready"
	// StepRunning is held by a worker under a lease.
	StepRunning StepState = "running"
	// StepRetrying has failed and waits for its next attempt.
	StepRetrying StepState = "retrying"
	// StepSnoozed was put back by its handler and waits for the same attempt.
	StepSnoozed StepState = "snoozed"
	// StepCompleted has succeeded.
	StepCompleted StepState = "completed"
	// StepExhausted has failed for good; storage and the CLI say "discarded". An
	// operator can open it again.
	StepExhausted StepState = "discarded"
	// StepCancelled was cancelled.
	StepCancelled StepState = "cancelled"
)

// Finished reports whether the step has ended: completed, discarded or cancelled.
func (s StepState) Finished() bool {
	return s == StepCompleted || s == StepExhausted || s == StepCancelled
}

// RunState is where a run stands; its text is what is stored and shown.
type RunState string

const (
	// RunRunning has steps that are not finished.
	RunRunning RunState = "running"
	// RunCompleted has succeeded.
	RunCompleted RunState = "completed"
	// RunFailed has failed through a discarded step.
	RunFailed RunState = "failed"
	// RunCancelled was cancelled.
	RunCancelled RunState = "cancelled"
)

// Finished reports whether the run has ended.
func (s RunState) Finished() bool {
	return s == RunCompleted || s == RunFailed || s == RunCancelled
}
