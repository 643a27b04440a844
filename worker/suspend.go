package worker

import (
	"slices"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/retry"
)

// conclude makes the settlement of an attempt whose handler is over. What a suspended
// handler has returned does not count.
func (a *attempt) conclude(ctx cyclone.Context, out any, err error, stack string) queue.Settlement {
	j := a.journal()
	if j == nil {
		return a.decide(ctx, out, err, stack)
	}
	switch pauses, yielded := j.close(); {
	case len(pauses) > 0:
		return a.suspend(ctx, j, pauses)
	case yielded:
		// When the lease is gone or the step cancelled, Redis refuses this and tidies up.
		return queue.Release(a.claim)
	}
	return a.decide(ctx, out, err, stack)
}

// close lets no more step begin, waits for those that have, and returns why the attempt
// has ended early, if it has.
func (j *journal) close() (pauses []wire.Suspension, yielded bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.over = true
	for j.flight > 0 {
		j.landed.Wait()
	}
	return j.pauses, j.yielded
}

// suspend makes the settlement of a suspended attempt: it comes back when the first of
// its pauses is over.
func (a *attempt) suspend(ctx cyclone.Context, j *journal, pauses []wire.Suspension) queue.Settlement {
	pause := &queue.Pause{First: j.fresh(), Entries: j.unsaved}
	first := never
	var failure *queue.Failure
	for i := range pauses {
		s := &pauses[i]
		pause.Entries = append(pause.Entries, s.Entries...)
		if s.Signal != "" && !slices.Contains(pause.Signals, s.Signal) {
			pause.Signals = append(pause.Signals, s.Signal)
		}
		if due := dueOf(s); due < first || i == 0 {
			first, pause.In, pause.DueMS = due, s.State, s.DueMS
		}
		if s.Err != nil {
			f := a.failure(s.Code, s.Err.Error(), "", 0)
			failure = &f
			a.report(ctx, f, s.Err, false, time.Duration(s.DueMS-j.NowMS())*time.Millisecond)
		}
	}
	if len(pause.Signals) > 0 {
		pause.In = wire.SuspendedWaiting // where signals look
	}
	return queue.Suspend(a.claim, a.ordinal, pause, failure)
}

// never is later than any time.
const never int64 = 1<<63 - 1

// dueOf is when the pause is over by itself.
func dueOf(s *wire.Suspension) int64 {
	if s.DueMS == 0 {
		return never
	}
	return s.DueMS
}

// stepRule is the rule that recorded steps follow: the task's, without the limit that
// an operator has given to the task itself.
func (a *attempt) stepRule() retry.Rule {
	if a.claim.Counters.Limit == 0 {
		return a.rule
	}
	return a.kind.terms(a.claim.Envelope.Options(), a.worker.cfg.Timeout).rule
}
