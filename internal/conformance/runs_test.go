package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
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

// A run under a unique key is there once, however many enqueue it; its key is free
// when it has ended, whichever way.
func TestUniqueRuns(t *testing.T) {
	for name, end := range map[string]func(l *lab.Lab, id cyclone.RunID){
		"completed": func(l *lab.Lab, id cyclone.RunID) { mustSignal(l, id, "go", nil) },
		"cancelled": mustCancel,
		"failed": func(l *lab.Lab, id cyclone.RunID) {
			if err := l.Client().CancelNode(context.Background(), id, "go"); err != nil {
				l.Fatal(err)
			}
		},
		"deleted": func(l *lab.Lab, id cyclone.RunID) {
			if err := l.Client().Delete(context.Background(), id); err != nil {
				l.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			lab.Each(t, func(l *lab.Lab) {
				build := func(conflict cyclone.Conflict) *workflow.Builder {
					b := workflow.New("order", cyclone.WithUnique(cyclone.Unique{Key: "7", OnConflict: conflict}))
					workflow.Wait(b, "go", 0)
					return b
				}
				l.Start(worker.Config{})
				var mu sync.Mutex
				var wg sync.WaitGroup
				ids, fresh := make(map[cyclone.RunID]bool), 0
				for range 10 {
					wg.Go(func() {
						run, err := build(cyclone.Existing).Enqueue(context.Background(), l.Client())
						mu.Lock()
						defer mu.Unlock()
						if err != nil {
							l.Error(err)
							return
						}
						ids[run.ID()] = true
						if !run.Existing() {
							fresh++
						}
					})
				}
				wg.Wait()
				if len(ids) != 1 || fresh != 1 {
					l.Fatalf("runs %v, %d of them new", ids, fresh)
				}
				var id cyclone.RunID
				for id = range ids {
				}
				var duplicate *cyclone.DuplicateError
				if _, err := build(cyclone.Reject).Enqueue(context.Background(), l.Client()); !errors.As(err, &duplicate) || duplicate.Holder != id {
					l.Errorf("Reject: %v, want a DuplicateError of run %v", err, id)
				}
				l.UntilNode(id, "go", cyclone.StepWaiting)
				end(l, id)
				l.Until("the run has ended", func() bool { r := l.Run(id); return r == nil || r.State.Finished() })
				next := lab.EnqueueRun(l, build(cyclone.Reject))
				if next == id {
					l.Error("the key was not free")
				}
				if name == "failed" || name == "cancelled" { // opened again it would need its key
					err := l.Client().RetryAll(context.Background(), id)
					if !errors.As(err, &duplicate) || duplicate.Holder != next {
						l.Errorf("RetryAll: %v, want a DuplicateError of run %v", err, next)
					}
				}
			}, lab.Configure(queue.Config{Partitions: 4}))
		})
	}
}

// A run that has not ended by its deadline fails, with what it is doing.
func TestRunDeadline(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		hold := newHolding()
		c := newCrew(map[string]func(cyclone.Context) error{"hold": hold.run})
		build := func(d time.Duration) *workflow.Builder {
			b := workflow.New("order", workflow.WithDeadline(d))
			workflow.Wait(b, "wait", 0)
			c.do(b, "behind", workflow.After(c.do(b, "hold")))
			return b
		}
		l.Start(worker.Config{}, c)
		id := lab.EnqueueRun(l, build(500*time.Millisecond))
		<-hold.in
		var run *cyclone.RunError
		if err := mustWait(l, id); !errors.As(err, &run) || run.State != cyclone.RunFailed || run.Code != retry.CodeTimeout {
			l.Errorf("the run ended with %v, want it failed by its deadline", err)
		}
		if cause := <-hold.out; !errors.Is(cause, cyclone.ErrCancelled) {
			l.Errorf("cause %v", cause)
		}
		l.RequireNodes(id, "wait:cancelled", "hold:cancelled", "behind:cancelled")
		// In time it does nothing.
		close(hold.free)
		early := lab.EnqueueRun(l, build(time.Hour))
		mustSignal(l, early, "wait", nil)
		if err := mustWait(l, early); err != nil {
			l.Error(err)
		}
	})
}

