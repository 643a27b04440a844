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
