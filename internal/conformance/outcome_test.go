package conformance_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/luascripts"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/retry"
	"github.com/cyclone-queue/cyclone/worker"
)

// An attempt that runs too long is told so and fails as timed out; enqueue wins
// over definition, definition over worker.
func TestTimeouts(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		left := make(chan time.Duration, 1)
		handler := func(ctx cyclone.Context, wait bool) error {
			deadline, _ := ctx.Deadline()
			left <- time.Until(deadline)
			if wait {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		plain := cyclone.NewAction("plain", handler, cyclone.WithMaxAttempts(1))
		limited := cyclone.NewAction("limited", handler, cyclone.WithTimeout(20*time.Minute))
		l.Start(worker.Config{Timeout: 10 * time.Minute}, plain, limited)
		for name, c := range map[string]struct {
			run  func()
			want time.Duration
		}{
			"worker's":     {func() { lab.Enqueue(l, plain, false) }, 10 * time.Minute},
			"definition's": {func() { lab.Enqueue(l, limited, false) }, 20 * time.Minute},
			"enqueue's":    {func() { lab.Enqueue(l, limited, false, cyclone.WithTimeout(30*time.Minute)) }, 30 * time.Minute},
		} {
			c.run()
			if got := <-left; got > c.want || got < c.want-time.Minute {
				l.Errorf("by the %s timeout %v are left, want %v", name, got, c.want)
			}
		}
		id := lab.Enqueue(l, plain, true, cyclone.WithTimeout(30*time.Millisecond))
		s := l.UntilState(id, cyclone.StepExhausted)
		if last := s.History[0]; last.Code != retry.CodeTimeout {
			l.Errorf("the history says %+v, want code %s", last, retry.CodeTimeout)
		}
	})
}

// A completed step is kept for its retention and not longer; a discarded one
// for the client's.
func TestRetention(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		done := func(cyclone.Context, string) (string, error) { return "out", nil }
		step := cyclone.NewStep("step", done)
		brief := cyclone.NewStep("brief", done, cyclone.WithRetention(10*time.Minute))
		action := cyclone.NewAction("action", func(cyclone.Context, string) error { return nil })
		bad := cyclone.NewAction("bad", func(cyclone.Context, string) error { return cyclone.Permanent(errBoom) })
		l.Start(calm, step, brief, action, bad)
		enqueue := func(r cyclone.Request) cyclone.RunID {
			receipts, err := l.Client().Enqueue(context.Background(), r)
			if err != nil {
				l.Fatal(err)
			}
			return receipts[0].ID
		}
		kept := map[string]cyclone.RunID{
			"step": enqueue(step.With("")), "brief": enqueue(brief.With("")),
			"longer": enqueue(brief.With("", cyclone.WithRetention(30*time.Minute))),
			"action": enqueue(action.With("")), "kept action": enqueue(action.With("", cyclone.WithRetention(20*time.Minute))),
			"discarded": enqueue(bad.With("")), "nothing": enqueue(step.With("", cyclone.WithRetention(0))),
		}
		ends := map[string]time.Duration{
			"step": time.Hour, "brief": 10 * time.Minute, "longer": 30 * time.Minute, "action": 0,
			"kept action": 20 * time.Minute, "discarded": 45 * time.Minute, "nothing": 0,
		}
		for minute := range 70 {
			l.Pass(time.Minute)
			at := time.Duration(minute+1) * time.Minute
			for name, id := range kept {
				stored := l.Step(id) != nil
				// What is over is removed within two rounds of maintenance.
				if stored && at > ends[name]+2*time.Minute || !stored && at < ends[name] {
					l.Fatalf("after %v %q is stored: %v; its time is %v", at, name, stored, ends[name])
				}
			}
		}
		if left := l.Leftovers(); len(left) > 3 { // the worker's own: it is alive
			l.Errorf("left over: %q", left)
		}
	}, lab.Configure(queue.Config{DiscardedRetention: 45 * time.Minute}))
}

// Of discarded steps no more than the configured number are kept.
func TestDiscardedAreBoundedByCount(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		action := cyclone.NewAction("bad", func(cyclone.Context, string) error { return cyclone.Permanent(errBoom) })
		load(l, action, 1000, "")
		l.Start(worker.Config{}, action)
		l.Pass(2 * time.Minute)
		if n := l.Count(); n != 10 {
			l.Errorf("%d discarded steps are kept, want 10", n)
		}
	}, lab.Configure(queue.Config{DiscardedMax: 10}))
}

