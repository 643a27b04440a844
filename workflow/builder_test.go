package workflow_test

import (
	stdcmp "cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/workflow"
)

var sameSpec = cmp.Options{
	cmpopts.IgnoreUnexported(wire.RunSpec{}), cmpopts.EquateEmpty(),
	cmp.Comparer(func(a, b *wire.Definition) bool { return a == b }),
}

func TestBuilderHandsOverTheRun(t *testing.T) {
	t.Parallel()
	order := Order{ID: "o-1"}
	b := workflow.New("fulfil",
		cyclone.WithMeta("tenant", "ada"), cyclone.WithUnique(cyclone.Unique{Key: "o-1"}), cyclone.WithRetention(time.Hour), workflow.WithDeadline(time.Minute))
	paid := workflow.Run(b, "charge", charge, workflow.Value(order), cyclone.WithMaxAttempts(3))
	first := workflow.Run(b, "label.1", label, workflow.Value(order), cyclone.WithDelay(time.Second))
	second := workflow.Run(b, "label.2", label, workflow.Value(order), workflow.After(paid), workflow.OnDepFailure(workflow.CancelBranch))
	collected := workflow.Run(b, "collect", collect, workflow.All(second, first, second))
	in := Parcel{Order: order}
	packed := workflow.Run(b, "pack", pack, workflow.Join(&in, workflow.Bind(&in.Payment, paid)), workflow.After(collected))
	in.Order.ID = "changed later"
	workflow.Do(b, "ship", ship, packed, workflow.OnDepFailure(workflow.RunAnyway), workflow.After(packed, paid), workflow.After(first))

	value := func(v any) wire.RunInput { return wire.RunInput{Value: v} }
	want := &wire.RunSpec{
		Name: "fulfil", Result: -1, Deadline: time.Minute,
		Options: wire.Options{
			Set: wire.FieldMeta | wire.FieldUnique | wire.FieldRetention, Retention: time.Hour,
			Unique: wire.Unique{Key: "o-1"}, Meta: []wire.KV{{Key: "tenant", Value: "ada"}},
		},
		Nodes: []wire.RunNode{
			{Name: "charge", Kind: "charge", Def: charge.Wire(), Input: value(order), Options: wire.Options{Set: wire.FieldMaxAttempts, MaxAttempts: 3}},
			{Name: "label.1", Kind: "label", Def: label.Wire(), Input: value(order), Options: wire.Options{Set: wire.FieldDelay, Delay: time.Second}},
			{Name: "label.2", Kind: "label", Def: label.Wire(), Input: value(order), Deps: []int{0}, Policy: wire.DepCancel},
			{
				Name: "collect", Kind: "collect", Def: collect.Wire(), Deps: []int{1, 2},
				Input: wire.RunInput{Mode: wire.FromAll, Refs: []wire.InputRef{{Node: 2}, {Node: 1}, {Node: 2}}},
			},
			{
				Name: "pack", Kind: "pack", Def: pack.Wire(), Deps: []int{0, 3},
				Input: wire.RunInput{Mode: wire.FromJoin, Value: Parcel{Order: order}, Refs: []wire.InputRef{{Node: 0, Path: []string{"payment"}}}},
			},
			{
				Name: "ship", Kind: "ship", Def: ship.Wire(), Deps: []int{0, 1, 4}, Policy: wire.DepRun,
				Input: wire.RunInput{Mode: wire.FromNode, Refs: []wire.InputRef{{Node: 4}}},
			},
		},
	}
	if diff := cmp.Diff(want, built(t, b), sameSpec); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if packed.Name() != "pack" || b.Err() != nil {
		t.Errorf("name %q, error %v", packed.Name(), b.Err())
	}
}

func TestEnqueueForHasAResult(t *testing.T) {
	t.Parallel()
	b := workflow.New("fulfil")
	workflow.Do(b, "mail", mail, workflow.Value(Order{}))
	paid := workflow.Run(b, "charge", charge, workflow.Value(Order{}))
	client := &recorder{receipt: cyclone.Receipt{ID: 7, Existing: true}}
	run, err := workflow.EnqueueFor(t.Context(), client, paid)
	if err != nil || run.ID() != 7 || !run.Existing() || client.spec.Result != 1 {
		t.Errorf("run %+v, %v, result %d", run, err, client.spec.Result)
	}
	if spec := built(t, b); spec.Result != -1 {
		t.Errorf("the other kind of enqueue has the result %d", spec.Result)
	}
	var mistake *workflow.BuilderError
	if run, err := workflow.EnqueueFor(t.Context(), client, workflow.Ref[Label]{}); run != nil || !errors.As(err, &mistake) {
		t.Errorf("of an empty reference: %v, %v", run, err)
	}
}

func TestEnqueueReturnsTheClientsErrors(t *testing.T) {
	t.Parallel()
	b := workflow.New("fulfil")
	paid := workflow.Run(b, "charge", charge, workflow.Value(Order{}))
	for _, tt := range []struct {
		err, inReceipt error
		known          bool
	}{
		{err: io.ErrUnexpectedEOF},
		{inReceipt: io.ErrUnexpectedEOF},
		{err: context.Canceled, inReceipt: context.Canceled},
		{err: cyclone.ErrUnknownOutcome, known: true},
		{inReceipt: cyclone.ErrNotReplicated, known: true},
	} {
		client := &recorder{err: tt.err, receipt: cyclone.Receipt{ID: 7, Err: tt.inReceipt}}
		run, err := workflow.EnqueueFor(t.Context(), client, paid)
		if want := stdcmp.Or(tt.err, tt.inReceipt); !errors.Is(err, want) || !strings.HasPrefix(err.Error(), "workflow: enqueue fulfil: ") {
			t.Errorf("got %v, want %v", err, want)
		}
		if (run != nil) != tt.known {
			t.Errorf("%v: run %v", err, run)
		}
	}
}

func TestOneBuilderMakesManyRuns(t *testing.T) {
	t.Parallel()
	b := workflow.New("fulfil")
	workflow.Wait(b, "approval", time.Hour)
	workflow.Do(b, "mail", mail, nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			refused := fmt.Errorf("node approval: refused in run %d", i)
			_, err := b.Enqueue(t.Context(), &recorder{encode: refused})
			var mistake *workflow.BuilderError
			if !errors.As(err, &mistake) || len(mistake.Errors) != 2 || !slices.Contains(mistake.Errors, refused) {
				t.Errorf("run %d: %v", i, err)
			}
		})
	}
	wg.Wait()
}

func TestDependenciesAndInputsHaveTheirNodes(t *testing.T) {
	t.Parallel()
	b := workflow.New("empty-list")
	workflow.Run(b, "collect", collect, workflow.All[Label]())
	if in := built(t, b).Nodes[0].Input; in.Mode != wire.FromAll || len(in.Refs) != 0 {
		t.Errorf("got %+v", in)
	}
}
