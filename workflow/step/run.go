package step

import (
	"context"
	"errors"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// Run starts a run of the step or task def, a child, and returns its output. The child
// is started once however often the handler runs, and lives on the partition of its
// parent. While it runs the task is suspended and holds no worker slot.
//
// A child that fails or is cancelled is an [*Error] with its code, in which errors.As
// finds the [*cyclone.RunError]. A bad option, or an input that cannot be encoded,
// fails the run. The other errors are those of [Sleep].
func Run[In, Out any](ctx context.Context, name string, def cyclone.Returning[In, Out], in In, opts ...cyclone.EnqueueOption) (Out, error) {
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
	if def == nil {
		return none, misuse(name, errNilDefinition)
	}
	spec := def.With(in, opts...).Spec()
	if spec.Err != nil {
		return none, misuse(name, spec.Err)
	}
	if _, err := c.journal.Start(ctx, c.id, spec); err != nil {
		return none, misuse(name, err)
	}
	o, err := c.await(wire.ChildSignal(c.id), 0, nil)
	if err != nil {
		return none, err
	}
	return settle[Out](c, o)
}

var errNilDefinition = errors.New("the definition is nil")
