package retry

import (
	"errors"
	"fmt"
	"time"
)

// Marker is an error that fixes what becomes of the attempt that returned it.
// [Decide] obeys the outermost marker that [errors.As] finds; of joined errors,
// the first that has one.
type Marker interface {
	error
	// RetryMark returns the same mark on every call.
	RetryMark() Mark
}

// Mark is the verdict of a [Marker].
type Mark struct {
	// Outcome is OutcomeRetry, OutcomeSnooze or OutcomeDiscard. Any other value
	// is read as OutcomeRetry.
	Outcome Outcome
	// Delay is the wait of a snooze, and of a retry when Fixed is set.
	Delay time.Duration
	// Fixed makes Delay replace the delay of the rule.
	Fixed bool
	// Code is stored with the failure; empty means [CodeError].
	Code string
}

// marked is an error with a mark. It prints as the error it wraps, so that what
// is stored reads as the user wrote it.
type marked struct {
	err  error
	mark Mark
}

func (m *marked) RetryMark() Mark { return m.mark }
func (m *marked) Unwrap() error   { return m.err }

func (m *marked) Error() string {
	if m.err == nil {
		return fmt.Sprintf("snooze for %v", m.mark.Delay)
	}
	return m.err.Error()
}

// WithMark wraps err so that mark decides about its attempt. It returns nil when
// err is nil.
func WithMark(err error, mark Mark) error {
	if err == nil {
		return nil
	}
	return &marked{err: err, mark: mark}
}

// Permanent wraps err so that its step is discarded at once. It returns nil when
// err is nil; [errors.Is] and [errors.As] see through it.
func Permanent(err error) error {
	return WithMark(err, Mark{Outcome: OutcomeDiscard, Code: CodePermanent})
}

// After wraps err so that the next try comes after d instead of the rule's
// delay, without jitter; d of zero or less means at once. The failure still
// counts as a try. It returns nil when err is nil.
func After(err error, d time.Duration) error {
	return WithMark(err, Mark{Outcome: OutcomeRetry, Delay: d, Fixed: true, Code: CodeError})
}

// Snooze returns an error that puts the step back for d without counting an
// attempt. A d of zero or less is a permanent failure with [CodeSnoozeInvalid].
func Snooze(d time.Duration) error {
	return &marked{mark: Mark{Outcome: OutcomeSnooze, Delay: d}}
}

// markOf returns the outermost mark of err; an unmarked error is an ordinary one.
func markOf(err error) Mark {
	var m Marker
	if !errors.As(err, &m) {
		return Mark{Outcome: OutcomeRetry}
	}
	return m.RetryMark()
}
