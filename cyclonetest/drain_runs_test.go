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
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

// shop is a workflow with a charge, a wait for an approval, and what follows from it.
type shop struct {
	charge *cyclone.Step[string, string]
	ship   *cyclone.Action[string]
	told   *cyclone.Action[string]
	log    []string
}

func newShop() *shop {
	s := &shop{}
	s.charge = cyclone.NewStep("charge", func(ctx cyclone.Context, order string) (string, error) {
		s.log = append(s.log, "charge")
		if ctx.Attempt() < 3 {
			return "", errors.New("bank is away")
		}
		return order + " is paid", nil
	}, cyclone.WithBackoff(hourly))
	s.ship = cyclone.NewAction("ship", func(_ cyclone.Context, in string) error {
		s.log = append(s.log, "ship: "+in)
		return nil
	}, cyclone.WithQueue("shipping"))
	s.told = cyclone.NewAction("tell", func(_ cyclone.Context, in string) error {
		s.log = append(s.log, "tell "+in)
		return nil
	})
	return s
}

func (s *shop) order(t *testing.T, client *queue.Client, patience time.Duration) *cyclone.Run {
	t.Helper()
	b := workflow.New("order")
	paid := workflow.Run(b, "charge", s.charge, workflow.Value("17"))
	calm := workflow.Sleep(b, "calm", 24*time.Hour, workflow.After(paid))
	approval := workflow.WaitSignal[string](b, "approval", patience, workflow.After(calm))
	shipped := workflow.Do(b, "ship", s.ship, paid, workflow.After(approval), workflow.OnDepFailure(workflow.CancelBranch))
	workflow.Do(b, "tell", s.told, workflow.Value("Ada"), workflow.After(shipped), workflow.OnDepFailure(workflow.RunAnyway))
	run, err := b.Enqueue(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func (s *shop) drain(t *testing.T, client *queue.Client) {
	t.Helper()
	cyclonetest.Drain(t, client, s.charge, s.ship, s.told)
}

func TestDrainStopsAtASignal(t *testing.T) {
	t.Parallel()
	for name, inMode := range modes(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inMode(t, func(t *testing.T) {
				client, s := cyclonetest.NewClient(t), newShop()
				run := s.order(t, client, 0)
				s.drain(t, client)
				cyclonetest.RequireRun(t, client, run, cyclone.RunRunning)
				cyclonetest.RequireNode(t, client, run, "approval", cyclone.StepWaiting)
				cyclonetest.RequireNode(t, client, run, "ship", cyclone.StepBlocked)
				if err := client.Signal(t.Context(), run.ID(), "approval", "Ada"); err != nil {
					t.Fatal(err)
				}
				s.drain(t, client)
				cyclonetest.RequireRun(t, client, run, cyclone.RunCompleted)
				cyclonetest.RequireState(t, client, run, cyclone.StepCompleted)
				if diff := cmp.Diff([]string{"charge", "charge", "charge", "ship: 17 is paid", "tell Ada"}, s.log); diff != "" {
					t.Errorf("what ran (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestDrainPassesTimeouts(t *testing.T) {
	t.Parallel()
	for name, inMode := range modes(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inMode(t, func(t *testing.T) {
				client, s := cyclonetest.NewClient(t), newShop()
				began := time.Now()
				run := s.order(t, client, 72*time.Hour)
				s.drain(t, client)
				cyclonetest.RequireRun(t, client, run, cyclone.RunCompleted)
				cyclonetest.RequireNode(t, client, run, "approval", cyclone.StepExhausted)
				cyclonetest.RequireNode(t, client, run, "ship", cyclone.StepCancelled)
				cyclonetest.RequireNode(t, client, run, "tell", cyclone.StepCompleted)
				if took := time.Since(began); name == "bubble" && took != 98*time.Hour {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// While Drain lets time pass, other goroutines of the bubble may signal.
func TestSignalDuringADrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := cyclonetest.NewClient(t)
		began := time.Now()
		ask := cyclone.NewTask("ask", cyclone.HandlerFunc(func(ctx cyclone.Context, _ int) (string, error) {
			return step.WaitSignal[string](ctx, "answer", 1000*time.Hour)
		}))
		run, err := cyclone.EnqueueTask(t.Context(), client, ask, 1)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(17 * time.Hour)
			if err := client.Signal(t.Context(), run.ID(), "answer", "yes"); err != nil {
				t.Error(err)
			}
		}()
		cyclonetest.Drain(t, client, ask)
		if out, err := run.Wait(t.Context()); out != "yes" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
		if took := time.Since(began); took < 17*time.Hour || took > 17*time.Hour+time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

func TestDrainTasksWithChildren(t *testing.T) {
	t.Parallel()
	for name, inMode := range modes(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inMode(t, func(t *testing.T) {
				client := cyclonetest.NewClient(t)
				tries := 0
				child := cyclone.NewStep("child", func(_ cyclone.Context, in int) (int, error) { return 2 * in, nil }, cyclone.WithQueue("children"))
				parent := cyclone.NewTask("parent", cyclone.HandlerFunc(func(ctx cyclone.Context, in int) (int, error) {
					doubled, err := step.Run(ctx, "double", child, in)
					if err != nil {
						return 0, err
					}
					if err := step.Sleep(ctx, "rest", 30*24*time.Hour); err != nil {
						return 0, err
					}
					return step.Do(ctx, "add", func(context.Context) (int, error) {
						if tries++; tries < 3 {
							return 0, errors.New("not yet")
						}
						return doubled + tries, nil
					})
				}))
				run, err := cyclone.EnqueueTask(t.Context(), client, parent, 10)
				if err != nil {
					t.Fatal(err)
				}
				cyclonetest.Drain(t, client, parent, child)
				if out, err := run.Wait(t.Context()); out != 23 || err != nil {
					t.Errorf("%d, %v", out, err)
				}
			})
		})
	}
}

// A wide run is released by the sweep, of which no count tells.
func TestDrainAWideRun(t *testing.T) {
	t.Parallel()
	for name, inMode := range modes(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inMode(t, func(t *testing.T) {
				client := cyclonetest.NewClient(t)
				ran := 0
				part := cyclone.NewStep("part", func(_ cyclone.Context, i int) (int, error) { ran++; return i, nil })
				b := workflow.New("wide")
				first := workflow.Run(b, "first", part, workflow.Value(1))
				parts := make([]workflow.Ref[int], 120)
				for i := range parts {
					parts[i] = workflow.Run(b, "part-"+cyclone.RunID(i).String(), part, first)
				}
				sum := cyclone.NewStep("sum", func(_ cyclone.Context, in []int) (int, error) { return len(in), nil })
				run, err := workflow.EnqueueFor(t.Context(), client, workflow.Run(b, "sum", sum, workflow.All(parts...)))
				if err != nil {
					t.Fatal(err)
				}
				cyclonetest.DrainWorker(t, client, func() (*worker.Worker, error) {
					w, err := worker.New(client, worker.Config{Concurrency: 1})
					w.Register(part, sum)
					return w, err
				})
				if out, err := run.Wait(t.Context()); out != len(parts) || ran != len(parts)+1 || err != nil {
					t.Errorf("%d of %d, %v", out, ran, err)
				}
			})
		})
	}
}

func TestRequireRunTells(t *testing.T) {
	t.Parallel()
	client := cyclonetest.NewClient(t)
	fails := cyclone.NewAction("fails", func(cyclone.Context, int) error { return cyclone.Permanent(errors.New("no route")) })
	b := workflow.New("two")
	workflow.Do(b, "second", fails, workflow.Value(1), workflow.After(workflow.Do(b, "first", fails, workflow.Value(1))))
	run, err := b.Enqueue(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	cyclonetest.Drain(t, client, fails)
	cyclonetest.RequireRun(t, client, run, cyclone.RunFailed)
	for _, c := range []struct {
		require func(testing.TB)
		want    string
	}{
		{func(t testing.TB) { cyclonetest.RequireRun(t, client, run, cyclone.RunCompleted) },
			"run 1 is failed, want completed\n  first: discarded: no route (permanent)\n  second: cancelled"},
		{func(t testing.TB) { cyclonetest.RequireNode(t, client, run, "first", cyclone.StepCompleted) }, "first is discarded, want completed"},
		{func(t testing.TB) { cyclonetest.RequireNode(t, client, run, "third", cyclone.StepCompleted) }, "run 1 has no node third\n  first: discarded"},
		{func(t testing.TB) {
			cyclonetest.RequireNode(t, client, cyclone.Attach(client, 99), "x", cyclone.StepReady)
		}, "run 99: x: want ready"},
		{func(t testing.TB) { cyclonetest.RequireRun(t, client, cyclone.Attach(client, 99), cyclone.RunFailed) }, "run 99: want failed"},
	} {
		if got := failureOf(t, c.require); !strings.Contains(got, c.want) {
			t.Errorf("failed with %q, want %q", got, c.want)
		}
	}
	cyclonetest.RequireRun(t, client, cyclone.Attach(client, 99), cyclone.RunCompleted)
}
