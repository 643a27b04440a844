package conformance_test

import (
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/retry"
	"github.com/cyclone-queue/cyclone/worker"
)

// A step whose workers die each time comes back later and later, and is
// discarded at its cap; its neighbours are not dragged along.
func TestPoisonIsContained(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		const lost = 4
		v := l.Visits()
		poison := cyclone.NewAction("poison", func(ctx cyclone.Context, _ string) error {
			v.Add(ctx)
			return untilEnd(ctx)
		}, cyclone.WithLostCap(lost))
		good := cyclone.NewAction("good", func(cyclone.Context, string) error { return nil })
		id := lab.Enqueue(l, poison, "")
		var ends []time.Time
		for n := range lost {
			w := l.Start(worker.Config{}, poison, good)
			for len(v.All()) <= n {
				l.Pass(100 * time.Millisecond)
			}
			neighbour := lab.Enqueue(l, good, "")
			l.Pass(time.Second)
			if l.Step(neighbour) != nil {
				l.Errorf("after %d losses a neighbour waits", n)
			}
			w.Pull()
			ends = append(ends, l.Step(id).Due)
		}
		w := l.Start(worker.Config{}, poison, good)
		l.Pass(5 * time.Minute)
		w.Signal()
		s := l.Step(id)
		if s.State != cyclone.StepExhausted || s.History[len(s.History)-1].Code != retry.CodeAttemptLost {
			l.Errorf("the step is %s, want discarded as %s", s.State, retry.CodeAttemptLost)
		}
		if s.Failures != 0 || len(v.All()) != lost || v.All()[lost-1].Attempt != 1 {
			l.Errorf("%d failures and entries %v, want no failure and %d first attempts", s.Failures, v.All(), lost)
		}
		// A thirty-second lease ended before each return; from the second on with a delay of 2ⁿ s.
		for i, want := range []time.Duration{0, 4 * time.Second, 8 * time.Second} {
			if wait := v.All()[i+1].At.Sub(ends[i]); wait < want || wait > want+300*time.Millisecond {
				l.Errorf("after loss %d the step waited %v, want %v", i+1, wait, want)
			}
		}
	})
}

// Workers that die before a step starts count towards the cap too: a payload may
// kill its worker while it is decoded.
func TestUnstartedLossesCountTowardsTheCap(t *testing.T) {
	lab.Bubble(t, func(l *lab.Lab) {
		v := l.Visits()
		action := cyclone.NewAction("poison", func(ctx cyclone.Context, _ string) error {
			v.Add(ctx)
			return nil
		})
		id := lab.Enqueue(l, action, "")
		for n := range 10 { // the default cap
			handedOut(l, id)
			l.Pass(2 * time.Second)
			reap(l)
			if s := l.Step(id); s.LostUnstarted != n+1 {
				l.Fatalf("%d lost before their start, want %d", s.LostUnstarted, n+1)
			}
			l.Pass(time.Duration(1<<(n+1)) * time.Second)
		}
		l.Start(calm, action)
		l.Pass(time.Hour)
		s := l.Step(id)
		if n := len(v.All()); n != 0 || s == nil || s.State != cyclone.StepExhausted {
			l.Errorf("%d executions, and stored is %+v; want none and discarded", n, s)
		}
	})
}
