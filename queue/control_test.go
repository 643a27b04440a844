package queue

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
)

// TestSpec_C19_RetryOpensOneDiscardedStep with more attempts, and keeps the reason.
func TestSpec_C19_RetryOpensOneDiscardedStep(t *testing.T) {
	everywhere(t, func(l *lab) {
		id, other := l.enqueue("a", cyclone.WithMaxAttempts(2)), l.enqueue("b")
		l.discard(id, other)
		l.ok(l.client.Retry(l.ctx, id, "mail", cyclone.RetryAdditionalAttempts(3), cyclone.RetryReason("fixed")))
		l.wantState(id, cyclone.StepReady)
		l.wantState(other, cyclone.StepExhausted)
		detail, err := l.client.Step(l.ctx, id, "mail")
		l.ok(err)
		last := detail.History[len(detail.History)-1]
		if last.Type != cyclone.EventRetried || last.Reason != "fixed" || last.Additional != 3 {
			l.Errorf("history ends with %+v", last)
		}
		c := l.claim()[id]
		if c == nil || c.Counters.Limit != 1+3 {
			l.Fatalf("claimed %+v", c)
		}
		if err := l.client.Retry(l.ctx, id, "mail"); !errors.Is(err, cyclone.ErrNotDiscarded) {
			l.Errorf("retry of a running step: %v", err)
		}
		if err := l.client.Retry(l.ctx, id, "post"); !errors.Is(err, cyclone.ErrNotFound) {
			l.Errorf("retry of an unknown node: %v", err)
		}
		if err := l.client.Retry(l.ctx, other, "mail", cyclone.RetryAdditionalAttempts(0)); err == nil {
			l.Error("0 more attempts were accepted")
		}
		l.wantState(other, cyclone.StepExhausted)
	})
}

// TestSpec_C20_RetryAllOpensAFailedRun again, and the run goes on.
func TestSpec_C20_RetryAllOpensAFailedRun(t *testing.T) {
	everywhere(t, func(l *lab) {
		id := l.enqueue("a")
		if err := l.client.RetryAll(l.ctx, id); !errors.Is(err, cyclone.ErrNotDiscarded) {
			l.Errorf("nothing to retry: %v", err)
		}
		l.discard(id)
		l.ok(l.client.RetryAll(l.ctx, id, cyclone.RetryAdditionalAttempts(2)))
		run, err := l.client.GetRun(l.ctx, id)
		l.ok(err)
		if run.State != cyclone.RunRunning || run.Steps[0].MaxAttempts != 3 {
			l.Errorf("%+v", run)
		}
		l.complete(l.claim()[id], "done", time.Hour)
		l.wantState(id, cyclone.StepCompleted)
		if err := l.client.RetryAll(l.ctx, 4711); !errors.Is(err, cyclone.ErrNotFound) {
			l.Errorf("unknown run: %v", err)
		}
	})
}

func TestRetryTakesTheUniqueKeyAgain(t *testing.T) {
	everywhere(t, func(l *lab) {
		unique := cyclone.WithUnique(cyclone.Unique{Key: "k"})
		first := l.enqueue("a", unique)
		l.discard(first)
		second := l.enqueue("b", unique)
		if second == first {
			l.Fatal("a discarded step held its key")
		}
		var duplicate *cyclone.DuplicateError
		if err := l.client.Retry(l.ctx, first, "mail"); !errors.As(err, &duplicate) || duplicate.Holder != second {
			l.Errorf("retry beside the new holder: %v", err)
		}
		l.wantState(first, cyclone.StepExhausted)
		l.complete(l.claim()[second], "x", 0)
		l.ok(l.client.Retry(l.ctx, first, "mail"))
		if id := l.enqueue("c", unique); id != first {
			l.Errorf("the key is held by %v, want %v", id, first)
		}
	})
}

func TestCancelEndsAStepWhereverItIs(t *testing.T) {
	everywhere(t, func(l *lab) {
		running, retrying, snoozed := l.enqueue("a"), l.enqueue("b"), l.enqueue("c")
		claims := l.claim()
		l.settle(Retry(claims[retrying], l.failure(claims[retrying], "no"), time.Hour), Snooze(claims[snoozed], 1, "w1", time.Hour, time.Now()))
		ready, scheduled := l.enqueue("d"), l.enqueue("e", cyclone.WithDelay(time.Hour))
		all := []cyclone.RunID{running, retrying, snoozed, ready, scheduled}
		for _, id := range all {
			l.ok(l.client.Cancel(l.ctx, id))
			l.ok(l.client.Cancel(l.ctx, id)) // again is no error
			l.wantState(id, cyclone.StepCancelled)
		}
		if n := len(l.claim()); n != 0 {
			l.Errorf("%d cancelled steps were claimed", n)
		}
		for _, id := range all {
			l.ok(l.client.Retry(l.ctx, id, "mail"))
			l.wantState(id, cyclone.StepReady)
		}
		l.complete(claims[running], "late", time.Hour) // of the attempt that was cancelled
		l.wantState(running, cyclone.StepReady)
		again := l.claim()
		for _, id := range all {
			if again[id] == nil {
				l.Errorf("run %v was not claimed after its retry", id)
				continue
			}
			l.complete(again[id], "x", time.Hour)
			if err := l.client.Cancel(l.ctx, id); !errors.Is(err, ErrFinished) {
				l.Errorf("cancel of a completed run: %v", err)
			}
		}
		if err := l.client.Cancel(l.ctx, 4711); !errors.Is(err, cyclone.ErrNotFound) {
			l.Errorf("unknown run: %v", err)
		}
	})
}

