package conformance_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/luascripts"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

// counts is how often the functions of recorded steps ran.
type counts struct{ a, b, c atomic.Int32 }

// flaky is the function of a step that fails the first n times.
func flaky(ran *atomic.Int32, n int32, result string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		if ran.Add(1) <= n {
			return "", errBoom
		}
		return result, nil
	}
}

// task makes a task of a function that takes and returns texts.
func task(fn func(ctx cyclone.Context, in string) (string, error), opts ...cyclone.DefinitionOption) *cyclone.Task[string, string] {
	return cyclone.NewTask("task", cyclone.HandlerFunc(fn), opts...)
}

// await waits for the task's output.
func await(l *lab.Lab, id cyclone.RunID) (string, error) {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), time.Minute)
	defer cancel()
	return cyclone.AttachOf[string](l.Client(), id).Wait(ctx)
}

// mustReturn waits for the task's output and compares it.
func mustReturn(l *lab.Lab, id cyclone.RunID, want string) {
	l.Helper()
	if got, err := await(l, id); err != nil || got != want {
		l.Errorf("the task returned %q, %v; want %q", got, err, want)
	}
}

// mustBeGone waits until there is no journal any more.
func mustBeGone(l *lab.Lab, id cyclone.RunID) {
	l.Helper()
	l.Until("the journal is gone", func() bool {
		return l.Redis.Exists(context.Background(), l.Key(id, "journal:"+id.String()), l.Key(id, "journals")).Val() == 0
	})
}

var quick = cyclone.Retry(cyclone.RetryPolicy{MaxAttempts: 3, Delays: []time.Duration{time.Millisecond}})

func TestSpec_R04_PolicyAppliesToEveryStepAndOutsideOfThem(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var n counts
		var outside atomic.Int32
		def := task(func(ctx cyclone.Context, in string) (string, error) {
			if _, err := step.Do(ctx, "first", flaky(&n.a, 2, "first")); err != nil {
				return "", err
			}
			if _, err := step.Do(ctx, "second", flaky(&n.b, 2, "second")); err != nil {
				return "", err
			}
			if outside.Add(1) <= 2 {
				return "", errBoom
			}
			return in + "!", nil
		}, quick)
		l.Start(worker.Config{}, def)
		id := lab.EnqueueTask(l, def, "done")
		mustReturn(l, id, "done!")
		if n.a.Load() != 3 || n.b.Load() != 3 || outside.Load() != 3 {
			l.Errorf("tries: %d, %d, and %d outside; want 3 each", n.a.Load(), n.b.Load(), outside.Load())
		}
		mustBeGone(l, id)
	})
}

func TestSpec_R05_PolicyOfOneStep(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var n counts
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			return step.Do(ctx, "send", flaky(&n.a, 4, "sent"), step.Retry(step.RetryPolicy{MaxAttempts: 5}))
		}, quick)
		l.Start(worker.Config{}, def)
		mustReturn(l, lab.EnqueueTask(l, def, ""), "sent")
	})
}

func TestSpec_R06_FailureOfAStepAndFurtherSteps(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var n counts
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			_, err := step.Do(ctx, "charge", flaky(&n.a, 100, ""))
			var failed *step.Error
			if !errors.As(err, &failed) || failed.Attempts != 3 {
				return "", cyclone.Permanent(errors.New("not a failure after 3 tries"))
			}
			if _, err := step.Do(ctx, "undo", flaky(&n.b, 1, "undone")); err != nil {
				return "", err
			}
			return "", err
		}, quick)
		l.Start(worker.Config{}, def)
		id := lab.EnqueueTask(l, def, "")
		_, err := await(l, id)
		var run *cyclone.RunError
		if !errors.As(err, &run) || run.Code != "error" || run.Attempts != 1 || run.Message != "step charge failed after 3 tries: boom" {
			l.Errorf("the run: %+v, %v", run, err)
		}
		if n.a.Load() != 3 || n.b.Load() != 2 {
			l.Errorf("charge ran %d times and undo %d; want 3 and 2", n.a.Load(), n.b.Load())
		}
		// What failed is tried again when the task is opened again, what was recorded is not.
		if err := l.Client().Retry(l.Context(), id, "task"); err != nil {
			l.Fatal(err)
		}
		l.Until("the task has failed again", func() bool { return n.a.Load() == 6 && l.State(id) == cyclone.StepExhausted })
		if n.b.Load() != 2 {
			l.Errorf("undo ran %d times", n.b.Load())
		}
	})
}

