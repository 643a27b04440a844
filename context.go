package cyclone

import (
	"context"
	"log/slog"
	"time"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// Context is what a handler knows about the attempt that it is. It is done when
// the attempt has to end: at its timeout, when its lease is lost, when the step
// is cancelled, or when the worker shuts down and has waited long enough;
// [context.Cause] tells which ([ErrLeaseLost], [ErrCancelled], [ErrShutdown]).
//
// It is safe for concurrent use, and of no use after the handler has returned.
type Context interface {
	context.Context

	// Attempt is the 1-based ordinal of this attempt. It grows after a failed
	// attempt only: not after a snooze, nor when a worker was lost.
	Attempt() int
	// MaxAttempts is the attempt after which a failure discards the step.
	MaxAttempts() int
	// RunID is the id of the run that the step belongs to.
	RunID() RunID
	// Node is the step's name inside its run; that of the definition when the
	// run consists of this one step.
	Node() string
	// Queue is the queue from which the step was claimed.
	Queue() string
	// Meta returns the value given with WithMeta for key, or "".
	Meta(key string) string
	// IdempotencyKey is made of run id and node: the same on every attempt of
	// this step, and never that of another step of the deployment.
	IdempotencyKey() string
	// LeaseExpiry is when the lease ends unless it is extended, which happens by
	// itself; it moves forward while the handler runs.
	LeaseExpiry() time.Time
	// Logger is the worker's logger with the attributes of this attempt.
	Logger() *slog.Logger
	// CompletionTx is the attempt's transaction: what is added to it takes effect if
	// and only if this attempt completes the step.
	CompletionTx() CompletionTx
}

// FromContext returns the attempt's Context from a context that was derived from
// it. The result keeps the deadline, the cancellation and the values of ctx.
// ok is false outside a handler.
func FromContext(ctx context.Context) (c Context, ok bool) {
	if c, ok := ctx.(Context); ok {
		return c, true
	}
	base, ok := ctx.Value(wire.ContextKey{}).(Context)
	if !ok {
		return nil, false
	}
	return derived{attempt: base, ctx: ctx}, true
}

// attempt is Context under a name that can stand beside a context.Context in a
// struct.
type attempt = Context

// derived answers about the attempt from one context and about cancellation and
// values from another one, which was derived from the first.
type derived struct {
	attempt
	ctx context.Context
}

func (d derived) Deadline() (time.Time, bool) { return d.ctx.Deadline() }
func (d derived) Done() <-chan struct{}       { return d.ctx.Done() }
func (d derived) Err() error                  { return d.ctx.Err() }
func (d derived) Value(key any) any           { return d.ctx.Value(key) }
