package worker

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// life is the cancellation of an attempt. Its context is made when somebody first
// asks for it: many handlers never do, and one for each would be the greater part
// of what a short attempt costs. Both are set once, with the worker's mutex held.
type life struct {
	context atomic.Pointer[cancellable]
	ending  atomic.Pointer[ending] // nil while it lives
}

type cancellable struct {
	context.Context
	cancel context.CancelCauseFunc
}

// ending is when and why an attempt's context ended.
type ending struct {
	at    time.Time
	cause error
}

// returned is the end of a context whose handler has returned.
var returned = &ending{cause: context.Canceled}

// under returns the attempt's context, which answers everything but
// [wire.ContextKey] for it.
func (a *attempt) under() context.Context {
	if c := a.life.context.Load(); c != nil {
		return c
	}
	a.worker.mu.Lock()
	defer a.worker.mu.Unlock()
	c := a.life.context.Load()
	if c == nil {
		c = new(cancellable)
		c.Context, c.cancel = context.WithCancelCause(a.worker.base)
		if end := a.life.ending.Load(); end != nil {
			c.cancel(end.cause)
		}
		a.life.context.Store(c)
	}
	return c
}

func (a *attempt) Deadline() (time.Time, bool) { return a.worker.base.Deadline() }
func (a *attempt) Done() <-chan struct{}       { return a.under().Done() }

func (a *attempt) Err() error {
	if a.life.ending.Load() == nil {
		return nil
	}
	return a.under().Err()
}

// Value answers [wire.ContextKey], so that the attempt is found in every context
// that is derived from it, and the keys of what tasks and nodes have beside it.
func (a *attempt) Value(key any) any {
	switch key.(type) {
	case wire.ContextKey:
		return a
	case wire.JournalKey:
		if j := a.journal(); j != nil {
			return j
		}
		return nil
	case wire.OutputsKey:
		return a.outputs()
	}
	return a.under().Value(key)
}

// cause is why the attempt's context ended, nil while it lives.
func (a *attempt) cause() error {
	if end := a.life.ending.Load(); end != nil {
		return end.cause
	}
	return nil
}

// doom ends the attempt's context. The mutex is held.
func (a *attempt) doom(cause error) { a.end(&ending{time.Now(), cause}) }

// end ends the attempt's context, unless it has ended. The mutex is held.
func (a *attempt) end(end *ending) {
	if a.life.ending.Load() != nil {
		return
	}
	a.life.ending.Store(end)
	if c := a.life.context.Load(); c != nil {
		c.cancel(end.cause)
	}
}
