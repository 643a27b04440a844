package conformance_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cli"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/internal/testserver"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/retry"
	"github.com/cyclone-queue/cyclone/worker"
	"github.com/cyclone-queue/cyclone/workflow"
	"github.com/cyclone-queue/cyclone/workflow/step"
)

// infoOf returns the step named node of the run, by the client.
func infoOf(l *lab.Lab, id cyclone.RunID, node string) cyclone.StepInfo {
	l.Helper()
	steps, err := l.Client().ListSteps(context.Background(), id)
	if err != nil {
		l.Fatal(err)
	}
	for _, s := range steps {
		if s.Node == node {
			return s
		}
	}
	l.Fatalf("run %v has no step %s: %v", id, node, steps)
	return cyclone.StepInfo{}
}

func TestSpec_C18_ListStepsTellsNodeStateAttemptsAndError(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		hold := newHolding()
		c := newCrew(map[string]func(cyclone.Context) error{
			"hold":     hold.run,
			"flaky":    func(ctx cyclone.Context) error { return retryUntil(ctx, 3) },
			"retrying": func(cyclone.Context) error { return cyclone.RetryAfter(errBoom, time.Hour) },
			"bad":      func(cyclone.Context) error { return errBoom },
		}, soon)
		b := workflow.New("order")
		flaky := c.do(b, "flaky")
		held := c.do(b, "hold", workflow.After(flaky))
		c.do(b, "blocked", workflow.After(held))
		c.do(b, "retrying")
		c.do(b, "cancelled", workflow.After(c.do(b, "bad", cyclone.WithMaxAttempts(2))), branch)
		l.Start(worker.Config{}, c)
		id := lab.EnqueueRun(l, b)
		<-hold.in
		l.UntilNode(id, "cancelled", cyclone.StepCancelled)
		l.UntilNode(id, "retrying", cyclone.StepRetrying)
		steps, err := l.Client().ListSteps(context.Background(), id)
		if err != nil {
			l.Fatal(err)
		}
		var got []string
		for _, s := range steps {
			if s.RunID != id || s.Kind != "crew" || s.Queue != "default" {
				l.Errorf("%+v", s)
			}
			got = append(got, strings.TrimSpace(strings.Join([]string{s.Node, string(s.State), string(rune('0' + s.Attempts)), s.Error}, " ")))
		}
		want := []string{"flaky completed 3", "hold running 1", "blocked blocked 0", "retrying retrying 1 boom", "bad discarded 2 boom", "cancelled cancelled 0"}
		if !slices.Equal(got, want) {
			l.Errorf("steps\n%q, want\n%q", got, want)
		}
		close(hold.free)
		l.UntilNode(id, "blocked", cyclone.StepCompleted)
		if s := infoOf(l, id, "hold"); s.State != cyclone.StepCompleted || s.Attempts != 1 {
			l.Errorf("%+v", s)
		}
	})
}

// retryUntil fails all attempts before the n-th.
func retryUntil(ctx cyclone.Context, n int) error {
	if ctx.Attempt() < n {
		return errBoom
	}
	return nil
}

// Retry opens one discarded node again with as many more attempts as it says, and
// the reason is in its history. What the failure had cancelled comes back; what has
// completed does not run again.
func TestSpec_C19_RetryOpensOneDiscardedNode(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		hold := newHolding()
		c := newCrew(map[string]func(cyclone.Context) error{
			"bad": func(ctx cyclone.Context) error { return retryUntil(ctx, 5) }, "running": hold.run,
		}, soon)
		b := workflow.New("order")
		first := c.do(b, "first")
		bad := c.do(b, "bad", workflow.After(first), cyclone.WithMaxAttempts(2))
		c.do(b, "running", workflow.After(first))
		c.do(b, "later", cyclone.WithDelay(time.Hour))
		c.do(b, "behind", workflow.After(bad))
		l.Start(worker.Config{}, c)
		id := lab.EnqueueRun(l, b)
		mustFail(l, id, "bad")
		l.RequireNodes(id, "first:completed", "bad:discarded", "running:cancelled", "later:cancelled", "behind:cancelled")
		ctx := context.Background()
		if err := l.Client().Retry(ctx, id, "behind"); !errors.Is(err, cyclone.ErrNotDiscarded) {
			l.Errorf("Retry of a node that the failure cancelled: %v, want ErrNotDiscarded", err)
		}
		if err := l.Client().Retry(ctx, id, "nobody"); !errors.Is(err, cyclone.ErrNotFound) {
			l.Errorf("Retry of no node: %v, want ErrNotFound", err)
		}
		c.instead("running", nil)
		err := l.Client().Retry(ctx, id, "bad", cyclone.RetryAdditionalAttempts(3), cyclone.RetryReason("SMTP provider recovered"))
		if err != nil {
			l.Fatal(err)
		}
		l.UntilNode(id, "behind", cyclone.StepCompleted)
		l.UntilNode(id, "running", cyclone.StepCompleted)
		l.UntilNode(id, "later", cyclone.StepScheduled) // its delay counts anew
		if err := l.Client().CancelNode(ctx, id, "later"); err != nil {
			l.Fatal(err)
		}
		mustFail(l, id, "later")
		if c.times("first") != 1 || c.times("bad") != 5 || c.times("behind") != 1 {
			l.Errorf("entered %v", c.entered())
		}
	})
}

