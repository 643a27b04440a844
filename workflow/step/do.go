package step

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/record"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/retry"
)

// Do runs fn once and records what it returns: whenever the handler runs again, Do
// returns the recorded result and does not run fn. The result is encoded by the
// client's codec, and what Do returns is decoded from it, the first time too.
//
// When fn returns an error it is tried again by the task's policy, or the one that
// [Retry] gives; every step counts its own tries. A try that has to wait ends the
// attempt, and Do does not return; see the package comment. [cyclone.Permanent],
// [cyclone.Snooze] and [cyclone.RetryAfter] work as in a handler. With the tries used
// up, and at once for a permanent error, a panic, or a result that cannot be encoded,
// Do records the failure and returns an [*Error].
//
// fn may run again when its worker dies before the result is recorded: make its
// effect idempotent. The context that it gets is ctx, in which no other recorded step
// can begin. When ctx is done before fn starts, Do returns an ordinary error and
// records nothing. When the attempt is ended from outside while fn runs, an error of
// fn does not count, and Do does not return.
//
// [ErrNoTask], [ErrNested], a name that is none (see package cyclone) and the 10,001st
// record of a task are mistakes of the program: they fail the run when the handler
// returns them. Do is safe for concurrent use; see [Parallel].
func Do[T any](ctx context.Context, name string, fn func(ctx context.Context) (T, error), opts ...Option) (T, error) {
	var none T
	c, err := enter(ctx, name)
	if err != nil {
		return none, err
	}
	defer c.journal.End()
	rule, err := ruleOf(c.journal.Rule(), opts)
	if err == nil && fn == nil {
		err = errNilFunc
	}
	if err != nil {
		return none, misuse(name, err)
	}
	if o, ok, err := c.recorded(); ok {
		if err != nil {
			return none, err
		}
		return settle[T](c, &o)
	}
	tries := c.tries()
	if err := c.alive(); err != nil {
		return none, err
	}
	out, err := try(c, fn)
	if err != nil {
		return none, c.failed(rule, tries, err)
	}
	return finish(c, tries, out)
}

var errNilFunc = errors.New("the function is nil")

// errGoexit is a try that ended its goroutine.
var errGoexit = errors.New("the step's function called runtime.Goexit")

// try runs the function once.
func try[T any](c *call, fn func(context.Context) (T, error)) (out T, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			err = c.panicked(v)
			return
		}
		// The goroutine ends. Unless a step further in has suspended the attempt, that
		// was the function's own doing, and the next attempt gets to see it.
		if !c.journal.Suspended() {
			_ = c.fail(failureOf(errGoexit, retry.CodePanic, c.tries().Used+1))
		}
	}()
	out, err = fn(context.WithValue(c.ctx, wire.JournalKey{}, nested{}))
	returned = true
	return out, err
}

// panicked is the error of a function that has panicked. The stack goes to the log.
func (c *call) panicked(v any) error {
	if ctx, ok := cyclone.FromContext(c.ctx); ok {
		ctx.Logger().Error("cyclone: recorded step panicked", "step", c.id, "panic", v, "stack", string(debug.Stack()))
	}
	err, ok := v.(error)
	if !ok {
		err = fmt.Errorf("%v", v)
	}
	return retry.WithMark(fmt.Errorf("panic: %w", err), retry.Mark{Outcome: retry.OutcomeDiscard, Code: retry.CodePanic})
}

// finish records the result and returns what every later attempt will see.
func finish[T any](c *call, tries record.Tries, out T) (T, error) {
	var same, none T
	codec, payload, err := c.journal.Encode(out)
	if err == nil {
		err = c.journal.Decode(codec, payload, &same)
	}
	if err != nil {
		return none, c.fail(failureOf(fmt.Errorf("output: %w", err), retry.CodeDecode, tries.Used+1))
	}
	if err := c.save(record.AppendValue(nil, codec, payload)); err != nil {
		return none, err
	}
	return same, nil
}

// tries returns how often the step was tried. When its next try is not due, because
// something else has brought the task back, it suspends.
func (c *call) tries() record.Tries {
	b, ok := c.journal.Entry(wire.EntryTries, c.id)
	if !ok {
		return record.Tries{}
	}
	tries, err := record.DecodeTries(b)
	if err != nil {
		return record.Tries{}
	}
	if tries.DueMS > c.journal.NowMS() {
		c.journal.Suspend(wire.Suspension{State: wire.SuspendedRetrying, DueMS: tries.DueMS})
	}
	return tries
}

// failed decides about a try that has failed. It returns only when that was the last.
func (c *call) failed(rule retry.Rule, tries record.Tries, err error) error {
	c.journal.Yield()
	d := retry.Decide(rule, tries.Used+1, err, c.journal.Dice())
	if d.Code == retry.CodeError && c.ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded) {
		d.Code = retry.CodeTimeout
	}
	due := c.journal.NowMS() + milliseconds(d.Delay)
	switch d.Outcome {
	case retry.OutcomeRetry:
		c.later(wire.Suspension{State: wire.SuspendedRetrying, Err: fmt.Errorf("step %s: %w", c.id, err), Code: d.Code},
			record.Tries{Used: tries.Used + 1, DueMS: due, Error: err.Error()})
	case retry.OutcomeSnooze:
		c.later(wire.Suspension{State: wire.SuspendedSnoozed}, record.Tries{Used: tries.Used, DueMS: due, Error: tries.Error})
	}
	return c.fail(failureOf(err, d.Code, tries.Used+1))
}

// later suspends the attempt until the next try.
func (c *call) later(s wire.Suspension, tries record.Tries) {
	s.DueMS = tries.DueMS
	s.Entries = []wire.Entry{{Kind: wire.EntryTries, ID: c.id, Value: tries.Append(nil)}}
	c.journal.Suspend(s)
}

// milliseconds rounds up: nothing starts before its time.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
