package queue

import (
	"slices"

	"github.com/cyclone-queue/cyclone"
)

// nodeTransitions are those of a node of a run of many steps that single steps do not
// have, or have otherwise.
var nodeTransitions = slices.Concat(
	[]Transition{
		{"", "build", "it depends on nothing", cyclone.StepReady, "build"},
		{"", "build", "it depends on nothing, due later", cyclone.StepScheduled, "build"},
		{"", "build", "it depends on others", cyclone.StepBlocked, "build"},

		{cyclone.StepBlocked, "advance", "the last that it waits for completes", cyclone.StepReady, "advance"},
		{cyclone.StepBlocked, "advance", "the last that it waits for completes, due later", cyclone.StepScheduled, "advance"},
		{cyclone.StepBlocked, "sweep", "it waits for nothing more", cyclone.StepReady, "sweep"},
		{cyclone.StepBlocked, "sweep", "it waits for nothing more, due later", cyclone.StepScheduled, "sweep"},

		{cyclone.StepRunning, "complete", "", cyclone.StepCompleted, "advance"},
		{cyclone.StepRunning, "discard", "", cyclone.StepExhausted, "advance"},

		{cyclone.StepExhausted, "retry", "by an operator", cyclone.StepReady, "sweep"},
		{cyclone.StepCancelled, "retry", "by an operator", cyclone.StepReady, "sweep"},
		{cyclone.StepCancelled, "retry", "with what had cancelled it", cyclone.StepReady, "sweep"},
		{cyclone.StepCancelled, "retry", "with what had cancelled it, due later", cyclone.StepScheduled, "sweep"},
		{cyclone.StepCancelled, "retry", "with what had cancelled it, and it waits for others", cyclone.StepBlocked, "sweep"},
	},
	each("cancel", "by an operator, with its run or because of a failure", cyclone.StepCancelled, "sweep", unended...),
	each("delete", "", cyclone.StepCancelled, "delete", append(slices.Clone(unended), cyclone.StepExhausted)...),
	each("purge", "", cyclone.StepCancelled, "purge", waitingStates...),
	each("forget", "with its run, when that has ended", "", "forget", cyclone.StepCompleted, cyclone.StepExhausted, cyclone.StepCancelled),
)

// waitingStates are those that a purge takes, and unended all of a node that has not
// ended.
var (
	waitingStates = []cyclone.StepState{
		cyclone.StepScheduled, cyclone.StepReady, cyclone.StepRetrying, cyclone.StepSnoozed, cyclone.StepWaiting,
	}
	unended = append(slices.Clone(waitingStates), cyclone.StepRunning, cyclone.StepBlocked)
)

// each is the same way from several states.
func each(verb, when string, to cyclone.StepState, script string, from ...cyclone.StepState) (list []Transition) {
	for _, state := range from {
		list = append(list, Transition{state, verb, when, to, script})
	}
	return list
}

// NodeTransitions returns the transitions of a node of a run of many steps by the verbs
// of which a single step has none, or another. By all other verbs of [Transitions],
// claim, fail, snooze, release, suspend, signal, reap and promote, it goes as a single
// step does. A node that is deleted or purged counts as cancelled: its run goes on
// without it.
func NodeTransitions() []Transition { return slices.Clone(nodeTransitions) }
