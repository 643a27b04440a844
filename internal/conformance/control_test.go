package conformance_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/conformance/lab"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/retry"
	"github.com/cyclone-queue/cyclone/worker"
)

// returns is an action whose n-th execution returns the n-th error, and the last
// one from there on.
func returns(v *lab.Visits, results ...error) *cyclone.Action[string] {
	return cyclone.NewAction("returns", func(ctx cyclone.Context, _ string) error {
		return results[min(v.Add(ctx), len(results))-1]
	}, soon)
}

func TestSpec_C11_SnoozeStartsTheSameAttemptAgain(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		const nap = 200 * time.Millisecond
		v := l.Visits()
		action := returns(v, errBoom, cyclone.Snooze(nap), cyclone.Snooze(nap), errBoom, nil)
		l.Start(worker.Config{}, action)
		id := lab.Enqueue(l, action, "", cyclone.WithMaxAttempts(3))
		v.Until(5)
		l.UntilGone(id)
		if got := v.Attempts(); !slices.Equal(got, []int{1, 2, 2, 2, 3}) {
			l.Errorf("attempts %v, want 1 2 2 2 3", got)
		}
		for i, gap := range v.Gaps()[1:3] {
			if gap < nap-10*time.Millisecond || gap > nap+2*time.Second {
				l.Errorf("snooze %d took %v, want %v", i+1, gap, nap)
			}
		}
	})
}

func TestSpec_C11_SnoozeIsFromNow(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		action := returns(l.Visits(), cyclone.Snooze(time.Hour))
		l.Start(worker.Config{}, action)
		before := l.Now()
		id := lab.Enqueue(l, action, "")
		s := l.UntilState(id, cyclone.StepSnoozed)
		if early, late := before.Add(time.Hour).Truncate(time.Millisecond), l.Now().Add(time.Hour); s.Due.Before(early) || s.Due.After(late) {
			l.Errorf("due at %v, want %v to %v", s.Due, early, late)
		}
		if s.Failures != 0 || s.Snoozes != 1 {
			l.Errorf("%d failures and %d snoozes are stored, want 0 and 1", s.Failures, s.Snoozes)
		}
	})
}

func TestSpec_C12_SnoozeOfNothingIsPermanent(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		action := cyclone.NewAction("nap", func(ctx cyclone.Context, d time.Duration) error {
			v.Add(ctx)
			return cyclone.Snooze(d)
		})
		l.Start(worker.Config{}, action)
		for i, d := range []time.Duration{0, -time.Second} {
			id := lab.Enqueue(l, action, d)
			s := l.UntilState(id, cyclone.StepExhausted)
			if n, code := len(v.All())-i, s.History[len(s.History)-1].Code; n != 1 || code != retry.CodeSnoozeInvalid {
				l.Errorf("Snooze(%v): %d executions and code %q, want 1 and %q", d, n, code, retry.CodeSnoozeInvalid)
			}
		}
	})
}

// heard collects events.
type heard struct {
	mu  sync.Mutex
	all []cyclone.StepEvent
}

func (h *heard) add(e cyclone.StepEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, e)
}

func (h *heard) types() []cyclone.EventType {
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []cyclone.EventType
	for _, e := range h.all {
		list = append(list, e.Type)
	}
	return list
}

func (h *heard) find(e cyclone.EventType) (found []cyclone.StepEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, event := range h.all {
		if event.Type == e {
			found = append(found, event)
		}
	}
	return found
}

// checkSnoozed looks at the only snoozed event.
func checkSnoozed(l *lab.Lab, where string, h *heard, id cyclone.RunID, nap time.Duration) {
	l.Helper()
	l.Until(where+" hears of the snooze", func() bool { return len(h.find(cyclone.EventSnoozed)) == 1 })
	e := h.find(cyclone.EventSnoozed)[0]
	if e.RunID != id || e.Node != "returns" || e.Kind != "returns" || e.State != cyclone.StepSnoozed || e.Attempt != 1 {
		l.Errorf("%s: %+v", where, e)
	}
	if wait := e.DueAt.Sub(e.At); wait < nap-time.Millisecond || wait > nap+time.Millisecond {
		l.Errorf("%s: due %v after the event, want %v", where, wait, nap)
	}
}

func TestSpec_C13_SnoozedEventIsSeenByBothListeners(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		const nap = 50 * time.Millisecond
		local := &heard{}
		lab.OnEvent(local.add)(l)
		remote := subscribe(l, queue.EventFilter{})
		action := returns(l.Visits(), cyclone.Snooze(nap), nil)
		l.Start(worker.Config{}, action)
		id := lab.Enqueue(l, action, "")
		l.UntilGone(id)
		checkSnoozed(l, "WithOnStepEvent", local, id, nap)
		checkSnoozed(l, "Subscribe", remote, id, nap)
		want := []cyclone.EventType{cyclone.EventEnqueued, cyclone.EventClaimed, cyclone.EventSnoozed, cyclone.EventClaimed, cyclone.EventCompleted}
		l.Until("Subscribe hears everything in order", func() bool { return slices.Equal(remote.types(), want) })
	})
}

func TestSpec_C14_PermanentDiscardsAtOnce(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		cause := &fs.PathError{Op: "open", Path: "/nowhere", Err: fs.ErrNotExist}
		marked := fmt.Errorf("load: %w", cyclone.Permanent(fmt.Errorf("config: %w", cause)))
		var path *fs.PathError
		if !errors.Is(marked, fs.ErrNotExist) || !errors.As(marked, &path) || path != cause {
			l.Error("errors.Is or errors.As does not see through Permanent")
		}
		action := returns(v, marked)
		l.Start(worker.Config{}, action)
		id := lab.Enqueue(l, action, "", cyclone.WithMaxAttempts(9))
		s := l.UntilState(id, cyclone.StepExhausted)
		last := s.History[len(s.History)-1]
		if n := len(v.All()); n != 1 || last.Code != retry.CodePermanent || last.Error != marked.Error() {
			l.Errorf("%d executions, code %q, error %q; want one, %q and %q", n, last.Code, last.Error, retry.CodePermanent, marked)
		}
	})
}

func TestSpec_R10_RetryAfterReplacesTheDelayAndCounts(t *testing.T) {
	lab.Each(t, func(l *lab.Lab) {
		v := l.Visits()
		action := cyclone.NewAction("returns", func(ctx cyclone.Context, _ string) error {
			v.Add(ctx)
			return cyclone.RetryAfter(errBoom, 100*time.Millisecond)
		}, cyclone.WithMaxAttempts(2)) // its own delays are seconds
		l.Start(worker.Config{}, action)
		id := lab.Enqueue(l, action, "")
		s := l.UntilState(id, cyclone.StepExhausted)
		if got := v.Attempts(); !slices.Equal(got, []int{1, 2}) || s.Failures != 2 {
			l.Errorf("attempts %v and %d failures, want 1 and 2, both counted", got, s.Failures)
		}
		if gap := v.Gaps()[0]; gap < 90*time.Millisecond || gap > 3*time.Second {
			l.Errorf("the retry came after %v, want 100ms", gap)
		}
		id = lab.Enqueue(l, action, "", cyclone.WithMaxAttempts(1))
		l.UntilState(id, cyclone.StepExhausted)
		if n := len(v.All()); n != 3 {
			l.Errorf("RetryAfter of the last try was executed %d times, want 1", n-2)
		}
	})
}