func TestDeleteLeavesNothing(t *testing.T) {
	everywhere(t, func(l *lab) {
		unique := cyclone.WithUnique(cyclone.Unique{})
		running, completed, discarded := l.enqueue("a", unique), l.enqueue("b", unique), l.enqueue("c", unique)
		claims := l.claim()
		l.complete(claims[completed], "x", time.Hour)
		l.settle(Discard(claims[discarded], l.failure(claims[discarded], "no")))
		ready, scheduled, cancelled := l.enqueue("d", unique), l.enqueue("e", unique, cyclone.WithDelay(time.Hour)), l.enqueue("f")
		l.ok(l.client.Cancel(l.ctx, cancelled))
		for _, id := range []cyclone.RunID{running, completed, discarded, ready, scheduled, cancelled} {
			l.ok(l.client.Delete(l.ctx, id))
			if err := l.client.Delete(l.ctx, id); !errors.Is(err, cyclone.ErrNotFound) {
				l.Errorf("delete again: %v", err)
			}
		}
		l.complete(claims[running], "late", time.Hour)
		if n := len(l.claim()); n != 0 {
			l.Errorf("%d deleted steps were claimed", n)
		}
		l.wantFixedKeysOnly()
	})
}

// wantFixedKeysOnly checks that nothing is left of any step.
func (l *lab) wantFixedKeysOnly() {
	l.Helper()
	keys, err := l.server.Keys(l.ctx)
	l.ok(err)
	for _, key := range keys {
		if !slices.Contains(fixedKeys, baseName(key)) {
			l.Errorf("left over: %s", key)
		}
	}
}

func TestWaitingStepsGetAnotherTime(t *testing.T) {
	everywhere(t, func(l *lab) {
		id := l.enqueue("a", cyclone.WithDelay(time.Hour), cyclone.WithPriority(cyclone.Low))
		at := time.Now().Add(2 * time.Hour)
		l.ok(l.client.Reschedule(l.ctx, id, at))
		if due := l.step(id).DueAt; due.Before(at) || due.Sub(at) > time.Millisecond {
			l.Errorf("due %v, want %v", due, at)
		}
		l.ok(l.client.Reschedule(l.ctx, id, time.Unix(0, 0).Add(-time.Hour))) // past is due
		claimed := l.turn("default", 10)
		if len(claimed) != 1 || claimed[0].Priority != cyclone.Low {
			l.Fatalf("claimed %+v", claimed)
		}
		c := &claimed[0]
		if err := l.client.Reschedule(l.ctx, id, at); !errors.Is(err, ErrNotWaiting) {
			l.Errorf("reschedule of a running step: %v", err)
		}
		l.ok(l.client.RunNow(l.ctx, id)) // runs already
		l.settle(Snooze(c, 1, "w1", time.Hour, time.Now()))
		l.ok(l.client.RunNow(l.ctx, id))
		l.ok(l.client.RunNow(l.ctx, id)) // is ready already
		l.wantState(id, cyclone.StepReady)
		l.discard(id)
		for _, err := range []error{l.client.RunNow(l.ctx, id), l.client.Reschedule(l.ctx, id, at)} {
			if !errors.Is(err, ErrFinished) {
				l.Errorf("another time for a discarded step: %v", err)
			}
		}
		if err := l.client.Reschedule(l.ctx, id, time.Time{}); err == nil {
			l.Error("the zero time was accepted")
		}
		if err := l.client.RunNow(l.ctx, 4711); !errors.Is(err, cyclone.ErrNotFound) {
			l.Errorf("unknown run: %v", err)
		}
	})
}

func TestPausedQueuesAreNotClaimedFrom(t *testing.T) {
	everywhere(t, func(l *lab) {
		if err := l.client.Pause(l.ctx, "a:b"); err == nil {
			l.Error("a bad name was accepted")
		}
		for range 2 {
			l.ok(l.client.Pause(l.ctx, "default"))
		}
		id := l.enqueue("a")
		if n := len(l.claim()); n != 0 {
			l.Errorf("%d claimed from a paused queue", n)
		}
		queues, err := l.client.Queues(l.ctx)
		l.ok(err)
		if len(queues) != 1 || !queues[0].Paused || queues[0].Name != "default" || queues[0].Unfinished() != 1 {
			l.Errorf("%+v", queues)
		}
		for range 2 {
			l.ok(l.client.Resume(l.ctx, "default"))
		}
		if l.claim()[id] == nil {
			l.Error("not claimed after the resume")
		}
	})
}

// TestSpec_C17_ExhaustedIsCalledDiscarded in storage and wherever it is shown.
func TestSpec_C17_ExhaustedIsCalledDiscarded(t *testing.T) {
	everywhere(t, func(l *lab) {
		id := l.enqueue("a")
		l.discard(id)
		key := l.part(id).keys.queue("default").discarded
		if baseName(key) != "discarded" || l.server.Client.ZScore(l.ctx, key, id.String()).Err() != nil {
			l.Errorf("run %v is not in %s", id, key)
		}
		if state := l.step(id).State; string(state) != "discarded" || cyclone.StepExhausted != "discarded" {
			l.Errorf("run %v is %s", id, state)
		}
		l.wantList(ListQuery{State: "discarded"}, id)
	})
}
