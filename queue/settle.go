package queue

import (
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/luascripts"
	"github.com/cyclone-queue/cyclone/retry"
)

// Settlement ends a claim. It is made by one of the functions below and counts
// only if the claim's token is still the live one.
type Settlement struct {
	Claim *Claimed
	// Attempt is the ordinal of the attempt that ended.
	Attempt int

	op   luascripts.Op
	rest *settled // never nil
}

// settled is what not every settlement has.
type settled struct {
	code, text string        // of the failure
	delay      time.Duration // of a step that comes back
	body       []byte        // what is stored from now on
	result     []byte
	keep       time.Duration // of the result
	journal    bool          // the step has one
	tx         *wire.Content
	pause      *Pause // of a suspended task
}

// nothing is the rest of most settlements.
var nothing settled

// Failure is what an attempt failed with.
type Failure struct {
	Attempt            int
	Code, Error, Stack string
	Worker             string
	At                 time.Time
	// LostSeen replaces the number of lost leases that are counted as failures
	// when it is higher; Failures is added to the settled failures.
	LostSeen, Failures int
}

// Complete ends the step successfully and keeps its output for the given time,
// 0 to keep nothing. output is the encoded result and codec its codec's id.
func Complete(c *Claimed, attempt int, codec uint8, output []byte, keep time.Duration, at time.Time) Settlement {
	if c.Envelope != nil && c.Envelope.Parent != nil {
		keep = max(keep, childKept)
	}
	node := c.Step.Node > 0 // its output is kept with its run
	if keep <= 0 && !node {
		return Settlement{Claim: c, Attempt: attempt, op: luascripts.OpComplete, rest: &nothing}
	}
	kept := appendResult(nil, result{FinishedMS: at.UnixMilli(), Attempt: attempt, Codec: codec, Output: output})
	if node {
		return Settlement{Claim: c, Attempt: attempt, op: luascripts.OpComplete, rest: &settled{result: kept}}
	}
	return Settlement{Claim: c, Attempt: attempt, op: luascripts.OpKeep, rest: &settled{result: kept, keep: keep}}
}

// Retry makes the step wait for its next attempt.
func Retry(c *Claimed, f Failure, delay time.Duration) Settlement {
	return failed(c, f, luascripts.OpRetry, RecordFailed, delay)
}

// Discard ends the step as failed; an operator can open it again.
func Discard(c *Claimed, f Failure) Settlement {
	return failed(c, f, luascripts.OpDiscard, RecordDiscarded, 0)
}

// Snooze puts the step back for a time without counting an attempt.
func Snooze(c *Claimed, attempt int, worker string, delay time.Duration, at time.Time) Settlement {
	env := c.Envelope
	env.Snoozes++
	env.AddRecord(Record{At: at.UnixMilli(), Type: RecordSnoozed, Attempt: attempt, Worker: worker, DelayMs: milliseconds(delay)})
	return Settlement{Claim: c, Attempt: attempt, op: luascripts.OpSnooze, rest: &settled{delay: delay, body: env.Append(nil)}}
}

// GiveBack returns a step that has not started to the head of its queue.
func GiveBack(c *Claimed) Settlement { return unsettled(c, luascripts.OpGiveBack, 0) }

// Release returns a step whose attempt was interrupted by a shutdown. No attempt
// is counted.
func Release(c *Claimed) Settlement { return unsettled(c, luascripts.OpRelease, 0) }

// PutBack makes the step wait without counting anything, because this worker
// cannot run it: an unknown kind, a newer envelope.
func PutBack(c *Claimed, delay time.Duration) Settlement {
	return unsettled(c, luascripts.OpPutBack, delay)
}

// unsettled ends a claim whose attempt will start again under the same ordinal.
func unsettled(c *Claimed, op luascripts.Op, delay time.Duration) Settlement {
	s := Settlement{Claim: c, op: op, rest: &nothing}
	if delay > 0 {
		s.rest = &settled{delay: delay}
	}
	if c.Envelope != nil {
		s.Attempt = c.Envelope.Failures + 1
	}
	return s
}

// failed rewrites the envelope, which the lease's holder alone may do.
func failed(c *Claimed, f Failure, op luascripts.Op, kind RecordType, delay time.Duration) Settlement {
	env := c.Envelope
	if env == nil { // unreadable: a stand-in that says why
		env = &Envelope{Kind: unreadableKind, Node: unreadableKind, Queue: c.Queue, Priority: wire.Priority(c.Priority)}
		if c.Step.Node > 0 {
			env.Part = &Part{Index: c.Step.Node - 1}
		}
		c.Envelope = env
	}
	env.Failures += f.Failures
	if kind == RecordDiscarded {
		env.Discards++
	}
	env.LostSeen = max(env.LostSeen, f.LostSeen)
	env.AddRecord(Record{
		At: f.At.UnixMilli(), Type: kind, Attempt: f.Attempt, Error: f.Error, Code: f.Code, Stack: f.Stack,
		Worker: f.Worker, DelayMs: milliseconds(delay),
	})
	rest := &settled{code: f.Code, text: f.Error, delay: delay, body: env.Append(nil)}
	return Settlement{Claim: c, Attempt: f.Attempt, op: op, rest: rest}
}

// unreadableKind names a step whose envelope could not be read.
const unreadableKind = "unreadable"

// event is what the settlement looks like from outside.
func (s *Settlement) event(now time.Time) cyclone.StepEvent {
	kind, node := s.Claim.names()
	e := cyclone.StepEvent{
		RunID: s.Claim.ID, Node: node, Kind: kind, Queue: s.Claim.Queue, Attempt: s.Attempt,
		Code: s.rest.code, Error: s.rest.text, At: now,
	}
	e.Type, e.State = outcomeOf(s.op, s.rest.code)
	if s.rest.delay > 0 {
		e.DueAt = now.Add(s.rest.delay)
	}
	return e
}

// outcomeOf returns the event type and the new state of an operation.
func outcomeOf(op luascripts.Op, code string) (cyclone.EventType, cyclone.StepState) {
	switch op {
	case luascripts.OpComplete, luascripts.OpKeep:
		return cyclone.EventCompleted, cyclone.StepCompleted
	case luascripts.OpRetry:
		return cyclone.EventFailed, cyclone.StepRetrying
	case luascripts.OpSnooze:
		return cyclone.EventSnoozed, cyclone.StepSnoozed
	case luascripts.OpDiscard:
		return discardEvent(code), cyclone.StepExhausted
	case luascripts.OpPutBack:
		return cyclone.EventReleased, cyclone.StepScheduled
	}
	return cyclone.EventReleased, cyclone.StepReady
}

// discardEvent tells an attempt that failed for good from a step that was
// discarded without one.
func discardEvent(code string) cyclone.EventType {
	if code == retry.CodeExpired || code == retry.CodeAttemptLost {
		return cyclone.EventDiscarded
	}
	return cyclone.EventFailed
}
