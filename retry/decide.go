package retry

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// Outcome is what becomes of a step when an attempt has ended.
type Outcome uint8

const (
	// OutcomeComplete ends the step successfully.
	OutcomeComplete Outcome = iota
	// OutcomeRetry makes the step wait for its next attempt.
	OutcomeRetry
	// OutcomeSnooze makes the step wait for the same attempt again.
	OutcomeSnooze
	// OutcomeDiscard ends the step as failed.
	OutcomeDiscard
)

// String returns the verb: "complete", "retry", "snooze" or "discard".
func (o Outcome) String() string {
	switch o {
	case OutcomeComplete:
		return "complete"
	case OutcomeRetry:
		return "retry"
	case OutcomeSnooze:
		return "snooze"
	case OutcomeDiscard:
		return "discard"
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}

// Decision is the answer of [Decide].
type Decision struct {
	// Outcome says what becomes of the step.
	Outcome Outcome
	// Delay is the wait before the next claim, from 0 to [MaxDelay]. It is 0
	// unless Outcome is OutcomeRetry or OutcomeSnooze.
	Delay time.Duration
	// Code classifies the failure; empty for OutcomeComplete and OutcomeSnooze.
	Code string
	// Counts tells whether the attempt used up one of the step's attempts.
	Counts bool
	// Fault is set when the rule's Backoff panicked or returned a negative wait;
	// the delay is then the default table's. It is for a log, not for the step.
	Fault error
}

// Decide says what becomes of a step whose attempt with the given 1-based
// ordinal returned err.
//
// It is total: every combination of arguments has an answer, and nothing
// overflows. An ordinal below 1 is read as 1. dice is a random number from
// [0, 1); it is used for the jitter of the table's delays only, never for
// Backoff's results, RetryAfter's or Snooze's.
func Decide(rule Rule, ordinal int, err error, dice float64) Decision {
	if err == nil {
		return Decision{Outcome: OutcomeComplete}
	}
	mark := markOf(err)
	switch mark.Outcome {
	case OutcomeSnooze:
		if mark.Delay <= 0 {
			return Decision{Outcome: OutcomeDiscard, Code: CodeSnoozeInvalid, Counts: true}
		}
		return Decision{Outcome: OutcomeSnooze, Delay: clamp(mark.Delay)}
	case OutcomeDiscard:
		return Decision{Outcome: OutcomeDiscard, Code: cmp.Or(mark.Code, CodeError), Counts: true}
	}
	d := Decision{Outcome: OutcomeRetry, Code: cmp.Or(mark.Code, CodeError), Counts: true}
	switch {
	case ordinal >= rule.attempts():
		d.Outcome = OutcomeDiscard
	case mark.Fixed:
		d.Delay = clamp(mark.Delay)
	default:
		d.Delay, d.Fault = rule.wait(max(ordinal, 1), dice)
	}
	return d
}

// wait is the rule's own delay after the failed attempt.
func (r Rule) wait(attempt int, dice float64) (time.Duration, error) {
	if r.Backoff == nil {
		return vary(r.table(attempt), r.Jitter, dice), nil
	}
	d, fault := call(r.Backoff, attempt)
	if fault != nil {
		return vary(Rule{}.table(attempt), DefaultJitter, dice), fault
	}
	return clamp(d), nil
}

// errNegative is the usual sign of a shift or a product that has overflowed.
var errNegative = errors.New("backoff returned a negative wait")

// call runs the user's function; it must not take the worker down with it.
func call(backoff func(int) time.Duration, attempt int) (d time.Duration, fault error) {
	defer func() {
		if v := recover(); v != nil {
			fault = fmt.Errorf("backoff panicked: %v", v)
		}
	}()
	if d = backoff(attempt); d < 0 {
		return 0, fmt.Errorf("%w: %v for attempt %d", errNegative, d, attempt)
	}
	return d, nil
}
