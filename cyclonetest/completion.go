package cyclonetest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// completion is a transaction that checks what is added like a worker's, as on a
// deployment of one partition, and keeps it for the test.
type completion struct {
	wire.Tx
	content func() (*wire.Content, error) // closes it
}

func newCompletion() *completion {
	c := &completion{Tx: wire.Tx{
		Namespace: "cyclone:", Base: "cyclone:{0}:tx:",
		Here: func(int64) bool { return true },
		Encode: func(v any) (uint8, []byte, error) {
			b, err := codec.Marshal(v)
			return codec.ID(), b, err
		},
		Prepare: prepareRun,
	}}
	c.content = sync.OnceValues(c.Close)
	return c
}

func (c *completion) Enqueue(requests ...cyclone.Request) error {
	for _, r := range requests {
		if err := c.FollowUp(r.Spec()); err != nil {
			return err
		}
	}
	return nil
}

func (c *completion) EnqueueRun(run *wire.RunSpec) error { return c.Run(run) }

func (c *completion) Signal(run cyclone.RunID, name string, payload any) error {
	return c.Tx.Signal(int64(run), name, payload)
}

// Completion returns what a handler has added to its completion transaction, in the
// order in which it would be applied: a line for each operation, the method's name
// and what it was given,
//
//	IncrBy cyclone:{0}:tx:balance:ada -500
//	Set greeted yes 1h0m0s
//	Enqueue send_receipt
//	EnqueueTx fulfil
//	Signal 7 paid
//
// with keys as [cyclone.CompletionTx] makes them on a deployment with the default
// prefix. ctx is from [NewContext], and was given to the handler, by [CallAction] for
// one. The transaction is closed. It fails the test when an operation was refused.
// Typed inputs of the enqueues gives [CompletionEnqueued].
func Completion(t testing.TB, ctx context.Context) []string {
	t.Helper()
	content := contentOf(t, ctx)
	var lines []string
	for i := range content.Ops {
		lines = append(lines, lineOf(&content.Ops[i]))
	}
	for _, f := range content.FollowUps {
		lines = append(lines, "Enqueue "+f.Spec.Kind)
	}
	for _, r := range content.Runs {
		lines = append(lines, "EnqueueTx "+r.Name)
	}
	for _, s := range content.Signals {
		lines = append(lines, fmt.Sprintf("Signal %d %s", s.Run, s.Name))
	}
	return lines
}

// CompletionEnqueued returns the inputs of what a handler enqueues of one kind with
// its completion; see [Completion]. Of a workflow it tells the nodes that depend on
// nothing.
func CompletionEnqueued[In any](t testing.TB, ctx context.Context, def Kind[In]) []In {
	t.Helper()
	var inputs []In
	add := func(kind string, payload []byte) {
		t.Helper()
		if !slices.Contains(names(def), kind) {
			return
		}
		var in In
		if err := codec.Unmarshal(payload, &in); err != nil {
			t.Fatalf("cyclonetest: input of %s: %v", kind, err)
		}
		inputs = append(inputs, in)
	}
	content := contentOf(t, ctx)
	for _, f := range content.FollowUps {
		add(f.Spec.Kind, f.Payload)
	}
	for _, r := range content.Runs {
		for _, n := range r.Prepared.([]root) {
			add(n.kind, n.payload)
		}
	}
	return inputs
}

// root is a node of a workflow that depends on nothing.
type root struct {
	kind    string
	payload []byte
}

// prepareRun encodes a workflow, to find what is wrong with it, and returns its roots.
func prepareRun(spec *wire.RunSpec) (any, error) {
	var roots []root
	for i := range spec.Nodes {
		n := &spec.Nodes[i]
		if n.Input.Mode != wire.FromValue && n.Input.Mode != wire.FromJoin {
			continue
		}
		payload, err := codec.Marshal(n.Input.Value)
		if err != nil {
			spec.Reject(i, fmt.Errorf("node %s: input: %w", n.Name, err))
		}
		if len(n.Deps) == 0 {
			roots = append(roots, root{n.Kind, payload})
		}
	}
	return roots, spec.Err()
}

func contentOf(t testing.TB, ctx context.Context) *wire.Content {
	t.Helper()
	a, ok := ctx.Value(wire.ContextKey{}).(*attempt)
	if !ok {
		t.Fatalf("cyclonetest: the context is not that of NewContext, nor derived from it")
	}
	content, err := a.completion.Load().content()
	if err != nil {
		t.Fatalf("cyclonetest: the handler cannot complete: %v", err)
	}
	return content
}

// methods are the names of the operations that write keys.
var methods = map[wire.TxKind]string{
	wire.TxSet: "Set", wire.TxDelete: "Delete", wire.TxIncrBy: "IncrBy", wire.TxHashSet: "HashSet",
	wire.TxSetAdd: "SetAdd", wire.TxListPush: "ListPush",
}

func lineOf(op *wire.TxOp) string {
	words := append([]string{methods[op.Kind], op.Key}, op.Values...)
	if op.Kind == wire.TxIncrBy {
		words = append(words, strconv.FormatInt(op.Delta, 10))
	}
	if op.TTL > 0 {
		words = append(words, op.TTL.String())
	}
	return strings.Join(words, " ")
}
