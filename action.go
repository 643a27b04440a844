package cyclone

import (
	"context"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// Action is a named handler without an output. It is safe for concurrent use
// once it has its handler.
type Action[In any] struct{ def wire.Definition }

// NewAction defines an action. C is [Context] or [context.Context]. Without
// options it gets 5 attempts, and nothing is kept of a run that has completed.
//
// It panics when the name, an option or the handler is bad: definitions are
// package variables, so the program stops when it starts.
func NewAction[C context.Context, In any](name string, fn func(C, In) error, opts ...DefinitionOption) *Action[In] {
	a := &Action[In]{def: define("NewAction", name, wire.ClassAction, opts)}
	call, err := adapt(withoutOutput(fn))
	handle("NewAction", &a.def, call, err)
	return a
}

// DeclareAction defines an action without a handler, for a process that only
// enqueues it, or for a handler that enqueues its own action (with [NewAction]
// that would be an initialization cycle). It panics like NewAction.
func DeclareAction[In any](name string, opts ...DefinitionOption) *Action[In] {
	return &Action[In]{def: define("DeclareAction", name, wire.ClassAction, opts)}
}

// Handle gives a declared action its handler and returns the action. Call it
// before the action is registered with a worker. It panics when fn is nil or the
// action has a handler.
func (a *Action[In]) Handle(fn func(Context, In) error) *Action[In] {
	call, err := adapt(withoutOutput(fn))
	handle("Handle", &a.def, call, err)
	return a
}

// Name is the kind under which the action's steps are stored.
func (a *Action[In]) Name() string { return a.def.Name }

// Wire is for the packages of this module.
func (a *Action[In]) Wire() *wire.Definition { return &a.def }

// With makes a request to run the action with in. A bad option is reported when
// the request is enqueued.
func (a *Action[In]) With(in In, opts ...EnqueueOption) Request {
	if a == nil {
		return Request{}
	}
	return newRequest(&a.def, in, opts)
}
