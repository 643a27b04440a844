package workflow

import (
	"context"
	"errors"
	"fmt"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

// RunChild starts a run of the workflow, a child, in the handler of a task, and waits
// for its end. It is a recorded step of the name, like those of package step: however
// often the handler runs, one run is started, and while that goes on the task is
// suspended and holds no worker slot. The child lives on the partition of its parent,
// and is kept for a day at least when it has ended.
//
// A child that fails or is cancelled is a [*step.Error], in which errors.As finds the
// [*cyclone.RunError]. The other way round nothing is passed on: a child goes on when
// its parent fails or is cancelled, and a parent that is opened again finds it or starts
// it anew as [step.Run] says. A mistake in the definition is a [*BuilderError],
// and a workflow with [cyclone.WithUnique] is one: both fail the run whose handler
// returns it. The other errors are those of [step.Run]. To start a run without waiting
// for it, call [Builder.Enqueue] inside [step.Do].
//
// What the handler builds has to come out the same each time only until the child has
// been started. It is safe for concurrent use under different names.
func (b *Builder) RunChild(ctx context.Context, name string) error {
	_, err := runChild[struct{}](ctx, name, b, -1)
	return err
}

// RunChildFor is [Builder.RunChild] for a workflow whose result is the output of one of
// its nodes. It is the zero value when that node did not complete and its failure
// stayed in its branch.
func RunChildFor[Out any](ctx context.Context, name string, result Ref[Out]) (Out, error) {
	if result.b == nil {
		var none Out
		return none, childMistake(name, &BuilderError{Errors: []error{fmt.Errorf("result: %w", errNoNode)}})
	}
	return runChild[Out](ctx, name, result.b, result.index)
}

func runChild[Out any](ctx context.Context, name string, b *Builder, result int) (Out, error) {
	out, err := step.RunSpec[Out](ctx, name, b.request(result))
	var faults *wire.RunFaults
	if errors.As(err, &faults) {
		return out, childMistake(name, builderError(faults))
	}
	return out, err
}

// childMistake is one that another attempt would not mend.
func childMistake(name string, err error) error {
	return cyclone.Permanent(fmt.Errorf("step %.80q: %w", name, err))
}