// The history keeps who opened a node again and why, and the limit is the attempts
// used so far and the additional ones.
func TestSpec_C19_ReasonIsKeptAndAttemptsAreCounted(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		c := newCrew(map[string]func(cyclone.Context) error{"bad": func(cyclone.Context) error { return errBoom }}, soon)
		b := workflow.New("order")
		c.do(b, "bad", cyclone.WithMaxAttempts(2))
		l.Start(worker.Config{}, c)
		id := lab.EnqueueRun(l, b)
		mustFail(l, id, "bad")
		for i, opts := range [][]cyclone.RetryOption{{cyclone.RetryAdditionalAttempts(3), cyclone.RetryReason("SMTP provider recovered")}, nil} {
			if err := l.Client().Retry(context.Background(), id, "bad", opts...); err != nil {
				l.Fatal(err)
			}
			want := 5 + i // one more without a count
			l.Until("it has failed again", func() bool { return c.times("bad") == want && l.NodeStates(id)["bad"] == cyclone.StepExhausted })
		}
		l.UntilRun(id, cyclone.RunFailed)
		detail, err := l.Client().Step(context.Background(), id, "bad")
		if err != nil {
			l.Fatal(err)
		}
		if s := detail.StepInfo; s.Attempts != 6 || s.MaxAttempts != 6 {
			l.Errorf("%d of %d attempts, want 6 of 6", s.Attempts, s.MaxAttempts)
		}
		found := false
		for _, r := range detail.History {
			found = found || r.Type == cyclone.EventRetried && r.Reason == "SMTP provider recovered" && r.Additional == 3
		}
		if !found {
			l.Errorf("the history does not have the reason: %+v", detail.History)
		}
	})
}

// RetryAll opens all discarded nodes of a failed run, and the run goes on to its end.
func TestSpec_C20_RetryAllOpensEveryDiscardedNode(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var fixed atomic.Bool
		until := func(cyclone.Context) error {
			if fixed.Load() {
				return nil
			}
			return cyclone.Permanent(errBoom)
		}
		c := newCrew(map[string]func(cyclone.Context) error{"a": until, "b": until, "c": until})
		b := workflow.New("order")
		gate := c.do(b, "gate")
		a := c.do(b, "a", workflow.After(gate))
		bb := c.do(b, "b", workflow.After(gate))
		x := c.do(b, "x", workflow.After(a, bb), anyway)
		c.do(b, "c", workflow.After(x), anyway)
		y := c.do(b, "y", workflow.After(a), branch)
		c.do(b, "last", workflow.After(x, y), anyway)
		l.Start(worker.Config{}, c)
		id := lab.EnqueueRun(l, b)
		mustFail(l, id, "c")
		if err := l.Client().RetryAll(context.Background(), 1<<40); !errors.Is(err, cyclone.ErrNotFound) {
			l.Errorf("RetryAll of no run: %v", err)
		}
		fixed.Store(true)
		err := l.Client().RetryAll(context.Background(), id, cyclone.RetryAdditionalAttempts(3), cyclone.RetryReason("operator retry after provider outage"))
		if err != nil {
			l.Fatal(err)
		}
		if err := mustWait(l, id); err != nil {
			l.Errorf("the run ended with %v after its retry", err)
		}
		l.RequireNodes(id, "gate:completed", "a:completed", "b:completed", "x:completed", "c:completed", "y:completed", "last:completed")
		if c.times("gate") != 1 || c.times("x") != 1 || c.times("y") != 1 {
			l.Errorf("entered %v: what has completed does not run again", c.entered())
		}
		if err := l.Client().RetryAll(context.Background(), id); !errors.Is(err, cyclone.ErrNotDiscarded) {
			l.Errorf("RetryAll of a completed run: %v, want ErrNotDiscarded", err)
		}
	})
}

