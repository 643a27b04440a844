package step

import (
	"context"
	"errors"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// Run starts a run of the step or task def, a child, and returns its output. The child
// is started once however often the handler runs, and lives on the partition of its
// parent. While it runs the task is suspended and holds no worker slot. A child run of
// many steps starts [github.com/cyclone-queue/cyclone/workflow.RunChildFor].
//
// A child that fails or is cancelled is an [*Error] with its code, in which errors.As
// finds the [*cyclone.RunError]. The other way round nothing is passed on: a child goes
// on when its parent fails or is cancelled, and a parent that is opened again finds it.
// Only when Run had returned the child's failure before the task failed for good, a retry
// of the task starts a new child. A bad option, or an input that cannot be encoded, fails
// the run. The other errors are those of [Sleep].
func Run[In, Out any](ctx context.Context, name string, def cyclone.Returning[In, Out], in In, opts ...cyclone.EnqueueOption) (Out, error) {
	return child[Out](ctx, name, func(c *call, id string) error {
		if def == nil {
			return errNilDefinition
		}
		spec := def.With(in, opts...).Spec()
		if spec.Err != nil {
			return spec.Err
		}
		_, err := c.journal.Start(ctx, id, spec)
		return err
	})
}

var errNilDefinition = errors.New("the definition is nil")

// RunSpec is [Run] for a run of many steps. It is for package workflow, whose RunChild
// and RunChildFor are what programs call.
func RunSpec[Out any](ctx context.Context, name string, spec *wire.RunSpec) (Out, error) {
	return child[Out](ctx, name, func(c *call, id string) error {
		_, err := c.journal.StartRun(ctx, id, spec)
		return err
	})
}

// child waits for the child run that start starts under an id. What start returns is a
// mistake.
func child[Out any](ctx context.Context, name string, start func(c *call, id string) error) (Out, error) {
	var none Out
	c, err := enter(ctx, name)
	if err != nil {
		return none, err
	}
	defer c.journal.End()
	if o, ok, err := c.recorded(); ok {
		if err != nil {
			return none, err
		}
		return settle[Out](c, &o)
	}
	if err := c.alive(); err != nil {
		return none, err
	}
	id := c.childID()
	if err := start(c, id); err != nil {
		return none, misuse(name, err)
	}
	o, err := c.await(wire.ChildSignal(id), 0, nil)
	if err != nil {
		return none, err
	}
	return settle[Out](c, o)
}

// childID is the id of the child to wait for: of the one whose end is not recorded yet,
// in whichever generation it was started. After each recorded end there is a new one.
func (c *call) childID() string {
	for generation := c.journal.Generation(); generation > 0; generation-- {
		if _, ended := c.journal.Entry(wire.EntryRecord, wire.StepID(c.name, c.occurrence, generation-1)); ended {
			return wire.StepID(c.name, c.occurrence, generation)
		}
	}
	return wire.StepID(c.name, c.occurrence, 0)
}
