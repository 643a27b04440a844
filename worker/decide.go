package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/retry"
)

// Steps that this worker cannot run wait a while, for a worker that can. The
// spread keeps them from coming back all at once.
const (
	unknownDelay  = 5 * time.Second
	unknownSpread = 10 * time.Second
)

// setTerms fixes the settings that apply to this attempt, and its ordinal. The
// mutex is held.
func (a *attempt) setTerms() {
	a.terms = &a.kind.plain
	if a.claim.Envelope.Set != 0 {
		own := a.kind.terms(a.claim.Envelope.Options(), a.worker.cfg.Timeout)
		a.terms = &own
	}
	if limit := a.claim.Counters.Limit; limit > 0 {
		own := *a.terms
		own.rule.MaxAttempts = limit
		a.terms = &own
	}
	a.ordinal = a.claim.Envelope.Failures + max(a.lost(), 1)
}

// lost is how many attempts of the step were lost and have to be counted as failed.
func (a *attempt) lost() int {
	if !a.kind.countsLost {
		return 0
	}
	return a.claim.Counters.LostStarted - a.claim.Envelope.LostSeen
}

// verdict settles a claim that does not reach a handler: it cannot be read, its
// kind is unknown, it has expired, or its workers were lost too often. ok is
// false when the handler is to be entered.
func (a *attempt) verdict() (s queue.Settlement, ok bool) {
	c, env := a.claim, a.claim.Envelope
	switch {
	case errors.Is(c.Err, queue.ErrEnvelopeVersion):
		return queue.PutBack(c, unknownDelay+a.worker.spread(unknownSpread)), true
	case c.Err != nil:
		return a.discard(retry.CodeDecode, c.Err.Error(), 0), true
	case a.kind == nil:
		a.worker.unknown(env.Kind)
		return queue.PutBack(c, unknownDelay+a.worker.spread(unknownSpread)), true
	}
	if env.ExpiresMs > 0 && a.now.UnixMilli() >= env.ExpiresMs && !a.startedBefore() {
		return a.discard(retry.CodeExpired, "it did not start before its expiry", 0), true
	}
	if lost := a.lost(); lost > 0 {
		return a.countLost(lost), true
	}
	k := c.Counters
	if lost := k.LostStarted + k.LostUnstarted - k.Forgiven; lost >= a.kind.maxLost {
		return a.discard(retry.CodeAttemptLost, fmt.Sprintf("%d workers that held it were lost", lost), 0), true
	}
	return s, false
}

// startedBefore reports whether the step has had an attempt, or was opened again by
// an operator: it does not expire any more.
func (a *attempt) startedBefore() bool {
	env, k := a.claim.Envelope, a.claim.Counters
	return env.Failures > 0 || env.Snoozes > 0 || k.LostStarted > 0 || k.Interruptions > 0 || k.Limit > 0
}

// countLost treats lost attempts like failed ones, as tasks ask for.
func (a *attempt) countLost(lost int) queue.Settlement {
	text := fmt.Sprintf("attempt %d was lost with its worker", a.ordinal)
	d := retry.Decide(a.rule, a.ordinal, errors.New(text), a.worker.cfg.Dice())
	if d.Outcome != retry.OutcomeRetry {
		return a.discard(retry.CodeAttemptLost, text, lost)
	}
	f := a.failure(retry.CodeAttemptLost, text, "", lost)
	a.report(nil, f, errors.New(text), false, d.Delay)
	return queue.Retry(a.claim, f, d.Delay)
}

// discard ends a step that reached no handler; count failures are added.
func (a *attempt) discard(code, text string, count int) queue.Settlement {
	f := a.failure(code, text, "", count)
	a.report(nil, f, errors.New(text), true, 0)
	return queue.Discard(a.claim, f)
}

