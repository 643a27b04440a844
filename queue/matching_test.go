package queue

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone"
)

// crowd enqueues n steps with distinct inputs.
func (l *lab) crowd(n int, opts ...cyclone.EnqueueOption) (ids []cyclone.RunID) {
	l.Helper()
	requests := make([]cyclone.Request, n)
	for i := range requests {
		requests[i] = mail.With(fmt.Sprint(i), opts...)
	}
	receipts, err := l.client.Enqueue(l.ctx, requests...)
	l.ok(err)
	for _, r := range receipts {
		ids = append(ids, r.ID)
	}
	return ids
}

// discardAll claims all that is ready and discards it, every third with another error.
func (l *lab) discardAll() {
	l.Helper()
	for {
		claimed := l.turn("default", 50)
		if len(claimed) == 0 {
			return
		}
		var settle []Settlement
		for i := range claimed {
			c := &claimed[i]
			f := l.failure(c, "timeout talking to the API")
			if c.ID%3 == 0 {
				f = l.failure(c, "bad address")
				f.Code = "permanent"
			}
			settle = append(settle, Discard(c, f))
		}
		l.settle(settle...)
	}
}

func (l *lab) wantCounts(want map[cyclone.StepState]int64) {
	l.Helper()
	d, err := l.client.join(l.ctx)
	l.ok(err)
	q, err := d.counts(l.ctx, "default")
	l.ok(err)
	if diff := cmp.Diff(want, q.Counts); diff != "" {
		l.Errorf("counts (-want +got):\n%s", diff)
	}
}

func TestRetryMatchingOpensWhatTheFilterChooses(t *testing.T) {
	everywhere(t, func(l *lab) {
		ids := l.crowd(450)
		bad := 0
		for _, id := range ids {
			if id%3 == 0 {
				bad++
			}
		}
		l.discardAll()
		seen := 0
		done, err := l.client.RetryMatching(l.ctx, Filter{ErrorContains: "talking"}, func(p Progress) { seen = p.Seen }, cyclone.RetryReason("API is back"))
		l.ok(err)
		want := Progress{Seen: len(ids), Matched: len(ids) - bad, Done: len(ids) - bad}
		if done != want || seen != len(ids) {
			l.Errorf("%+v, want %+v, progress told of %d", done, want, seen)
		}
		l.wantCounts(map[cyclone.StepState]int64{cyclone.StepReady: int64(len(ids) - bad), cyclone.StepExhausted: int64(bad)})
	})
}

func TestFilterMatches(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_800_000_000_000)
	env := &Envelope{Kind: "mail", EnqueuedMs: at.Add(-time.Hour).UnixMilli(), History: []Record{{Type: RecordFailed, Error: "no route", Code: "error"}}}
	discarded := &stored{state: cyclone.StepExhausted, score: at.UnixMilli(), env: env}
	ready := &stored{state: cyclone.StepReady, env: env}
	for _, c := range []struct {
		f                Filter
		discarded, ready bool
	}{
		{Filter{}, true, true},
		{Filter{Kind: "mail"}, true, true},
		{Filter{Kind: "post"}, false, false},
		{Filter{ErrorContains: "route"}, true, true},
		{Filter{ErrorContains: "error"}, true, true}, // the code
		{Filter{ErrorContains: "err"}, false, false},
		{Filter{After: at}, true, false},
		{Filter{After: at.Add(1)}, false, false},
		{Filter{Before: at}, false, true},
		{Filter{Before: at.Add(1)}, true, true},
	} {
		if c.f.matches(discarded) != c.discarded || c.f.matches(ready) != c.ready {
			t.Errorf("%+v: discarded %v, ready %v", c.f, c.f.matches(discarded), c.f.matches(ready))
		}
	}
}

