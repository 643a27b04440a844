package step_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/record"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/retry"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

func TestSleepLastsFromItsFirstTime(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	began := k.now
	handler := func(ctx context.Context) error { return step.Sleep(ctx, "nap", time.Hour) }
	suspended(t, k, handler)
	k.now += time.Minute.Milliseconds() // something else has brought the task back
	e := suspended(t, k, handler)
	if e.pauses[0].DueMS != began+time.Hour.Milliseconds() || len(e.pauses[0].Entries) > 0 {
		t.Errorf("pauses %+v", e.pauses)
	}
	k.now = e.pauses[0].DueMS
	if e := k.attempt(handler); e.err != nil || e.gone {
		t.Errorf("ended %+v", e)
	}
}

func TestSleepUntil(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	at := time.UnixMilli(k.now).Add(time.Second + time.Microsecond)
	e := suspended(t, k, func(ctx context.Context) error { return step.SleepUntil(ctx, "x", at) })
	if e.pauses[0].DueMS != k.now+1001 {
		t.Errorf("due %d, want %d", e.pauses[0].DueMS, k.now+1001)
	}
	far := suspended(t, newTask(t), func(ctx context.Context) error {
		return step.SleepUntil(ctx, "x", time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))
	})
	if far.pauses[0].DueMS != wire.MaxStart.UnixMilli()-1 {
		t.Errorf("far away: due %d", far.pauses[0].DueMS)
	}
	if e := newTask(t).attempt(func(ctx context.Context) error {
		return errors.Join(step.SleepUntil(ctx, "x", time.Unix(0, 0)), step.Sleep(ctx, "y", 0), step.Sleep(ctx, "z", -1))
	}); e.err != nil || e.gone {
		t.Errorf("no sleep: %+v", e)
	}
}

func TestWaitSignal(t *testing.T) {
	t.Parallel()
	handler := func(got *[]string) func(context.Context) error {
		return func(ctx context.Context) error {
			*got = nil
			for range 2 {
				word, err := step.WaitSignal[string](ctx, "word", time.Hour)
				if err != nil {
					return err
				}
				*got = append(*got, word)
			}
			return nil
		}
	}
	var got []string
	k := newTask(t)
	k.signal("word", "before")
	e := suspended(t, k, handler(&got))
	want := wire.Suspension{State: wire.SuspendedWaiting, DueMS: k.now + time.Hour.Milliseconds(), Signal: "word", Entries: []wire.Entry{
		{Kind: wire.EntryWake, ID: "word#2", Value: record.AppendTime(nil, k.now+time.Hour.Milliseconds())},
	}}
	if diff := cmp.Diff([]wire.Suspension{want}, e.pauses); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
	k.signal("word", "during")
	k.signal("word", "left over")
	for range 2 {
		if e := k.attempt(handler(&got)); e.err != nil || len(e.pauses) > 0 {
			t.Errorf("ended %+v", e)
		}
		if diff := cmp.Diff([]string{"before", "during"}, got); diff != "" {
			t.Errorf("taken (-want +got):\n%s", diff)
		}
	}
}

func TestWaitSignalTimesOutOnce(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	handler := func(ctx context.Context) error {
		_, err := step.WaitSignal[string](ctx, "approval", time.Hour)
		return err
	}
	for range 2 {
		err := k.run(handler)
		var failed *step.Error
		if !errors.Is(err, step.ErrTimeout) || !errors.As(err, &failed) || failed.Code != retry.CodeTimeout {
			t.Errorf("got %v", err)
		}
		if d := retry.Decide(retry.Rule{}, 1, err, 0); d.Outcome != retry.OutcomeDiscard || d.Code != retry.CodeTimeout {
			t.Errorf("the run: %+v", d)
		}
		k.signal("approval", "too late") // what was recorded stands
	}
	k.generation = 1
	if err := k.run(handler); err != nil {
		t.Errorf("opened again: %v", err)
	}
}

