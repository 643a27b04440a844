package step_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

// The handlers here do what the pause of a step should survive.

// suspended runs an attempt that has to end suspended and returns it.
func suspended(t *testing.T, k *task, handler func(context.Context) error) ended {
	t.Helper()
	e := k.attempt(handler)
	if len(e.pauses) == 0 {
		t.Fatalf("not suspended: %+v", e)
	}
	return e
}

func TestAHandlerThatSwallowsErrorsIsSuspendedAllTheSame(t *testing.T) {
	t.Parallel()
	ran, k := counter{}, newTask(t)
	handler := func(ctx context.Context) error {
		_, _ = step.Do(ctx, "charge", ran.step("charge", io.EOF))
		if _, err := step.Do(ctx, "ship", ran.step("ship")); err != nil {
			t.Error(err)
		}
		return nil
	}
	if e := suspended(t, k, handler); !e.gone || ran["ship"] != 0 {
		t.Errorf("ended %+v, runs %v", e, ran)
	}
	if err := k.run(handler); err != nil || ran["ship"] != 1 {
		t.Errorf("%v, runs %v", err, ran)
	}
}

func TestACompensationDoesNotFireForAPause(t *testing.T) {
	t.Parallel()
	ran, k := counter{}, newTask(t)
	err := k.run(func(ctx context.Context) error {
		if _, err := step.Do(ctx, "charge", ran.step("charge", io.EOF, cyclone.Snooze(time.Hour))); err != nil {
			ran["undo"]++
			return err
		}
		return nil
	})
	if err != nil || ran["undo"] != 0 || ran["charge"] != 3 {
		t.Errorf("%v, runs %v", err, ran)
	}
}

func TestDeferredStepsDoNotBeginAfterAPause(t *testing.T) {
	t.Parallel()
	ran, k := counter{}, newTask(t)
	unlocked := 0
	handler := func(ctx context.Context) error {
		defer func() {
			unlocked++ // what is not a step runs each time
			_, _ = step.Do(ctx, "release", ran.step("release"))
			ran["behind"]++
		}()
		_, err := step.Do(ctx, "charge", ran.step("charge", io.EOF))
		return err
	}
	k.pass(suspended(t, k, handler))
	if diff := cmp.Diff([]string{"t:charge#1"}, k.kept()); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
	if err := k.run(handler); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(counter{"charge": 2, "release": 1, "behind": 1}, ran); diff != "" || unlocked != 2 {
		t.Errorf("unlocked %d times, runs (-want +got):\n%s", unlocked, diff)
	}
}

func TestRecoverDoesNotStopAPause(t *testing.T) {
	t.Parallel()
	ran, k := counter{}, newTask(t)
	handler := func(ctx context.Context) (err error) {
		guarded := func() {
			defer func() {
				if v := recover(); v != nil {
					t.Errorf("recovered %v", v)
				}
			}()
			_, _ = step.Do(ctx, "charge", ran.step("charge", io.EOF))
		}
		guarded()
		_, err = step.Do(ctx, "ship", ran.step("ship"))
		return err
	}
	suspended(t, k, handler)
	if ran["ship"] != 0 {
		t.Error("a step ran after the pause")
	}
	if err := k.run(handler); err != nil || ran["ship"] != 1 {
		t.Errorf("%v, runs %v", err, ran)
	}
}

func TestADeferredPanicDoesNotUndoAPause(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	e := suspended(t, k, func(ctx context.Context) error {
		defer func() { panic("while unwinding") }()
		return step.Sleep(ctx, "nap", time.Hour)
	})
	if e.panicked == nil {
		t.Error("the panic was lost")
	}
}

// group is errgroup.Group, in short: a goroutine that ends without an error has
// succeeded.
type group struct {
	wait sync.WaitGroup
	once sync.Once
	err  error
}

func (g *group) Go(fn func() error) {
	g.wait.Add(1)
	go func() {
		defer g.wait.Done()
		if err := fn(); err != nil {
			g.once.Do(func() { g.err = err })
		}
	}()
}

func (g *group) Wait() error { g.wait.Wait(); return g.err }

