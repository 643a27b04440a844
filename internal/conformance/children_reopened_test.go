package conformance_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/luascripts"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

// childOf waits for a child whose node plus is called with 0; the output is 1.
type childOf func(ctx context.Context, plus *cyclone.Step[int, int]) (int, error)

// bothKinds runs a test with a child of one step and with one of many.
func bothKinds(t *testing.T, test func(l *lab.Lab, run childOf), options ...lab.Option) {
	for name, run := range map[string]childOf{
		"step": func(ctx context.Context, plus *cyclone.Step[int, int]) (int, error) {
			return step.Run(ctx, "child", plus, 0)
		},
		"workflow": func(ctx context.Context, plus *cyclone.Step[int, int]) (int, error) {
			b := workflow.New("inner")
			return workflow.RunChildFor(ctx, "child", workflow.Run(b, "only", plus, workflow.Value(0)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			lab.Each(t, func(l *lab.Lab) { test(l, run) }, options...)
		})
	}
}

// parents is the queue of tasks whose first worker dies. It serves no other: it would put
// their children back, which it does not know.
const parents = "parents"

// both is a worker for parents and children.
var both = worker.Config{Lease: brief.Lease, Heartbeat: brief.Heartbeat, Queues: worker.Queues("default", parents)}

// childStarted enqueues the task, and has a worker die that has started its child and has
// not said so.
func childStarted[Out any](l *lab.Lab, def *cyclone.Task[string, Out]) cyclone.RunID {
	l.Helper()
	cfg := brief
	cfg.Queues = worker.Queues(parents)
	dead := l.Prepare(cfg)
	dead.Register(def)
	cut := cutBefore(dead, luascripts.Suspend)
	dead.Go()
	id := lab.EnqueueTask(l, def, "", cyclone.WithQueue(parents))
	<-cut
	return id
}

// A worker that dies when it has started the child leaves a task that knows of none. When
// that is cancelled, the child's end reaches nobody; the retry hears of it all the same.
func TestRetriedParentHearsOfAChildItDidNotKnow(t *testing.T) {
	bothKinds(t, func(l *lab.Lab, run childOf) {
		f := newFamily(nil)
		def := cyclone.NewTask("task", cyclone.HandlerFunc(func(ctx cyclone.Context, _ string) (int, error) { return run(ctx, f.plus) }), quick)
		id := childStarted(l, def)
		mustCancel(l, id)
		next := l.Prepare(both)
		next.Register(f.plus, def)
		told := make(chan string, 100)
		next.Redis.AddHook(&lab.Tap{Script: luascripts.Signal, After: func(reply []any) { told <- luascripts.ParseSignal(reply).Outcome }})
		next.Go()
		if outcome := <-told; outcome != luascripts.SignalEnded {
			l.Fatalf("the child's outcome: %s", outcome)
		}
		if err := l.Client().RetryAll(l.Context(), id); err != nil {
			l.Fatal(err)
		}
		mustReturnInt(l, id, 1)
		if all := f.children(); len(all) != 1 {
			l.Errorf("children %v", all)
		}
	})
}

// A task that fails for good while its child goes on finds that child when it is retried,
// also when it did not know of it.
func TestFailedParentFindsItsChild(t *testing.T) {
	bothKinds(t, func(l *lab.Lab, run childOf) {
		out := make(chan struct{})
		f := newFamily(func(cyclone.Context) error {
			<-out
			return nil
		})
		var attempts atomic.Int32
		def := cyclone.NewTask("task", cyclone.HandlerFunc(func(ctx cyclone.Context, _ string) (int, error) {
			if attempts.Add(1) == 2 {
				return 0, cyclone.Permanent(errBoom)
			}
			return run(ctx, f.plus)
		}), quick)
		id := childStarted(l, def)
		l.Start(both, f.plus, def)
		l.UntilState(id, cyclone.StepExhausted)
		if err := l.Client().RetryAll(l.Context(), id); err != nil {
			l.Fatal(err)
		}
		l.UntilState(id, cyclone.StepWaiting)
		close(out)
		mustReturnInt(l, id, 1)
		if all := f.children(); len(all) != 1 {
			l.Errorf("children %v", all)
		}
	})
}

// A task that failed because its child was cancelled starts a new one when it is retried.
func TestRetriedParentStartsAChildAnew(t *testing.T) {
	bothKinds(t, func(l *lab.Lab, run childOf) {
		ids := make(chan cyclone.RunID, 10)
		var calls atomic.Int32
		f := newFamily(func(ctx cyclone.Context) error {
			if calls.Add(1) > 1 {
				return nil
			}
			ids <- ctx.RunID()
			return untilEnd(ctx)
		})
		def := cyclone.NewTask("task", cyclone.HandlerFunc(func(ctx cyclone.Context, _ string) (int, error) {
			n, err := run(ctx, f.plus)
			if errors.Is(err, cyclone.ErrCancelled) {
				err = cyclone.Permanent(err)
			}
			return n, err
		}))
		l.Start(worker.Config{}, f.plus, def)
		id := lab.EnqueueTask(l, def, "")
		child := <-ids
		l.UntilState(id, cyclone.StepWaiting)
		mustCancel(l, child)
		l.UntilState(id, cyclone.StepExhausted)
		if err := l.Client().RetryAll(l.Context(), id); err != nil {
			l.Fatal(err)
		}
		mustReturnInt(l, id, 1)
		if all := f.children(); len(all) != 2 {
			l.Errorf("children %v", all)
		}
	}, four)
}

// A child that failed, or was cancelled, after its parent had failed is started anew when
// the parent is opened again: one retry does. A child that fails after the retry is the
// parent's to deal with.
func TestOneRetryDoesAfterAChildThatFailedMeanwhile(t *testing.T) {
	for name, end := range map[string]func(l *lab.Lab, child cyclone.RunID, fail chan<- error){
		"failed":    func(l *lab.Lab, child cyclone.RunID, fail chan<- error) { fail <- cyclone.Permanent(errBoom) },
		"cancelled": func(l *lab.Lab, child cyclone.RunID, fail chan<- error) { mustCancel(l, child) },
	} {
		t.Run(name, func(t *testing.T) {
			bothKinds(t, func(l *lab.Lab, run childOf) {
				ids, ends := make(chan cyclone.RunID, 10), make(chan error)
				f := newFamily(func(ctx cyclone.Context) error {
					ids <- ctx.RunID()
					select {
					case err := <-ends:
						return err
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				})
				def, told := failsBesideItsChild(f, run)
				id := childStarted(l, def)
				l.Start(both, f.plus, def)
				first := <-ids
				l.UntilState(id, cyclone.StepExhausted)
				end(l, first, ends)
				l.Until("the child has ended", func() bool { return runState(l, first).Finished() })
				must(l, l.Client().RetryAll(l.Context(), id))
				l.Until("there is another child", func() bool { return len(f.children()) == 2 })
				second := <-ids
				if second == first || told.Load() != 0 {
					l.Errorf("children %v and %v, told %d times", first, second, told.Load())
				}
				l.UntilState(id, cyclone.StepWaiting)
				end(l, second, ends)
				mustReturnInt(l, id, 100)
				if all := f.children(); len(all) != 2 || told.Load() != 1 {
					l.Errorf("children %v, told %d times", all, told.Load())
				}
			}, four)
		})
	}
}

// A child that the parent has found when it was opened again, and waited for, is told of
// when it fails then.
func TestRetriedParentIsToldOfAChildThatFailsThen(t *testing.T) {
	bothKinds(t, func(l *lab.Lab, run childOf) {
		ids, ends := make(chan cyclone.RunID, 10), make(chan error)
		f := newFamily(func(ctx cyclone.Context) error {
			ids <- ctx.RunID()
			return <-ends
		})
		def, _ := failsBesideItsChild(f, run)
		id := childStarted(l, def)
		l.Start(both, f.plus, def)
		<-ids
		l.UntilState(id, cyclone.StepExhausted)
		must(l, l.Client().RetryAll(l.Context(), id))
		l.UntilState(id, cyclone.StepWaiting)
		ends <- cyclone.Permanent(errBoom)
		mustReturnInt(l, id, 100)
		if all := f.children(); len(all) != 1 {
			l.Errorf("children %v", all)
		}
	}, four)
}

// failsBesideItsChild is a task that fails for good in its second attempt, whatever its
// child does, and returns 100 when it is told later that its child has failed.
func failsBesideItsChild(f *family, run childOf) (def *cyclone.Task[string, int], told *atomic.Int32) {
	var attempts atomic.Int32
	told = new(atomic.Int32)
	return cyclone.NewTask("task", cyclone.HandlerFunc(func(ctx cyclone.Context, _ string) (int, error) {
		if attempts.Add(1) == 2 {
			return 0, cyclone.Permanent(errBoom)
		}
		n, err := run(ctx, f.plus)
		if failed := (*step.Error)(nil); errors.As(err, &failed) {
			told.Add(1)
			return 100, nil
		}
		return n, err
	}), quick), told
}

// runState is the state of a run, whatever it is made of.
func runState(l *lab.Lab, id cyclone.RunID) cyclone.RunState {
	l.Helper()
	info, err := l.Client().GetRun(l.Context(), id)
	if err != nil {
		l.Fatal(err)
	}
	return info.State
}
