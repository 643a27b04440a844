package cyclone_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

var (
	mailAction = cyclone.NewAction("send_email", sendNothing, cyclone.WithMaxAttempts(5), cyclone.WithQueue("mail"))
	lengthStep = cyclone.NewStep("count_bytes", countBytes)
	lengthTask = cyclone.NewTask("count_task", cyclone.HandlerFunc(countBytes))
)

func TestEnqueuePassesEveryOption(t *testing.T) {
	t.Parallel()
	start := time.Unix(1_900_000_000, 0)
	e := &recorder{}
	run, err := cyclone.EnqueueAction(t.Context(), e, mailAction, email{"ada"},
		cyclone.Retry(cyclone.RetryPolicy{MaxAttempts: 3, Delays: []time.Duration{time.Second}}),
		cyclone.WithQueue("urgent"), cyclone.WithPriority(cyclone.High), cyclone.WithTimeout(time.Minute),
		cyclone.WithRetention(time.Hour), cyclone.WithStartAt(start), cyclone.WithExpiry(2*time.Hour),
		cyclone.WithUnique(cyclone.Unique{Key: "ada", Scope: cyclone.For(time.Hour), OnConflict: cyclone.Reject}),
		cyclone.WithRequestKey("order-1"), cyclone.WithMeta("trace", "1"), cyclone.WithMeta("user", "7"), cyclone.WithMeta("trace", "2"),
		cyclone.WaitReplicas(2),
	)
	if err != nil || run.ID() != 1 || run.Existing() {
		t.Fatalf("run %+v, error %v", run, err)
	}
	spec := e.only(t)
	if spec.Kind != "send_email" || spec.Input != (email{"ada"}) || spec.Def != mailAction.Wire() {
		t.Errorf("spec %+v", spec)
	}
	want := wire.Options{
		Set:         (wire.FieldWaitReplicas<<1 - 1) &^ wire.FieldDelay,
		MaxAttempts: 3, Delays: []time.Duration{time.Second}, Queue: "urgent", Priority: wire.High,
		Timeout: time.Minute, Retention: time.Hour, StartAt: start, Expiry: 2 * time.Hour,
		Unique:     wire.Unique{Key: "ada", Scope: time.Hour, Conflict: wire.ConflictReject},
		RequestKey: "order-1", Meta: []wire.KV{{Key: "trace", Value: "2"}, {Key: "user", Value: "7"}}, WaitReplicas: 2,
	}
	if diff := cmp.Diff(want, spec.Options); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}

func TestSpec_C07_EnqueueOptionWins(t *testing.T) {
	t.Parallel()
	e := &recorder{}
	if _, err := cyclone.EnqueueAction(t.Context(), e, mailAction, email{}, cyclone.WithMaxAttempts(3)); err != nil {
		t.Fatal(err)
	}
	o := e.only(t).Effective()
	if o.MaxAttempts != 3 || o.QueueName() != "mail" {
		t.Errorf("%d attempts in queue %s, want 3 in mail", o.MaxAttempts, o.QueueName())
	}
}

func TestSpec_C08_BadEnqueueWritesNothing(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	e := &recorder{}
	none := cyclone.WithMaxAttempts(0)
	var undefined *cyclone.Action[email]
	tests := map[string]func() error{
		"enqueue send_email: max attempts 0: must be 1 to 10000": func() error {
			_, err := cyclone.EnqueueAction(ctx, e, mailAction, email{}, none)
			return err
		},
		"enqueue count_bytes: max attempts 0": func() error {
			_, err := cyclone.EnqueueStep(ctx, e, lengthStep, email{}, none)
			return err
		},
		"enqueue count_task: max attempts 0": func() error {
			_, err := cyclone.EnqueueTask(ctx, e, lengthTask, email{}, none)
			return err
		},
		"enqueue: 1 of 2 requests failed; request 1: send_email: max attempts 0": func() error {
			_, err := cyclone.EnqueueMany(ctx, e, lengthStep.With(email{}), mailAction.With(email{}, none))
			return err
		},
		"kind: max attempts 0": func() error {
			_, err := cyclone.EnqueueJSON(ctx, e, "kind", []byte(`{}`), none)
			return err
		},
		"option is nil": func() error {
			_, err := cyclone.EnqueueAction(ctx, e, mailAction, email{}, nil)
			return err
		},
		"empty request": func() error {
			_, err := cyclone.EnqueueMany(ctx, e, cyclone.Request{})
			return err
		},
		"enqueue empty request": func() error {
			_, err := cyclone.EnqueueAction(ctx, e, undefined, email{})
			return err
		},
		`kind "no kind"`: func() error {
			_, err := cyclone.EnqueueJSON(ctx, e, "no kind", []byte(`{}`))
			return err
		},
		"not valid JSON": func() error {
			_, err := cyclone.EnqueueJSON(ctx, e, "kind", []byte(`{`))
			return err
		},
		"1048577 bytes": func() error {
			_, err := cyclone.EnqueueJSON(ctx, e, "kind", make([]byte, 1<<20+1))
			return err
		},
		"unique scope -1ns": func() error {
			_, err := cyclone.EnqueueAction(ctx, e, mailAction, email{}, cyclone.WithUnique(cyclone.Unique{Scope: cyclone.For(0)}))
			return err
		},
		"give one of them, not both": func() error {
			_, err := cyclone.EnqueueAction(ctx, e, mailAction, email{}, cyclone.WithDelay(time.Second), cyclone.WithStartAt(time.Now()))
			return err
		},
	}
	for want, enqueue := range tests {
		if err := enqueue(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one with %q", err, want)
		}
	}
	if len(e.specs) > 0 {
		t.Errorf("%d requests reached the enqueuer", len(e.specs))
	}
}

