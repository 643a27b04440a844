package conformance_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

func TestTaskRunsAChildAndGetsItsOutput(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var made, entered atomic.Int32
		child := cyclone.NewStep("double", func(_ context.Context, n int) (int, error) { made.Add(1); return 2 * n, nil })
		parent := cyclone.NewTask("parent", cyclone.HandlerFunc(func(ctx cyclone.Context, n int) (int, error) {
			entered.Add(1)
			a, err := step.Run(ctx, "first", child, n)
			if err != nil {
				return 0, err
			}
			b, err := step.Run(ctx, "second", child, a)
			return b, err
		}))
		l.Start(worker.Config{Concurrency: 1}, child, parent)
		id := lab.EnqueueTask(l, parent, 5)
		ctx, cancel := context.WithTimeout(l.Context(), time.Minute)
		defer cancel()
		if got, err := cyclone.AttachOf[int](l.Client(), id).Wait(ctx); err != nil || got != 20 {
			l.Errorf("got %d, %v", got, err)
		}
		if made.Load() != 2 || entered.Load() < 2 {
			l.Errorf("%d children, %d entries", made.Load(), entered.Load())
		}
		mustBeGone(l, id)
	}, lab.Configure(queue.Config{Partitions: 4}))
}

func TestTaskHearsHowItsChildFailed(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		bad := cyclone.NewStep("bad", func(context.Context, string) (string, error) { return "", cyclone.Permanent(errBoom) })
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			_, err := step.Run(ctx, "bad", bad, "")
			var failed *step.Error
			var run *cyclone.RunError
			if !errors.As(err, &failed) || !errors.As(err, &run) || failed.Code != "permanent" || run.State != cyclone.RunFailed {
				return "", cyclone.Permanent(errors.New("it is not told"))
			}
			return run.Message, nil
		})
		l.Start(worker.Config{}, bad, def)
		mustReturn(l, lab.EnqueueTask(l, def, ""), "boom")
	})
}

func TestCompletionTransaction(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var followed atomic.Int32
		follow := cyclone.NewAction("follow", func(context.Context, string) error { followed.Add(1); return nil })
		waiter := cyclone.NewTask("waiter", cyclone.HandlerFunc(func(ctx cyclone.Context, _ string) (string, error) {
			return step.WaitSignal[string](ctx, "word", 0)
		}))
		keys := make(chan string, 10)
		writer := cyclone.NewAction("writer", func(ctx cyclone.Context, to cyclone.RunID) error {
			tx := ctx.CompletionTx()
			keys <- tx.Key("balance")
			err := errors.Join(
				tx.IncrBy(tx.Key("balance"), 7), tx.Set(tx.Key("last"), "writer", time.Hour), tx.HashSet(tx.Key("h"), "f", "v"),
				tx.SetAdd(tx.Key("s"), "a", "b"), tx.ListPush(tx.Key("l"), "x"), tx.Delete(tx.Key("gone")),
				tx.Enqueue(follow.With("")), tx.Signal(to, "word", "from a transaction"),
			)
			if ctx.Attempt() == 1 {
				return errBoom // nothing of it happens
			}
			return err
		}, soon)
		l.Start(worker.Config{}, follow, waiter, writer)
		to := lab.EnqueueTask(l, waiter, "")
		lab.Enqueue(l, writer, to)
		mustReturn(l, to, "from a transaction")
		l.Until("the follow-up has run", func() bool { return followed.Load() == 1 })
		if got := l.Redis.Get(context.Background(), <-keys).Val(); got != "7" {
			l.Errorf("the balance is %q, want 7", got)
		}
	})
}