func TestAJoinThatTakesAPauseForSuccessRecordsNothingMore(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	ran, k := counter{}, newTask(t)
	locked := func(name string, errs ...error) func(context.Context) (string, error) {
		fn := ran.step(name, errs...)
		return func(ctx context.Context) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			return fn(ctx)
		}
	}
	handler := func(ctx context.Context) error {
		var g group
		for _, name := range []string{"a", "b", "c"} {
			g.Go(func() error {
				var errs []error
				if name == "b" {
					errs = []error{io.EOF}
				}
				_, err := step.Do(ctx, name, locked(name, errs...))
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		_, err := step.Do(ctx, "join", locked("join"))
		return err
	}
	e := suspended(t, k, handler)
	if _, there := k.entries["r:join#1"]; there || e.err != nil {
		t.Errorf("journal %v, error %v", k.kept(), e.err)
	}
	if err := k.run(handler); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"r:a#1", "r:b#1", "r:c#1", "r:join#1", "t:b#1"}, k.kept()); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
}

func TestAHandlerThatReturnsAroundAPauseIsSuspended(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	e := suspended(t, k, func(ctx context.Context) error {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = step.Sleep(ctx, "nap", time.Hour)
		}()
		<-done
		return errors.New("not taken for the end")
	})
	if e.gone || e.err == nil {
		t.Errorf("ended %+v", e)
	}
}

func TestStepsInFlightFinishAndAreRecorded(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	began, paused := make(chan struct{}), make(chan struct{})
	suspended(t, k, func(ctx context.Context) error {
		go func() {
			_, _ = step.Do(ctx, "slow", func(context.Context) (int, error) {
				close(began)
				<-paused
				return 1, nil
			})
			_, _ = step.Do(ctx, "next", func(context.Context) (int, error) { t.Error("it began after the pause"); return 1, nil })
		}()
		<-began
		defer close(paused)
		return step.Sleep(ctx, "nap", time.Hour)
	})
	if _, ok := k.entries["r:slow#1"]; !ok {
		t.Errorf("journal %v", k.kept())
	}
}

func TestStepsOfAGoroutineThatOutlivesTheHandlerDoNotBegin(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	over, ended := make(chan struct{}), make(chan bool)
	k.attempt(func(ctx context.Context) error {
		go func() {
			returned := false
			defer func() { ended <- returned }()
			<-over
			_, _ = step.Do(ctx, "late", func(context.Context) (int, error) { return 1, nil })
			returned = true
		}()
		return nil
	})
	close(over)
	if <-ended || len(k.entries) > 0 {
		t.Errorf("it began: %v", k.kept())
	}
}

// A step inside another one, through the handler's own context, cannot be told from a
// parallel one. A pause in it ends both.
func TestAPauseInsideAStepEndsBoth(t *testing.T) {
	t.Parallel()
	ran, k := counter{}, newTask(t)
	handler := func(ctx context.Context) error {
		_, err := step.Do(ctx, "outer", func(context.Context) (string, error) {
			ran["outer"]++
			return step.Do(ctx, "inner", ran.step("inner", io.EOF))
		})
		return err
	}
	k.pass(suspended(t, k, handler))
	if diff := cmp.Diff([]string{"t:inner#1"}, k.kept()); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
	if err := k.run(handler); err != nil || ran["outer"] != 2 || ran["inner"] != 2 {
		t.Errorf("%v, runs %v", err, ran)
	}
}

func TestGoexitInAStepIsItsFailure(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	handler := func(ctx context.Context) error {
		_, err := step.Do(ctx, "x", func(context.Context) (int, error) { runtime.Goexit(); return 0, nil })
		return err
	}
	if e := k.attempt(handler); !e.gone || len(e.pauses) > 0 {
		t.Errorf("ended %+v", e)
	}
	var failed *step.Error
	if e := k.attempt(handler); !errors.As(e.err, &failed) || failed.Code != "panic" {
		t.Errorf("then %v", e.err)
	}
}

func TestEndedFromOutsideIsNoFailedTry(t *testing.T) {
	t.Parallel()
	for _, cause := range []error{cyclone.ErrShutdown, cyclone.ErrLeaseLost, cyclone.ErrCancelled} {
		k := newTask(t)
		ctx, end := context.WithCancelCause(t.Context())
		e := k.attemptIn(ctx, func(ctx context.Context) error {
			_, err := step.Do(ctx, "charge", func(ctx context.Context) (int, error) {
				end(cause)
				<-ctx.Done()
				return 0, ctx.Err()
			})
			t.Errorf("%v: the handler hears of it: %v", cause, err)
			return err
		})
		if !e.givenBack || !e.gone || len(e.pauses) > 0 || len(k.entries) > 0 {
			t.Errorf("%v: ended %+v, journal %v", cause, e, k.kept())
		}
	}
}

