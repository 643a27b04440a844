package conformance_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/luascripts"
	"github.com/cyclone-queue/cyclone/worker"
)

// mustCancel cancels a run by the lab's client.
func mustCancel(l *lab.Lab, id cyclone.RunID) {
	l.Helper()
	if err := l.Client().Cancel(context.Background(), id); err != nil {
		l.Fatal(err)
	}
}

// Cancel is terminal, reaches a running handler within a second, and whatever
// the handler returns decides nothing.
func TestCancelOfARunningStep(t *testing.T) {
	late := map[string]error{
		"complete": nil, "fail": errBoom, "snooze": cyclone.Snooze(time.Millisecond),
		"discard": cyclone.Permanent(errBoom), "retry": cyclone.RetryAfter(errBoom, 0),
	}
	for name, result := range late {
		t.Run(name, func(t *testing.T) {
			lab.Each(t, func(l *lab.Lab) {
				v := l.Visits()
				causes := make(chan error, 1)
				action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
					v.Add(ctx)
					causes <- untilEnd(ctx)
					return result
				})
				w := l.Start(worker.Config{}, action)
				id := lab.Enqueue(l, action, "")
				v.Until(1)
				cancelled := time.Now()
				mustCancel(l, id)
				if cause := <-causes; !errors.Is(cause, cyclone.ErrCancelled) {
					l.Errorf("cause %v, want ErrCancelled", cause)
				}
				if took := time.Since(cancelled); took > time.Second {
					l.Errorf("the handler heard of it after %v, want within a second", took)
				}
				l.Until("the slot is free", func() bool { return w.Health().Running == 0 && len(l.Leased()) == 0 })
				s := l.Step(id)
				if s.State != cyclone.StepCancelled || s.Failures+s.Snoozes+s.Interruptions != 0 || len(v.All()) != 1 {
					l.Errorf("the step is %+v after %d executions, want it cancelled and nothing counted", s, len(v.All()))
				}
				err := cyclone.Attach(l.Client(), id).Wait(l.Context())
				var run *cyclone.RunError
				if !errors.Is(err, cyclone.ErrCancelled) || !errors.As(err, &run) || run.State != cyclone.RunCancelled {
					l.Errorf("Wait returned %v, want a RunError that is ErrCancelled", err)
				}
			})
		})
	}
}

// Without the message, the next heartbeat tells.
func TestCancelIsHeardByTheHeartbeatToo(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		causes := make(chan error, 1)
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			causes <- untilEnd(ctx)
			return nil
		})
		l.Embedded.Miniredis().Server().SetPreHook(func(p *server.Peer, cmd string, _ ...string) bool {
			if strings.EqualFold(cmd, "SUBSCRIBE") {
				p.WriteError("ERR no messages here")
				return true
			}
			return false
		})
		l.Start(worker.Config{}, action)
		id := lab.Enqueue(l, action, "")
		l.Pass(15 * time.Second)
		mustCancel(l, id)
		l.Pass(11 * time.Second)
		select {
		case cause := <-causes:
			if !errors.Is(cause, cyclone.ErrCancelled) {
				l.Errorf("cause %v, want ErrCancelled", cause)
			}
		default:
			l.Error("the handler has not heard of it by the next heartbeat")
		}
	})
}

// A step that waits is cancelled where it stands, and never runs again.
func TestCancelOfAWaitingStep(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		action := cyclone.NewAction("job", func(ctx cyclone.Context, result string) error {
			v.Add(ctx)
			if result == "snooze" {
				return cyclone.Snooze(time.Hour)
			}
			return cyclone.RetryAfter(errBoom, time.Hour)
		})
		w := l.Start(worker.Config{}, action)
		ids := map[cyclone.StepState]cyclone.RunID{
			cyclone.StepRetrying:  lab.Enqueue(l, action, "retry"),
			cyclone.StepSnoozed:   lab.Enqueue(l, action, "snooze"),
			cyclone.StepScheduled: lab.Enqueue(l, action, "", cyclone.WithDelay(time.Hour)),
		}
		for state, id := range ids {
			l.UntilState(id, state)
		}
		_ = w.Stop()
		ids[cyclone.StepReady] = lab.Enqueue(l, action, "")
		for state, id := range ids {
			mustCancel(l, id)
			if got := l.State(id); got != cyclone.StepCancelled {
				l.Errorf("a %s step is %s after its cancellation", state, got)
			}
		}
		n := len(v.All())
		l.Start(worker.Config{}, action)
		next := lab.Enqueue(l, action, "retry")
		l.UntilState(next, cyclone.StepRetrying)
		if len(v.All()) != n+1 {
			l.Errorf("%d executions after the cancellations, want one of another step", len(v.All())-n)
		}
		for state, id := range ids {
			if got := l.State(id); got != cyclone.StepCancelled {
				l.Errorf("a %s step became %s", state, got)
			}
		}
	})
}

// A step that is cancelled after it was handed out and before it started is
// never entered by a task's handler.
func TestCancelBeforeTheStartOfATask(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		task := cyclone.NewTask("task", cyclone.HandlerFunc(func(ctx cyclone.Context, _ string) (string, error) {
			v.Add(ctx)
			return "", nil
		}))
		id := lab.EnqueueTask(l, task, "")
		w := l.Prepare(worker.Config{})
		w.Register(task)
		var once sync.Once
		w.Redis.AddHook(&lab.Tap{Script: luascripts.Extend, Before: func() error {
			if l.State(id) == cyclone.StepRunning {
				once.Do(func() { mustCancel(l, id) })
			}
			return nil
		}})
		w.Go()
		l.UntilState(id, cyclone.StepCancelled)
		l.Until("the lease is gone", func() bool { return len(l.Leased()) == 0 })
		if n := len(v.All()); n != 0 {
			l.Errorf("%d executions, want none", n)
		}
	})
}
