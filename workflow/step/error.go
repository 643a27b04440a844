package step

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/record"
	"github.com/cyclone-queue/cyclone/retry"
)

var (
	// ErrTimeout is matched by the [Error] of a wait whose signal did not come in
	// time. The run goes on if its handler does.
	ErrTimeout = errors.New("step: no signal in time")
	// ErrNoTask is returned by a recorded step whose context is not that of a task's
	// handler, nor derived from it. Nothing was run.
	ErrNoTask = errors.New("the context is not that of a task's handler")
	// ErrNested is returned by a recorded step inside the function of another one.
	// Nothing was run. Call steps one after the other, or use [Parallel].
	ErrNested = errors.New("it is inside the function of another recorded step")
)

// Error is a recorded step that has failed for good. It is recorded like a result:
// whenever the handler runs again, the same Error comes back.
//
// A handler that returns it fails its run without a retry. One that goes on may run
// more steps, to fall back or to undo.
//
// Because it outlives its program's memory, Err is what is stored of the function's
// error, from the first time on: its text. [errors.Is] finds [ErrTimeout],
// [context.DeadlineExceeded], [context.Canceled], [cyclone.ErrNotFound] and
// [cyclone.ErrCancelled] in it, and [errors.As] the [cyclone.RunError] of a child
// run. Tell other errors apart by Code: [retry.WithMark] sets it.
type Error struct {
	// Step is the step's name, and Occurrence how often the handler had used it, from 1.
	Step       string
	Occurrence int
	// Attempts is the number of tries that were used.
	Attempts int
	// Code classifies the failure, see package retry.
	Code string
	// Err is the last error as it is stored.
	Err error
}

// Error tells step, tries and the last error.
func (e *Error) Error() string {
	name := e.Step
	if e.Occurrence > 1 {
		name += "#" + strconv.Itoa(e.Occurrence)
	}
	switch e.Attempts {
	case 0:
		return fmt.Sprintf("step %s: %v", name, e.Err)
	case 1:
		return fmt.Sprintf("step %s failed: %v", name, e.Err)
	}
	return fmt.Sprintf("step %s failed after %d tries: %v", name, e.Attempts, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// RetryMark discards the step of a handler that returns the error.
func (e *Error) RetryMark() retry.Mark {
	return retry.Mark{Outcome: retry.OutcomeDiscard, Code: e.Code}
}

// lasting are errors that a stored failure still matches, by their bit in its marks.
// The order is part of what is stored.
var lasting = [...]error{
	context.DeadlineExceeded, context.Canceled, ErrTimeout, cyclone.ErrNotFound, cyclone.ErrCancelled,
}

// marksOf returns which lasting errors err matches.
func marksOf(err error) (marks uint64) {
	for i, target := range lasting {
		if errors.Is(err, target) {
			marks |= 1 << i
		}
	}
	return marks
}

// stored is what a failure's error has become.
type stored struct {
	text  string
	marks uint64
}

func (s *stored) Error() string { return s.text }

func (s *stored) Is(target error) bool {
	for i, known := range lasting {
		if target == known {
			return s.marks&(1<<i) != 0
		}
	}
	return false
}

// failureOf describes the error of a step for the journal.
func failureOf(err error, code string, attempts int) *record.Outcome {
	o := &record.Outcome{Kind: record.Failure, Code: code, Message: err.Error(), Attempts: attempts, Marks: marksOf(err)}
	var run *cyclone.RunError
	if errors.As(err, &run) && run.RunID > 0 {
		o.Run, o.State, o.Node = int64(run.RunID), string(run.State), run.Node
	}
	return o
}

// errorOf makes the error of a recorded failure.
func (c *call) errorOf(o *record.Outcome) *Error {
	e := &Error{Step: c.name, Occurrence: c.occurrence, Attempts: o.Attempts, Code: o.Code, Err: &stored{o.Message, o.Marks}}
	if o.Run != 0 {
		e.Err = &childError{stored{o.Message, o.Marks}, &cyclone.RunError{
			RunID: cyclone.RunID(o.Run), State: cyclone.RunState(o.State), Node: o.Node, Code: o.Code, Attempts: o.Attempts, Message: o.Message,
		}}
	}
	return e
}

// childError is a failure with the end of a child run in it.
type childError struct {
	stored
	run *cyclone.RunError
}

func (e *childError) Unwrap() error { return e.run }
