package conformance_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/luascripts"
	"github.com/cyclone-queue/cyclone/worker"
)

func TestSoftStopLetsRunningStepsFinish(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		hold := make(chan struct{})
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			v.Add(ctx)
			<-hold
			return ctx.Err()
		})
		w := l.Start(worker.Config{}, action)
		first := lab.Enqueue(l, action, "")
		v.Until(1)
		w.Signal()
		l.Until("it says that it stops", func() bool { return w.Health().Stopping })
		second := lab.Enqueue(l, action, "")
		close(hold)
		if err := w.Stop(); err != nil {
			l.Errorf("Run returned %v", err)
		}
		if l.Step(first) != nil {
			l.Error("what ran when the worker was stopped is not completed")
		}
		if state := l.State(second); state != cyclone.StepReady || len(v.All()) != 1 {
			l.Errorf("what was enqueued after the stop is %s, want ready", state)
		}
	})
}

func TestGraceEndsWithErrShutdown(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		v := l.Visits()
		causes := make(chan error, 1)
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			if v.Add(ctx) == 1 {
				causes <- untilEnd(ctx)
				return ctx.Err()
			}
			return nil
		}, cyclone.WithMaxAttempts(1))
		w := l.Start(worker.Config{ShutdownGrace: 50 * time.Second}, action)
		id := lab.Enqueue(l, action, "")
		l.Pass(time.Second)
		w.Signal()
		l.Pass(49 * time.Second) // longer than a lease: heartbeats go on
		if len(causes) > 0 || l.State(id) != cyclone.StepRunning {
			l.Errorf("within the grace: %d contexts ended, step %s", len(causes), l.State(id))
		}
		l.Pass(2 * time.Second)
		if err := w.Stop(); err != nil {
			l.Errorf("Run returned %v", err)
		}
		if cause := <-causes; !errors.Is(cause, cyclone.ErrShutdown) {
			l.Errorf("cause %v, want ErrShutdown", cause)
		}
		if s := l.Step(id); s.State != cyclone.StepReady || s.Failures != 0 || s.Interruptions != 1 || s.LostStarted != 0 {
			l.Errorf("the step is %+v, want it ready, without a failure, interrupted once", s)
		}
		l.Start(worker.Config{}, action)
		l.Pass(time.Second)
		if got := v.Attempts(); !slices.Equal(got, []int{1, 1}) || l.Step(id) != nil {
			l.Errorf("attempts %v, want the same one twice, then completed", got)
		}
	})
}

// What a handler finished in spite of its context is stored.
func TestFinishedInSpiteOfShutdownIsCompleted(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			_ = untilEnd(ctx)
			return nil
		})
		w := l.Start(worker.Config{ShutdownGrace: time.Second}, action)
		id := lab.Enqueue(l, action, "")
		l.Pass(time.Second)
		began := time.Now()
		if err := w.Stop(); err != nil {
			l.Errorf("Run returned %v", err)
		}
		if took := time.Since(began); took > 2*time.Second {
			l.Errorf("the stop took %v, want the grace of 1s and no more than another", took)
		}
		if s := l.Step(id); s != nil {
			l.Errorf("the step is %s, want completed", s.State)
		}
	})
}

// A handler that ignores everything cannot keep the worker from ending.
func TestStuckHandlerIsGivenBackAndReported(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		v := l.Visits()
		hold := make(chan struct{})
		action := cyclone.NewAction("stuck", func(ctx cyclone.Context, _ string) error {
			if v.Add(ctx) == 1 {
				<-hold
				return errBoom
			}
			return nil
		})
		w := l.Start(worker.Config{ShutdownGrace: time.Second}, action)
		id := lab.Enqueue(l, action, "")
		l.Pass(time.Second)
		began := time.Now()
		err := w.Stop()
		if err == nil || !strings.Contains(err.Error(), "1 handlers did not return") {
			l.Errorf("Run returned %v, want an error that counts the handlers", err)
		}
		if took := time.Since(began); took > 10*time.Second {
			l.Errorf("the stop took %v", took)
		}
		if s := l.Step(id); s.State != cyclone.StepReady || s.Failures != 0 || s.Interruptions != 1 {
			l.Errorf("the step is %+v, want it ready and uncounted", s)
		}
		close(hold)
		l.Pass(time.Second)
		if s := l.Step(id); s.State != cyclone.StepReady || s.Failures != 0 {
			l.Errorf("after the late return the step is %+v, want it untouched", s)
		}
		l.Start(worker.Config{}, action)
		l.Pass(time.Second)
		if l.Step(id) != nil {
			l.Error("nobody else took the step")
		}
	})
}

