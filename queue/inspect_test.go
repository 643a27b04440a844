package queue

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cyclone-queue/cyclone"
)

// Times are compared by the tests that are about them.
var noTimes = cmpopts.IgnoreTypes(time.Time{})

// TestSpec_C18_ListStepsReturnsEachStep in every state that a single step can have.
func TestSpec_C18_ListStepsReturnsEachStep(t *testing.T) {
	everywhere(t, func(l *lab) {
		want := cyclone.StepInfo{RunID: l.enqueue("a"), Node: "mail", Kind: "mail", Queue: "default", Priority: cyclone.Default, State: cyclone.StepReady}
		check := func() {
			l.Helper()
			if diff := cmp.Diff(want, l.step(want.RunID), noTimes); diff != "" {
				l.Errorf("%s (-want +got):\n%s", want.State, diff)
			}
		}
		check()
		claim := func() *Claimed {
			l.Helper()
			c := l.claim()[want.RunID]
			if c == nil {
				l.Fatal("not claimed")
			}
			want.State, want.Attempts, want.Worker, want.DueAt = cyclone.StepRunning, want.Attempts+1, "w1", time.Time{}
			check()
			want.Worker = ""
			return c
		}
		c := claim()
		l.settle(Retry(c, l.failure(c, "first"), 10*time.Millisecond))
		want.State, want.Error, want.Code = cyclone.StepRetrying, "first", "error"
		check()
		l.untilDue(want.RunID)
		c = claim()
		l.settle(Snooze(c, 2, "w1", 10*time.Millisecond, l.client.clock.now()))
		want.State, want.Snoozes, want.Attempts = cyclone.StepSnoozed, 1, 1
		check()
		l.untilDue(want.RunID)
		c = claim()
		l.settle(Release(c))
		want.State, want.Interruptions, want.Attempts = cyclone.StepReady, 1, 1
		check()
		c = claim()
		l.settle(Discard(c, l.failure(c, "second")))
		want.State, want.Error, want.Attempts = cyclone.StepExhausted, "second", 2
		check()
		if at := l.step(want.RunID).FinishedAt; time.Since(at).Abs() > time.Minute {
			l.Errorf("finished at %v", at)
		}
		l.ok(l.client.Retry(l.ctx, want.RunID, "mail", cyclone.RetryAdditionalAttempts(3)))
		want.State, want.MaxAttempts = cyclone.StepReady, 5
		check()
		c = claim()
		l.complete(c, "done", time.Hour)
		want.State, want.Attempts = cyclone.StepCompleted, 3
		check()
	})
}

// untilDue waits for the due time of a step by making it due.
func (l *lab) untilDue(id cyclone.RunID) {
	l.Helper()
	if due := l.step(id).DueAt; time.Since(due).Abs() > time.Minute {
		l.Errorf("run %v is due at %v", id, due)
	}
	l.ok(l.client.RunNow(l.ctx, id))
	l.wantState(id, cyclone.StepReady)
}

func TestRunsSayHowTheyEnded(t *testing.T) {
	everywhere(t, func(l *lab) {
		completed, discarded, cancelled, running := l.enqueue("a"), l.enqueue("b"), l.enqueue("c"), l.enqueue("d")
		claims := l.claim()
		l.complete(claims[completed], "x", time.Hour)
		l.settle(Discard(claims[discarded], l.failure(claims[discarded], "no")))
		l.ok(l.client.Cancel(l.ctx, cancelled))
		for id, want := range map[cyclone.RunID]cyclone.RunState{
			completed: cyclone.RunCompleted, discarded: cyclone.RunFailed, cancelled: cyclone.RunCancelled, running: cyclone.RunRunning,
		} {
			run, err := l.client.GetRun(l.ctx, id)
			l.ok(err)
			if run.State != want || run.ID != id || len(run.Steps) != 1 {
				l.Errorf("%+v, want %s", run, want)
			}
		}
		l.settle(Complete(claims[running], 1, 0, nil, 0, time.Now()))
		for _, id := range []cyclone.RunID{running, 99999, 0, -1} {
			if _, err := l.client.GetRun(l.ctx, id); !errors.Is(err, cyclone.ErrNotFound) {
				l.Errorf("run %d: %v", id, err)
			}
		}
		if _, err := l.client.Step(l.ctx, completed, "post"); !errors.Is(err, cyclone.ErrNotFound) {
			l.Errorf("unknown node: %v", err)
		}
	})
}