func TestCompletionTransactionThatCannotBeAppliedFailsTheAttempt(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		writer := cyclone.NewAction("writer", func(ctx cyclone.Context, how string) error {
			tx := ctx.CompletionTx()
			if how == "ignored" {
				_ = tx.Set("cyclone-is-fine", strings.Repeat("x", 2<<20), 0)
				return nil
			}
			if err := tx.Set(tx.Key("other"), "x", 0); err != nil {
				return err
			}
			return tx.IncrBy(tx.Key("text"), 1)
		}, cyclone.WithMaxAttempts(1))
		l.Start(worker.Config{}, writer)
		first := lab.Enqueue(l, writer, "ignored")
		l.UntilState(first, cyclone.StepExhausted)
		if err := l.Redis.Set(context.Background(), l.Key(first, "tx:text"), "no number", 0).Err(); err != nil {
			l.Fatal(err)
		}
		s := l.UntilState(lab.Enqueue(l, writer, "text"), cyclone.StepExhausted)
		if last := s.History[len(s.History)-1]; !strings.Contains(last.Error, "no integer") {
			l.Errorf("it failed with %q", last.Error)
		}
		if n := l.Redis.Exists(context.Background(), l.Key(first, "tx:other")).Val(); n != 0 {
			l.Error("a part of the transaction was applied")
		}
	})
}

// Children live on their parent's partition: those that a handler waits for, and those
// that it only starts.
func TestChildrenLiveOnTheirParentsPartition(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		where := make(chan cyclone.RunID, 100)
		child := cyclone.NewStep("child", func(ctx cyclone.Context, n int) (int, error) { where <- ctx.RunID(); return n + 1, nil })
		forget := cyclone.NewAction("forget", func(ctx cyclone.Context, _ string) error { where <- ctx.RunID(); return nil })
		flow := func() *workflow.Builder {
			b := workflow.New("inner")
			workflow.Do(b, "forget", forget, workflow.Value(""))
			return b
		}
		var client atomic.Pointer[queue.Client]
		parent := cyclone.NewTask("parent", cyclone.HandlerFunc(func(ctx cyclone.Context, n int) (int, error) {
			if _, err := step.Do(ctx, "start", func(ctx context.Context) (int64, error) {
				run, err := cyclone.EnqueueAction(ctx, client.Load(), forget, "")
				if err != nil {
					return 0, err
				}
				inner, err := flow().Enqueue(ctx, client.Load())
				if err != nil {
					return 0, err
				}
				return int64(run.ID() + inner.ID()), nil
			}); err != nil {
				return 0, err
			}
			return step.Run(ctx, "child", child, n)
		}))
		w := l.Start(worker.Config{Concurrency: 1}, child, forget, parent)
		client.Store(w.Client)
		for range 8 {
			b := workflow.New("outer")
			outer := workflow.Run(b, "again", parent, workflow.Run(b, "parent", parent, workflow.Value(1)))
			run, err := workflow.EnqueueFor(l.Context(), l.Client(), outer)
			if err != nil {
				l.Fatal(err)
			}
			ctx, cancel := patiently(l)
			if got, err := run.Wait(ctx); err != nil || got != 3 {
				l.Errorf("got %d, %v", got, err)
			}
			cancel()
			for range 6 {
				if id := <-where; (id^run.ID())&3 != 0 {
					l.Errorf("child %v of run %v is on another partition", id, run.ID())
				}
			}
		}
	}, four)
}

// A parent that is cancelled stops waiting; a child that is cancelled is told to it.
func TestCancelOfChildAndParent(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		ids := make(chan cyclone.RunID, 10)
		child := cyclone.NewStep("child", func(ctx cyclone.Context, _ string) (string, error) {
			ids <- ctx.RunID()
			return "", untilEnd(ctx)
		})
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			_, err := step.Run(ctx, "child", child, "")
			var run *cyclone.RunError
			if !errors.As(err, &run) || run.State != cyclone.RunCancelled {
				return "", cyclone.Permanent(errors.Join(errors.New("it is not told"), err))
			}
			return "told", nil
		})
		l.Start(worker.Config{}, child, def)
		first := lab.EnqueueTask(l, def, "")
		mustCancel(l, <-ids)
		mustReturn(l, first, "told")
		third := lab.EnqueueTask(l, def, "")
		deleted := <-ids
		l.UntilState(third, cyclone.StepWaiting)
		if err := l.Client().Delete(context.Background(), deleted); err != nil {
			l.Fatal(err)
		}
		mustReturn(l, third, "told")
		second := lab.EnqueueTask(l, def, "")
		left := <-ids
		l.UntilState(second, cyclone.StepWaiting)
		mustCancel(l, second)
		mustCancel(l, left)
		l.UntilState(second, cyclone.StepCancelled)
		l.UntilState(left, cyclone.StepCancelled)
	}, four)
}
