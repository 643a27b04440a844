package cyclonetest

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/record"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// ContextOption says what the attempt of a [NewContext] looks like.
type ContextOption func(*attempt)

// Attempt sets the 1-based ordinal of the attempt, default 1.
func Attempt(n int) ContextOption { return func(a *attempt) { a.ordinal = n } }

// MaxAttempts sets the attempt after which a failure discards the step, default 5.
func MaxAttempts(n int) ContextOption { return func(a *attempt) { a.limit = n } }

// RunID sets the id of the run, default 1.
func RunID(id cyclone.RunID) ContextOption { return func(a *attempt) { a.run = id } }

// Node sets the step's name inside its run, default "node".
func Node(name string) ContextOption { return func(a *attempt) { a.node = name } }

// Queue sets the queue, default "default".
func Queue(name string) ContextOption { return func(a *attempt) { a.queue = name } }

// Meta attaches a value to the step, as [cyclone.WithMeta] does.
func Meta(key, value string) ContextOption { return func(a *attempt) { a.meta[key] = value } }

// Logger sets the attempt's logger; the default writes to the test's output.
func Logger(l *slog.Logger) ContextOption { return func(a *attempt) { a.logger = l } }

// Parent sets the context that gives deadline, cancellation and values, default
// t.Context(). Cancel one made by [context.WithCancelCause] to see what a handler
// does when its attempt has to end, with [cyclone.ErrShutdown] for example.
func Parent(ctx context.Context) ContextOption { return func(a *attempt) { a.Context = ctx } }

// Output gives the output of a node that the attempt's node depends on, for
// [cyclone.Output]. It panics when v cannot be encoded.
func Output(node string, v any) ContextOption {
	b := encoded("output of "+node, v)
	return func(a *attempt) { a.outputs[node] = b }
}

// Signal sends a signal to the run before the task begins, for [CallTask]; signals of
// one name are taken in the order of the options. It panics when payload cannot be
// encoded.
func Signal(name string, payload any) ContextOption {
	b := record.AppendValue(nil, codec.ID(), encoded("signal "+name, payload))
	return func(a *attempt) { a.memory.signal(name, b) }
}

// lease is how far away the end of the lease always is, as if it were renewed.
const lease = 30 * time.Second

// NewContext returns the Context of an attempt for calling a handler directly. It
// fails the test when the attempt cannot be: its ordinal is below 1 or above the
// limit.
func NewContext(t testing.TB, opts ...ContextOption) cyclone.Context {
	t.Helper()
	a := &attempt{
		Context: t.Context(), ordinal: 1, limit: 5, run: 1, node: "node", queue: wire.DefaultQueue,
		meta: map[string]string{}, logger: logger(t), memory: newMemory(), outputs: outputs{},
	}
	a.begin()
	for _, opt := range opts {
		opt(a)
	}
	if a.ordinal < 1 || a.ordinal > a.limit {
		t.Fatalf("cyclonetest: attempt %d of %d: there is no such attempt", a.ordinal, a.limit)
	}
	return a
}

// attempt is a Context that no worker stands behind.
type attempt struct {
	context.Context
	ordinal, limit int
	run            cyclone.RunID
	node, queue    string
	meta           map[string]string
	logger         *slog.Logger
	outputs        outputs
	memory         *memory
	completion     atomic.Pointer[completion]
}

// begin gives the attempt an empty transaction.
func (a *attempt) begin() { a.completion.Store(newCompletion()) }

// completed closes the transaction, and returns what is wrong with it.
func (a *attempt) completed() error {
	_, err := a.completion.Load().content()
	return err
}

func (a *attempt) Attempt() int           { return a.ordinal }
func (a *attempt) MaxAttempts() int       { return a.limit }
func (a *attempt) RunID() cyclone.RunID   { return a.run }
func (a *attempt) Node() string           { return a.node }
func (a *attempt) Queue() string          { return a.queue }
func (a *attempt) Meta(key string) string { return a.meta[key] }
func (a *attempt) LeaseExpiry() time.Time { return time.Now().Add(lease) }

func (a *attempt) CompletionTx() cyclone.CompletionTx { return a.completion.Load() }

func (a *attempt) IdempotencyKey() string { return wire.IdempotencyKey(int64(a.run), a.node) }

func (a *attempt) Logger() *slog.Logger {
	return a.logger.With("run", a.run.String(), "node", a.node, "queue", a.queue, "attempt", a.ordinal)
}

// Value makes the attempt be found in every context derived from it.
func (a *attempt) Value(key any) any {
	switch key.(type) {
	case wire.ContextKey:
		return a
	case wire.OutputsKey:
		return a.outputs
	}
	return a.Context.Value(key)
}

// outputs are the encoded outputs of the nodes that the attempt's depends on.
type outputs map[string][]byte

// Output implements [wire.Outputs].
func (o outputs) Output(node string, into any) (found bool, err error) {
	b, found := o[node]
	if found {
		err = codec.Unmarshal(b, into)
	}
	return found, err
}

// encoded is the value as the default codec has it. It panics when that cannot be.
func encoded(what string, v any) []byte {
	b, err := codec.Marshal(v)
	if err != nil {
		panic(fmt.Errorf("cyclonetest: %s: %w", what, err))
	}
	return b
}
