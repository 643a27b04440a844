package cyclone_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/retry"
)

// recorder is an Enqueuer that stores nothing but remembers what it was given.
type recorder struct {
	mu       sync.Mutex
	specs    []*wire.Spec
	receipts []cyclone.Receipt // answered instead of fresh ids when set
	err      error
	await    func(id cyclone.RunID, out any) error
}

func (r *recorder) Enqueue(_ context.Context, requests ...cyclone.Request) ([]cyclone.Receipt, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	receipts := r.receipts
	for _, request := range requests {
		r.specs = append(r.specs, request.Spec())
		if r.receipts == nil && r.err == nil {
			receipts = append(receipts, cyclone.Receipt{ID: cyclone.RunID(len(r.specs))})
		}
	}
	return receipts, r.err
}

func (r *recorder) Await(_ context.Context, id cyclone.RunID, out any) error { return r.await(id, out) }

// only returns the only request that was enqueued.
func (r *recorder) only(t *testing.T) *wire.Spec {
	t.Helper()
	if len(r.specs) != 1 {
		t.Fatalf("%d requests reached the enqueuer, want 1", len(r.specs))
	}
	return r.specs[0]
}

// fakeAttempt is a Context as a worker makes it.
type fakeAttempt struct {
	context.Context
	attempt int
}

func (f *fakeAttempt) Attempt() int           { return f.attempt }
func (f *fakeAttempt) MaxAttempts() int       { return 5 }
func (f *fakeAttempt) RunID() cyclone.RunID   { return 12345 }
func (f *fakeAttempt) Node() string           { return "send_email" }
func (f *fakeAttempt) Queue() string          { return "default" }
func (f *fakeAttempt) Meta(key string) string { return "meta of " + key }
func (f *fakeAttempt) IdempotencyKey() string { return wire.IdempotencyKey(12345, "send_email") }
func (f *fakeAttempt) LeaseExpiry() time.Time { return time.Unix(30, 0) }
func (f *fakeAttempt) Logger() *slog.Logger   { return slog.New(slog.DiscardHandler) }

func (f *fakeAttempt) CompletionTx() cyclone.CompletionTx { return nil }

func (f *fakeAttempt) Value(key any) any {
	if key == (wire.ContextKey{}) {
		return f
	}
	return f.Context.Value(key)
}

// newAttempt returns a Context of the given attempt.
func newAttempt(t *testing.T, attempt int) *fakeAttempt {
	return &fakeAttempt{Context: t.Context(), attempt: attempt}
}

// run runs a definition's handler once with in, as a worker does.
func run(t *testing.T, ctx context.Context, def cyclone.Definition, in any) (any, error) {
	t.Helper()
	encoded, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return def.Wire().Invoke(ctx, func(into any) error { return json.Unmarshal(encoded, into) })
}

// panicOf returns the error with which fn panics, or nil.
func panicOf(t *testing.T, fn func()) (err error) {
	t.Helper()
	defer func() {
		if v := recover(); v != nil {
			err = v.(error)
		}
	}()
	fn()
	return nil
}

// outcome runs the handler once, as the given attempt, and tells what becomes of
// the step: what a worker does, without the queue.
func outcome(def cyclone.Definition, attempt int, in any) string {
	encoded, err := json.Marshal(in)
	if err != nil {
		return err.Error()
	}
	ctx := &fakeAttempt{Context: context.Background(), attempt: attempt}
	_, err = def.Wire().Invoke(ctx, func(into any) error { return json.Unmarshal(encoded, into) })
	const dice = 0.5
	d := retry.Decide(def.Wire().Rule(&wire.Options{}, retry.Policy{}, retry.DefaultJitter), attempt, err, dice)
	switch {
	case err == nil:
		return d.Outcome.String()
	case d.Delay > 0:
		return fmt.Sprintf("%v after %v: %v", d.Outcome, d.Delay, err)
	}
	return fmt.Sprintf("%v: %v", d.Outcome, err)
}
