package cyclone

import "github.com/cyclone-queue/cyclone/internal/wire"

// Task is a named handler with an output that may record steps of its own. It is
// safe for concurrent use once it has its handler.
type Task[In, Out any] struct{ def wire.Definition }

// NewTask defines a task; h comes from [HandlerFunc]. Without options it gets 4
// tries, a try whose worker was lost counts, and its output is kept for an hour
// after it has completed. It panics like [NewAction].
func NewTask[In, Out any](name string, h Handler[In, Out], opts ...DefinitionOption) *Task[In, Out] {
	t := &Task[In, Out]{def: define("NewTask", name, wire.ClassTask, opts)}
	handle("NewTask", &t.def, h.call, h.problem())
	return t
}

// DeclareTask defines a task without a handler; see [DeclareAction].
func DeclareTask[In, Out any](name string, opts ...DefinitionOption) *Task[In, Out] {
	return &Task[In, Out]{def: define("DeclareTask", name, wire.ClassTask, opts)}
}

// Handle gives a declared task its handler and returns the task. Call it before
// the task is registered with a worker. It panics when h was not made with
// [HandlerFunc] from a good function, or when the task has a handler.
func (t *Task[In, Out]) Handle(h Handler[In, Out]) *Task[In, Out] {
	handle("Handle", &t.def, h.call, h.problem())
	return t
}

// Name is the kind under which the task is stored.
func (t *Task[In, Out]) Name() string { return t.def.Name }

// Wire is for the packages of this module.
func (t *Task[In, Out]) Wire() *wire.Definition { return &t.def }

// With makes a request to run the task with in. A bad option is reported when
// the request is enqueued.
func (t *Task[In, Out]) With(in In, opts ...EnqueueOption) Request {
	if t == nil {
		return Request{}
	}
	return newRequest(&t.def, in, opts)
}
