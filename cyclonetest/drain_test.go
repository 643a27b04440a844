package cyclonetest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cyclonetest"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// enqueue enqueues the requests and returns their runs.
func enqueue(t *testing.T, client *queue.Client, requests ...cyclone.Request) []*cyclone.Run {
	t.Helper()
	runs, err := cyclone.EnqueueMany(t.Context(), client, requests...)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

// hourly is a backoff without jitter, so that virtual time can be foretold.
func hourly(int) time.Duration { return time.Hour }

func TestDrainPassesTimeInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := cyclonetest.NewClient(t)
		began := time.Now()
		var log []string
		note := func(ctx cyclone.Context, what string) {
			log = append(log, fmt.Sprintf("%v %s %d", time.Since(began), what, ctx.Attempt()))
		}
		flaky := cyclone.NewAction("flaky", func(ctx cyclone.Context, _ struct{}) error {
			note(ctx, "flaky")
			if ctx.Attempt() < 3 {
				return errors.New("not yet")
			}
			return nil
		}, cyclone.WithBackoff(hourly))
		slow := cyclone.NewAction("slow", func(ctx cyclone.Context, _ struct{}) error {
			note(ctx, "slow")
			time.Sleep(30 * time.Minute)
			return nil
		})
		patient := cyclone.NewAction("patient", func(ctx cyclone.Context, _ struct{}) error {
			note(ctx, "patient")
			if time.Since(began) < 48*time.Hour {
				return cyclone.Snooze(24 * time.Hour)
			}
			return nil
		})
		enqueue(t, client, flaky.With(struct{}{}), slow.With(struct{}{}, cyclone.WithDelay(time.Second)), patient.With(struct{}{}, cyclone.WithStartAt(began.Add(10*time.Hour))))
		cyclonetest.Drain(t, client, flaky, slow, patient)

		want := []string{
			"0s flaky 1", "1s slow 1", "1h0m0s flaky 2", "2h0m0s flaky 3",
			"10h0m0s patient 1", "34h0m0s patient 1", "58h0m0s patient 1",
		}
		if diff := cmp.Diff(want, log); diff != "" {
			t.Errorf("what ran (-want +got):\n%s", diff)
		}
		if got := time.Since(began); got != 58*time.Hour {
			t.Errorf("Drain returned after %v, want when the last step ended", got)
		}
	})
}

func TestDrainReturnsWhenTheLastHandlerDoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := cyclonetest.NewClient(t)
		began := time.Now()
		slow := cyclone.NewAction("slow", func(cyclone.Context, struct{}) error {
			time.Sleep(17*time.Minute + time.Nanosecond)
			return nil
		})
		enqueue(t, client, slow.With(struct{}{}), slow.With(struct{}{}))
		cyclonetest.Drain(t, client, slow)
		if got := time.Since(began); got != 34*time.Minute+2*time.Nanosecond {
			t.Errorf("Drain returned after %v", got)
		}
	})
}

func TestDrainSkipsTimeOutsideABubble(t *testing.T) {
	t.Parallel()
	client := cyclonetest.NewClient(t)
	attempts := 0
	failing := cyclone.NewAction("failing", func(cyclone.Context, string) error {
		attempts++
		return errors.New("down")
	})
	snoozing := cyclone.NewStep("snoozing", func(ctx cyclone.Context, in string) (string, error) {
		if attempts < 5 {
			return "", cyclone.Snooze(time.Hour)
		}
		return in, nil
	})
	runs := enqueue(t, client, failing.With("a"), snoozing.With("b", cyclone.WithDelay(24*time.Hour)))
	cyclonetest.Drain(t, client, failing, snoozing)
	if attempts != 5 {
		t.Errorf("%d attempts, want 5", attempts)
	}
	cyclonetest.RequireState(t, client, runs[0], cyclone.StepExhausted)
	cyclonetest.RequireState(t, client, runs[1], cyclone.StepCompleted)
}

