package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/luascripts"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

// family is a task with a child workflow: two nodes that add one each.
type family struct {
	parent *cyclone.Task[int, int]
	plus   *cyclone.Step[int, int]
	mu     sync.Mutex
	runs   map[cyclone.RunID]int // executions of nodes, by run
	node   func(ctx cyclone.Context) error
}

// newFamily returns a family whose nodes do what node says, if it is given.
func newFamily(node func(ctx cyclone.Context) error) *family {
	f := &family{runs: map[cyclone.RunID]int{}, node: node}
	f.plus = cyclone.NewStep("plus", func(ctx cyclone.Context, n int) (int, error) {
		f.mu.Lock()
		f.runs[ctx.RunID()]++
		f.mu.Unlock()
		if f.node != nil {
			if err := f.node(ctx); err != nil {
				return 0, err
			}
		}
		return n + 1, nil
	}, quick)
	f.parent = cyclone.NewTask("parent", cyclone.HandlerFunc(func(ctx cyclone.Context, n int) (int, error) {
		return workflow.RunChildFor(ctx, "inner", f.inner(n))
	}), quick)
	return f
}

func (f *family) inner(n int) workflow.Ref[int] {
	b := workflow.New("inner")
	return workflow.Run(b, "second", f.plus, workflow.Run(b, "first", f.plus, workflow.Value(n)))
}

// children returns the child runs whose nodes have run.
func (f *family) children() (ids []cyclone.RunID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.runs {
		ids = append(ids, id)
	}
	return ids
}

func mustReturnInt(l *lab.Lab, id cyclone.RunID, want int) {
	l.Helper()
	ctx, cancel := patiently(l)
	defer cancel()
	if got, err := cyclone.AttachOf[int](l.Client(), id).Wait(ctx); err != nil || got != want {
		l.Errorf("got %d, %v; want %d", got, err, want)
	}
}

func TestTaskRunsAChildWorkflow(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		f := newFamily(nil)
		note := cyclone.NewAction("note", func(cyclone.Context, string) error { return nil })
		both := cyclone.NewTask("both", cyclone.HandlerFunc(func(ctx cyclone.Context, n int) (int, error) {
			first, err := workflow.RunChildFor(ctx, "inner", f.inner(n))
			if err != nil {
				return 0, err
			}
			b := workflow.New("notes", cyclone.WithMeta("by", "parent"))
			workflow.Do(b, "note", note, workflow.Value(""))
			if err := b.RunChild(ctx, "inner"); err != nil { // the same name once more
				return 0, err
			}
			return step.Run(ctx, "plus", f.plus, first)
		}))
		l.Start(worker.Config{Concurrency: 1}, f.plus, note, both)
		b := workflow.New("outer")
		outer := workflow.Run(b, "again", both, workflow.Run(b, "both", both, workflow.Value(1)))
		run, err := workflow.EnqueueFor(l.Context(), l.Client(), outer)
		if err != nil {
			l.Fatal(err)
		}
		mustReturnInt(l, run.ID(), 7)
		for _, id := range f.children() {
			if (id^run.ID())&3 != 0 {
				l.Errorf("child %v of run %v is on another partition", id, run.ID())
			}
		}
		mustBeGone(l, run.ID())
	}, four)
}

