package workflow

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// Node is a node of a workflow that is being built, for [After]. The zero Node is
// no node, and a mistake wherever it is used.
type Node struct {
	b     *Builder
	index int
	name  string
}

// Name is the node's name.
func (n Node) Name() string { return n.name }

func (n Node) dependency() Node { return n }

// Dependency is a [Node] or a [Ref]. No other type implements it.
type Dependency interface {
	// Name is the node's name.
	Name() string
	dependency() Node
}

// Ref is the output of a node that will have one. It is the [Input] of any number
// of other nodes, which start when the node has completed. The zero Ref is a
// mistake wherever it is used.
type Ref[T any] struct{ Node }

// Do adds a node that runs an action. Options are those of an enqueue that make
// sense for a part of a run ([cyclone.WithQueue], [cyclone.WithMaxAttempts],
// [cyclone.WithDelay] and so on), [After] and [OnDepFailure]. A delay counts from
// when the node's dependencies have ended, an expiry from the run's enqueue.
func Do[In any](b *Builder, node string, action *cyclone.Action[In], in Input[In], opts ...cyclone.NodeOption) Node {
	var def *wire.Definition
	if action != nil {
		def = action.Wire()
	}
	return b.addDefined(node, def, sourceOf(in), opts)
}

// Run adds a node that runs a step or a task, and returns its output. Options are
// those of [Do].
func Run[In, Out any](b *Builder, node string, step cyclone.Returning[In, Out], in Input[In], opts ...cyclone.NodeOption) Ref[Out] {
	var def *wire.Definition
	switch s := step.(type) {
	case *cyclone.Step[In, Out]:
		if s != nil {
			def = s.Wire()
		}
	case *cyclone.Task[In, Out]:
		if s != nil {
			def = s.Wire()
		}
	}
	return Ref[Out]{b.addDefined(node, def, sourceOf(in), opts)}
}

// addDefined adds a node of a user's definition, nil when there is none.
func (b *Builder) addDefined(name string, def *wire.Definition, in source, opts []cyclone.NodeOption) Node {
	d := draft{RunNode: wire.RunNode{Name: name, Def: def}}
	switch {
	case def == nil:
		d.fault(errors.New("its action, step or task is nil"))
	case def.Options.Set.Has(wire.FieldUnique):
		d.fault(fmt.Errorf("%s is defined with WithUnique, which a node cannot be: give that to the run, or define another one", def.Name))
	}
	if def != nil {
		d.Kind = def.Name
	}
	return b.add(d, in, opts)
}

// draft is a node while its options are applied.
type draft struct {
	wire.RunNode
	after  []Dependency
	faults []error
}

func (d *draft) fault(err error) {
	if err != nil {
		d.faults = append(d.faults, err)
	}
}

// add puts the node behind all others. One with mistakes takes its place too, so
// that what refers to it is not wrong as well.
func (b *Builder) add(d draft, in source, opts []cyclone.NodeOption) Node {
	handle := Node{b: b, index: b.count, name: d.Name}
	if b.count++; b.count > wire.MaxNodes {
		return handle
	}
	for _, opt := range opts {
		if opt == nil {
			d.fault(errors.New("option is nil"))
			continue
		}
		opt.ApplyNode(&d.Options)
		if s, ok := opt.(nodeSetting); ok {
			s.applyDraft(&d)
		}
	}
	d.fault(d.Options.Validate())
	if d.Def == nil && d.Kind != "" {
		d.fault(checkWaitOptions(&d.Options))
	}
	b.connect(&d, in)
	b.spec.Nodes = append(b.spec.Nodes, d.RunNode)
	b.enter(handle, d.faults)
	return handle
}

// enter notes the node's name and what is wrong with it.
func (b *Builder) enter(n Node, faults []error) {
	if err := wire.CheckName("node", n.name); err != nil {
		b.spec.Reject(n.index, err)
	} else if _, twice := b.names[n.name]; twice {
		faults = append(faults, errors.New("the name is taken by another node"))
	}
	b.names[n.name] = struct{}{}
	for _, err := range faults {
		b.spec.Reject(n.index, fmt.Errorf("node %.80s: %w", n.name, err))
	}
}

// connect fills the node's input and dependencies.
func (b *Builder) connect(d *draft, in source) {
	d.fault(in.err)
	d.Input.Mode, d.Input.Value = in.mode, in.value
	for _, ref := range in.refs {
		if err := b.check(ref.node); err != nil {
			d.fault(fmt.Errorf("input: %w", err))
			continue
		}
		d.Input.Refs = append(d.Input.Refs, wire.InputRef{Node: ref.node.index, Path: ref.path})
		d.Deps = append(d.Deps, ref.node.index)
	}
	for _, dep := range d.after {
		if dep == nil {
			d.fault(fmt.Errorf("after: %w", errNoNode))
		} else if err := b.check(dep.dependency()); err != nil {
			d.fault(fmt.Errorf("after: %w", err))
		} else {
			d.Deps = append(d.Deps, dep.dependency().index)
		}
	}
	slices.Sort(d.Deps)
	d.Deps = slices.Compact(d.Deps)
	b.edges += max(len(d.Deps), len(d.Input.Refs))
}

var errNoNode = errors.New("the reference is empty: take what Do, Run or a wait has returned")

// check returns why a node cannot be referred to.
func (b *Builder) check(n Node) error {
	switch {
	case n.b == nil:
		return errNoNode
	case n.b != b:
		return fmt.Errorf("node %.80q belongs to another builder, of workflow %.80q", n.name, n.b.spec.Name)
	}
	return nil
}
