package cyclone

import "time"

// EventType is what has happened to a step.
type EventType string

const (
	// EventEnqueued is a new step; its State is ready or scheduled.
	EventEnqueued EventType = "enqueued"
	// EventClaimed is a step that a worker took under a lease.
	EventClaimed EventType = "claimed"
	// EventCompleted is a step that has succeeded.
	EventCompleted EventType = "completed"
	// EventFailed is an attempt that failed; State says whether the step is
	// retrying or discarded.
	EventFailed EventType = "failed"
	// EventSnoozed is a step that its handler put back.
	EventSnoozed EventType = "snoozed"
	// EventSuspended is a task, or a node that waits, that has given its slot back until
	// a time or a signal.
	EventSuspended EventType = "suspended"
	// EventReleased is a step that its worker gave back unfinished, uncounted.
	EventReleased EventType = "released"
	// EventLost is a step whose lease expired.
	EventLost EventType = "lost"
	// EventDiscarded is a step that was discarded without a failed attempt: it
	// expired, or its workers were lost too often.
	EventDiscarded EventType = "discarded"
	// EventCancelled is a step that was cancelled.
	EventCancelled EventType = "cancelled"
	// EventRetried is a discarded step that an operator opened again.
	EventRetried EventType = "retried"
	// EventPromoted is a waiting step that became ready before its time, by an operator.
	EventPromoted EventType = "promoted"
	// EventRescheduled is a waiting step that an operator gave another time.
	EventRescheduled EventType = "rescheduled"
	// EventDeleted is a step that an operator deleted.
	EventDeleted EventType = "deleted"
	// EventFinished is a run of many steps that has ended. State is StepCompleted,
	// StepCancelled, or StepExhausted for a failed run; Node and Queue are empty.
	EventFinished EventType = "finished"
)

// StepEvent tells of one transition of one step. Events of one step come in the
// order in which they happened. What does not apply is zero.
type StepEvent struct {
	Type  EventType
	RunID RunID
	Node  string
	Kind  string
	Queue string
	// State is the state after the transition.
	State StepState
	// Attempt is the 1-based ordinal of the attempt concerned.
	Attempt int
	// Error and Code tell of a failure.
	Error string
	Code  string
	// At is when it happened, by Redis' clock.
	At time.Time
	// DueAt is when a scheduled, retrying or snoozed step becomes ready.
	DueAt time.Time
	// Worker is the worker that held, or holds, the step.
	Worker string
}

// ClientOption is an option of a client. The zero value does nothing.
type ClientOption struct{ onStepEvent func(StepEvent) }

// WithOnStepEvent calls fn for every event that the client's own process causes: its
// enqueues, the claims and settlements of its workers and what those bring about in
// runs of many steps, the expired leases that its workers take back, the steps that its
// sweeps and operations change, and the ends of runs. What other processes do, only
// subscribers hear. fn is called after the transition is stored, one call at a time per
// step; it must be safe for concurrent use and return quickly.
//
// Kind and Node of a node that was released are read from its run, once for each run,
// and those of a step whose lease has expired from the step: they are empty when that
// cannot be read. While no fn is given, none of this costs anything.
func WithOnStepEvent(fn func(StepEvent)) ClientOption { return ClientOption{onStepEvent: fn} }

// OnStepEvent returns the function to call on events, or nil.
func (o ClientOption) OnStepEvent() func(StepEvent) { return o.onStepEvent }