// However a child workflow ends, its parent hears of it.
func TestTaskHearsHowItsChildWorkflowEnded(t *testing.T) {
	for name, tt := range map[string]struct {
		end   func(l *lab.Lab, child cyclone.RunID) error
		state cyclone.RunState
	}{
		"fails":     {nil, cyclone.RunFailed},
		"cancelled": {func(l *lab.Lab, child cyclone.RunID) error { return l.Client().Cancel(l.Context(), child) }, cyclone.RunCancelled},
		"deleted":   {func(l *lab.Lab, child cyclone.RunID) error { return l.Client().Delete(l.Context(), child) }, cyclone.RunCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			lab.Each(t, func(l *lab.Lab) {
				ids := make(chan cyclone.RunID, 10)
				f := newFamily(func(ctx cyclone.Context) error {
					ids <- ctx.RunID()
					if tt.end == nil {
						return cyclone.Permanent(errBoom)
					}
					return untilEnd(ctx)
				})
				def := task(func(ctx cyclone.Context, _ string) (string, error) {
					_, err := workflow.RunChildFor(ctx, "inner", f.inner(1))
					var failed *step.Error
					var run *cyclone.RunError
					if !errors.As(err, &failed) || !errors.As(err, &run) {
						return "", cyclone.Permanent(errors.Join(errors.New("it is not told"), err))
					}
					if tt.state != run.State {
						return "", cyclone.Permanent(err)
					}
					return run.Message, nil
				})
				l.Start(worker.Config{}, f.plus, def)
				id := lab.EnqueueTask(l, def, "")
				if child := <-ids; tt.end != nil {
					l.UntilState(id, cyclone.StepWaiting)
					if err := tt.end(l, child); err != nil {
						l.Fatal(err)
					}
				}
				if message, err := await(l, id); err != nil || tt.end == nil && message != "boom" {
					l.Errorf("got %q, %v", message, err)
				}
			}, four)
		})
	}
}

// A child workflow goes on when its parent is cancelled, and a parent that is opened
// again finds it.
func TestChildWorkflowOutlivesItsParent(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		in, out := make(chan cyclone.RunID, 10), make(chan struct{})
		f := newFamily(func(ctx cyclone.Context) error {
			in <- ctx.RunID()
			<-out
			return nil
		})
		l.Start(worker.Config{}, f.plus, f.parent)
		id := lab.EnqueueTask(l, f.parent, 1)
		child := <-in
		l.UntilState(id, cyclone.StepWaiting)
		mustCancel(l, id)
		l.UntilState(id, cyclone.StepCancelled)
		close(out)
		l.UntilRun(child, cyclone.RunCompleted)
		if err := l.Client().RetryAll(l.Context(), id); err != nil {
			l.Fatal(err)
		}
		mustReturnInt(l, id, 3)
		if all := f.children(); len(all) != 1 {
			l.Errorf("children %v", all)
		}
	}, four)
}

// A child workflow is started once, small or large, whichever replies are lost.
func TestChildWorkflowUnderLostReplies(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		f := newFamily(nil)
		count := cyclone.NewStep("count", func(ctx cyclone.Context, all []int) (int, error) { return len(all), nil })
		large := cyclone.NewTask("large", cyclone.HandlerFunc(func(ctx cyclone.Context, n int) (int, error) {
			b := workflow.New("large")
			refs := make([]workflow.Ref[int], n)
			for i := range refs {
				refs[i] = workflow.Run(b, fmt.Sprint("n", i), f.plus, workflow.Value(i))
			}
			return workflow.RunChildFor(ctx, "large", workflow.Run(b, "count", count, workflow.All(refs...)))
		}), quick)
		w := l.Prepare(worker.Config{})
		w.Register(f.plus, f.parent, count, large)
		var calls atomic.Int32
		for _, script := range promptScripts() {
			w.Redis.AddHook(&lab.Loss{Script: script, Lose: func() bool { return calls.Add(1)%2 == 0 }})
		}
		w.Go()
		small, big := lab.EnqueueTask(l, f.parent, 1), lab.EnqueueTask(l, large, 450)
		mustReturnInt(l, small, 3)
		mustReturnInt(l, big, 450)
		if all := f.children(); len(all) != 2 {
			l.Errorf("children %v", all)
		}
	}, four)
}

// promptScripts are those of lab.Scripts that are sent again at once: work that a sweep
// has taken, and whose reply is lost, is due again after half a minute.
func promptScripts() []*luascripts.Script {
	return slices.DeleteFunc(lab.Scripts(), func(s *luascripts.Script) bool { return s == luascripts.Sweep })
}

