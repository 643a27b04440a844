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
// on when its parent fails or is cancelled. A bad option, or an input that cannot be
// encoded, fails the run. The other errors are those of [Sleep].
func Run[In, Out any](ctx context.Context, name string, def cyclone.Returning[In, Out], in In, opts ...cyclone.EnqueueOption) (Out, error) {
	return child[Out](ctx, name, func(c *call) error {
		if def == nil {
			return errNilDefinition
		}
		spec := def.With(in, opts...).Spec()
		if spec.Err != nil {
			return spec.Err
		}
		_, err := c.journal.Start(ctx, c.id, spec)
		return err
	})
}

var errNilDefinition = errors.New("the definition is nil")

// RunSpec is [Run] for a run of many steps. It is for package workflow, whose RunChild
// and RunChildFor are what programs call.
func RunSpec[Out any](ctx context.Context, name string, spec *wire.RunSpec) (Out, error) {
	return child[Out](ctx, name, func(c *call) error {
		_, err := c.journal.StartRun(ctx, c.id, spec)
		return err
	})
}

// child waits for the child run that start starts. What start returns is a mistake.
func child[Out any](ctx context.Context, name string, start func(*call) error) (Out, error) {
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
	if err := start(c); err != nil {
		return none, misuse(name, err)
	}
	o, err := c.await(wire.ChildSignal(c.id), 0, nil)
	if err != nil {
		return none, err
	}
	return settle[Out](c, o)
}