// Outputs arrive as they were returned; one that cannot be stored fails for good.
func TestOutputs(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		type result struct {
			Text string            `json:"text"`
			Map  map[string]int    `json:"map"`
			At   time.Time         `json:"at"`
			Ptr  *int              `json:"ptr"`
			List []map[string]bool `json:"list"`
		}
		n := 7
		want := result{Text: "\x00ü…", Map: map[string]int{"a": -1}, At: time.Unix(1, 5).UTC(), Ptr: &n, List: []map[string]bool{{"x": true}, nil}}
		good := cyclone.NewStep("good", func(cyclone.Context, string) (result, error) { return want, nil })
		big := cyclone.NewStep("big", func(cyclone.Context, string) (string, error) { return strings.Repeat("x", 2<<20), nil })
		bad := cyclone.NewStep("bad", func(cyclone.Context, string) (any, error) { return make(chan int), nil })
		l.Start(worker.Config{}, good, big, bad)
		ctx := context.Background()
		run, err := cyclone.EnqueueStep(ctx, l.Client(), good, "")
		if err != nil {
			l.Fatal(err)
		}
		got, err := run.Wait(l.Context())
		if err != nil || got.Text != want.Text || got.Map["a"] != -1 || !got.At.Equal(want.At) || *got.Ptr != 7 || len(got.List) != 2 || !got.List[0]["x"] {
			l.Errorf("got %+v (%v), want %+v", got, err, want)
		}
		large, err := cyclone.EnqueueStep(ctx, l.Client(), big, "")
		if err != nil {
			l.Fatal(err)
		}
		var failed *cyclone.RunError
		if _, err := large.Wait(l.Context()); !errors.As(err, &failed) || failed.Attempts != 1 {
			l.Errorf("an output that is too large: %v, want a RunError after one attempt", err)
		}
		channel, err := cyclone.EnqueueStep(ctx, l.Client(), bad, "")
		if err != nil {
			l.Fatal(err)
		}
		if _, err := channel.Wait(l.Context()); !errors.As(err, &failed) || failed.Attempts != 1 {
			l.Errorf("an output that cannot be encoded: %v, want a RunError after one attempt", err)
		}
	})
}

// Wait of an action ends with it even though nothing is kept.
func TestWaitOfAnAction(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		ctx := context.Background()
		hold := make(chan struct{})
		action := cyclone.NewAction("job", func(_ cyclone.Context, in string) error {
			<-hold
			if in == "fail" {
				return cyclone.Permanent(errBoom)
			}
			return nil
		})
		l.Start(worker.Config{}, action)
		c, rdb, _ := l.NewClient(l.Config())
		looks := &lab.Tap{Script: luascripts.State}
		rdb.AddHook(looks)
		errs := map[string]chan error{"succeed": make(chan error, 1), "fail": make(chan error, 1)}
		for in, done := range errs {
			run, err := cyclone.EnqueueAction(ctx, c, action, in)
			if err != nil {
				l.Fatal(err)
			}
			go func() { done <- run.Wait(l.Context()) }()
		}
		l.Until("both have looked", func() bool { return looks.Calls() >= 2 })
		close(hold)
		if err := <-errs["succeed"]; err != nil {
			l.Errorf("Wait returned %v, want nil", err)
		}
		var failed *cyclone.RunError
		if err := <-errs["fail"]; !errors.As(err, &failed) || failed.Code != retry.CodePermanent || failed.Message != errBoom.Error() {
			l.Errorf("Wait returned %v, want a RunError with what the handler said", err)
		}
	})
}

func TestWaitForWhatNeverComes(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		if err := cyclone.Attach(l.Client(), 1<<40).Wait(l.Context()); !errors.Is(err, cyclone.ErrNotFound) {
			l.Errorf("Wait for a run that never was returned %v, want ErrNotFound", err)
		}
		ctx, cancel := context.WithTimeout(l.Context(), 20*time.Millisecond)
		defer cancel()
		run, err := cyclone.EnqueueAction(context.Background(), l.Client(), cyclone.DeclareAction[string]("job"), "")
		if err != nil {
			l.Fatal(err)
		}
		if err := run.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			l.Errorf("Wait returned %v, want its context's error", err)
		}
	})
}

// When all is done and its time is over, nothing is left but the fixed set.
func TestNothingIsLeftBehind(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		v := l.Visits()
		action := fails(v, 2, cyclone.WithMaxAttempts(2))
		snoozing := returns(l.Visits(), cyclone.Snooze(time.Second), nil)
		step := cyclone.NewStep("step", func(cyclone.Context, string) (string, error) { return "x", nil })
		cfg := worker.Config{Queues: worker.Queues("default", "other")}
		dead := l.Start(cfg, action, snoozing, step)
		for i := range 20 {
			lab.Enqueue(l, action, "", uniqueBy(string(rune('a'+i))))
			lab.Enqueue(l, snoozing, "", cyclone.WithQueue("other"), cyclone.WithRequestKey(string(rune('a'+i))))
			if _, err := cyclone.EnqueueStep(context.Background(), l.Client(), step, "", cyclone.WithPriority(cyclone.Priority(i%3))); err != nil {
				l.Fatal(err)
			}
			mustCancel(l, lab.Enqueue(l, action, "", cyclone.WithDelay(time.Hour)))
		}
		l.Pass(time.Second / 2)
		dead.Pull()
		_ = dead.Stop()
		w := l.Start(cfg, action, snoozing, step)
		l.Pass(time.Minute)
		_ = w.Stop()
		l.Pass(2 * time.Hour)
		l.Pass(24 * time.Hour) // request keys
		last := l.Start(cfg)
		l.Pass(5 * time.Minute)
		_ = last.Stop()
		if left := l.Leftovers(); len(left) > 0 {
			l.Errorf("left over:\n%s", strings.Join(left, "\n"))
		}
	}, lab.Configure(queue.Config{DiscardedRetention: time.Hour, CancelledRetention: time.Hour}))
}