func (a *attempt) failure(code, text, stack string, count int) queue.Failure {
	return queue.Failure{
		Attempt: max(a.ordinal, 1), Code: code, Error: text, Stack: stack, Worker: a.worker.id,
		At: a.now.Add(time.Since(a.began)), LostSeen: a.claim.Counters.LostStarted, Failures: count,
	}
}

// decide makes the settlement of what the handler returned.
func (a *attempt) decide(ctx cyclone.Context, out any, err error, stack string) queue.Settlement {
	var tx *wire.Content
	if err == nil {
		// What was wrong with the transaction is the handler's failure, even if it has
		// not looked.
		if tx, err = a.closeTx(); err == nil {
			err = a.buildRuns(tx)
		}
		if err == nil {
			return a.complete(out, tx)
		}
	}
	switch a.cause() {
	case cyclone.ErrShutdown, cyclone.ErrCancelled, cyclone.ErrLeaseLost:
		// Not the handler's failure. When the lease is gone or the step cancelled,
		// Redis refuses this and tidies up.
		return queue.Release(a.claim)
	}
	d := retry.Decide(a.rule, a.ordinal, err, a.worker.cfg.Dice())
	if d.Fault != nil {
		a.worker.cfg.Logger.Error("cyclone: backoff function failed; the default delays apply", "kind", a.kind.Name, "error", d.Fault)
	}
	if d.Code == retry.CodeError && a.timeout > 0 && context.Cause(ctx) == errTimeout {
		d.Code = retry.CodeTimeout
	}
	if d.Outcome == retry.OutcomeSnooze {
		return queue.Snooze(a.claim, a.ordinal, a.worker.id, d.Delay, a.now.Add(time.Since(a.began)))
	}
	f := a.failure(d.Code, err.Error(), stack, 1)
	discarded := d.Outcome == retry.OutcomeDiscard
	a.report(ctx, f, err, discarded, d.Delay)
	if discarded {
		return queue.Discard(a.claim, f)
	}
	return queue.Retry(a.claim, f, d.Delay)
}

// complete encodes the output, if there is one to keep. An output that cannot be
// encoded is a failure that another attempt would not mend.
func (a *attempt) complete(out any, tx *wire.Content) queue.Settlement {
	if a.keep <= 0 && a.alone() {
		return a.withExtras(queue.Complete(a.claim, a.ordinal, 0, nil, 0, a.now), tx)
	}
	codec, payload, err := a.encode(out)
	if err != nil {
		err = fmt.Errorf("output: %w", err)
		f := a.failure(retry.CodeDecode, err.Error(), "", 1)
		a.report(a, f, err, true, 0)
		return queue.Discard(a.claim, f)
	}
	return a.withExtras(queue.Complete(a.claim, a.ordinal, codec, payload, a.keep, a.now.Add(time.Since(a.began))), tx)
}

// encode encodes an output.
func (a *attempt) encode(out any) (codec uint8, payload []byte, err error) {
	if raw, ok := out.(wire.Raw); ok {
		return raw.Codec, raw.Payload, nil
	}
	return a.worker.client.Encode(out)
}

// alone tells that nobody is known to wait for the step's output: no other node, no
// parent.
func (a *attempt) alone() bool {
	return a.claim.Step.Node == 0 && a.claim.Envelope.Parent == nil
}

// report calls the user's hook; it must not take the worker down with it.
func (a *attempt) report(ctx cyclone.Context, f queue.Failure, err error, discarded bool, delay time.Duration) {
	hook := a.worker.cfg.OnFailure
	if hook == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			a.worker.cfg.Logger.Error("cyclone: OnFailure panicked", "panic", v)
		}
	}()
	kind := ""
	if a.claim.Envelope != nil {
		kind = a.claim.Envelope.Kind
	}
	hook(ctx, Failure{
		RunID: a.claim.ID, Kind: kind, Queue: a.claim.Queue, Attempt: f.Attempt, Err: err, Code: f.Code,
		Stack: f.Stack, Discarded: discarded, Delay: delay,
	})
}
