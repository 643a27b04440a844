package cyclone

import "context"

// Run is the handle of an enqueued run. It holds no connection, needs no
// closing, and is safe for concurrent use.
type Run struct{ runHandle }

// Wait blocks until the run has ended. It returns nil for a completed run, a
// [RunError] for a failed or cancelled one, [ErrNotFound] when nothing is kept
// of it (by default nothing is kept of a completed action that nobody waited for
// in time), and ctx's error when that is done first; the run goes on then.
func (r *Run) Wait(ctx context.Context) error { return r.enqueuer.Await(ctx, r.id, nil) }

// RunOf is the handle of an enqueued run that has an output.
type RunOf[Out any] struct{ runHandle }

// Wait blocks until the run has ended and returns its output, or the errors of
// [Run.Wait] with the zero value.
func (r *RunOf[Out]) Wait(ctx context.Context) (Out, error) {
	var out Out
	if err := r.enqueuer.Await(ctx, r.id, &out); err != nil {
		var none Out
		return none, err
	}
	return out, nil
}

// Attach returns the handle of a run by its id, which is not checked; Wait finds
// out whether there is such a run.
func Attach(e Enqueuer, id RunID) *Run { return &Run{runHandle{enqueuer: e, id: id}} }

// AttachOf is [Attach] for a run whose output is an Out.
func AttachOf[Out any](e Enqueuer, id RunID) *RunOf[Out] {
	return &RunOf[Out]{runHandle{enqueuer: e, id: id}}
}

// runHandle is what every handle knows about its run.
type runHandle struct {
	enqueuer Enqueuer
	id       RunID
	existing bool
}

// ID is the run's id.
func (h runHandle) ID() RunID { return h.id }

// Existing tells that the enqueue found this run under its unique or request key
// and made no new one.
func (h runHandle) Existing() bool { return h.existing }