func TestStepShowsPayloadsMetaAndHistory(t *testing.T) {
	everywhere(t, func(l *lab) {
		id := l.enqueue("hello", cyclone.WithMeta("trace", "42"))
		c := l.claim()[id]
		l.settle(Retry(c, l.failure(c, "first"), time.Second))
		l.ok(l.client.RunNow(l.ctx, id))
		l.expire(id)
		c = l.claim()[id]
		l.settle(Discard(c, l.failure(c, "second")))
		l.ok(l.client.Retry(l.ctx, id, "mail", cyclone.RetryAdditionalAttempts(2), cyclone.RetryReason("fixed \"it\"\nat last")))
		c = l.claim()[id]
		l.complete(c, "bye", time.Hour)
		got, err := l.client.Step(l.ctx, id, "mail")
		l.ok(err)
		want := StepDetail{
			StepInfo: cyclone.StepInfo{
				RunID: id, Node: "mail", Kind: "mail", Queue: "default", Priority: cyclone.Default, State: cyclone.StepCompleted,
				Attempts: 3, MaxAttempts: 4, Error: "second", Code: "error", LostUnstarted: 1,
			},
			Input:  Payload{Codec: "msgpack", Bytes: []byte("\xa5hello"), JSON: []byte(`"hello"`)},
			Output: Payload{Codec: "msgpack", Bytes: []byte("\xa3bye"), JSON: []byte(`"bye"`)},
			Meta:   map[string]string{"trace": "42"},
			History: []HistoryEntry{
				{Type: cyclone.EventFailed, Attempt: 1, Error: "first", Code: "error", Stack: "main.go:1", Worker: "w1", Delay: time.Second},
				{Type: cyclone.EventLost, Worker: "w1"},
				{Type: cyclone.EventDiscarded, Attempt: 2, Error: "second", Code: "error", Stack: "main.go:1", Worker: "w1"},
				{Type: cyclone.EventRetried, Reason: "fixed \"it\"\nat last", Additional: 2},
			},
		}
		// The clock of a record is good to a round trip only.
		byType := cmpopts.SortSlices(func(a, b HistoryEntry) bool { return a.Type < b.Type })
		if diff := cmp.Diff(want, got, noTimes, byType); diff != "" {
			l.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestHistoryIsInTheOrderOfTime(t *testing.T) {
	t.Parallel()
	s := stored{
		env:     &Envelope{History: []Record{{At: 10, Type: RecordFailed, Attempt: 1}, {At: 40, Type: RecordSnoozed, Attempt: 2, DelayMs: 5}}},
		history: "20 lost started w7.ABC\nnonsense\n\n30 retried 2 \"why\"\n35 retried 2 unquoted\n36 later version\n50 lost unstarted w8.X\n",
	}
	want := []HistoryEntry{
		{At: timeOf(10), Type: cyclone.EventFailed, Attempt: 1},
		{At: timeOf(20), Type: cyclone.EventLost, Started: true, Worker: "w7"},
		{At: timeOf(30), Type: cyclone.EventRetried, Additional: 2, Reason: "why"},
		{At: timeOf(40), Type: cyclone.EventSnoozed, Attempt: 2, Delay: 5 * time.Millisecond},
		{At: timeOf(50), Type: cyclone.EventLost, Worker: "w8"},
	}
	if diff := cmp.Diff(want, s.events()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// expire claims the step and lets its lease run out, by moving the lease's end.
func (l *lab) expire(id cyclone.RunID) {
	l.Helper()
	c := l.claim()[id]
	if c == nil {
		l.Fatalf("run %v is not ready", id)
	}
	p := l.part(id)
	l.ok(l.server.Client.ZIncrBy(l.ctx, p.keys.queue(c.Queue).leased, -float64(2*claimLease.Milliseconds()*scoreUnit), c.member).Err())
	l.settle()
	l.wantState(id, cyclone.StepReady)
}

// TestUnreadableStepsCanBeSeenAndDeleted whatever stands in their place.
func TestUnreadableStepsCanBeSeenAndDeleted(t *testing.T) {
	everywhere(t, func(l *lab) {
		ready, scheduled := l.enqueue("a", cyclone.WithQueue("other")), l.enqueue("b", cyclone.WithDelay(time.Hour))
		for _, id := range []cyclone.RunID{ready, scheduled} {
			p := l.part(id)
			l.ok(l.server.Client.HSet(l.ctx, p.keys.steps(), id.String(), "\xc1").Err())
		}
		info := l.step(scheduled)
		if info.State != cyclone.StepScheduled || info.Kind != unreadableKind || info.Code != "decode" || info.Queue != "default" {
			l.Errorf("%+v", info)
		}
		l.wantState(ready, cyclone.StepReady)
		l.ok(l.client.Delete(l.ctx, ready))
		l.ok(l.client.Delete(l.ctx, scheduled))
		if n := len(l.turn("other", 10)); n != 0 {
			l.Errorf("%d deleted steps were claimed", n)
		}
	})
}
