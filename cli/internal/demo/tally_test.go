package demo

import (
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
)

// life is what happens to one step, as events.
func life(start time.Time, run cyclone.RunID, kind string, steps ...cyclone.StepEvent) []cyclone.StepEvent {
	for i := range steps {
		e := &steps[i]
		e.RunID, e.Kind, e.Node = run, kind, kind
		e.At = start.Add(time.Duration(i) * 10 * time.Millisecond)
	}
	return steps
}

var (
	enqueued  = cyclone.StepEvent{Type: cyclone.EventEnqueued, State: cyclone.StepReady, Attempt: 1}
	claimed   = cyclone.StepEvent{Type: cyclone.EventClaimed, State: cyclone.StepRunning, Attempt: 1, Worker: "w1"}
	failed    = cyclone.StepEvent{Type: cyclone.EventFailed, State: cyclone.StepRetrying, Attempt: 1, Worker: "w1", Error: "no"}
	discarded = cyclone.StepEvent{Type: cyclone.EventFailed, State: cyclone.StepExhausted, Attempt: 1, Worker: "w1", Error: "never"}
	snoozed   = cyclone.StepEvent{Type: cyclone.EventSnoozed, State: cyclone.StepSnoozed, Attempt: 1, Worker: "w1"}
	lost      = cyclone.StepEvent{Type: cyclone.EventLost, State: cyclone.StepReady, Attempt: 1, Worker: "w1"}
	retried   = cyclone.StepEvent{Type: cyclone.EventRetried, State: cyclone.StepReady, Attempt: 2}
	completed = cyclone.StepEvent{Type: cyclone.EventCompleted, State: cyclone.StepCompleted, Attempt: 1, Worker: "w1"}
)

func TestTally(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 2, 3, 10, 0, 0, 0, time.UTC)
	tl := newTally(start)
	for run, events := range map[cyclone.RunID][]cyclone.StepEvent{
		1: {enqueued, claimed, completed},
		2: {enqueued, claimed, failed, claimed, completed},
		3: {enqueued, claimed, snoozed, claimed},
		4: {enqueued, claimed, discarded},
		5: {enqueued, claimed, discarded, retried, claimed, completed},
		6: {enqueued, claimed, lost, claimed, completed},
		7: {claimed, completed}, // of an earlier demo
	} {
		for _, e := range life(start, run, "send_email", append([]cyclone.StepEvent(nil), events...)...) {
			tl.add(e)
		}
	}
	got := tl.summary()
	k := got.Kinds["send_email"].kindTally
	k.now = nil
	want := kindTally{Enqueued: 7, Completed: 5, Failed: 3, Recovered: 1, Snoozed: 1, Lost: 1, Discarded: 1, Retried: 1, Repaired: 1}
	if k.Enqueued != want.Enqueued || k.Completed != want.Completed || k.Failed != want.Failed || k.Recovered != want.Recovered ||
		k.Snoozed != want.Snoozed || k.Lost != want.Lost || k.Discarded != want.Discarded || k.Retried != want.Retried || k.Repaired != want.Repaired {
		t.Errorf("%+v, want %+v", k, want)
	}
	if got.Total.Unfinished != 1 || tl.unfinished() != 1 || tl.runningOn("w1") != 1 || got.HalfStartedMS != 10 {
		t.Errorf("%+v, %d unfinished, %d running", got.Total, tl.unfinished(), tl.runningOn("w1"))
	}
}

// The steps of a killed worker are timed from the kill to their next claim.
func TestTallyOfAKill(t *testing.T) {
	t.Parallel()
	start := time.Now()
	tl := newTally(start)
	tl.killed(start)
	events := life(start, 1, "send_email", enqueued, claimed, lost, claimed)
	for _, e := range events {
		tl.add(e)
	}
	if len(tl.taken) != 1 || tl.taken[0] != 30*time.Millisecond {
		t.Errorf("%v", tl.taken)
	}
}
