package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/luascripts"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

// Replay of several hundred recorded steps reads them in one round trip: it takes no
// more commands than that of a few.
func TestReplayCostsOneRoundTrip(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		replay := func(steps int) int {
			var counter lab.Counter
			entered := make(chan int, 2)
			release := make(chan struct{}, 2)
			def := cyclone.NewTask("many", cyclone.HandlerFunc(func(ctx cyclone.Context, _ string) (int, error) {
				sum, before := 0, counter.Count()
				for i := range steps {
					n, err := step.Do(ctx, "next", func(context.Context) (int, error) { return i, nil })
					if err != nil {
						return 0, err
					}
					sum += n
				}
				entered <- counter.Count() - before
				<-release
				return sum, retryUntil(ctx, 2)
			}), quick)
			w := l.Prepare(worker.Config{Lease: time.Hour, Heartbeat: 20 * time.Minute, Fallback: time.Hour, Concurrency: 1})
			w.Register(def)
			w.Redis.AddHook(&counter)
			w.Go()
			id := lab.EnqueueTask(l, def, "")
			if recorded := <-entered; recorded < steps {
				l.Errorf("%d commands recorded %d steps one after the other", recorded, steps)
			}
			before := counter.Count()
			release <- struct{}{}
			<-entered
			commands := counter.Count() - before // settle, wait, claim, read the journal
			release <- struct{}{}
			l.UntilState(id, cyclone.StepCompleted)
			if err := w.Stop(); err != nil {
				l.Error(err)
			}
			return commands
		}
		few, many := replay(3), replay(400)
		if many > few+5 || many > 20 {
			l.Errorf("the replay of 400 steps took %d commands, that of 3 took %d", many, few)
		}
	})
}

// What was recorded first counts: a second worker that still believes to hold the
// task records nothing, and its attempt ends.
func TestFirstRecordWins(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var tries atomic.Int32
		late, causes := make(chan struct{}), make(chan error, 1)
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			defer func() {
				if ctx.Err() != nil {
					causes <- context.Cause(ctx)
				}
			}()
			return step.Do(ctx, "who", func(context.Context) (string, error) {
				if tries.Add(1) == 1 {
					<-late
					return "the zombie", nil
				}
				return "the second", nil
			})
		}, quick)
		short := worker.Config{Lease: time.Second, Heartbeat: 200 * time.Millisecond}
		zombie := l.Start(short, def)
		id := lab.EnqueueTask(l, def, "")
		l.Until("the zombie runs", func() bool { return tries.Load() == 1 })
		zombie.Pull()
		l.Start(short, def)
		mustReturn(l, id, "the second")
		zombie.Insert()
		close(late)
		if cause := <-causes; !errors.Is(cause, cyclone.ErrLeaseLost) {
			l.Errorf("the zombie's context ended with %v", cause)
		}
		mustReturn(l, id, "the second")
	})
}

// Records survive lost replies: each is written once and no function runs twice.
func TestRecordsUnderLostReplies(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		const steps = 20
		var ran [steps]atomic.Int32
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			for i := range steps {
				if _, err := step.Do(ctx, fmt.Sprintf("s%d", i), func(context.Context) (int, error) {
					if ran[i].Add(1) == 1 && i%5 == 0 {
						return 0, errBoom // each of these suspends the task
					}
					return i, nil
				}); err != nil {
					return "", err
				}
			}
			return "done", nil
		}, quick)
		w := l.Prepare(worker.Config{})
		w.Register(def)
		var calls atomic.Int32
		for _, script := range []*luascripts.Script{luascripts.Record, luascripts.Suspend, luascripts.Advance} {
			w.Redis.AddHook(&lab.Loss{Script: script, Lose: func() bool { return calls.Add(1)%2 == 0 }})
		}
		w.Go()
		id := lab.EnqueueTask(l, def, "")
		mustReturn(l, id, "done")
		for i := range ran {
			want := int32(1)
			if i%5 == 0 {
				want = 2
			}
			if got := ran[i].Load(); got != want {
				l.Errorf("step %d ran %d times, want %d", i, got, want)
			}
		}
		mustBeGone(l, id)
	})
}

