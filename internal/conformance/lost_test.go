package conformance_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/luascripts"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/retry"
	"github.com/cyclone-queue/cyclone/worker"
)

// brief are leases for tests in which workers are lost: as short as a busy machine
// can hold them.
var brief = worker.Config{Lease: 2 * time.Second, Heartbeat: 400 * time.Millisecond}

// untilEnd blocks until the attempt has to end and returns the cause.
func untilEnd(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// crash starts a worker, waits until it is in the handler and known to have
// started, and cuts it off for good.
func crash(l *lab.Lab, v *lab.Visits, id cyclone.RunID, defs ...cyclone.Definition) *lab.Running {
	l.Helper()
	n := len(v.All())
	w := l.Start(brief, defs...)
	v.Until(n + 1)
	l.Until("the start is known", func() bool {
		s := l.Step(id)
		return s.State == cyclone.StepRunning && s.Started
	})
	w.Pull()
	return w
}

// cutBefore cuts the worker off instead of its first call of the script, and closes the
// channel then.
func cutBefore(w *lab.Running, script *luascripts.Script) <-chan struct{} {
	cut := make(chan struct{})
	var first atomic.Bool
	w.Redis.AddHook(&lab.Tap{Script: script, Before: func() error {
		if !first.CompareAndSwap(false, true) {
			return nil
		}
		w.Pull()
		close(cut)
		return errBoom
	}})
	return cut
}

func TestSpec_C06_LostWorkerRestartsTheSameAttempt(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			switch v.Add(ctx) {
			case 1:
				return errBoom
			case 2:
				return untilEnd(ctx)
			}
			return nil
		}, soon, cyclone.WithMaxAttempts(2))
		id := lab.Enqueue(l, action, "")
		dead := l.Start(brief, action)
		v.Until(2)
		l.Until("the start is known", func() bool { return l.Step(id).Started })
		dead.Pull()
		l.Start(brief, action)
		v.Until(3)
		l.UntilGone(id)
		if got := v.Attempts(); !slices.Equal(got, []int{1, 2, 2}) {
			l.Errorf("attempts %v, want 1, 2 and 2 again", got)
		}
	})
}

func TestSpec_C06_LostAttemptIsNoFailure(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		hold := make(chan struct{})
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			if v.Add(ctx) == 1 {
				return untilEnd(ctx)
			}
			<-hold
			return nil
		}, cyclone.WithMaxAttempts(1))
		id := lab.Enqueue(l, action, "")
		crash(l, v, id, action)
		l.Start(brief, action)
		v.Until(2)
		if s := l.Step(id); s.Failures != 0 || s.LostStarted != 1 || s.LostUnstarted != 0 {
			l.Errorf("%d failures, %d and %d lost are stored; want none, and one lost after its start", s.Failures, s.LostStarted, s.LostUnstarted)
		}
		close(hold)
		l.UntilGone(id)
	})
}

func TestSpec_R11_LeasesAreRenewed(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		v := l.Visits()
		action := cyclone.NewAction("long", func(ctx cyclone.Context, _ string) error {
			v.Add(ctx)
			time.Sleep(5 * time.Minute)
			return ctx.Err()
		})
		l.Start(worker.Config{}, action)
		l.Start(worker.Config{}, action)
		l.Pass(time.Second / 3)
		id := lab.Enqueue(l, action, "")
		l.Pass(time.Second)
		var renewals []time.Duration
		last := l.Step(id)
		for range 4 * 60 {
			l.Pass(time.Second)
			s := l.Step(id)
			if s.Token != last.Token {
				l.Fatalf("the lease %s became %s", last.Token, s.Token)
			}
			if s.Due != last.Due {
				if left := s.Due.Sub(l.Now()); left < 28*time.Second || left > 30*time.Second {
					l.Errorf("a renewed lease ends in %v, want 30s", left)
				}
				renewals = append(renewals, s.Due.Sub(last.Due))
				last = s
			}
		}
		if n := len(renewals); n < 23 || n > 25 {
			l.Errorf("%d renewals in 4 minutes, want one each 10s", n)
		}
		l.Pass(2 * time.Minute)
		if n := len(v.All()); n != 1 || l.Step(id) != nil {
			l.Errorf("%d executions, and stored is %v; want one and nothing", n, l.Step(id))
		}
	})
}

