package cyclonetest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cyclonetest"
	"github.com/cyclone-queue/cyclone/workflow"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

// once is a function of a recorded step that returns v.
func once[T any](ran *int, v T) func(context.Context) (T, error) {
	return func(context.Context) (T, error) { *ran++; return v, nil }
}

func TestCallTaskRecords(t *testing.T) {
	t.Parallel()
	ctx := cyclonetest.NewContext(t)
	created, mails := 0, 0
	away := true
	task := cyclone.NewTask("onboard", cyclone.HandlerFunc(func(ctx cyclone.Context, name string) (string, error) {
		id, err := step.Do(ctx, "create", once(&created, "id of "+name))
		if err != nil {
			return "", err
		}
		if err := step.Sleep(ctx, "settle", 30*24*time.Hour); err != nil {
			return "", err
		}
		if away {
			return "", errDeclined
		}
		_, err = step.Do(ctx, "mail", func(context.Context) (int, error) {
			if mails++; mails < 3 {
				return 0, errors.New("mail server is away")
			}
			return mails, nil
		})
		return id, err
	}))
	if _, err := cyclonetest.CallTask(ctx, task, "Ada"); !errors.Is(err, errDeclined) {
		t.Fatalf("error %v", err)
	}
	away = false
	if out, err := cyclonetest.CallTask(ctx, task, "Ada"); out != "id of Ada" || err != nil {
		t.Errorf("output %q, %v", out, err)
	}
	if created != 1 || mails != 3 {
		t.Errorf("created %d times, %d mails", created, mails)
	}
	if diff := cmp.Diff([]string{"create", "mail"}, cyclonetest.Recorded(ctx)); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	if got := cyclonetest.Recorded(t.Context()); got != nil {
		t.Errorf("recorded outside an attempt: %v", got)
	}
}

func TestCallTaskUsesUpTheTries(t *testing.T) {
	t.Parallel()
	tries := 0
	task := cyclone.NewTask("charge", cyclone.HandlerFunc(func(ctx cyclone.Context, _ int) (int, error) {
		return step.Do(ctx, "charge", func(context.Context) (int, error) { tries++; return 0, errDeclined })
	}), cyclone.WithMaxAttempts(3))
	_, err := cyclonetest.CallTask(cyclonetest.NewContext(t), task, 1)
	var failed *step.Error
	if !errors.As(err, &failed) || failed.Attempts != 3 || tries != 3 {
		t.Errorf("%d tries, error %v", tries, err)
	}
}