// A task that began under an older program: a recorded name comes back, a new one
// runs, one that is not asked for is ignored, and a record that does not decode is
// said to be so and can be mended.
func TestChangedProgram(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var n counts
		old := task(func(ctx cyclone.Context, _ string) (string, error) {
			if _, err := step.Do(ctx, "kept", flaky(&n.a, 0, "old")); err != nil {
				return "", err
			}
			if _, err := step.Do(ctx, "dropped", flaky(&n.b, 0, "old")); err != nil {
				return "", err
			}
			_, err := step.WaitSignal[string](ctx, "go", 0)
			return "old", err
		})
		first := l.Start(worker.Config{}, old)
		id := lab.EnqueueTask(l, old, "")
		l.UntilState(id, cyclone.StepWaiting)
		if err := first.Stop(); err != nil {
			l.Error(err)
		}
		changed := task(func(ctx cyclone.Context, _ string) (string, error) {
			number, err := step.Do(ctx, "kept", func(context.Context) (int, error) { n.c.Add(1); return 1, nil })
			return fmt.Sprint(number), err
		})
		second := l.Start(worker.Config{}, changed)
		mustSignal(l, id, "go", nil)
		var run *cyclone.RunError
		if _, err := await(l, id); !errors.As(err, &run) || run.Code != "decode" || !strings.Contains(run.Message, "kept#1") {
			l.Errorf("a record that does not decode: %v", err)
		}
		if err := second.Stop(); err != nil {
			l.Error(err)
		}
		mended := task(func(ctx cyclone.Context, _ string) (string, error) {
			kept, err := step.Do(ctx, "kept", flaky(&n.a, 0, "new"))
			if err != nil {
				return "", err
			}
			added, err := step.Do(ctx, "added", flaky(&n.c, 0, "new"))
			return kept + " " + added, err
		})
		l.Start(worker.Config{}, mended)
		if err := l.Client().Retry(context.Background(), id, "task"); err != nil {
			l.Fatal(err)
		}
		l.UntilState(id, cyclone.StepCompleted)
		mustReturn(l, id, "old new")
		if n.a.Load() != 1 || n.b.Load() != 1 || n.c.Load() != 1 {
			l.Errorf("the functions ran %d, %d and %d times", n.a.Load(), n.b.Load(), n.c.Load())
		}
		mustBeGone(l, id)
	})
}

// R09, the second half: an output that cannot be encoded fails the step at once.
func TestSpec_R09_OutputThatCannotBeEncodedFailsAtOnce(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var n atomic.Int32
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			_, err := step.Do(ctx, "x", func(context.Context) (chan int, error) { n.Add(1); return make(chan int), nil })
			var failed *step.Error
			if !errors.As(err, &failed) || failed.Attempts != 1 {
				return "", cyclone.Permanent(fmt.Errorf("not a failed step: %w", err))
			}
			return "", err
		}, quick)
		l.Start(worker.Config{}, def)
		var run *cyclone.RunError
		if _, err := await(l, lab.EnqueueTask(l, def, "")); !errors.As(err, &run) || run.Code != "decode" || n.Load() != 1 {
			l.Errorf("%v after %d tries", err, n.Load())
		}
	})
}

// Handlers that do not know of pauses, against the worker itself: no recorded effect
// follows a pause, and each comes to its end.
func TestAwkwardHandlers(t *testing.T) {
	for name, handler := range map[string]func(ctx cyclone.Context, do func(name string, fail int32) (string, error), note func(string)) error{
		"swallows errors": func(_ cyclone.Context, do func(string, int32) (string, error), note func(string)) error {
			_, _ = do("a", 2)
			_, _ = do("b", 0)
			note("end")
			return nil
		},
		"compensates": func(_ cyclone.Context, do func(string, int32) (string, error), note func(string)) error {
			if _, err := do("a", 2); err != nil {
				note("undo")
			}
			_, err := do("b", 0)
			note("end")
			return err
		},
		"defers a step": func(_ cyclone.Context, do func(string, int32) (string, error), note func(string)) error {
			defer func() { _, _ = do("b", 0); note("end") }()
			_, err := do("a", 2)
			return err
		},
		"recovers": func(_ cyclone.Context, do func(string, int32) (string, error), note func(string)) error {
			func() {
				defer func() {
					if recover() != nil {
						note("recovered")
					}
				}()
				_, _ = do("a", 2)
			}()
			_, err := do("b", 0)
			note("end")
			return err
		},
		"joins goroutines": func(_ cyclone.Context, do func(string, int32) (string, error), note func(string)) error {
			done := make(chan struct{})
			go func() { defer close(done); _, _ = do("a", 2) }()
			<-done
			_, err := do("b", 0)
			note("end")
			return err
		},
		"leaves a goroutine": func(_ cyclone.Context, do func(string, int32) (string, error), note func(string)) error {
			began := make(chan struct{})
			go func() { defer close(began); _, _ = do("b", 0) }()
			<-began
			_, err := do("a", 2)
			note("end")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			lab.Each(t, func(l *lab.Lab) {
				var n counts
				var notes atomic.Value
				notes.Store([]string(nil))
				def := task(func(ctx cyclone.Context, _ string) (string, error) {
					do := func(name string, fail int32) (string, error) {
						ran := map[string]*atomic.Int32{"a": &n.a, "b": &n.b}[name]
						return step.Do(ctx, name, flaky(ran, fail, name))
					}
					note := func(what string) { notes.Store(append(slices.Clone(notes.Load().([]string)), what)) }
					return "done", handler(ctx, do, note)
				}, quick)
				l.Start(worker.Config{}, def)
				id := lab.EnqueueTask(l, def, "")
				mustReturn(l, id, "done")
				if got := notes.Load().([]string); !slices.Equal(got, []string{"end"}) || n.a.Load() != 3 || n.b.Load() != 1 {
					l.Errorf("a ran %d times, b %d, and beside them %q", n.a.Load(), n.b.Load(), got)
				}
				mustBeGone(l, id)
			})
		})
	}
}