func TestWaitSignalForEver(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	handler := func(ctx context.Context) error {
		n, err := step.WaitSignal[int](ctx, "number", 0)
		if err == nil && n != 7 {
			t.Errorf("got %d", n)
		}
		return err
	}
	e := suspended(t, k, handler)
	if e.pauses[0].DueMS != 0 || len(e.pauses[0].Entries) > 0 {
		t.Errorf("pauses %+v", e.pauses)
	}
	k.signal("number", 7)
	if err := k.run(handler); err != nil {
		t.Error(err)
	}
}

func TestASignalThatDoesNotFitIsADecodeFailure(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	k.signal("number", "seven")
	for range 2 {
		e := k.attempt(func(ctx context.Context) error {
			_, err := step.WaitSignal[int](ctx, "number", 0)
			return err
		})
		var failed *step.Error
		if !errors.As(e.err, &failed) || failed.Code != retry.CodeDecode {
			t.Errorf("got %v", e.err)
		}
	}
}

type order struct{ ID int }

var invoice = cyclone.DeclareStep[order, string]("invoice")

func TestRunWaitsForItsChild(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	handler := func(ctx context.Context) error {
		number, err := step.Run(ctx, "invoice", invoice, order{7}, cyclone.WithQueue("billing"))
		if err == nil && number != "R-7" {
			t.Errorf("got %q", number)
		}
		return err
	}
	e := suspended(t, k, handler)
	if e.pauses[0].Signal != wire.ChildSignal("invoice#1") || e.pauses[0].DueMS != 0 || len(k.children) != 1 {
		t.Errorf("pauses %+v, children %v", e.pauses, k.children)
	}
	k.signal(wire.ChildSignal("invoice#1"), "R-7")
	for range 2 {
		if err := k.run(handler); err != nil || len(k.children) != 1 {
			t.Errorf("%v, children %v", err, k.children)
		}
	}
}

func TestRunOfAChildThatFails(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	k.signals["invoice#1"] = [][]byte{record.AppendFailure(nil, &record.Outcome{
		Code: "card_declined", Message: "no money", Attempts: 5, Run: 1000, State: string(cyclone.RunFailed), Node: "invoice",
	})}
	for range 2 {
		e := k.attempt(func(ctx context.Context) error {
			_, err := step.Run(ctx, "invoice", invoice, order{7})
			return err
		})
		var failed *step.Error
		var run *cyclone.RunError
		if !errors.As(e.err, &failed) || !errors.As(e.err, &run) {
			t.Fatalf("got %v", e.err)
		}
		want := cyclone.RunError{RunID: 1000, State: cyclone.RunFailed, Node: "invoice", Attempts: 5, Code: "card_declined", Message: "no money"}
		if diff := cmp.Diff(want, *run); diff != "" || failed.Code != "card_declined" || errors.Is(e.err, cyclone.ErrCancelled) {
			t.Errorf("error %v (-want +got):\n%s", e.err, diff)
		}
	}
	k.generation = 1
	suspended(t, k, func(ctx context.Context) error {
		_, err := step.Run(ctx, "invoice", invoice, order{7})
		return err
	})
	if len(k.children) != 2 {
		t.Errorf("opened again: children %v", k.children)
	}
}

// A task that failed for good while its child went on finds that child when it is opened
// again, and sees the child's end as often as it runs. Only the retry after a failure that
// it has seen starts another.
func TestRunFindsTheChildOfAnEarlierGeneration(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	handler := func(ctx context.Context) error {
		_, err := step.Run(ctx, "invoice", invoice, order{7})
		return err
	}
	suspended(t, k, handler)
	for k.generation < 2 {
		k.generation++
		e := suspended(t, k, handler)
		if e.pauses[0].Signal != wire.ChildSignal("invoice#1") || len(k.children) != 1 {
			t.Fatalf("generation %d: pauses %+v, children %v", k.generation, e.pauses, k.children)
		}
	}
	k.signals["invoice#1"] = [][]byte{record.AppendFailure(nil, &record.Outcome{Code: "boom", Run: 1000, State: string(cyclone.RunFailed)})}
	for range 2 {
		var run *cyclone.RunError
		if err := k.run(handler); !errors.As(err, &run) || run.RunID != 1000 || len(k.children) != 1 {
			t.Errorf("%v, children %v", err, k.children)
		}
	}
	k.generation = 4
	if e := suspended(t, k, handler); e.pauses[0].Signal != wire.ChildSignal("invoice#1!3") || len(k.children) != 2 {
		t.Errorf("pauses %+v, children %v", e.pauses, k.children)
	}
}