func TestASuccessOfAnAttemptThatHasToEndIsKept(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	ctx, end := context.WithCancelCause(t.Context())
	e := k.attemptIn(ctx, func(ctx context.Context) error {
		if got, err := step.Do(ctx, "charge", func(context.Context) (int, error) { end(cyclone.ErrShutdown); return 7, nil }); err != nil || got != 7 {
			t.Errorf("got %d, %v", got, err)
		}
		_, err := step.Do(ctx, "ship", func(context.Context) (int, error) { t.Error("it ran"); return 0, nil })
		return err
	})
	if !e.givenBack || len(k.entries) != 1 {
		t.Errorf("ended %+v, journal %v", e, k.kept())
	}
}

func TestALostLeaseRecordsNothing(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	k.lost = true
	e := k.attempt(func(ctx context.Context) error {
		_, err := step.Do(ctx, "charge", func(context.Context) (int, error) { return 1, nil })
		t.Errorf("the handler goes on: %v", err)
		return err
	})
	if !e.givenBack || len(k.entries) > 0 {
		t.Errorf("ended %+v, journal %v", e, k.kept())
	}
}

func TestAContextThatIsDoneStartsNothing(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	e := k.attempt(func(ctx context.Context) error {
		if _, err := step.Do(ctx, "first", func(context.Context) (int, error) { return 1, nil }); err != nil {
			t.Error(err)
		}
		limited, cancel := context.WithTimeout(ctx, -1)
		defer cancel()
		if _, err := step.Do(limited, "second", func(context.Context) (int, error) { t.Error("it ran"); return 0, nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		return step.Sleep(limited, "nap", time.Hour)
	})
	if !errors.Is(e.err, context.DeadlineExceeded) || len(e.pauses) > 0 {
		t.Errorf("ended %+v", e)
	}
	again := k.attempt(func(ctx context.Context) error {
		limited, cancel := context.WithTimeout(ctx, -1)
		defer cancel()
		_, err := step.Do(limited, "first", func(context.Context) (int, error) { return 0, io.EOF })
		return err
	})
	if again.err != nil {
		t.Errorf("a recorded step: %v", again.err)
	}
}

func TestATryThatRunsOutOfTimeCounts(t *testing.T) {
	t.Parallel()
	k := newTask(t)
	err := k.run(func(ctx context.Context) error {
		_, err := step.Do(ctx, "x", func(ctx context.Context) (int, error) {
			return 0, context.DeadlineExceeded
		}, step.Retry(step.RetryPolicy{MaxAttempts: 2}))
		return err
	})
	var failed *step.Error
	if !errors.As(err, &failed) || failed.Attempts != 2 || k.attempts != 2 {
		t.Errorf("got %v after %d attempts", err, k.attempts)
	}
}

func TestAStepThatIsNotDueIsNotTried(t *testing.T) {
	t.Parallel()
	ran, k := counter{}, newTask(t)
	handler := func(ctx context.Context) error {
		_, err := step.Do(ctx, "charge", ran.step("charge", io.EOF))
		return err
	}
	due := suspended(t, k, handler).pauses[0].DueMS
	k.now = due - 1 // something else has brought the task back
	e := suspended(t, k, handler)
	if ran["charge"] != 1 || e.pauses[0].DueMS != due || len(e.pauses[0].Entries) > 0 {
		t.Errorf("ran %d times, pauses %+v", ran["charge"], e.pauses)
	}
	k.now = due
	if e := k.attempt(handler); e.err != nil || ran["charge"] != 2 {
		t.Errorf("ended %+v", e)
	}
}

func TestTheStateOfAPause(t *testing.T) {
	t.Parallel()
	for want, handler := range map[wire.SuspendedIn]func(context.Context) error{
		wire.SuspendedRetrying: func(ctx context.Context) error {
			_, err := step.Do(ctx, "x", func(context.Context) (int, error) { return 0, io.EOF })
			return err
		},
		wire.SuspendedSnoozed: func(ctx context.Context) error {
			_, err := step.Do(ctx, "x", func(context.Context) (int, error) { return 0, cyclone.Snooze(1) })
			return err
		},
		wire.SuspendedWaiting: func(ctx context.Context) error { return step.Sleep(ctx, "x", 1) },
	} {
		k := newTask(t)
		if e := suspended(t, k, handler); e.pauses[0].State != want || e.pauses[0].DueMS <= k.now {
			t.Errorf("pauses %+v, want state %c", e.pauses, want)
		}
	}
}
