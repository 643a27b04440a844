package cyclone

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrLeaseLost is the cause of an attempt's Context when its lease ended
	// before the attempt did. Another worker may run the step by now; nothing
	// that this attempt returns is stored.
	ErrLeaseLost = errors.New("cyclone: lease lost")
	// ErrCancelled is the cause of an attempt's Context when the step was
	// cancelled; whatever the handler returns, the step stays cancelled. It also
	// matches the [RunError] of a cancelled run.
	ErrCancelled = errors.New("cyclone: cancelled")
	// ErrShutdown is the cause of an attempt's Context when its worker stops and
	// has waited long enough. The step is given back, and no attempt is counted.
	ErrShutdown = errors.New("cyclone: worker is shutting down")
	// ErrNotFound is returned when there is no such run or step, or when nothing
	// is kept of it any more.
	ErrNotFound = errors.New("cyclone: not found")
	// ErrNotDiscarded is returned when a step that is not discarded is to be
	// retried. Nothing has changed.
	ErrNotDiscarded = errors.New("cyclone: step is not discarded")
	// ErrUnknownOutcome is returned when a call was sent but its answer never
	// came, however often it was asked again. It has had its effect once or not
	// at all. Enqueue under a unique or request key to be able to try again.
	ErrUnknownOutcome = errors.New("cyclone: outcome unknown")
	// ErrNotReplicated is returned when fewer replicas than WaitReplicas asked
	// for have confirmed in time. The step is stored on the primary.
	ErrNotReplicated = errors.New("cyclone: not confirmed by enough replicas")
)

var (
	errNilOption    = errors.New("option is nil")
	errRunOption    = errors.New("a run of many steps takes WithUnique, WithMeta, WithRetention and WaitReplicas, and no other option")
	errEmptyRequest = errors.New("empty request: use With of an action, a step or a task")
	errHandled      = errors.New("there is a handler already")
)

// RunError is how a run ended that did not complete. It is made from what is
// stored, so it wraps no error of the handler. [ErrCancelled] matches it when
// the run was cancelled.
type RunError struct {
	RunID RunID
	// State is RunFailed or RunCancelled.
	State RunState
	// Node is the step that decided it.
	Node string
	// Attempts is the number of attempts that this step has had.
	Attempts int
	// Code classifies the failure, see package retry; Message is its text.
	Code    string
	Message string
}

// Error tells run, state, node and the stored message.
func (e *RunError) Error() string {
	s := fmt.Sprintf("cyclone: run %v %s", e.RunID, e.State)
	if e.Node != "" {
		s += fmt.Sprintf(" at %s after %d attempts", e.Node, e.Attempts)
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

// Is matches [ErrCancelled] with a cancelled run.
func (e *RunError) Is(target error) bool {
	return target == ErrCancelled && e.State == RunCancelled
}

// DuplicateError is returned by an enqueue with the conflict rule [Reject] whose
// unique key is held. Nothing was written for it.
type DuplicateError struct {
	// Key is the unique key; empty when the input is the key.
	Key string
	// Holder is the run that holds it.
	Holder RunID
}

// Error tells the key and its holder.
func (e *DuplicateError) Error() string {
	return fmt.Sprintf("cyclone: duplicate: unique key %q is held by run %v", e.Key, e.Holder)
}

// BatchError tells which requests of a batch failed. errors.Is and errors.As see
// every single error.
type BatchError struct {
	// Errors has one entry per request, in order, nil for those that succeeded.
	Errors []error
}

// shownErrors is how many of a batch's errors its text spells out.
const shownErrors = 3

// Error counts the failures and spells out the first three.
func (e *BatchError) Error() string {
	failed := 0
	var text strings.Builder
	for i, err := range e.Errors {
		if err == nil {
			continue
		}
		if failed++; failed <= shownErrors {
			fmt.Fprintf(&text, "; request %d: %v", i, err)
		}
	}
	if failed > shownErrors {
		text.WriteString("; …")
	}
	return fmt.Sprintf("%d of %d requests failed%s", failed, len(e.Errors), text.String())
}

// Unwrap returns the errors of the requests that failed.
func (e *BatchError) Unwrap() []error {
	var failed []error
	for _, err := range e.Errors {
		if err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}
