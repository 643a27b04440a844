package conformance_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/retry"
	"github.com/cyclone-queue/cyclone/worker"
)

func explode() { panic("kaboom") }

func TestPanicIsAFailureWithItsStack(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			if v.Add(ctx) == 1 {
				explode()
			}
			return cyclone.Permanent(errBoom)
		}, soon)
		l.Start(worker.Config{}, action)
		id := lab.Enqueue(l, action, "")
		s := l.UntilState(id, cyclone.StepExhausted)
		if got := v.Attempts(); !slices.Equal(got, []int{1, 2}) {
			l.Errorf("attempts %v, want 1 and 2", got)
		}
		first := s.History[0]
		if first.Code != retry.CodePanic || !strings.Contains(first.Error, "kaboom") || !strings.Contains(first.Stack, "explode") {
			l.Errorf("the history has code %q, error %q and stack\n%s", first.Code, first.Error, first.Stack)
		}
	})
}

func TestPanicOnTheLastAttemptDiscards(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		failures := make(chan worker.Failure, 1)
		action := cyclone.NewAction("job", func(cyclone.Context, string) error { panic(errBoom) }, cyclone.WithMaxAttempts(1))
		l.Start(worker.Config{OnFailure: func(_ cyclone.Context, f worker.Failure) { failures <- f }}, action)
		id := lab.Enqueue(l, action, "")
		l.UntilState(id, cyclone.StepExhausted)
		f := <-failures
		if !f.Discarded || f.Code != retry.CodePanic || f.Stack == "" || !errors.Is(f.Err, errBoom) {
			l.Errorf("OnFailure got %+v, want the panic's error and stack", f)
		}
	})
}

// runtime.Goexit, as testing's FailNow calls it, ends the goroutine: it is a
// failure, and the worker keeps its slots.
func TestGoexitIsAFailure(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			if v.Add(ctx) <= 2 {
				runtime.Goexit()
			}
			return nil
		}, soon)
		w := l.Start(worker.Config{Concurrency: 1}, action)
		var ids []cyclone.RunID
		for range 3 {
			ids = append(ids, lab.Enqueue(l, action, ""))
		}
		for _, id := range ids {
			l.UntilGone(id)
		}
		if n := len(v.All()); n != 9 {
			l.Errorf("%d executions, want 3 of each of 3 steps", n)
		}
		l.Until("the slot is free", func() bool { return w.Health().Free == 1 && w.Health().Running == 0 })
	})
}

func TestPanicsElsewhereAreFailuresToo(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		action := cyclone.NewAction("job", func(cyclone.Context, string) error { return nil }, cyclone.WithMaxAttempts(1))
		l.Start(worker.Config{
			Middleware: []worker.Middleware{func(cyclone.Context, func(context.Context) error) error { panic("in the middle") }},
			OnFailure:  func(cyclone.Context, worker.Failure) { panic("in the hook") },
		}, action)
		id := lab.Enqueue(l, action, "")
		s := l.UntilState(id, cyclone.StepExhausted)
		if last := s.History[0]; last.Code != retry.CodePanic || !strings.Contains(last.Error, "in the middle") {
			l.Errorf("the history says %+v", last)
		}
		l.Until("the hook's panic is logged", func() bool { return l.Log.Count("OnFailure panicked", "in the hook") == 1 })
	})
}

// A backoff function that fails is replaced by the default delays.
func TestFailingBackoffIsReported(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		action := fails(l.Visits(), 1, panickyBackoff)
		l.Start(worker.Config{}, action)
		id := lab.Enqueue(l, action, "")
		l.UntilState(id, cyclone.StepRetrying)
		if l.Log.Count("backoff function failed", "no idea") != 1 {
			l.Error("nothing was logged")
		}
	})
}