func TestSpec_R07_StepsAreRecordedOnce(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		const steps = 300
		var ran [steps]atomic.Int32
		var failed atomic.Bool
		def := cyclone.NewTask("task", cyclone.HandlerFunc(func(ctx cyclone.Context, _ string) (int, error) {
			sum := 0
			for i := range steps {
				n, err := step.Do(ctx, "next", func(context.Context) (int, error) { ran[i].Add(1); return i, nil })
				if err != nil {
					return 0, err
				}
				sum += n
			}
			if !failed.Swap(true) {
				return 0, errBoom
			}
			return sum, nil
		}), quick)
		l.Start(worker.Config{}, def)
		id := lab.EnqueueTask(l, def, "")
		ctx, cancel := context.WithTimeout(l.Context(), time.Minute)
		defer cancel()
		if sum, err := cyclone.AttachOf[int](l.Client(), id).Wait(ctx); err != nil || sum != steps*(steps-1)/2 {
			l.Errorf("got %d, %v", sum, err)
		}
		for i := range ran {
			if n := ran[i].Load(); n != 1 {
				l.Errorf("step %d ran %d times", i, n)
			}
		}
		mustBeGone(l, id)
	})
}

func TestSpec_R08_PermanentFailsTheStepOrTheAttempt(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var n, entered atomic.Int32
		def := task(func(ctx cyclone.Context, in string) (string, error) {
			entered.Add(1)
			if in == "handler" {
				return "", cyclone.Permanent(errBoom)
			}
			_, err := step.Do(ctx, "x", func(context.Context) (string, error) { n.Add(1); return "", cyclone.Permanent(errBoom) })
			return "", err
		}, quick)
		l.Start(worker.Config{}, def)
		for i, in := range []string{"handler", "step"} {
			_, err := await(l, lab.EnqueueTask(l, def, in))
			var run *cyclone.RunError
			if !errors.As(err, &run) || run.Code != "permanent" || int(entered.Load()) != i+1 || int(n.Load()) != i {
				l.Errorf("%s: %v after %d entries", in, err, entered.Load())
			}
		}
	})
}

func TestSpec_R09_PanicOfAStepFailsItAtOnce(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var n atomic.Int32
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			_, err := step.Do(ctx, "x", func(context.Context) (string, error) { n.Add(1); panic("oops") })
			return "", err
		}, quick)
		l.Start(worker.Config{}, def)
		_, err := await(l, lab.EnqueueTask(l, def, ""))
		var run *cyclone.RunError
		if !errors.As(err, &run) || run.Code != "panic" || n.Load() != 1 {
			l.Errorf("%v after %d tries", err, n.Load())
		}
	})
}

func TestSpec_R10_RetryAfterOfAStep(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		v := l.Visits()
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			return step.Do(ctx, "x", func(context.Context) (string, error) {
				if v.Add(ctx) < 3 {
					return "", cyclone.RetryAfter(errBoom, 30*time.Minute)
				}
				return "sent", nil
			})
		}, quick)
		l.Start(calm, def)
		id := lab.EnqueueTask(l, def, "")
		mustComplete(l, id, 3*time.Hour)
		if gaps := v.Gaps(); len(gaps) != 2 || gaps[0].Round(time.Minute) != 30*time.Minute || gaps[1].Round(time.Minute) != 30*time.Minute {
			l.Errorf("gaps %v", gaps)
		}
		if got := v.Attempts(); !slices.Equal(got, []int{1, 1, 1}) {
			l.Errorf("attempts %v: a step's tries are not the task's", got)
		}
	})
}

