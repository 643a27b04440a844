package queue

import (
	"slices"

	"github.com/cyclone-queue/cyclone"
)

// Transition is one way of a step from state to state.
type Transition struct {
	// From is the state before, "" for a step that does not exist yet.
	From cyclone.StepState
	// Verb is what happens and When the condition under which it leads To, "" when
	// there is one way only.
	Verb, When string
	// To is the state after, "" when nothing is left of the step.
	To cyclone.StepState
	// Script is the file of package luascripts that makes the transition.
	Script string
}

// transitions are all there are: what is not here leaves a step as it is.
var transitions = []Transition{
	{"", "enqueue", "due at once", cyclone.StepReady, "enqueue"},
	{"", "enqueue", "due later", cyclone.StepScheduled, "enqueue"},
	{"", "enqueue", "alone, to a worker that offers a slot", cyclone.StepRunning, "enqueue"},

	{cyclone.StepScheduled, "promote", "its time has come", cyclone.StepReady, "turn"},
	{cyclone.StepRetrying, "promote", "its time has come", cyclone.StepReady, "turn"},
	{cyclone.StepSnoozed, "promote", "its time has come", cyclone.StepReady, "turn"},
	{cyclone.StepWaiting, "promote", "its time has come", cyclone.StepReady, "turn"},
	{cyclone.StepScheduled, "promote", "by an operator", cyclone.StepReady, "reschedule"},
	{cyclone.StepRetrying, "promote", "by an operator", cyclone.StepReady, "reschedule"},
	{cyclone.StepSnoozed, "promote", "by an operator", cyclone.StepReady, "reschedule"},
	{cyclone.StepWaiting, "promote", "by an operator", cyclone.StepReady, "reschedule"},
	{cyclone.StepScheduled, "replace", "due at once, never claimed", cyclone.StepReady, "enqueue"},

	{cyclone.StepReady, "claim", "", cyclone.StepRunning, "turn"},

	{cyclone.StepRunning, "complete", "its result is kept", cyclone.StepCompleted, "turn"},
	{cyclone.StepRunning, "complete", "nothing is kept", "", "turn"},
	{cyclone.StepRunning, "fail", "attempts are left", cyclone.StepRetrying, "turn"},
	{cyclone.StepRunning, "discard", "", cyclone.StepExhausted, "turn"},
	{cyclone.StepRunning, "snooze", "", cyclone.StepSnoozed, "turn"},
	{cyclone.StepRunning, "release", "not started or interrupted", cyclone.StepReady, "turn"},
	{cyclone.StepRunning, "release", "not for this worker", cyclone.StepScheduled, "turn"},
	{cyclone.StepRunning, "complete", "its result is kept", cyclone.StepCompleted, "advance"},
	{cyclone.StepRunning, "complete", "nothing is kept", "", "advance"},
	{cyclone.StepRunning, "discard", "", cyclone.StepExhausted, "advance"},
	{cyclone.StepRunning, "suspend", "for a time or a signal", cyclone.StepWaiting, "suspend"},
	{cyclone.StepRunning, "suspend", "its signal is there", cyclone.StepReady, "suspend"},
	{cyclone.StepRunning, "fail", "a recorded step has tries left", cyclone.StepRetrying, "suspend"},
	{cyclone.StepRunning, "snooze", "by a recorded step", cyclone.StepSnoozed, "suspend"},
	{cyclone.StepWaiting, "signal", "it waits for this one", cyclone.StepReady, "signal"},
	{cyclone.StepRunning, "reap", "first lost lease", cyclone.StepReady, "turn"},
	{cyclone.StepRunning, "reap", "later lost lease", cyclone.StepRetrying, "turn"},

	{cyclone.StepScheduled, "cancel", "", cyclone.StepCancelled, "cancel"},
	{cyclone.StepReady, "cancel", "", cyclone.StepCancelled, "cancel"},
	{cyclone.StepRunning, "cancel", "", cyclone.StepCancelled, "cancel"},
	{cyclone.StepRetrying, "cancel", "", cyclone.StepCancelled, "cancel"},
	{cyclone.StepSnoozed, "cancel", "", cyclone.StepCancelled, "cancel"},
	{cyclone.StepWaiting, "cancel", "", cyclone.StepCancelled, "cancel"},

	{cyclone.StepExhausted, "retry", "", cyclone.StepReady, "revive"},
	{cyclone.StepCancelled, "retry", "", cyclone.StepReady, "revive"},

	{cyclone.StepCompleted, "trim", "", "", "trim"},
	{cyclone.StepExhausted, "trim", "", "", "trim"},
	{cyclone.StepCancelled, "trim", "", "", "trim"},

	{cyclone.StepScheduled, "purge", "", "", "purge"},
	{cyclone.StepReady, "purge", "", "", "purge"},
	{cyclone.StepRetrying, "purge", "", "", "purge"},
	{cyclone.StepSnoozed, "purge", "", "", "purge"},
	{cyclone.StepWaiting, "purge", "", "", "purge"},

	{cyclone.StepScheduled, "delete", "", "", "delete"},
	{cyclone.StepReady, "delete", "", "", "delete"},
	{cyclone.StepRunning, "delete", "", "", "delete"},
	{cyclone.StepRetrying, "delete", "", "", "delete"},
	{cyclone.StepSnoozed, "delete", "", "", "delete"},
	{cyclone.StepWaiting, "delete", "", "", "delete"},
	{cyclone.StepCompleted, "delete", "", "", "delete"},
	{cyclone.StepExhausted, "delete", "", "", "delete"},
	{cyclone.StepCancelled, "delete", "", "", "delete"},
}

// Transitions returns every transition of a single step. A pair of state and verb
// that it does not have changes nothing. The scripts are tested against it, and
// docs/states.md is drawn from it.
func Transitions() []Transition { return slices.Clone(transitions) }
