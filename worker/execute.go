package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/retry"
)

// run takes a claim to its settlement.
func (a *attempt) run() {
	defer a.worker.handlers.Done()
	settlement, ok := a.verdict()
	if !ok {
		if a.def.CountsLost() && !a.worker.acks.confirm(a) {
			return // the lease is gone: somebody else has it, or nobody should
		}
		settlement = a.execute()
	}
	a.settle(settlement)
}

// settle queues the settlement, unless the worker has given the claim up, and
// frees the slot.
func (a *attempt) settle(s queue.Settlement) {
	w := a.worker
	w.mu.Lock()
	defer w.mu.Unlock()
	a.cancel(nil)
	if a.done {
		return
	}
	a.done = true
	w.attempts.remove(a)
	w.finish(a.part, a.claim.Queue, s)
	if w.worth(a.part) {
		w.turnable.Signal()
	}
}

// execute runs the handler and decides.
func (a *attempt) execute() queue.Settlement {
	w := a.worker
	w.mu.Lock()
	a.started = true
	w.mu.Unlock()
	var ctx cyclone.Context = a
	if d := a.timeout(); d > 0 {
		limited, cancel := context.WithTimeoutCause(a, d, errTimeout)
		defer cancel()
		ctx, _ = cyclone.FromContext(limited)
	}
	out, err, stack := a.invoke(ctx)
	return a.decide(ctx, out, err, stack)
}

// errTimeout is the cause of a context whose attempt ran too long.
var errTimeout = errors.New("attempt timed out")

// timeout returns the limit that applies: enqueue, definition, worker.
func (a *attempt) timeout() time.Duration {
	given := a.claim.Envelope.Options()
	switch {
	case given.Set.Has(wire.FieldTimeout):
		return given.Timeout
	case a.def.Options.Set.Has(wire.FieldTimeout):
		return a.def.Options.Timeout
	}
	return a.worker.cfg.Timeout
}

// errPanic and errGoexit are failures without an error of the handler.
var errGoexit = errors.New("handler called runtime.Goexit")

// invoke calls middleware and handler. A panic, and a call of runtime.Goexit,
// become failures; the latter ends this goroutine, so it settles on the way out.
func (a *attempt) invoke(ctx cyclone.Context) (out any, err error, stack string) {
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
		a.settle(a.decide(ctx, nil, retry.WithMark(errGoexit, retry.Mark{Outcome: retry.OutcomeRetry, Code: retry.CodePanic}), ""))
	}()
	call := func(inner context.Context) error {
		var err error
		out, err = a.def.Invoke(inner, a.decode)
		return err
	}
	err = chain(a.worker.cfg.Middleware, ctx, call)
	returned = true
	return out, err, ""
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
	return a.worker.client.Decode(a.claim.Envelope.Codec, a.claim.Envelope.Payload, into)
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