// mustComplete lets virtual time pass until the step is completed.
func mustComplete(l *lab.Lab, id cyclone.RunID, limit time.Duration) {
	l.Helper()
	for range 100 {
		if l.State(id) == cyclone.StepCompleted {
			return
		}
		l.Pass(limit / 100)
	}
	l.Fatalf("run %v is %s after %v", id, l.State(id), limit)
}

func TestSpec_R12_RecordedStepsSurviveTheirWorker(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var n counts
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			first, err := step.Do(ctx, "first", flaky(&n.a, 0, "first"))
			if err != nil {
				return "", err
			}
			second, err := step.Do(ctx, "second", func(ctx context.Context) (string, error) {
				if n.b.Add(1) == 1 {
					<-ctx.Done() // this worker is about to be cut off
					return "", ctx.Err()
				}
				return "second", nil
			})
			return first + second, err
		}, quick)
		short := worker.Config{Lease: time.Second, Heartbeat: 200 * time.Millisecond, ShutdownGrace: time.Millisecond}
		dying := l.Start(short, def)
		id := lab.EnqueueTask(l, def, "")
		l.Until("the second step runs", func() bool { return n.b.Load() == 1 })
		dying.Pull()
		l.Start(short, def)
		mustReturn(l, id, "firstsecond")
		if n.a.Load() != 1 || n.b.Load() != 2 {
			l.Errorf("the steps ran %d and %d times", n.a.Load(), n.b.Load())
		}
	})
}

func TestTaskSleepsWithoutASlot(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		v := l.Visits()
		def := task(func(ctx cyclone.Context, in string) (string, error) {
			if in == "short" {
				return "short", nil
			}
			v.Add(ctx)
			return "awake", step.Sleep(ctx, "nap", 6*time.Hour)
		})
		one := calm
		one.Concurrency = 1
		l.Start(one, def)
		sleeper := lab.EnqueueTask(l, def, "")
		stored := l.UntilState(sleeper, cyclone.StepWaiting)
		if left := time.Until(stored.Due).Round(time.Minute); left != 6*time.Hour {
			l.Errorf("due in %v", left)
		}
		mustReturn(l, lab.EnqueueTask(l, def, "short"), "short")
		mustComplete(l, sleeper, 7*time.Hour)
		if got := v.Attempts(); !slices.Equal(got, []int{1, 1}) {
			l.Errorf("attempts %v", got)
		}
		mustBeGone(l, sleeper)
	})
}

func TestTaskWaitsForASignal(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			first, err := step.WaitSignal[string](ctx, "word", 0)
			if err != nil {
				return "", err
			}
			second, err := step.WaitSignal[string](ctx, "word", time.Hour)
			return first + " " + second, err
		})
		w := l.Prepare(worker.Config{})
		w.Register(def)
		id := lab.EnqueueTask(l, def, "")
		mustSignal(l, id, "word", "before")
		w.Go()
		l.UntilState(id, cyclone.StepWaiting)
		mustSignal(l, id, "word", "during")
		mustReturn(l, id, "before during")
		mustBeGone(l, id)
		if err := l.Client().Signal(l.Context(), id, "word", "after"); err == nil {
			l.Error("a signal to a finished run was taken")
		}
	})
}

func mustSignal(l *lab.Lab, id cyclone.RunID, name string, payload any) {
	l.Helper()
	if err := l.Client().Signal(l.Context(), id, name, payload); err != nil {
		l.Fatal(err)
	}
}