func TestBadRequestsCarryTheirError(t *testing.T) {
	t.Parallel()
	none := cyclone.WithMaxAttempts(0)
	for _, r := range []cyclone.Request{
		{}, mailAction.With(email{}, none), lengthStep.With(email{}, none), lengthTask.With(email{}, none),
		(*cyclone.Action[email])(nil).With(email{}), (*cyclone.Step[email, int])(nil).With(email{}), (*cyclone.Task[email, int])(nil).With(email{}),
	} {
		if r.Spec().Err == nil {
			t.Errorf("%+v: no error", r.Spec())
		}
	}
}

func TestEnqueueOutcomes(t *testing.T) {
	t.Parallel()
	duplicate := &cyclone.DuplicateError{Key: "ada", Holder: 7}
	tests := []struct {
		name     string
		receipts []cyclone.Receipt
		err      error
		wantID   cyclone.RunID // 0: no run
		wantErr  error
	}{
		{"holder", []cyclone.Receipt{{ID: 7, Existing: true}}, nil, 7, nil},
		{"rejected", []cyclone.Receipt{{Err: duplicate}}, &cyclone.BatchError{Errors: []error{duplicate}}, 0, duplicate},
		{"refused as a batch of one", nil, &cyclone.BatchError{Errors: []error{io.ErrShortWrite}}, 0, io.ErrShortWrite},
		{"unknown, id known", []cyclone.Receipt{{ID: 7, Err: cyclone.ErrUnknownOutcome}}, nil, 7, cyclone.ErrUnknownOutcome},
		{"not replicated", []cyclone.Receipt{{ID: 7, Err: cyclone.ErrNotReplicated}}, nil, 7, cyclone.ErrNotReplicated},
		{"unknown, id unknown", nil, cyclone.ErrUnknownOutcome, 0, cyclone.ErrUnknownOutcome},
		{"other error", []cyclone.Receipt{{ID: 7, Err: io.EOF}}, nil, 0, io.EOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := &recorder{receipts: tt.receipts, err: tt.err}
			check := func(id cyclone.RunID, err error) {
				t.Helper()
				if id != tt.wantID || !errors.Is(err, tt.wantErr) {
					t.Errorf("run %v, error %v, want run %v, error %v", id, err, tt.wantID, tt.wantErr)
				}
				var batch *cyclone.BatchError
				if errors.As(err, &batch) {
					t.Errorf("a single enqueue returned the batch error %v", err)
				}
			}
			run, err := cyclone.EnqueueAction(t.Context(), e, mailAction, email{})
			check(idOf(run), err)
			typed, err := cyclone.EnqueueStep(t.Context(), e, lengthStep, email{})
			if typed != nil {
				check(typed.ID(), err)
			} else {
				check(0, err)
			}
		})
	}
}

func idOf(run *cyclone.Run) cyclone.RunID {
	if run == nil {
		return 0
	}
	return run.ID()
}