// A handler that goes on although its context has ended keeps its slot, and is
// reported while it does.
func TestDeafHandlerKeepsItsSlot(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		hold := make(chan struct{})
		action := cyclone.NewAction("deaf", func(cyclone.Context, string) error {
			<-hold
			return nil
		}, cyclone.WithTimeout(time.Minute))
		other := cyclone.NewAction("other", func(cyclone.Context, string) error { return nil })
		w := l.Start(worker.Config{Concurrency: 1}, action, other)
		lab.Enqueue(l, action, "")
		l.Pass(time.Second)
		waiting := lab.Enqueue(l, other, "")
		l.Pass(10 * time.Minute)
		if h := w.Health(); h.Running != 1 || h.Free != 0 || h.Stuck != 1 {
			l.Errorf("health %+v, want one running and stuck, none free", h)
		}
		if n := l.Log.Count("handler goes on", "deaf"); n != 1 {
			l.Errorf("reported %d times, want once", n)
		}
		if state := l.State(waiting); state != cyclone.StepReady {
			l.Errorf("another step is %s, want ready: there is no free slot", state)
		}
		close(hold)
		l.Pass(time.Minute)
		if l.Step(waiting) != nil || w.Health().Stuck != 0 {
			l.Error("the slot is not free again")
		}
	})
}

// Steps that arrive while the worker stops are given back to where they were.
func TestUnstartedClaimsAreGivenBack(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		action := cyclone.NewAction("job", func(ctx cyclone.Context, _ string) error {
			v.Add(ctx)
			return nil
		})
		var ids []cyclone.RunID
		for range 3 {
			ids = append(ids, lab.Enqueue(l, action, ""))
		}
		arrived, release := make(chan struct{}), make(chan struct{})
		w := l.Prepare(worker.Config{})
		w.Register(action)
		w.Redis.AddHook(&lab.Tap{Script: luascripts.Turn, After: func(reply []any) {
			if len(luascripts.ParseTurn(reply).Claims) > 0 {
				close(arrived)
				<-release
			}
		}})
		w.Go()
		<-arrived
		w.Signal()
		l.Until("it stops", func() bool { return w.Health().Stopping })
		close(release)
		if err := w.Stop(); err != nil {
			l.Errorf("Run returned %v", err)
		}
		for _, id := range ids {
			if s := l.Step(id); s.State != cyclone.StepReady || s.Interruptions+s.LostStarted+s.LostUnstarted+s.Failures != 0 {
				l.Errorf("the step is %+v, want it ready as if nothing had been", s)
			}
		}
		if n := len(v.All()); n != 0 {
			l.Errorf("%d handlers were entered after the stop", n)
		}
		order := l.Redis.LRange(context.Background(), l.Key(ids[0], "ready:default:d"), 0, -1).Val()
		if want := []string{ids[2].String(), ids[1].String(), ids[0].String()}; !slices.Equal(order, want) {
			l.Errorf("they stand in line as %v, want %v as before", order, want)
		}
	})
}

func TestRunOnlyOnce(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		w := l.Start(worker.Config{})
		if err := w.Stop(); err != nil {
			l.Errorf("Run returned %v", err)
		}
		if err := w.Run(context.Background()); !errors.Is(err, worker.ErrRunning) {
			l.Errorf("the second Run returned %v, want ErrRunning", err)
		}
	})
}

// A worker that has stopped leaves no trace in lines and lists.
func TestStoppedWorkerLeavesNothing(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		w := l.Start(worker.Config{})
		l.Until("it stands in line", func() bool { return l.Has("waiters:default") && l.Has("workers") })
		if err := w.Stop(); err != nil {
			l.Errorf("Run returned %v", err)
		}
		if left := l.Leftovers(); len(left) > 0 {
			l.Errorf("left over: %q", left)
		}
	})
}
