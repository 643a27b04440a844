package cyclone

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// EnqueueAction enqueues the action with in and returns its run. A bad option is
// an error, and nothing is written. When a unique or request key is held,
// the run is that of the holder, see [Run.Existing].
//
// With [ErrUnknownOutcome] or [ErrNotReplicated] the run is returned beside the
// error if its id is known: the step may well be stored.
func EnqueueAction[In any](ctx context.Context, e Enqueuer, action *Action[In], in In, opts ...EnqueueOption) (*Run, error) {
	return enqueueRun(ctx, e, action.With(in, opts...))
}

// EnqueueStep enqueues the step with in and returns its run, which gives the
// output. It returns the errors of [EnqueueAction].
func EnqueueStep[In, Out any](ctx context.Context, e Enqueuer, step *Step[In, Out], in In, opts ...EnqueueOption) (*RunOf[Out], error) {
	return enqueueRunOf[Out](ctx, e, step.With(in, opts...))
}

// EnqueueTask enqueues the task with in and returns its run, which gives the
// output. It returns the errors of [EnqueueAction].
func EnqueueTask[In, Out any](ctx context.Context, e Enqueuer, task *Task[In, Out], in In, opts ...EnqueueOption) (*RunOf[Out], error) {
	return enqueueRunOf[Out](ctx, e, task.With(in, opts...))
}

// EnqueueJSON enqueues a step of which only the kind is known, with an input that
// is JSON already; the worker decodes it into the definition's input. The
// definition's own options are not known here: only those given apply. It
// returns the errors of [EnqueueAction], and one for invalid JSON.
func EnqueueJSON(ctx context.Context, e Enqueuer, kind string, input []byte, opts ...EnqueueOption) (*Run, error) {
	spec := &wire.Spec{Kind: kind, RawJSON: input}
	if spec.Err = wire.CheckName("kind", kind); spec.Err == nil {
		spec.Err = errors.Join(checkJSON(kind, input), applyEnqueue(spec, opts))
	}
	return enqueueRun(ctx, e, Request{spec})
}

// EnqueueMany enqueues any mix of requests and returns their runs in the same
// order. When any request is bad, nothing is written. Any failure of single
// requests is a [BatchError]; the runs of those that failed are nil.
func EnqueueMany(ctx context.Context, e Enqueuer, requests ...Request) ([]*Run, error) {
	if err := checkAll(requests); err != nil {
		return nil, fmt.Errorf("cyclone: enqueue: %w", err)
	}
	if len(requests) == 0 {
		return nil, nil
	}
	receipts, err := e.Enqueue(ctx, requests...)
	if err == nil && len(receipts) != len(requests) {
		err = fmt.Errorf("%d receipts for %d requests", len(receipts), len(requests))
	}
	if err != nil {
		err = fmt.Errorf("cyclone: enqueue: %w", err)
	}
	runs := make([]*Run, len(receipts))
	for i, receipt := range receipts {
		runs[i] = receipt.Run(e)
	}
	return runs, err
}

func enqueueRun(ctx context.Context, e Enqueuer, r Request) (*Run, error) {
	h, ok, err := enqueueOne(ctx, e, r)
	if !ok {
		return nil, err
	}
	return &Run{h}, err
}

func enqueueRunOf[Out any](ctx context.Context, e Enqueuer, r Request) (*RunOf[Out], error) {
	h, ok, err := enqueueOne(ctx, e, r)
	if !ok {
		return nil, err
	}
	return &RunOf[Out]{h}, err
}

// enqueueOne enqueues a single request; the error is its own, not a batch's. ok
// tells whether the run's id is known.
func enqueueOne(ctx context.Context, e Enqueuer, r Request) (h runHandle, ok bool, err error) {
	if err := r.Spec().Err; err != nil {
		return runHandle{}, false, fmt.Errorf("cyclone: enqueue %w", err)
	}
	receipts, err := e.Enqueue(ctx, r)
	if len(receipts) == 1 {
		h, ok = receipts[0].handle(e)
	}
	switch {
	case len(receipts) == 1 && receipts[0].Err != nil:
		err = receipts[0].Err
	case err != nil:
		err = only(err)
	case len(receipts) != 1:
		err = fmt.Errorf("%d receipts for 1 request", len(receipts))
	}
	if err != nil {
		err = fmt.Errorf("cyclone: enqueue %s: %w", r.Spec().Kind, err)
	}
	return h, ok, err
}

// only returns the one error of a batch of one, and any other error as it is.
func only(err error) error {
	var batch *BatchError
	if errors.As(err, &batch) && len(batch.Errors) == 1 && batch.Errors[0] != nil {
		return batch.Errors[0]
	}
	return err
}

// Run returns the handle of the run, for Wait, or nil when nothing is stored. e is
// the Enqueuer that gave the receipt. RunOf[Out](*run) is the same run as one
// that has an output.
func (r Receipt) Run(e Enqueuer) *Run {
	h, ok := r.handle(e)
	if !ok {
		return nil
	}
	return &Run{h}
}

// handle returns the run of a receipt that has one.
func (r Receipt) handle(e Enqueuer) (h runHandle, ok bool) {
	stored := r.Err == nil || errors.Is(r.Err, ErrUnknownOutcome) || errors.Is(r.Err, ErrNotReplicated)
	if !stored || r.ID == 0 {
		return runHandle{}, false
	}
	return runHandle{enqueuer: e, id: r.ID, existing: r.Existing}, true
}

// checkAll returns a BatchError when any request is bad.
func checkAll(requests []Request) error {
	var bad []error
	for i, r := range requests {
		if err := r.Spec().Err; err != nil {
			if bad == nil {
				bad = make([]error, len(requests))
			}
			bad[i] = err
		}
	}
	if bad == nil {
		return nil
	}
	return &BatchError{Errors: bad}
}

func checkJSON(kind string, input []byte) error {
	if len(input) > wire.MaxPayload {
		return fmt.Errorf("%s: input of %d bytes: must be at most %d", kind, len(input), wire.MaxPayload)
	}
	if !json.Valid(input) {
		return fmt.Errorf("%s: input: not valid JSON", kind)
	}
	return nil
}
