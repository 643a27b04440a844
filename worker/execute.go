package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/retry"
)

// run takes a claim to its settlement.
func (a *attempt) run() queue.Settlement {
	if s, ok := a.verdict(); ok {
		return s
	}
	if a.kind.acknowledged && !a.worker.acks.confirm(a) {
		// The lease is gone or the step cancelled: Redis refuses this and tidies up.
		return queue.GiveBack(a.claim)
	}
	if a.cause() != nil {
		return queue.GiveBack(a.claim) // cancelled, or lost, before it began
	}
	return a.execute()
}

// execute runs the handler and decides.
func (a *attempt) execute() queue.Settlement {
	var ctx cyclone.Context = a
	if a.timeout > 0 {
		limited, cancel := context.WithTimeoutCause(a, a.timeout, errTimeout)
		defer cancel()
		ctx, _ = cyclone.FromContext(limited)
	}
	out, stack, err := a.invoke(ctx)
	return a.conclude(ctx, out, err, stack)
}

// errTimeout is the cause of a context whose attempt ran too long.
var errTimeout = errors.New("attempt timed out")

// errGoexit is a failure without an error of the handler.
var errGoexit = errors.New("handler called runtime.Goexit")

// invoke calls middleware and handler. A panic, and a call of runtime.Goexit,
// become failures; the latter ends this goroutine, so it settles on the way out
// and leaves the rest to another one.
func (a *attempt) invoke(ctx cyclone.Context) (out any, stack string, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			err, stack = asPanic(v), string(debug.Stack())
			return
		}
		// Goexit: nothing returns to run any more.
		s := a.conclude(ctx, nil, retry.WithMark(errGoexit, retry.Mark{Outcome: retry.OutcomeRetry, Code: retry.CodePanic}), "")
		a.worker.mu.Lock()
		defer a.worker.mu.Unlock()
		a.settle(s)
		a.worker.spawn()
	}()
	out, err = a.enter(ctx)
	returned = true
	return out, "", err
}

// enter calls the handler, through the middleware if there is any.
func (a *attempt) enter(ctx cyclone.Context) (any, error) {
	if len(a.worker.cfg.Middleware) == 0 || a.kind.builtin {
		return a.kind.Invoke(ctx, a.decode)
	}
	return a.through(a.worker.cfg.Middleware, ctx)
}

func (a *attempt) through(middleware []Middleware, ctx cyclone.Context) (out any, err error) {
	err = chain(middleware, ctx, func(inner Ctx) error {
		var err error
		out, err = a.kind.Invoke(inner, a.decode)
		return err
	})
	return out, err
}

func asPanic(v any) error {
	err, ok := v.(error)
	if !ok {
		err = fmt.Errorf("%v", v)
	}
	return retry.WithMark(fmt.Errorf("panic: %w", err), retry.Mark{Outcome: retry.OutcomeRetry, Code: retry.CodePanic})
}

// decode fills the pointer with the step's input.
func (a *attempt) decode(into any) error {
	return a.worker.store.Decode(a.claim, into)
}

// chain calls the middleware around the handler.
func chain(middleware []Middleware, ctx cyclone.Context, call func(Ctx) error) error {
	if len(middleware) == 0 {
		return call(ctx)
	}
	return middleware[0](ctx, func(inner Ctx) error {
		next, ok := cyclone.FromContext(inner)
		if !ok {
			return retry.Permanent(errors.New("worker: middleware called next with a context that is not derived from its own"))
		}
		return chain(middleware[1:], next, call)
	})
}