func TestCallTaskWaits(t *testing.T) {
	t.Parallel()
	task := cyclone.NewTask("ask", cyclone.HandlerFunc(func(ctx cyclone.Context, patience time.Duration) (string, error) {
		by, err := step.WaitSignal[string](ctx, "approval", patience)
		if errors.Is(err, step.ErrTimeout) {
			return "nobody", nil
		}
		return by, err
	}))
	for name, c := range map[string]struct {
		opts     []cyclonetest.ContextOption
		patience time.Duration
		out, err string
	}{
		"signal":      {[]cyclonetest.ContextOption{cyclonetest.Signal("approval", "Ada"), cyclonetest.Signal("approval", "Bob")}, 0, "Ada", ""},
		"timeout":     {nil, time.Hour, "nobody", ""},
		"endless":     {nil, 0, "", "the task waits for approval: give it with Signal"},
		"wrong names": {[]cyclonetest.ContextOption{cyclonetest.Signal("refusal", "Ada")}, time.Hour, "nobody", ""},
	} {
		out, err := cyclonetest.CallTask(cyclonetest.NewContext(t, c.opts...), task, c.patience)
		if out != c.out || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
}

func TestCallTaskRunsStepsInParallel(t *testing.T) {
	t.Parallel()
	task := cyclone.NewTask("travel", cyclone.HandlerFunc(func(ctx cyclone.Context, _ int) (int, error) {
		tries := make([]int, 2)
		err := step.Parallel(ctx,
			func(ctx context.Context) error { return step.Sleep(ctx, "rest", time.Hour) },
			func(ctx context.Context) error {
				_, err := step.Do(ctx, "hotel", once(&tries[0], 1))
				return err
			},
			func(ctx context.Context) error {
				_, err := step.WaitSignal[int](ctx, "visa", 2*time.Hour)
				return err
			},
		)
		if !errors.Is(err, step.ErrTimeout) {
			return 0, err
		}
		return 1, nil
	}))
	if out, err := cyclonetest.CallTask(cyclonetest.NewContext(t), task, 1); out != 1 || err != nil {
		t.Errorf("%d, %v", out, err)
	}
}

func TestCallTaskRunsChildren(t *testing.T) {
	t.Parallel()
	double := cyclone.NewTask("double", cyclone.HandlerFunc(func(ctx cyclone.Context, in int) (int, error) {
		if err := step.Sleep(ctx, "think", time.Minute); err != nil {
			return 0, err
		}
		return step.Do(ctx, "double", func(context.Context) (int, error) { return 2 * in, nil })
	}))
	decline := cyclone.NewStep("decline", func(cyclone.Context, int) (int, error) { return 0, cyclone.Permanent(errDeclined) })
	parent := func(child cyclone.Returning[int, int]) *cyclone.Task[int, int] {
		return cyclone.NewTask("parent", cyclone.HandlerFunc(func(ctx cyclone.Context, in int) (int, error) {
			return step.Run(ctx, "child", child, in)
		}))
	}
	if out, err := cyclonetest.CallTask(cyclonetest.NewContext(t), parent(double), 21); out != 42 || err != nil {
		t.Errorf("%d, %v", out, err)
	}
	_, err := cyclonetest.CallTask(cyclonetest.NewContext(t), parent(decline), 21)
	var failed *cyclone.RunError
	if !errors.As(err, &failed) || failed.Message != "declined" || failed.Code != "permanent" {
		t.Errorf("a child that failed: %v", err)
	}
	_, err = cyclonetest.CallTask(cyclonetest.NewContext(t), parent(cyclone.DeclareStep[int, int]("else")), 21)
	if err == nil || !strings.Contains(err.Error(), "else is only declared") {
		t.Errorf("a child without a handler: %v", err)
	}
}

// A child workflow needs a queue: the error says so, and Drain runs it.
func TestTaskWithAChildWorkflow(t *testing.T) {
	t.Parallel()
	double := cyclone.NewStep("double", func(_ cyclone.Context, in int) (int, error) { return 2 * in, nil })
	parent := cyclone.NewTask("parent", cyclone.HandlerFunc(func(ctx cyclone.Context, in int) (int, error) {
		b := workflow.New("twice")
		return workflow.RunChildFor(ctx, "twice", workflow.Run(b, "second", double, workflow.Run(b, "first", double, workflow.Value(in))))
	}))
	_, err := cyclonetest.CallTask(cyclonetest.NewContext(t), parent, 1)
	if err == nil || !strings.Contains(err.Error(), "cannot run the child workflow twice") || !strings.Contains(err.Error(), "use Drain") {
		t.Errorf("got %v", err)
	}
	bad := cyclone.NewTask("bad", cyclone.HandlerFunc(func(ctx cyclone.Context, _ int) (int, error) {
		return 0, workflow.New("none").RunChild(ctx, "none")
	}))
	if _, err := cyclonetest.CallTask(cyclonetest.NewContext(t), bad, 1); err == nil || !strings.Contains(err.Error(), "it has no nodes") {
		t.Errorf("got %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		client := cyclonetest.NewClient(t)
		run, err := cyclone.EnqueueTask(t.Context(), client, parent, 5)
		if err != nil {
			t.Fatal(err)
		}
		cyclonetest.Drain(t, client, parent, double)
		if out, err := run.Wait(t.Context()); out != 20 || err != nil {
			t.Errorf("%d, %v", out, err)
		}
	})
}

func TestCallTaskEndsWithItsContext(t *testing.T) {
	t.Parallel()
	parent, end := context.WithCancelCause(t.Context())
	task := cyclone.NewTask("long", cyclone.HandlerFunc(func(ctx cyclone.Context, _ int) (int, error) {
		end(cyclone.ErrShutdown)
		return step.Do(ctx, "never", func(context.Context) (int, error) { t.Error("it ran"); return 0, nil })
	}))
	if _, err := cyclonetest.CallTask(cyclonetest.NewContext(t, cyclonetest.Parent(parent)), task, 1); !errors.Is(err, cyclone.ErrShutdown) {
		t.Errorf("error %v", err)
	}
}

func TestCallTaskShowsAPanic(t *testing.T) {
	t.Parallel()
	task := cyclone.NewTask("bad", cyclone.HandlerFunc(func(cyclone.Context, int) (int, error) { panic("oh") }))
	defer func() {
		if v := recover(); v != "oh" {
			t.Errorf("recovered %v", v)
		}
	}()
	_, _ = cyclonetest.CallTask(cyclonetest.NewContext(t), task, 1)
	t.Error("no panic")
}

func TestOutputsOfDependencies(t *testing.T) {
	t.Parallel()
	tell := cyclone.NewStep("tell", func(ctx cyclone.Context, _ int) (string, error) { return cyclone.Output[string](ctx, "pack") })
	ctx := cyclonetest.NewContext(t, cyclonetest.Output("pack", "t-17"))
	if out, err := cyclonetest.CallStep(ctx, tell, 1); out != "t-17" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := cyclonetest.CallStep(cyclonetest.NewContext(t), tell, 1); !errors.Is(err, cyclone.ErrNotFound) {
		t.Errorf("without one: %v", err)
	}
}
