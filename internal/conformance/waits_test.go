package conformance_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow"
)

func TestNodesThatWaitAndSleep(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		order := cyclone.NewStep("order", func(_ context.Context, n int) (int, error) { return n + 1, nil })
		pay := cyclone.NewStep("pay", func(ctx cyclone.Context, by string) (string, error) {
			n, err := cyclone.Output[int](ctx, "order")
			if err != nil || n != 8 {
				return "", cyclone.Permanent(errors.Join(errors.New("the order's output is missing"), err))
			}
			return by + " paid", nil
		})
		l.Start(worker.Config{Concurrency: 1}, order, pay)
		b := workflow.New("purchase")
		ordered := workflow.Run(b, "order", order, workflow.Value(7))
		approved := workflow.WaitSignal[string](b, "approval", time.Hour, workflow.After(ordered))
		slept := workflow.Sleep(b, "pause", 20*time.Millisecond, workflow.After(approved))
		paid := workflow.Run(b, "pay", pay, approved, workflow.After(slept, ordered))
		run, err := workflow.EnqueueFor(l.Context(), l.Client(), paid)
		if err != nil {
			l.Fatal(err)
		}
		mustSignal(l, run.ID(), "approval", "Ada")
		ctx, cancel := context.WithTimeout(l.Context(), time.Minute)
		defer cancel()
		if got, err := run.Wait(ctx); err != nil || got != "Ada paid" {
			l.Errorf("got %q, %v", got, err)
		}
	})
}

func TestNodeWhoseSignalDoesNotComeFailsItsRun(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		pay := cyclone.NewAction("pay", func(context.Context, int) error { return errors.New("it ran") })
		l.Start(worker.Config{}, pay)
		b := workflow.New("purchase")
		approved := workflow.Wait(b, "approval", 20*time.Millisecond)
		workflow.Do(b, "pay", pay, workflow.Value(1), workflow.After(approved))
		run, err := b.Enqueue(l.Context(), l.Client())
		if err != nil {
			l.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(l.Context(), time.Minute)
		defer cancel()
		var failed *cyclone.RunError
		if err := run.Wait(ctx); !errors.As(err, &failed) || failed.Node != "approval" || failed.Code != "timeout" {
			l.Errorf("got %v", err)
		}
	})
}