func TestSpec_R11_LeaseAndHeartbeatAreSettable(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		hold := make(chan struct{})
		action := cyclone.NewAction("long", func(ctx cyclone.Context, _ string) error {
			v.Add(ctx)
			<-hold
			return ctx.Err()
		})
		l.Start(worker.Config{Lease: 90 * time.Second, Heartbeat: 100 * time.Millisecond}, action)
		id := lab.Enqueue(l, action, "")
		v.Until(1)
		first := l.UntilState(id, cyclone.StepRunning).Due
		if left := first.Sub(l.Now()); left < 80*time.Second || left > 90*time.Second {
			l.Errorf("the lease ends in %v, want 90s", left)
		}
		l.Until("the lease is renewed", func() bool { return l.Step(id).Due.After(first) })
		close(hold)
		l.UntilGone(id)
	})
}

func TestSpec_R12_LostTryOfATaskCounts(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		task := cyclone.NewTask("task", cyclone.HandlerFunc(func(ctx cyclone.Context, in string) (string, error) {
			if v.Add(ctx) == 1 {
				return "", untilEnd(ctx)
			}
			return in + " done", nil
		}), cyclone.Retry(cyclone.RetryPolicy{MaxAttempts: 2, Delays: []time.Duration{10 * time.Millisecond}}))
		id := lab.EnqueueTask(l, task, "work")
		crash(l, v, id, task)
		l.Start(brief, task)
		s := l.UntilState(id, cyclone.StepCompleted)
		if got := v.Attempts(); !slices.Equal(got, []int{1, 2}) {
			l.Errorf("tries %v, want 1 and 2", got)
		}
		if s.Failures != 1 || len(s.History) != 1 || s.History[0].Code != retry.CodeAttemptLost {
			l.Errorf("%d failures with history %+v, want one that says %s", s.Failures, s.History, retry.CodeAttemptLost)
		}
		out, err := cyclone.AttachOf[string](l.Client(), id).Wait(l.Context())
		if err != nil || out != "work done" {
			l.Errorf("the task returned %q (%v)", out, err)
		}
	})
}

func TestSpec_R13_LostLastTryFailsTheRun(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		failures := make(chan worker.Failure, 1)
		task := cyclone.NewTask("task", cyclone.HandlerFunc(func(ctx cyclone.Context, _ string) (string, error) {
			v.Add(ctx)
			return "", untilEnd(ctx)
		}), cyclone.WithMaxAttempts(1))
		id := lab.EnqueueTask(l, task, "")
		crash(l, v, id, task)
		cfg := brief
		cfg.OnFailure = func(_ cyclone.Context, f worker.Failure) { failures <- f }
		l.Start(cfg, task)
		s := l.UntilState(id, cyclone.StepExhausted)
		if n, code := len(v.All()), s.History[len(s.History)-1].Code; n != 1 || code != retry.CodeAttemptLost {
			l.Errorf("%d executions and code %q, want one and %q", n, code, retry.CodeAttemptLost)
		}
		if f := <-failures; f.RunID != id || !f.Discarded || f.Code != retry.CodeAttemptLost {
			l.Errorf("OnFailure got %+v", f)
		}
		var failed *cyclone.RunError
		err := cyclone.Attach(l.Client(), id).Wait(l.Context())
		if !errors.As(err, &failed) || failed.Code != retry.CodeAttemptLost || failed.State != cyclone.RunFailed {
			l.Errorf("Wait returned %v, want a RunError with code %s", err, retry.CodeAttemptLost)
		}
	})
}

// claim takes up to n steps as a worker that dies before it starts anything.
func claim(l *lab.Lab, n int) []queue.Claimed {
	l.Helper()
	store := queue.NewStore(l.Client(), "wdead")
	reply, err := store.Turn(context.Background(), &queue.TurnRequest{
		Queues: []queue.Room{{Queue: "default", N: n}}, Wanted: n, Lease: time.Second,
		Claim: []queue.Quota{{Queue: "default", Priority: cyclone.Default, N: n}},
	})
	if err != nil {
		l.Fatal(err)
	}
	return reply.Claimed
}

// handedOut claims one step.
func handedOut(l *lab.Lab, id cyclone.RunID) {
	l.Helper()
	if got := claim(l, 1); len(got) != 1 || got[0].ID != id {
		l.Fatalf("claimed %+v, want run %v", got, id)
	}
}

// reap takes back expired leases and claims nothing.
func reap(l *lab.Lab) {
	l.Helper()
	claim(l, 0)
}