// A worker that dies when it has enqueued the child and before it has suspended the
// task leaves the child to the next attempt, also when the child was removed meanwhile.
func TestChildWorkflowIsStartedOnce(t *testing.T) {
	for name, removed := range map[string]bool{"kept": false, "removed": true} {
		t.Run(name, func(t *testing.T) {
			lab.Each(t, func(l *lab.Lab) {
				f := newFamily(nil)
				def := task(func(ctx cyclone.Context, _ string) (string, error) {
					n, err := workflow.RunChildFor(ctx, "inner", f.inner(1))
					var run *cyclone.RunError
					if errors.As(err, &run) {
						return string(run.State), nil
					}
					return fmt.Sprint(n), err
				}, quick)
				id := childStarted(l, def)
				child := untilRuns(l, "inner", 1)[0]
				want := "3"
				if removed {
					want = string(cyclone.RunCancelled)
					if err := l.Client().Delete(l.Context(), child); err != nil {
						l.Fatal(err)
					}
				}
				l.Start(both, f.plus, def)
				mustReturn(l, id, want)
				if all := f.children(); !removed && (len(all) != 1 || all[0] != child) || removed && len(all) > 0 {
					l.Errorf("children %v, want %v", all, child)
				}
			})
		})
	}
}

// What is wrong with a child is told at once, and fails the run.
func TestMistakesOfChildRuns(t *testing.T) {
	bad := cyclone.NewStep("bad", func(context.Context, func()) (int, error) { return 0, nil })
	good := cyclone.NewStep("good", func(context.Context, int) (int, error) { return 0, nil })
	for name, tt := range map[string]struct {
		start func(ctx cyclone.Context) error
		want  string
	}{
		"input of a step": {func(ctx cyclone.Context) error {
			_, err := step.Run(ctx, "child", bad, func() {})
			return err
		}, "bad: input"},
		"unique step": {func(ctx cyclone.Context) error {
			_, err := step.Run(ctx, "child", good, 1, cyclone.WithUnique(cyclone.Unique{}))
			return err
		}, "no unique key"},
		"input of a node": {func(ctx cyclone.Context) error {
			b := workflow.New("flow")
			return expect[*workflow.BuilderError](second(workflow.RunChildFor(ctx, "child", workflow.Run(b, "n", bad, workflow.Value(func() {})))))
		}, "node n: input"},
		"unique workflow": {func(ctx cyclone.Context) error {
			b := workflow.New("flow", cyclone.WithUnique(cyclone.Unique{Key: "k"}))
			return second(workflow.RunChildFor(ctx, "child", workflow.Run(b, "n", good, workflow.Value(1))))
		}, "workflow flow: a child run has no unique key"},
		"no nodes": {func(ctx cyclone.Context) error {
			return expect[*workflow.BuilderError](workflow.New("flow").RunChild(ctx, "child"))
		}, "it has no nodes"},
		"no node": {func(ctx cyclone.Context) error {
			return expect[*workflow.BuilderError](second(workflow.RunChildFor(ctx, "child", workflow.Ref[int]{})))
		}, "result: the reference is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			lab.Bubble(t, func(l *lab.Lab) {
				def := task(func(ctx cyclone.Context, _ string) (string, error) { return "", tt.start(ctx) })
				l.Start(worker.Config{}, def)
				s := l.UntilState(lab.EnqueueTask(l, def, ""), cyclone.StepExhausted)
				if f := s.History[len(s.History)-1]; !strings.Contains(f.Error, tt.want) || f.Attempt != 1 {
					l.Errorf("attempt %d failed with %q, want %q", f.Attempt, f.Error, tt.want)
				}
			})
		})
	}
}

func second(_ int, err error) error { return err }

// expect returns the error if there is a T in it.
func expect[T error](err error) error {
	var target T
	if !errors.As(err, &target) {
		return fmt.Errorf("no %T: %w", target, err)
	}
	return err
}