func TestWaitOfATaskTimesOut(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			_, err := step.WaitSignal[string](ctx, "word", 50*time.Millisecond)
			if !errors.Is(err, step.ErrTimeout) {
				return "", cyclone.Permanent(errors.New("no timeout"))
			}
			return "timed out", nil
		})
		l.Start(worker.Config{}, def)
		mustReturn(l, lab.EnqueueTask(l, def, ""), "timed out")
	})
}

func TestParallelStepsOfATask(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var n counts
		branch := func(name string, fn func(context.Context) (string, error)) func(context.Context) error {
			return func(ctx context.Context) error { _, err := step.Do(ctx, name, fn); return err }
		}
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			err := step.Parallel(ctx, branch("a", flaky(&n.a, 0, "a")), branch("b", flaky(&n.b, 2, "b")), branch("c", flaky(&n.c, 1, "c")))
			return "joined", err
		}, quick)
		l.Start(worker.Config{}, def)
		mustReturn(l, lab.EnqueueTask(l, def, ""), "joined")
		if n.a.Load() != 1 || n.b.Load() != 3 || n.c.Load() != 2 {
			l.Errorf("runs %d %d %d", n.a.Load(), n.b.Load(), n.c.Load())
		}
	})
}

// A record that does not get through is sent again; the step does not run again.
func TestRecordIsSentAgain(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var n counts
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			return step.Do(ctx, "x", flaky(&n.a, 0, "recorded"))
		})
		w := l.Prepare(worker.Config{})
		w.Register(def)
		var calls atomic.Int32
		w.Redis.AddHook(&lab.Tap{Script: luascripts.Record, Before: func() error {
			if calls.Add(1) <= 2 {
				return errors.New("connection reset by peer")
			}
			return nil
		}})
		id := lab.EnqueueTask(l, def, "")
		w.Go()
		mustReturn(l, id, "recorded")
		if n.a.Load() != 1 || calls.Load() < 3 {
			l.Errorf("the step ran %d times, %d calls", n.a.Load(), calls.Load())
		}
	})
}

func TestShutdownGivesATaskBack(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var n counts
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			first, err := step.Do(ctx, "first", flaky(&n.a, 0, "first"))
			if err != nil {
				return "", err
			}
			second, err := step.Do(ctx, "second", func(ctx context.Context) (string, error) {
				if n.b.Add(1) == 1 {
					<-ctx.Done()
					return "", ctx.Err()
				}
				return "second", nil
			})
			return first + second, err
		}, cyclone.WithMaxAttempts(1))
		w := l.Start(worker.Config{ShutdownGrace: time.Millisecond}, def)
		id := lab.EnqueueTask(l, def, "")
		l.Until("the second step runs", func() bool { return n.b.Load() == 1 })
		if err := w.Stop(); err != nil {
			l.Error(err)
		}
		if s := l.Step(id); s == nil || s.State != cyclone.StepReady || s.Failures != 0 || s.Interruptions != 1 {
			l.Errorf("given back as %+v", s)
		}
		l.Start(worker.Config{}, def)
		mustReturn(l, id, "firstsecond")
		if n.a.Load() != 1 || n.b.Load() != 2 {
			l.Errorf("runs %d %d", n.a.Load(), n.b.Load())
		}
	})
}

// What an operator makes run now is due for its recorded steps too.
func TestRunNowOfASuspendedTask(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var n counts
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			return step.Do(ctx, "x", flaky(&n.a, 1, "sent"))
		}, cyclone.Retry(cyclone.RetryPolicy{Delays: []time.Duration{time.Hour}}))
		l.Start(worker.Config{}, def)
		id := lab.EnqueueTask(l, def, "")
		l.UntilState(id, cyclone.StepRetrying)
		if err := l.Client().RunNow(l.Context(), id); err != nil {
			l.Fatal(err)
		}
		mustReturn(l, id, "sent")
		if n.a.Load() != 2 {
			l.Errorf("%d tries", n.a.Load())
		}
	})
}
