package cyclone

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// Handler is the handler of a task, made with [HandlerFunc].
type Handler[In, Out any] struct {
	call call[In, Out]
	err  error // why the function cannot be a handler
}

// HandlerFunc makes a handler of fn, so that Go infers In and Out from it. C is
// [Context] or [context.Context]; with any other type, or a nil fn, the function
// that builds the definition panics.
func HandlerFunc[C context.Context, In, Out any](fn func(C, In) (Out, error)) Handler[In, Out] {
	call, err := adapt(fn)
	return Handler[In, Out]{call: call, err: err}
}

// Define builds the task with the given name. It is what [NewTask] does, for
// callers that do not know In and Out; it panics alike.
func (h Handler[In, Out]) Define(name string, opts ...DefinitionOption) Definition {
	return NewTask(name, h, opts...)
}

// problem is why h cannot be a handler, or nil.
func (h Handler[In, Out]) problem() error {
	if h.call == nil && h.err == nil {
		return errZeroHandler
	}
	return h.err
}

// call is a handler whose kind of context no longer matters.
type call[In, Out any] func(context.Context, In) (Out, error)

// adapt makes fn callable with any context that is, or is derived from, an
// attempt's Context.
func adapt[C context.Context, In, Out any](fn func(C, In) (Out, error)) (call[In, Out], error) {
	if fn == nil {
		return nil, errors.New("the handler is nil")
	}
	switch c := reflect.TypeFor[C](); c {
	case reflect.TypeFor[context.Context]():
		return func(ctx context.Context, in In) (Out, error) {
			return fn(ctx.(C), in)
		}, nil
	case reflect.TypeFor[Context]():
		return func(ctx context.Context, in In) (Out, error) {
			attempt, ok := FromContext(ctx)
			if !ok {
				var none Out
				return none, errNoAttempt
			}
			return fn(attempt.(C), in)
		}, nil
	default:
		return nil, fmt.Errorf("the handler takes a %v: must be cyclone.Context or context.Context", c)
	}
}

// errZeroHandler is what is wrong with the zero Handler.
var errZeroHandler = errors.New("the handler is empty: make it with HandlerFunc")

// errNoAttempt is returned when a handler is invoked outside an attempt.
var errNoAttempt = errors.New("cyclone: the handler takes a cyclone.Context, but its context carries no attempt")

// invoker decodes the input, then calls the handler. keep tells whether there is
// an output.
func (c call[In, Out]) invoker(kind string, keep bool) func(context.Context, func(any) error) (any, error) {
	return func(ctx context.Context, decode func(any) error) (any, error) {
		var in In
		if err := decode(&in); err != nil {
			return nil, &wire.DecodeError{Kind: kind, Err: err}
		}
		out, err := c(ctx, in)
		if err != nil || !keep {
			return nil, err
		}
		return out, nil
	}
}

// withoutOutput makes an action's function look like a step's.
func withoutOutput[C context.Context, In any](fn func(C, In) error) func(C, In) (struct{}, error) {
	if fn == nil {
		return nil
	}
	return func(ctx C, in In) (struct{}, error) { return struct{}{}, fn(ctx, in) }
}
