package conformance_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/retry"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

// must fails the test for an error.
func must(l *lab.Lab, err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// Nodes that wait for their time start when an operator says so: a retry, a snooze, a
// delay, a sleep and a wait with a timeout.
func TestNodesRunNow(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		first := map[string]error{"retries": cyclone.RetryAfter(errBoom, time.Hour), "snoozes": cyclone.Snooze(time.Hour)}
		c := newCrew(nil)
		c.tasks = map[string]func(cyclone.Context) error{}
		for node, err := range first {
			c.instead(node, func(cyclone.Context) error {
				c.instead(node, nil)
				return err
			})
		}
		b := workflow.New("times")
		c.do(b, "retries")
		c.do(b, "snoozes")
		c.do(b, "delayed", cyclone.WithDelay(time.Hour))
		c.do(b, "wakes", workflow.After(workflow.Sleep(b, "sleeps", time.Hour)))
		c.do(b, "reminds", workflow.After(workflow.Wait(b, "approval", time.Hour)), anyway)
		l.Start(worker.Config{}, c)
		id := lab.EnqueueRun(l, b)
		for node, state := range map[string]cyclone.StepState{
			"retries": cyclone.StepRetrying, "snoozes": cyclone.StepSnoozed, "delayed": cyclone.StepScheduled,
			"sleeps": cyclone.StepWaiting, "approval": cyclone.StepWaiting,
		} {
			l.UntilNode(id, node, state)
			if node == "approval" {
				err := l.Client().RunNodeNow(l.Context(), id, "reminds")
				if !errors.Is(err, queue.ErrBlocked) || !strings.Contains(err.Error(), "it waits for approval") {
					l.Errorf("run a blocked node now: %v", err)
				}
			}
			must(l, l.Client().RunNodeNow(l.Context(), id, node))
		}
		must(l, mustWait(l, id))
		if s := infoOf(l, id, "approval"); s.State != cyclone.StepExhausted || s.Code != retry.CodeTimeout {
			l.Errorf("%+v", s)
		}
		if err := l.Client().RunNodeNow(l.Context(), id, "sleeps"); !errors.Is(err, queue.ErrFinished) {
			l.Errorf("run an ended node now: %v", err)
		}
	})
}

// Another time is another end of a sleep and another timeout.
func TestNodesAreRescheduled(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		b := workflow.New("times")
		workflow.Sleep(b, "sleeps", time.Hour)
		workflow.Wait(b, "approval", time.Hour)
		l.Start(worker.Config{})
		id := lab.EnqueueRun(l, b)
		for _, node := range []string{"sleeps", "approval"} {
			l.UntilNode(id, node, cyclone.StepWaiting)
			later := l.Now().Add(2 * time.Hour)
			must(l, l.Client().RescheduleNode(l.Context(), id, node, later))
			if due := infoOf(l, id, node).DueAt; due.Before(later) || due.Sub(later) > time.Millisecond {
				l.Errorf("%s is due at %v, want %v", node, due, later)
			}
			must(l, l.Client().RescheduleNode(l.Context(), id, node, l.Now().Add(20*time.Millisecond)))
		}
		var failed *cyclone.RunError
		if err := mustWait(l, id); !errors.As(err, &failed) || failed.Node != "approval" || failed.Code != retry.CodeTimeout {
			l.Errorf("got %v", err)
		}
	})
}

// What waits for no time has none that could be another.
func TestWaitsWithoutATimeAreNotRunNow(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		b := workflow.New("times")
		workflow.Wait(b, "approval", 0)
		l.Start(worker.Config{})
		id := lab.EnqueueRun(l, b)
		l.UntilNode(id, "approval", cyclone.StepWaiting)
		ctx, c := l.Context(), l.Client()
		for _, err := range []error{c.RunNodeNow(ctx, id, "approval"), c.RescheduleNode(ctx, id, "approval", l.Now())} {
			if !errors.Is(err, queue.ErrAwaitsSignal) {
				l.Errorf("a wait for ever: %v", err)
			}
		}
		if err := c.RunNodeNow(ctx, id, "other"); !errors.Is(err, cyclone.ErrNotFound) {
			l.Errorf("an unknown node: %v", err)
		}
		if err := c.RunNow(ctx, id); !errors.Is(err, queue.ErrManySteps) {
			l.Errorf("the run: %v", err)
		}
		mustSignal(l, id, "approval", "yes")
		must(l, mustWait(l, id))
	})
}

// A sleep that an operator has ended is over, whatever the task waits for next; and the
// next one is not shortened by it.
func TestRunNowEndsOneSleep(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var n counts
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			if err := step.Sleep(ctx, "long", time.Hour); err != nil {
				return "", err
			}
			n.a.Add(1)
			if err := step.Sleep(ctx, "short", 40*time.Minute); err != nil {
				return "", err
			}
			word, err := step.WaitSignal[string](ctx, "word", 50*time.Minute)
			if errors.Is(err, step.ErrTimeout) {
				return "nothing", nil
			}
			return word, err
		})
		l.Start(worker.Config{}, def)
		id := lab.EnqueueTask(l, def, "")
		wake := func(entered int32) {
			l.Helper()
			l.Until("the task waits again", func() bool {
				return n.a.Load() == entered && l.State(id) == cyclone.StepWaiting
			})
			must(l, l.Client().RunNow(context.Background(), id))
		}
		wake(0)
		wake(1)
		wake(2)
		mustReturn(l, id, "nothing")
		if n.a.Load() != 3 {
			l.Errorf("entered %d times", n.a.Load())
		}
	})
}