func TestRunOfACancelledChild(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	k.signals["invoice#1"] = [][]byte{record.AppendFailure(nil, &record.Outcome{Code: retry.CodeCancelled, Run: 1000, State: string(cyclone.RunCancelled)})}
	e := k.attempt(func(ctx context.Context) error {
		_, err := step.Run(ctx, "invoice", invoice, order{7})
		return err
	})
	if !errors.Is(e.err, cyclone.ErrCancelled) {
		t.Errorf("got %v", e.err)
	}
}

func TestRunRefusesABadOption(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	e := k.attempt(func(ctx context.Context) error {
		_, err := step.Run(ctx, "invoice", invoice, order{7}, cyclone.WithMaxAttempts(0))
		return err
	})
	if d := retry.Decide(retry.Rule{}, 1, e.err, 0); d.Outcome != retry.OutcomeDiscard || len(k.children) > 0 {
		t.Errorf("got %v", e.err)
	}
}

func TestRunSpecWaitsForItsChild(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	spec := &wire.RunSpec{Name: "flow"}
	handler := func(ctx context.Context) error {
		number, err := step.RunSpec[string](ctx, "flow", spec)
		if err == nil && number != "R-7" {
			t.Errorf("got %q", number)
		}
		return err
	}
	if e := suspended(t, k, handler); e.pauses[0].Signal != wire.ChildSignal("flow#1") || len(k.children) != 1 {
		t.Errorf("pauses %+v, children %v", e.pauses, k.children)
	}
	k.signal(wire.ChildSignal("flow#1"), "R-7")
	for range 2 {
		if err := k.run(handler); err != nil || len(k.children) != 1 {
			t.Errorf("%v, children %v", err, k.children)
		}
	}
	spec.Reject(-1, io.EOF)
	e := k.attempt(func(ctx context.Context) error {
		_, err := step.RunSpec[string](ctx, "another", spec)
		return err
	})
	if d := retry.Decide(retry.Rule{}, 1, e.err, 0); d.Outcome != retry.OutcomeDiscard || !errors.Is(e.err, io.EOF) || len(k.children) != 1 {
		t.Errorf("got %v", e.err)
	}
}

// A child that has failed before its parent was opened again, and which the parent has
// not been told of, is started anew; one that fails after the parent has waited for it in
// this generation is told.
func TestRunStartsAChildAnewThatFailedMeanwhile(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	handler := func(ctx context.Context) error {
		_, err := step.Run(ctx, "invoice", invoice, order{7})
		return err
	}
	failure := func(run int64) []byte {
		return record.AppendFailure(nil, &record.Outcome{Code: "boom", Run: run, State: string(cyclone.RunFailed)})
	}
	suspended(t, k, handler)
	k.generation = 1
	suspended(t, k, handler) // it waits for the first one again
	k.failures = map[int64][]byte{1000: failure(1000)}
	if e := suspended(t, k, handler); e.pauses[0].Signal != wire.ChildSignal("invoice#1") || len(k.children) != 1 {
		t.Fatalf("pauses %+v, children %v", e.pauses, k.children)
	}
	k.generation = 3
	for range 2 {
		if e := suspended(t, k, handler); e.pauses[0].Signal != wire.ChildSignal("invoice#1!3") || len(k.children) != 2 {
			t.Fatalf("pauses %+v, children %v", e.pauses, k.children)
		}
		k.failures[1001] = failure(1001) // it is this generation's
	}
	k.signals["invoice#1!3"] = [][]byte{failure(1001)}
	var run *cyclone.RunError
	if err := k.run(handler); !errors.As(err, &run) || run.RunID != 1001 || len(k.children) != 2 {
		t.Errorf("%v, children %v", err, k.children)
	}
}