func TestSpec_R14_UnstartedAttemptIsGivenBackUncounted(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		hold := make(chan struct{})
		task := cyclone.NewTask("task", cyclone.HandlerFunc(func(ctx cyclone.Context, _ string) (string, error) {
			v.Add(ctx)
			<-hold
			return "", nil
		}), cyclone.WithMaxAttempts(1))
		id := lab.EnqueueTask(l, task, "")
		handedOut(l, id)
		l.Start(brief, task)
		v.Until(1)
		if s := l.Step(id); s.Failures != 0 || s.LostStarted != 0 || s.LostUnstarted != 1 {
			l.Errorf("%d failures, %d and %d lost are stored; want none, and one lost before its start", s.Failures, s.LostStarted, s.LostUnstarted)
		}
		close(hold)
		l.UntilState(id, cyclone.StepCompleted)
		if got := v.Attempts(); !slices.Equal(got, []int{1}) {
			l.Errorf("tries %v, want 1", got)
		}
	})
}

var errBroken = errors.New("conformance: broken on purpose")

// A task whose start cannot be acknowledged never enters its handler.
func TestSpec_R14_HandlerIsNotEnteredBeforeItsStartIsKnown(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		v := l.Visits()
		task := cyclone.NewTask("task", cyclone.HandlerFunc(func(ctx cyclone.Context, _ string) (string, error) {
			v.Add(ctx)
			return "", nil
		}), cyclone.WithMaxAttempts(1))
		w := l.Prepare(worker.Config{Concurrency: 1})
		w.Register(task)
		var broken atomic.Bool
		tap := &lab.Tap{Script: luascripts.Extend, Before: func() error {
			if broken.Load() {
				return errBroken
			}
			return nil
		}}
		broken.Store(true)
		w.Redis.AddHook(tap)
		w.Go()
		id := lab.EnqueueTask(l, task, "")
		l.Pass(time.Minute)
		if n := len(v.All()); n != 0 || tap.Calls() == 0 {
			l.Errorf("%d executions and %d failed acknowledgements, want none and some", n, tap.Calls())
		}
		broken.Store(false)
		l.Pass(time.Minute)
		s := l.Step(id)
		if got := v.Attempts(); !slices.Equal(got, []int{1}) || s.State != cyclone.StepCompleted || s.Failures != 0 {
			l.Errorf("tries %v, %d failures and state %s; want one, none and completed", got, s.Failures, s.State)
		}
	})
}

func TestStartOfATaskIsKnownInItsHandler(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		started := make(chan bool, 1)
		task := cyclone.NewTask("task", cyclone.HandlerFunc(func(ctx cyclone.Context, _ string) (string, error) {
			started <- l.Step(ctx.RunID()).Started
			return "", nil
		}))
		l.Start(worker.Config{}, task) // the first heartbeat is far away
		lab.EnqueueTask(l, task, "")
		if !<-started {
			l.Error("a handler runs whose start is not known")
		}
	})
}

// An option chooses either rule for any definition.
func TestLostAttemptsOptionOfAnAction(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		counting := cyclone.NewAction("counting", func(ctx cyclone.Context, _ string) error {
			if v.Add(ctx) == 1 {
				return untilEnd(ctx)
			}
			return nil
		}, soon, cyclone.WithLostAttempts(cyclone.CountLost))
		id := lab.Enqueue(l, counting, "")
		crash(l, v, id, counting)
		l.Start(brief, counting)
		l.UntilGone(id)
		if got := v.Attempts(); !slices.Equal(got, []int{1, 2}) {
			l.Errorf("with CountLost: attempts %v, want 1 and 2", got)
		}
	})
}

func TestLostAttemptsOptionOfATask(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		restarting := cyclone.NewTask("restarting", cyclone.HandlerFunc(func(ctx cyclone.Context, _ string) (string, error) {
			if v.Add(ctx) == 1 {
				return "", untilEnd(ctx)
			}
			return "", nil
		}), cyclone.WithLostAttempts(cyclone.RestartLost))
		id := lab.EnqueueTask(l, restarting, "")
		crash(l, v, id, restarting)
		l.Start(brief, restarting)
		l.UntilState(id, cyclone.StepCompleted)
		if got := v.Attempts(); !slices.Equal(got, []int{1, 1}) {
			l.Errorf("with RestartLost: tries %v, want 1 and 1", got)
		}
	})
}
