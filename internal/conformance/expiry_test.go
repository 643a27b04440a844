package conformance_test

import (
	"errors"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/retry"
	"github.com/cyclone-queue/cyclone/worker"
)

func TestExpiredStepIsDiscarded(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		failures := make(chan worker.Failure, 1)
		action := fails(v, 0)
		id := lab.Enqueue(l, action, "", cyclone.WithExpiry(5*time.Millisecond))
		enqueued := l.Now()
		l.Until("it expires", func() bool { return l.Now().Sub(enqueued) > 20*time.Millisecond })
		l.Start(worker.Config{OnFailure: func(_ cyclone.Context, f worker.Failure) { failures <- f }}, action)
		s := l.UntilState(id, cyclone.StepExhausted)
		if len(v.All()) != 0 || len(s.History) != 1 || s.History[0].Code != retry.CodeExpired || s.Failures != 0 {
			l.Errorf("%d executions, stored is %+v; want none, and code %s", len(v.All()), s, retry.CodeExpired)
		}
		if f := <-failures; f.Code != retry.CodeExpired || !f.Discarded {
			l.Errorf("OnFailure got %+v", f)
		}
		var run *cyclone.RunError
		if err := cyclone.Attach(l.Client(), id).Wait(l.Context()); !errors.As(err, &run) || run.Code != retry.CodeExpired {
			l.Errorf("Wait returned %v, want a RunError with code %s", err, retry.CodeExpired)
		}
	})
}

// The expiry is about the start: a step that has been tried goes on.
func TestStartedStepDoesNotExpire(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		v := l.Visits()
		action := fails(v, 3, cyclone.WithBackoff(func(int) time.Duration { return time.Minute }))
		l.Start(calm, action)
		id := lab.Enqueue(l, action, "", cyclone.WithExpiry(time.Minute))
		l.Pass(time.Hour)
		if n := len(v.All()); n != 4 || l.Step(id) != nil {
			l.Errorf("%d executions, left is %+v; want 4 and nothing", n, l.Step(id))
		}
	})
}

// A snooze is an attempt that has started, too.
func TestSnoozedStepDoesNotExpire(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		n := 0
		action := cyclone.NewAction("snoozes", func(cyclone.Context, string) error {
			if n++; n < 3 {
				return cyclone.Snooze(time.Minute)
			}
			return nil
		})
		l.Start(calm, action)
		id := lab.Enqueue(l, action, "", cyclone.WithExpiry(time.Minute))
		l.Pass(time.Hour)
		if n != 3 || l.Step(id) != nil {
			l.Errorf("%d executions, left is %+v; want 3 and nothing", n, l.Step(id))
		}
	})
}

// Nothing starts before its time, whatever way the time was given.
func TestNothingStartsEarly(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		v := l.Visits()
		action := fails(v, 0)
		l.Start(calm, action)
		now := time.Now()
		due := map[cyclone.RunID]time.Time{
			lab.Enqueue(l, action, "", cyclone.WithDelay(90*time.Second)):                               now.Add(90 * time.Second),
			lab.Enqueue(l, action, "", cyclone.WithStartAt(now.Add(time.Hour))):                         now.Add(time.Hour),
			lab.Enqueue(l, action, "", cyclone.WithStartAt(now.Add(-time.Hour))):                        now,
			lab.Enqueue(l, action, "", cyclone.WithStartAt(now.Add(30*time.Second+1))):                  now.Add(30*time.Second + 1),
			lab.Enqueue(l, action, "", cyclone.WithDelay(1500*time.Microsecond)):                        now.Add(1500 * time.Microsecond),
			lab.Enqueue(l, action, "", cyclone.WithDelay(24*time.Hour-time.Nanosecond)):                 now.Add(24*time.Hour - time.Nanosecond),
			lab.Enqueue(l, action, "", cyclone.WithDelay(time.Hour), cyclone.WithPriority(cyclone.Low)): now.Add(time.Hour),
		}
		l.Pass(2 * time.Hour)
		for _, visit := range v.All() {
			late := visit.At.Sub(due[visit.RunID])
			if late < 0 || late > 10*time.Millisecond {
				l.Errorf("a step started %v after its time", late)
			}
			delete(due, visit.RunID)
		}
		if len(due) != 1 {
			l.Errorf("%d steps have not started, want one", len(due))
		}
	})
}
