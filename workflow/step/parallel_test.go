package step_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone/workflow/step"
)

// parallel makes the function of a branch: one recorded step of that name.
func parallel(ran *atomic.Int32, name string, errs ...error) func(context.Context) error {
	n := 0
	return func(ctx context.Context) error {
		_, err := step.Do(ctx, name, func(context.Context) (string, error) {
			ran.Add(1)
			if n++; n <= len(errs) {
				return "", errs[n-1]
			}
			return name, nil
		})
		return err
	}
}

func TestParallelJoinsAPauseSafely(t *testing.T) {
	t.Parallel()
	var a, b, c, behind atomic.Int32
	fns := []func(context.Context) error{parallel(&a, "a"), parallel(&b, "b", io.EOF), parallel(&c, "c")}
	k := newTask(t)
	handler := func(ctx context.Context) error {
		if err := step.Parallel(ctx, fns...); err != nil {
			return err
		}
		behind.Add(1)
		return nil
	}
	if e := suspended(t, k, handler); !e.gone || behind.Load() != 0 {
		t.Errorf("ended %+v, %d went on", e, behind.Load())
	}
	if err := k.run(handler); err != nil || behind.Load() != 1 {
		t.Errorf("%v, %d went on", err, behind.Load())
	}
	if a.Load() > 2 || b.Load() != 2 || c.Load() > 2 {
		t.Errorf("runs %d %d %d", a.Load(), b.Load(), c.Load())
	}
	if diff := cmp.Diff([]string{"r:a#1", "r:b#1", "r:c#1", "t:b#1"}, k.kept()); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
}

func TestParallelCollectsAllPauses(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	began := k.now
	// All have begun before the first suspends.
	var ready atomic.Int32
	together := make(chan struct{})
	nap := func(name string, d time.Duration) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := step.Do(ctx, name, func(context.Context) (int, error) {
				if ready.Add(1) == 2 {
					close(together)
				}
				<-together
				return 0, io.EOF
			}, step.Retry(step.RetryPolicy{Delays: []time.Duration{d}, MaxAttempts: 2}))
			return err
		}
	}
	fns := []func(context.Context) error{nap("a", time.Hour), nap("b", time.Minute)}
	e := suspended(t, k, func(ctx context.Context) error { return step.Parallel(ctx, fns...) })
	if len(e.pauses) != 2 {
		t.Errorf("pauses %+v", e.pauses)
	}
	err := k.run(func(ctx context.Context) error { return step.Parallel(ctx, fns...) })
	if err == nil || k.now-began != time.Hour.Milliseconds() {
		t.Errorf("%v after %d ms", err, k.now-began)
	}
	var failed *step.Error
	if !errors.As(err, &failed) || failed.Step != "a" || failed.Attempts != 2 {
		t.Errorf("the first failure: %+v", failed)
	}
}

func TestParallelReturnsErrorsInOrder(t *testing.T) {
	t.Parallel()
	fail := func(err error) func(context.Context) error { return func(context.Context) error { return err } }
	if err := step.Parallel(t.Context(), fail(nil), fail(io.EOF), fail(nil)); err != io.EOF {
		t.Errorf("one: %v", err)
	}
	if err := step.Parallel(t.Context(), fail(io.ErrClosedPipe), fail(nil), fail(io.EOF)); err == nil || err.Error() != io.ErrClosedPipe.Error()+"\nEOF" {
		t.Errorf("two: %v", err)
	}
	if err := step.Parallel(t.Context()); err != nil {
		t.Errorf("none: %v", err)
	}
}

func TestParallelPanicsInItsCaller(t *testing.T) {
	t.Parallel()
	other := false
	defer func() {
		err, _ := recover().(error)
		if !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "parallel_test.go") || !other {
			t.Errorf("got %v, the other one has ended: %v", err, other)
		}
	}()
	_ = step.Parallel(t.Context(), func(context.Context) error { panic(io.EOF) }, func(context.Context) error { other = true; return nil })
}