// Cancel of a run ends all of it; results of what was running are dropped.
func TestCancelOfARun(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		hold := newHolding()
		inTask := make(chan error, 1)
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			return step.Do(ctx, "x", func(ctx context.Context) (string, error) {
				hold.in <- struct{}{}
				inTask <- untilEnd(ctx)
				return "in vain", nil
			})
		})
		c := newCrew(map[string]func(cyclone.Context) error{"hold": hold.run})
		b := workflow.New("order")
		done, held := c.do(b, "done"), c.do(b, "hold")
		out := workflow.Run(b, "task", def, workflow.Value(""))
		workflow.Wait(b, "wait", 0, workflow.After(done))
		workflow.Sleep(b, "sleep", time.Hour)
		c.do(b, "behind", workflow.After(held, out), anyway)
		w := l.Start(worker.Config{}, c, def)
		id := lab.EnqueueRun(l, b)
		<-hold.in
		<-hold.in
		l.UntilNode(id, "wait", cyclone.StepWaiting)
		l.UntilNode(id, "sleep", cyclone.StepWaiting)
		cancelled := time.Now()
		mustCancel(l, id)
		for _, out := range []chan error{hold.out, inTask} {
			if cause := <-out; !errors.Is(cause, cyclone.ErrCancelled) {
				l.Errorf("cause %v, want ErrCancelled", cause)
			}
		}
		if took := time.Since(cancelled); took > time.Second {
			l.Errorf("the handlers heard of it after %v", took)
		}
		if err := mustWait(l, id); !errors.Is(err, cyclone.ErrCancelled) {
			l.Errorf("Wait returned %v", err)
		}
		l.Until("the slots are free", func() bool { return w.Health().Running == 0 && len(l.Leased()) == 0 })
		l.RequireNodes(id, "done:completed", "hold:cancelled", "task:cancelled", "wait:cancelled", "sleep:cancelled", "behind:cancelled")
		if c.times("behind") != 0 {
			l.Error("a node of a cancelled run was run")
		}
		if err := l.Client().Cancel(context.Background(), id); err != nil {
			l.Errorf("Cancel again: %v", err)
		}
		if err := l.Client().Signal(context.Background(), id, "wait", nil); !errors.Is(err, queue.ErrFinished) {
			l.Errorf("Signal to it: %v", err)
		}
		// An operator can open it again: what has completed stays.
		c.instead("hold", nil)
	})
}

// However a node disappears, its run is evaluated: none waits for ever.
func TestRunGoesOnWithoutANode(t *testing.T) {
	ctx := context.Background()
	for name, remove := range map[string]func(l *lab.Lab, id cyclone.RunID) error{
		"cancel node": func(l *lab.Lab, id cyclone.RunID) error { return l.Client().CancelNode(ctx, id, "gone") },
		"cancel matching": func(l *lab.Lab, _ cyclone.RunID) error {
			p, err := l.Client().CancelMatching(ctx, queue.Filter{Queue: "unserved"}, nil)
			return errors.Join(err, wantOne(p))
		},
		"delete matching": func(l *lab.Lab, _ cyclone.RunID) error {
			p, err := l.Client().DeleteMatching(ctx, queue.Filter{Queue: "unserved"}, nil)
			return errors.Join(err, wantOne(p))
		},
		"purge": func(l *lab.Lab, _ cyclone.RunID) error {
			p, err := l.Client().Purge(ctx, "unserved", nil)
			return errors.Join(err, wantOne(p))
		},
	} {
		for _, contained := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, contained %v", name, contained), func(t *testing.T) {
				lab.Each(t, func(l *lab.Lab) {
					c := newCrew(nil)
					b := workflow.New("order")
					gone := c.do(b, "gone", cyclone.WithQueue("unserved"))
					opts := []cyclone.NodeOption{workflow.After(gone, c.do(b, "other"))}
					if contained {
						opts = append(opts, anyway)
					}
					c.do(b, "behind", opts...)
					l.Start(worker.Config{}, c)
					id := lab.EnqueueRun(l, b)
					l.UntilNode(id, "other", cyclone.StepCompleted)
					if err := remove(l, id); err != nil {
						l.Fatal(err)
					}
					if contained {
						l.UntilRun(id, cyclone.RunCompleted)
						l.RequireNodes(id, "gone:cancelled", "behind:completed")
						return
					}
					l.UntilRun(id, cyclone.RunFailed)
					l.RequireNodes(id, "gone:cancelled", "behind:cancelled")
				})
			})
		}
	}
}

