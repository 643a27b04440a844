package cyclone

import (
	"context"
	"fmt"
	"slices"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// Enqueuer stores requests and waits for their results. The Client of package
// queue is one. It is safe for concurrent use.
type Enqueuer interface {
	// Enqueue stores the requests and returns one receipt for each, in order.
	// When any request is bad, all bad ones are reported in a [BatchError] and
	// nothing is written. When some fail later, the error is a BatchError too,
	// and the receipts tell which. [ErrUnknownOutcome] means that a request may
	// have been stored.
	Enqueue(ctx context.Context, requests ...Request) ([]Receipt, error)

	// Await blocks until the run has ended and decodes its output into out, a
	// pointer, or nil to leave it. It returns nil for a completed run, a
	// [RunError] for any other end, [ErrNotFound] for a run that is not, or no
	// longer, known, and ctx's error when that is done first.
	Await(ctx context.Context, id RunID, out any) error
}

// Request is a step that is ready to be enqueued; With of [Action], [Step] and
// [Task] makes one. The zero Request is rejected. It may be enqueued more than
// once, and each time makes another run. Middleware of a client also gets one for
// each run of many steps, see [Request.Workflow].
type Request struct{ spec *wire.Spec }

// RunRequest is for the packages of this module: it makes the request that stands for
// a run of many steps.
func RunRequest(run *wire.RunSpec) Request {
	return Request{&wire.Spec{Kind: run.Name, Options: run.Options, Run: run}}
}

// Name is the name of the definition, or of the workflow. It is empty for the zero
// Request.
func (r Request) Name() string { return r.Spec().Kind }

// Workflow reports whether the request is for a run of many steps. Only middleware of a
// client gets such requests, each in a call of its own, in which it has to be passed
// on.
func (r Request) Workflow() bool { return r.Spec().Run != nil }

// Spec is for the packages of this module. It is never nil.
func (r Request) Spec() *wire.Spec {
	if r.spec == nil {
		return &wire.Spec{Err: errEmptyRequest}
	}
	return r.spec
}

// With returns the request with more options on top of its own; the request itself
// stays as it is. It is for middleware of a client, to add [WithMeta] to what others
// enqueue. A run of many steps takes [WithMeta], which every node gets, [WithUnique],
// [WithRetention] and [WaitReplicas]. A bad option, and one that a run of many steps does
// not take, is reported when the request is enqueued.
func (r Request) With(opts ...EnqueueOption) Request {
	spec := *r.Spec()
	if spec.Err != nil {
		return Request{&spec}
	}
	spec.Options.Meta = slices.Clone(spec.Options.Meta)
	spec.Err = applyEnqueue(&spec, opts)
	return Request{&spec}
}

// Receipt is the answer to one [Request].
type Receipt struct {
	// ID is the run's id, or that of the run that holds the unique or request key.
	ID RunID
	// Existing tells that ID was there before and nothing new was enqueued.
	Existing bool
	// Err is why the request failed; nil when it did not.
	Err error
}

// newRequest applies the options. What is bad about them waits in Spec.Err.
func newRequest(def *wire.Definition, in any, opts []EnqueueOption) Request {
	spec := &wire.Spec{Def: def, Kind: def.Name, Input: in}
	spec.Err = applyEnqueue(spec, opts)
	return Request{spec}
}

// applyEnqueue fills the spec's options and returns what is wrong with them.
func applyEnqueue(spec *wire.Spec, opts []EnqueueOption) error {
	for _, opt := range opts {
		if opt == nil {
			return fmt.Errorf("%s: %w", spec.Kind, errNilOption)
		}
		opt.ApplyEnqueue(&spec.Options)
	}
	if err := spec.Options.Validate(); err != nil {
		return fmt.Errorf("%s: %w", spec.Kind, err)
	}
	if spec.Run != nil && spec.Options.Set&^wire.RunOptions != 0 {
		return fmt.Errorf("%s: %w", spec.Kind, errRunOption)
	}
	return nil
}
