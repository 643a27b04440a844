package cyclone

import (
	"context"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// Step is a named handler with an output. It is safe for concurrent use once it
// has its handler.
type Step[In, Out any] struct{ def wire.Definition }

// NewStep defines a step. C is [Context] or [context.Context]. Without options
// it gets 5 attempts, and its output is kept for an hour after it has completed.
// It panics like [NewAction].
func NewStep[C context.Context, In, Out any](name string, fn func(C, In) (Out, error), opts ...DefinitionOption) *Step[In, Out] {
	s := &Step[In, Out]{def: define("NewStep", name, wire.ClassStep, opts)}
	call, err := adapt(fn)
	handle("NewStep", &s.def, call, err)
	return s
}

// DeclareStep defines a step without a handler; see [DeclareAction].
func DeclareStep[In, Out any](name string, opts ...DefinitionOption) *Step[In, Out] {
	return &Step[In, Out]{def: define("DeclareStep", name, wire.ClassStep, opts)}
}

// Handle gives a declared step its handler and returns the step. Call it before
// the step is registered with a worker. It panics when fn is nil or the step has
// a handler.
func (s *Step[In, Out]) Handle(fn func(Context, In) (Out, error)) *Step[In, Out] {
	call, err := adapt(fn)
	handle("Handle", &s.def, call, err)
	return s
}

// Name is the kind under which the step is stored.
func (s *Step[In, Out]) Name() string { return s.def.Name }

// Wire is for the packages of this module.
func (s *Step[In, Out]) Wire() *wire.Definition { return &s.def }

// With makes a request to run the step with in. A bad option is reported when
// the request is enqueued.
func (s *Step[In, Out]) With(in In, opts ...EnqueueOption) Request {
	if s == nil {
		return Request{}
	}
	return newRequest(&s.def, in, opts)
}
