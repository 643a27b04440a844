package wire

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cyclone-queue/cyclone/retry"
)

// Class tells what kind of definition a step comes from.
type Class uint8

// The classes.
const (
	ClassAction Class = iota // a handler without output
	ClassStep                // a handler with an output
	ClassTask                // a handler that may record steps of its own
)

// String returns "action", "step" or "task".
func (c Class) String() string {
	return [...]string{"action", "step", "task"}[min(c, ClassTask)]
}

// MaxAttempts is the number of attempts when nothing else is said.
func (c Class) MaxAttempts() int {
	if c == ClassTask {
		return retry.DefaultTaskAttempts
	}
	return retry.DefaultMaxAttempts
}

// Retention is how long a completed step is kept when nothing else is said.
func (c Class) Retention() time.Duration {
	if c == ClassAction {
		return 0
	}
	return time.Hour
}

// Definition is what an action, a step or a task is made of. It is fixed once
// it is built; only Invoke may be set later, before it is registered.
type Definition struct {
	Name    string
	Class   Class
	Aliases []string // former names under which steps may still be stored
	Options Options
	Backoff func(attempt int) time.Duration // nil: the delay table

	LostSet   bool // CountLost was given; otherwise only tasks count
	CountLost bool // a lost attempt counts as a failed one
	LostCap   int  // 0: DefaultLostCap

	// Invoke runs the handler once. ctx is or carries (under [ContextKey]) the
	// attempt's Context; decode fills the pointer it gets with the step's input.
	// An error of decode comes back as a *[DecodeError]. out is nil for an action.
	// Invoke is nil when the definition is only declared.
	Invoke func(ctx context.Context, decode func(any) error) (out any, err error)

	faults []error
}

// Reject notes that an option was bad; Validate reports it.
func (d *Definition) Reject(err error) { d.faults = append(d.faults, err) }

// Validate returns nil, or one error that names everything that is bad.
func (d *Definition) Validate() error {
	v := verdict{bad: slices.Clone(d.faults)}
	v.add(CheckName("name", d.Name))
	v.add(d.Options.Validate())
	if d.Backoff != nil && d.Options.Set.Has(FieldDelays) {
		v.add(errors.New("backoff and delays: give one of them, not both"))
	}
	v.number("number of aliases", len(d.Aliases), 0, MaxAliases)
	for i, alias := range d.Aliases {
		v.add(CheckName("alias", alias))
		if alias == d.Name || slices.Contains(d.Aliases[:i], alias) {
			v.add(fmt.Errorf("alias %q: given twice, or the name itself", alias))
		}
	}
	return v.err()
}

// CountsLost reports whether a lost attempt counts as a failed one.
func (d *Definition) CountsLost() bool {
	if d.LostSet {
		return d.CountLost
	}
	return d.Class == ClassTask
}

// MaxLost is the number of lost attempts at which a step is discarded.
func (d *Definition) MaxLost() int {
	if d.LostCap > 0 {
		return d.LostCap
	}
	return DefaultLostCap
}

// Rule returns the retry rule of one step. given are the enqueue's own options;
// standard and jitter are the worker's defaults, whose zero fields mean the
// class's. Precedence: enqueue, definition, worker, class.
func (d *Definition) Rule(given *Options, standard retry.Policy, jitter float64) retry.Rule {
	rule := retry.Rule{MaxAttempts: d.Class.MaxAttempts(), Delays: standard.Delays, Jitter: jitter}
	switch {
	case given.Set.Has(FieldMaxAttempts):
		rule.MaxAttempts = given.MaxAttempts
	case d.Options.Set.Has(FieldMaxAttempts):
		rule.MaxAttempts = d.Options.MaxAttempts
	case standard.MaxAttempts > 0:
		rule.MaxAttempts = standard.MaxAttempts
	}
	switch {
	case given.Set.Has(FieldDelays):
		rule.Delays = given.Delays
	case d.Backoff != nil:
		rule.Backoff = d.Backoff
	case d.Options.Set.Has(FieldDelays):
		rule.Delays = d.Options.Delays
	}
	return rule
}

// DecodeError is an input that the definition cannot read. It never reaches the
// handler, and another attempt would not help.
type DecodeError struct {
	Kind string
	Err  error
}

func (e *DecodeError) Error() string { return fmt.Sprintf("decode input of %s: %v", e.Kind, e.Err) }
func (e *DecodeError) Unwrap() error { return e.Err }

// RetryMark discards the step.
func (e *DecodeError) RetryMark() retry.Mark {
	return retry.Mark{Outcome: retry.OutcomeDiscard, Code: retry.CodeDecode}
}