func TestEnqueueRefusesAnEnqueuerThatMiscounts(t *testing.T) {
	t.Parallel()
	e := &recorder{receipts: []cyclone.Receipt{}}
	if _, err := cyclone.EnqueueAction(t.Context(), e, mailAction, email{}); err == nil {
		t.Error("EnqueueAction: no error")
	}
	if _, err := cyclone.EnqueueMany(t.Context(), e, mailAction.With(email{})); err == nil {
		t.Error("EnqueueMany: no error")
	}
}

func TestEnqueueManyReportsPerItem(t *testing.T) {
	t.Parallel()
	e := &recorder{
		receipts: []cyclone.Receipt{{ID: 1}, {Err: io.EOF}, {ID: 3, Existing: true}},
		err:      &cyclone.BatchError{Errors: []error{nil, io.EOF, nil}},
	}
	runs, err := cyclone.EnqueueMany(t.Context(), e, mailAction.With(email{"a"}), lengthStep.With(email{"b"}), lengthTask.With(email{"c"}))
	var batch *cyclone.BatchError
	if !errors.As(err, &batch) || !errors.Is(err, io.EOF) || len(batch.Errors) != 3 {
		t.Errorf("error %v", err)
	}
	if len(runs) != 3 || runs[0].ID() != 1 || runs[1] != nil || runs[2].ID() != 3 || !runs[2].Existing() {
		t.Errorf("runs %v", runs)
	}
	if runs, err := cyclone.EnqueueMany(t.Context(), e); len(runs) > 0 || err != nil {
		t.Errorf("nothing to enqueue: %v, %v", runs, err)
	}
}

func TestEnqueueJSON(t *testing.T) {
	t.Parallel()
	e := &recorder{}
	run, err := cyclone.EnqueueJSON(t.Context(), e, "send_email", []byte(`{"To":"ada"}`), cyclone.WithDelay(time.Second))
	if err != nil || run.ID() != 1 {
		t.Fatalf("run %v, error %v", run, err)
	}
	want := &wire.Spec{Kind: "send_email", RawJSON: []byte(`{"To":"ada"}`), Options: wire.Options{Set: wire.FieldDelay, Delay: time.Second}}
	if diff := cmp.Diff(want, e.only(t), cmpopts.EquateErrors()); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	failed := &cyclone.RunError{RunID: 2, State: cyclone.RunFailed}
	e := &recorder{await: func(id cyclone.RunID, out any) error {
		if out, ok := out.(*int); ok {
			*out = int(id) * 10
		}
		if id == 2 {
			return failed
		}
		return nil
	}}
	ctx := t.Context()
	if err := cyclone.Attach(e, 1).Wait(ctx); err != nil {
		t.Error(err)
	}
	if err := cyclone.Attach(e, 2).Wait(ctx); err != failed {
		t.Errorf("got %v", err)
	}
	if out, err := cyclone.AttachOf[int](e, 1).Wait(ctx); out != 10 || err != nil {
		t.Errorf("got %v, %v", out, err)
	}
	if out, err := cyclone.AttachOf[int](e, 2).Wait(ctx); out != 0 || err != failed {
		t.Errorf("got %v, %v", out, err)
	}
}

// discard is an Enqueuer that does nothing but answer.
type discard struct{ receipts []cyclone.Receipt }

func (d discard) Enqueue(context.Context, ...cyclone.Request) ([]cyclone.Receipt, error) {
	return d.receipts, nil
}
func (discard) Await(context.Context, cyclone.RunID, any) error { return nil }

// enqueueCost is how many allocations the vocabulary adds to one enqueue.
const enqueueCost = 9

func TestEnqueueIsCheap(t *testing.T) {
	e := discard{[]cyclone.Receipt{{ID: 1}}}
	in, queue, limit := email{"ada"}, strings.Clone("mail"), 3000
	ctx := t.Context()
	n := testing.AllocsPerRun(1000, func() {
		if _, err := cyclone.EnqueueAction(ctx, e, mailAction, in, cyclone.WithMaxAttempts(limit), cyclone.WithQueue(queue)); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%v allocations", n)
	if n > enqueueCost {
		t.Errorf("%v allocations for an enqueue with two options, want at most %d", n, enqueueCost)
	}
}

func BenchmarkEnqueueAction(b *testing.B) {
	e := discard{[]cyclone.Receipt{{ID: 1}}}
	in, queue, limit := email{"ada"}, strings.Clone("mail"), 3000
	b.ReportAllocs()
	for b.Loop() {
		_, _ = cyclone.EnqueueAction(b.Context(), e, mailAction, in, cyclone.WithMaxAttempts(limit), cyclone.WithQueue(queue))
	}
}