func TestDrainRunsWhatIsEnqueuedMeanwhile(t *testing.T) {
	t.Parallel()
	client := cyclonetest.NewClient(t)
	var sent []string
	mail := cyclone.NewAction("mail", func(_ cyclone.Context, to string) error {
		sent = append(sent, to)
		return nil
	}, cyclone.WithQueue("mail"))
	signUp := cyclone.NewAction("sign_up", func(ctx cyclone.Context, name string) error {
		_, err := cyclone.EnqueueAction(ctx, client, mail, name+"@example.com")
		return err
	})
	enqueue(t, client, signUp.With("ada"), signUp.With("bob"))
	cyclonetest.Drain(t, client, signUp, mail)
	if diff := cmp.Diff([]string{"ada@example.com", "bob@example.com"}, sent); diff != "" {
		t.Errorf("mails (-want +got):\n%s", diff)
	}

	// Again on the same client: nothing of the first drain is in the way.
	enqueue(t, client, signUp.With("cleo"))
	cyclonetest.Drain(t, client, signUp, mail)
	if len(sent) != 3 {
		t.Errorf("mails %v, want a third one", sent)
	}
}

func TestDrainLeavesOtherKinds(t *testing.T) {
	t.Parallel()
	for name, run := range modes(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, func(t *testing.T) {
				client := cyclonetest.NewClient(t)
				mail := cyclone.DeclareAction[string]("mail")
				signUp := cyclone.NewAction("sign_up", func(ctx cyclone.Context, name string) error {
					_, err := cyclone.EnqueueAction(ctx, client, mail, name+"@example.com")
					return err
				})
				enqueue(t, client, signUp.With("ada"), mail.With("info@example.com", cyclone.WithDelay(time.Hour)))
				cyclonetest.Drain(t, client, signUp)
				want := []string{"info@example.com", "ada@example.com"}
				if diff := cmp.Diff(want, cyclonetest.Enqueued(t, client, mail)); diff != "" {
					t.Errorf("waiting mails (-want +got):\n%s", diff)
				}
				if got := cyclonetest.Enqueued(t, client, signUp); got != nil {
					t.Errorf("waiting sign-ups %v, want none", got)
				}
			})
		})
	}
}

// modes are the two kinds of time in which a test can run.
func modes(*testing.T) map[string]func(*testing.T, func(*testing.T)) {
	return map[string]func(*testing.T, func(*testing.T)){
		"bubble":    synctest.Test,
		"real time": func(t *testing.T, f func(*testing.T)) { t.Helper(); f(t) },
	}
}

func TestDrainManySteps(t *testing.T) {
	t.Parallel()
	steps := 1500
	if testing.Short() {
		steps = 150
	}
	for name, run := range modes(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, func(t *testing.T) {
				client := cyclonetest.NewClient(t)
				ran := 0
				odd := cyclone.NewAction("odd", func(ctx cyclone.Context, i int) error {
					ran++
					if i%2 == 1 && ctx.Attempt() == 1 {
						return errors.New("odd") // comes back at a time of its own
					}
					return nil
				})
				requests := make([]cyclone.Request, steps)
				for i := range requests {
					requests[i] = odd.With(i)
				}
				enqueue(t, client, requests...)
				cyclonetest.Drain(t, client, odd)
				if ran != steps*3/2 {
					t.Errorf("%d attempts, want %d", ran, steps*3/2)
				}
			})
		})
	}
}