func wantOne(p queue.Progress) error {
	if p.Done != 1 {
		return fmt.Errorf("progress %+v, want one done", p)
	}
	return nil
}

// When the retention of runs is over, nothing of them is left in the key space,
// however they ended.
func TestNothingIsLeftOfRuns(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		def := task(func(ctx cyclone.Context, in string) (string, error) {
			if _, err := step.Do(ctx, "x", func(context.Context) (string, error) { return "", nil }); err != nil {
				return "", err
			}
			if err := step.Sleep(ctx, "nap", time.Minute); err != nil {
				return "", err
			}
			if in == "bad" {
				return "", cyclone.Permanent(errBoom)
			}
			_, err := step.WaitSignal[string](ctx, "word", time.Minute)
			if errors.Is(err, step.ErrTimeout) {
				err = nil
			}
			return in, err
		})
		child := cyclone.NewStep("child", func(_ context.Context, in string) (string, error) { return in, nil })
		parent := cyclone.NewTask("parent", cyclone.HandlerFunc(func(ctx cyclone.Context, in string) (string, error) {
			return step.Run(ctx, "child", child, in)
		}))
		c := newCrew(map[string]func(cyclone.Context) error{"bad": failsForGood})
		cfg := calm
		cfg.Queues = worker.Queues("default", "other")
		w := l.Start(cfg, c, def, child, parent)
		var ids []cyclone.RunID
		for i := range 12 {
			b := workflow.New("order", cyclone.WithUnique(cyclone.Unique{Key: fmt.Sprint(i)}), workflow.WithDeadline(time.Hour), cyclone.WithRetention(20*time.Minute))
			in := []string{"good", "bad"}[i%2]
			a := workflow.Run(b, "task", def, workflow.Value(in))
			p := workflow.Run(b, "parent", parent, a)
			c.do(b, "branch", workflow.After(c.do(b, "bad", cyclone.WithQueue("other"))), branch)
			workflow.Wait(b, "wait", 30*time.Minute)
			c.do(b, "last", workflow.After(p))
			id := lab.EnqueueRun(l, b)
			ids = append(ids, id)
			mustSignal(l, id, "unheard", "x")
			if i%3 != 0 {
				mustSignal(l, id, "wait", nil)
			}
		}
		lone := []cyclone.RunID{lab.EnqueueTask(l, def, "good"), lab.EnqueueTask(l, parent, "good"), lab.EnqueueTask(l, def, "bad")}
		mustSignal(l, lone[0], "unheard", "x")
		l.Pass(30 * time.Second)
		mustCancel(l, ids[4])
		if err := l.Client().Delete(context.Background(), ids[8]); err != nil {
			l.Error(err)
		}
		l.Pass(40 * time.Minute)
		l.MustAgree()
		_ = w.Stop()
		l.Pass(26 * time.Hour) // results of children are kept for a day
		last := l.Start(cfg, c, def, child, parent)
		l.Pass(10 * time.Minute)
		_ = last.Stop()
		if left := l.Leftovers(); len(left) > 0 {
			l.Errorf("left over:\n%s", strings.Join(left, "\n"))
		}
	}, lab.Configure(queue.Config{DiscardedRetention: time.Hour, CancelledRetention: time.Hour, Partitions: 4}))
}