// TestManyGoesOnWhereItStopped: an operation that was interrupted is finished from
// its cursor, and every step is changed once.
func TestManyGoesOnWhereItStopped(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.crowd(350)
		l.discardAll()
		ctx, stop := context.WithCancel(l.ctx)
		first, err := l.client.RetryMatching(ctx, Filter{}, func(Progress) { stop() })
		if !errors.Is(err, context.Canceled) || first.Done == 0 || first.Cursor == "" {
			l.Fatalf("%+v, %v", first, err)
		}
		second, err := l.client.RetryMatching(l.ctx, Filter{Cursor: first.Cursor}, nil)
		l.ok(err)
		if first.Done+second.Done != 350 || second.Cursor != "" {
			l.Errorf("%+v then %+v", first, second)
		}
		l.wantCounts(map[cyclone.StepState]int64{cyclone.StepReady: 350})
	})
}

func TestCancelMatchingEndsAllThatHasNotEnded(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.crowd(250)
		running := l.turn("default", 40)
		l.crowd(150, cyclone.WithDelay(time.Hour))
		done, err := l.client.CancelMatching(l.ctx, Filter{Queue: "default"}, nil)
		l.ok(err)
		if done.Done != 400 {
			l.Errorf("%+v", done)
		}
		l.wantCounts(map[cyclone.StepState]int64{cyclone.StepCancelled: 400})
		if len(running) == 0 || len(l.claim()) != 0 {
			l.Error("cancelled steps can be claimed")
		}
		again, err := l.client.CancelMatching(l.ctx, Filter{}, nil)
		if l.ok(err); again.Done != 0 {
			l.Errorf("again: %+v", again)
		}
		if _, err := l.client.CancelMatching(l.ctx, Filter{State: cyclone.StepCompleted}, nil); err == nil {
			l.Error("completed steps were accepted")
		}
	})
}

func TestDeleteMatchingLeavesNothing(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.crowd(120)
		l.discardAll()
		l.crowd(130)
		l.turn("default", 20)
		l.crowd(110, cyclone.WithDelay(time.Hour))
		discarded, err := l.client.DeleteMatching(l.ctx, Filter{State: cyclone.StepExhausted}, nil)
		l.ok(err)
		rest, err := l.client.DeleteMatching(l.ctx, Filter{}, nil)
		l.ok(err)
		if discarded.Done != 120 || rest.Done != 240 {
			l.Errorf("%+v, %+v", discarded, rest)
		}
		l.wantCounts(map[cyclone.StepState]int64{})
		if n := len(l.claim()); n != 0 {
			l.Errorf("%d deleted steps were claimed", n)
		}
	})
}

func TestPurgeDeletesWhatWaits(t *testing.T) {
	everywhere(t, func(l *lab) {
		l.crowd(10)
		l.discardAll()
		l.crowd(20)
		running := l.turn("default", 100)
		l.crowd(230)
		cancelled := l.enqueue("cancelled")
		l.ok(l.client.Cancel(l.ctx, cancelled))
		revived := l.enqueue("revived")
		l.ok(l.client.Cancel(l.ctx, revived))
		l.ok(l.client.Retry(l.ctx, revived, "mail"))
		l.crowd(110, cyclone.WithDelay(time.Hour), cyclone.WithPriority(cyclone.High))
		calls := 0
		done, err := l.client.Purge(l.ctx, "default", func(Progress) { calls++ })
		l.ok(err)
		if done.Done != 341 || done.Seen != 342 || calls == 0 {
			l.Errorf("%+v in %d calls", done, calls)
		}
		l.wantCounts(map[cyclone.StepState]int64{
			cyclone.StepExhausted: 10, cyclone.StepRunning: int64(len(running)), cyclone.StepCancelled: 1,
		})
		stats, err := l.client.Stats(l.ctx, 1)
		l.ok(err)
		want := map[cyclone.EventType]int64{
			cyclone.EventEnqueued: 372, cyclone.EventDiscarded: 10, cyclone.EventCancelled: 2, cyclone.EventRetried: 1, cyclone.EventDeleted: 341,
		}
		if diff := cmp.Diff(want, stats.Totals); diff != "" {
			l.Errorf("stats (-want +got):\n%s", diff)
		}
		if len(stats.Minutes) != 1 {
			l.Errorf("%+v", stats.Minutes)
		}
	})
}
