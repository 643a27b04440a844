package workflow_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/workflow"
)

// recorder is a client that keeps what it is given.
type recorder struct {
	cyclone.Enqueuer
	spec    *wire.RunSpec
	receipt cyclone.Receipt
	err     error
	encode  error // what is wrong with the input of the first node
}

func (r *recorder) EnqueueRun(_ context.Context, spec *wire.RunSpec) (cyclone.Receipt, error) {
	r.spec = spec
	if r.encode != nil {
		spec.Reject(0, r.encode)
	}
	if err := spec.Err(); err != nil {
		return cyclone.Receipt{}, err
	}
	return r.receipt, r.err
}

type (
	Order   struct{ ID string }
	Payment struct{ Cents int }
	Label   struct{ Number string }
	Parcel  struct {
		Order    Order   `json:"order"`
		Payment  Payment `json:"payment"`
		Shipping struct{ Labels []Label }
	}
)

var (
	charge  = cyclone.DeclareStep[Order, Payment]("charge")
	label   = cyclone.DeclareTask[Order, Label]("label", cyclone.WithQueue("print"))
	collect = cyclone.DeclareStep[[]Label, Parcel]("collect")
	pack    = cyclone.DeclareStep[Parcel, Label]("pack")
	ship    = cyclone.DeclareAction[Label]("ship")
	mail    = cyclone.DeclareAction[Order]("mail")
)

// built returns what the builder hands over.
func built(t *testing.T, b *workflow.Builder) *wire.RunSpec {
	t.Helper()
	client := &recorder{receipt: cyclone.Receipt{ID: 7}}
	run, err := b.Enqueue(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	if run.ID() != 7 || run.Existing() {
		t.Errorf("run %v, existing %v", run.ID(), run.Existing())
	}
	return client.spec
}

// mistakes returns the builder's error, from Err as from Enqueue.
func mistakes(t *testing.T, b *workflow.Builder) *workflow.BuilderError {
	t.Helper()
	var early, late *workflow.BuilderError
	run, err := b.Enqueue(t.Context(), &recorder{receipt: cyclone.Receipt{ID: 7}})
	if run != nil || !errors.As(err, &late) || !errors.As(b.Err(), &early) {
		t.Fatalf("run %v, error %v, before %v", run, err, b.Err())
	}
	if late.Error() != early.Error() {
		t.Errorf("before the enqueue:\n%v\nand then:\n%v", early, late)
	}
	return late
}