func TestDrainWorker(t *testing.T) {
	t.Parallel()
	for name, run := range modes(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, func(t *testing.T) {
				client := cyclonetest.NewClient(t)
				var traced []string
				trace := func(ctx cyclone.Context, next func(context.Context) error) error {
					traced = append(traced, fmt.Sprint(ctx.Queue(), ctx.Attempt()))
					return next(ctx)
				}
				flaky := cyclone.NewAction("flaky", func(ctx cyclone.Context, _ int) error {
					if ctx.Attempt() == 1 {
						return errors.New("once")
					}
					return nil
				})
				newWorker := func() (*worker.Worker, error) {
					w, err := worker.New(client, worker.Config{Queues: worker.Queues("a", "b"), Concurrency: 1, Strict: true, Middleware: []worker.Middleware{trace}})
					w.Register(flaky)
					return w, err
				}
				enqueue(t, client, flaky.With(1, cyclone.WithQueue("b")), flaky.With(2, cyclone.WithQueue("a"), cyclone.WithMaxAttempts(1)))
				cyclonetest.DrainWorker(t, client, newWorker)
				if diff := cmp.Diff([]string{"a1", "b1", "b2"}, traced); diff != "" {
					t.Errorf("attempts (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestDrainWorkerPassesDaysAtNoCost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := cyclonetest.NewClient(t)
		began := time.Now()
		yearly := cyclone.NewAction("yearly", func(cyclone.Context, int) error { return nil })
		enqueue(t, client, yearly.With(1, cyclone.WithDelay(365*24*time.Hour)))
		workers := 0
		cyclonetest.DrainWorker(t, client, func() (*worker.Worker, error) {
			workers++
			w, err := worker.New(client, worker.Config{})
			w.Register(yearly)
			return w, err
		})
		if took := time.Since(began); took != 365*24*time.Hour || workers != 1 {
			t.Errorf("it took %v and %d workers", took, workers)
		}
	})
}

func TestDrainFailsWhenItCannotEnd(t *testing.T) {
	t.Parallel()
	known := cyclone.NewAction("known", func(cyclone.Context, int) error { return nil })
	unknown := cyclone.DeclareAction[int]("unknown")
	workerOn := func(client *queue.Client) func() (*worker.Worker, error) {
		return func() (*worker.Worker, error) {
			w, err := worker.New(client, worker.Config{})
			w.Register(known)
			return w, err
		}
	}
	for _, c := range []struct {
		name, want string
		request    cyclone.Request
		drain      func(testing.TB, *queue.Client)
	}{
		{"declared", "unknown is only declared", unknown.With(1), func(t testing.TB, client *queue.Client) {
			cyclonetest.Drain(t, client, unknown)
		}},
		{"paused", `queue "default" is paused and holds 1 steps`, known.With(1), func(t testing.TB, client *queue.Client) {
			if err := client.Pause(t.Context(), "default"); err != nil {
				t.Fatal(err)
			}
			cyclonetest.Drain(t, client, known)
		}},
		{"unserved", `1 steps stay ready: does the worker serve all of the queues ["elsewhere"]?`, known.With(1, cyclone.WithQueue("elsewhere")), func(t testing.TB, client *queue.Client) {
			cyclonetest.DrainWorker(t, client, workerOn(client))
		}},
		{"unknown", `does the worker know "unknown"?`, unknown.With(1), func(t testing.TB, client *queue.Client) {
			cyclonetest.DrainWorker(t, client, workerOn(client))
		}},
		{"run already", "the worker has ended: worker: it runs, or has run, already", known.With(1), func(t testing.TB, client *queue.Client) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			w, _ := workerOn(client)()
			if err := w.Run(ctx); err != nil {
				t.Fatal(err)
			}
			cyclonetest.DrainWorker(t, client, func() (*worker.Worker, error) { return w, nil })
		}},
		{"no worker", "no such mailer", known.With(1), func(t testing.TB, client *queue.Client) {
			cyclonetest.DrainWorker(t, client, func() (*worker.Worker, error) { return nil, errors.New("no such mailer") })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client := cyclonetest.NewClient(t)
				enqueue(t, client, c.request)
				if got := failureOf(t, func(t testing.TB) { c.drain(t, client) }); !strings.Contains(got, c.want) {
					t.Errorf("failed with %q, want %q", got, c.want)
				}
			})
		})
	}
}

func TestDrainFailsWhenAHandlerDoesNotReturn(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("hours of virtual time take long under the race detector")
	}
	synctest.Test(t, func(t *testing.T) {
		client := cyclonetest.NewClient(t)
		stuck := cyclone.NewAction("stuck", func(ctx cyclone.Context, _ int) error {
			<-ctx.Done()
			return nil
		})
		enqueue(t, client, stuck.With(1))
		got := failureOf(t, func(t testing.TB) { cyclonetest.Drain(t, client, stuck) })
		if !strings.Contains(got, "1 handlers do not return") {
			t.Errorf("failed with %q", got)
		}
	})
}
