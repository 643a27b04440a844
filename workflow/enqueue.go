package workflow

import (
	"context"
	"errors"
	"fmt"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// Enqueuer stores runs of many steps. The Client of package queue is one. It is
// safe for concurrent use.
type Enqueuer interface {
	cyclone.Enqueuer
	// EnqueueRun stores a run. It is for the packages of this module: when the spec
	// has faults, those of encoding the inputs included, it returns them all and has
	// written nothing.
	EnqueueRun(ctx context.Context, spec *wire.RunSpec) (cyclone.Receipt, error)
}

// Enqueue stores a run of the workflow and returns it. Any mistake in the
// definition makes it return a [BuilderError] with all of them, and nothing is
// written. With [cyclone.WithUnique] the run may be one that was there before; see
// [cyclone.Run.Existing]. With [cyclone.ErrUnknownOutcome] the run is returned beside
// the error if its id is known: it may well be stored.
func (b *Builder) Enqueue(ctx context.Context, client Enqueuer) (*cyclone.Run, error) {
	return b.enqueue(ctx, client, -1)
}

// EnqueueFor is [Builder.Enqueue] for a workflow whose result is the output of one
// of its nodes, which the returned run gives when the run has completed. It is the
// zero value when that node did not complete and its failure stayed in its branch.
func EnqueueFor[Out any](ctx context.Context, client Enqueuer, result Ref[Out]) (*cyclone.RunOf[Out], error) {
	if result.b == nil {
		return nil, &BuilderError{Errors: []error{fmt.Errorf("result: %w", errNoNode)}}
	}
	run, err := result.b.enqueue(ctx, client, result.index)
	if run == nil {
		return nil, err
	}
	typed := cyclone.RunOf[Out](*run)
	return &typed, err
}

func (b *Builder) enqueue(ctx context.Context, client Enqueuer, result int) (*cyclone.Run, error) {
	receipt, err := client.EnqueueRun(ctx, b.request(result))
	var faults *wire.RunFaults
	if errors.As(err, &faults) {
		return nil, builderError(faults)
	}
	if receipt.Err == nil {
		receipt.Err = err
	}
	run := receipt.Run(client)
	if receipt.Err != nil {
		return run, fmt.Errorf("workflow: enqueue %s: %w", b.spec.Name, receipt.Err)
	}
	return run, nil
}
