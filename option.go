package cyclone

import "github.com/cyclone-queue/cyclone/internal/wire"

// DefinitionOption is an option of [NewAction], [NewStep], [NewTask] and their
// Declare counterparts.
type DefinitionOption interface {
	ApplyDefinition(*wire.Definition)
}

// EnqueueOption is an option of one enqueue. It wins over the same option of the
// definition.
type EnqueueOption interface {
	ApplyEnqueue(*wire.Options)
}

// NodeOption is an option of one node of a workflow. It wins over the same
// option of the node's definition.
type NodeOption interface {
	ApplyNode(*wire.Options)
}

// Option is valid on a definition, an enqueue and a node.
type Option interface {
	DefinitionOption
	EnqueueOption
	NodeOption
}

// StartOption says when a step starts; it is valid on an enqueue and a node.
type StartOption interface {
	EnqueueOption
	NodeOption
}

// RunOption is valid on a definition, an enqueue and a whole workflow run.
type RunOption interface {
	DefinitionOption
	EnqueueOption
	ApplyRun(*wire.Options)
}

// setting is one setting with its value. The types below make it an option
// where it makes sense, as one small value: an enqueue allocates no closure.
type setting interface{ set(*wire.Options) }

// anywhere makes a setting an [Option].
type anywhere[S setting] struct{ s S }

func (o anywhere[S]) ApplyDefinition(d *wire.Definition) { o.s.set(&d.Options) }
func (o anywhere[S]) ApplyEnqueue(e *wire.Options)       { o.s.set(e) }
func (o anywhere[S]) ApplyNode(n *wire.Options)          { o.s.set(n) }

// atStart makes a setting a [StartOption].
type atStart[S setting] struct{ s S }

func (o atStart[S]) ApplyEnqueue(e *wire.Options) { o.s.set(e) }
func (o atStart[S]) ApplyNode(n *wire.Options)    { o.s.set(n) }

// forRun makes a setting a [RunOption].
type forRun[S setting] struct{ s S }

func (o forRun[S]) ApplyDefinition(d *wire.Definition) { o.s.set(&d.Options) }
func (o forRun[S]) ApplyEnqueue(e *wire.Options)       { o.s.set(e) }
func (o forRun[S]) ApplyRun(r *wire.Options)           { o.s.set(r) }

// everywhere makes a setting an [Option] and a [RunOption].
type everywhere[S setting] struct{ anywhere[S] }

func (o everywhere[S]) ApplyRun(r *wire.Options) { o.s.set(r) }

// onEnqueue makes a setting an option of an enqueue only.
type onEnqueue[S setting] struct{ s S }

func (o onEnqueue[S]) ApplyEnqueue(e *wire.Options) { o.s.set(e) }