// The shell does the same, also with its flags behind the arguments.
func TestSpec_C21_RetryOfNodesFromAShell(t *testing.T) {
	t.Parallel()
	testserver.Each(t, func(t *testing.T, s testserver.Server) {
		t.Parallel()
		l := lab.New(t, s)
		var fixed atomic.Bool
		until := func(cyclone.Context) error {
			if fixed.Load() {
				return nil
			}
			return cyclone.Permanent(errBoom)
		}
		c := newCrew(map[string]func(cyclone.Context) error{"send_email": until, "send_sms": until})
		b := workflow.New("notify")
		c.do(b, "log", workflow.After(c.do(b, "send_email")), branch)
		c.do(b, "send_sms")
		l.Start(worker.Config{}, c)
		shell := func(args ...string) {
			var out bytes.Buffer
			env := map[string]string{"CYCLONE_REDIS": s.URL, "CYCLONE_PREFIX": s.Prefix}
			code := cli.Run(t.Context(), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out, LookupEnv: func(name string) (string, bool) {
				v, ok := env[name]
				return v, ok
			}}, args...)
			if code != cli.ExitOK {
				t.Fatalf("%q: exit %d: %s", args, code, &out)
			}
		}
		one := lab.EnqueueRun(l, b)
		mustFail(l, one, "send_sms")
		l.UntilNode(one, "send_email", cyclone.StepExhausted)
		fixed.Store(true)
		shell("retry", one.String(), "send_sms")
		l.UntilRun(one, cyclone.RunCompleted)
		l.RequireNodes(one, "send_email:discarded", "send_sms:completed", "log:cancelled")
		shell("retry", one.String(), "--all")
		l.UntilNode(one, "log", cyclone.StepCompleted)
		l.UntilRun(one, cyclone.RunCompleted)
		l.RequireNodes(one, "send_email:completed", "send_sms:completed")
	})
}

// Finished recorded steps of a task that is a node do not run again either.
func TestRetryRunsNoRecordedStepAgain(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var n counts
		var fixed atomic.Bool
		def := task(func(ctx cyclone.Context, _ string) (string, error) {
			first, err := step.Do(ctx, "first", flaky(&n.a, 0, "first"))
			if err != nil {
				return "", err
			}
			second, err := step.Do(ctx, "second", func(context.Context) (string, error) {
				n.b.Add(1)
				if !fixed.Load() {
					return "", cyclone.Permanent(errBoom)
				}
				return "second", nil
			})
			return first + second, err
		}, quick)
		b := workflow.New("order")
		out := workflow.Run(b, "task", def, workflow.Value(""))
		l.Start(worker.Config{}, def)
		run, err := workflow.EnqueueFor(context.Background(), l.Client(), out)
		if err != nil {
			l.Fatal(err)
		}
		mustFail(l, run.ID(), "task")
		fixed.Store(true)
		if err := l.Client().RetryAll(context.Background(), run.ID()); err != nil {
			l.Fatal(err)
		}
		ctx, cancel := patiently(l)
		defer cancel()
		l.UntilRun(run.ID(), cyclone.RunCompleted)
		if got, err := run.Wait(ctx); err != nil || got != "firstsecond" {
			l.Errorf("got %q, %v", got, err)
		}
		if n.a.Load() != 1 || n.b.Load() != 2 {
			l.Errorf("the steps ran %d and %d times, want 1 and 2", n.a.Load(), n.b.Load())
		}
	})
}

// Many nodes of many runs are opened by what they failed with.
func TestRetryMatchingOpensNodesOfRuns(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		var fixed atomic.Bool
		c := newCrew(map[string]func(cyclone.Context) error{"bad": func(cyclone.Context) error {
			if fixed.Load() {
				return nil
			}
			return cyclone.Permanent(errBoom)
		}, "other": func(cyclone.Context) error { return cyclone.Permanent(errors.New("not that")) }})
		var ids []cyclone.RunID
		l.Start(worker.Config{}, c)
		for range 5 {
			b := workflow.New("many")
			bad := c.do(b, "bad")
			c.do(b, "behind", workflow.After(bad))
			ids = append(ids, lab.EnqueueRun(l, b))
		}
		b := workflow.New("other")
		c.do(b, "other")
		stays := lab.EnqueueRun(l, b)
		for _, id := range append(ids, stays) {
			l.UntilRun(id, cyclone.RunFailed)
		}
		fixed.Store(true)
		p, err := l.Client().RetryMatching(context.Background(), queue.Filter{ErrorContains: "boom"}, nil)
		if err != nil || p.Done != 5 {
			l.Errorf("progress %+v, %v; want 5 done", p, err)
		}
		for _, id := range ids {
			l.UntilRun(id, cyclone.RunCompleted)
		}
		if r := l.Run(stays); r.State != cyclone.RunFailed {
			l.Errorf("the other run is %s", r.State)
		}
		if s := infoOf(l, stays, "other"); s.Code != retry.CodePermanent {
			l.Errorf("%+v", s)
		}
	}, four)
}
