package worker

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/queue"
)

// attempt is one claim on its way through this worker, and the handler's
// [cyclone.Context].
type attempt struct {
	*arrival
	*terms // nil until it begins
	claim  *queue.Claimed
	kind   *kind // nil for an unknown one

	ordinal int
	life    life

	// Guarded by the worker's mutex.
	prev, next *attempt
	leaseUntil time.Time
	started    bool // the handler has been entered
	done       bool // settled: what comes later is dropped
	reported   bool // as stuck

	extras atomic.Pointer[extras] // nil until they are needed
}

// arrival is what the claims of one turn have in common.
type arrival struct {
	worker *Worker
	part   *partition
	now    time.Time // Redis' time of the claim
	began  time.Time // local time of the claim
}

var _ cyclone.Context = (*attempt)(nil)

// init makes a the attempt of a claim. The mutex is held.
func (a *attempt) init(from *arrival, c *queue.Claimed, leaseUntil time.Time) {
	a.arrival, a.claim, a.leaseUntil = from, c, leaseUntil
	if c.Envelope != nil {
		a.kind = a.worker.kinds[c.Envelope.Kind]
	}
}

func (a *attempt) Attempt() int         { return a.ordinal }
func (a *attempt) MaxAttempts() int     { return a.rule.MaxAttempts }
func (a *attempt) RunID() cyclone.RunID { return a.claim.ID }
func (a *attempt) Node() string         { return a.claim.Envelope.Node }
func (a *attempt) Queue() string        { return a.claim.Queue }
func (a *attempt) IdempotencyKey() string {
	return wire.IdempotencyKey(int64(a.claim.ID), a.claim.Envelope.Node)
}

func (a *attempt) Meta(key string) string {
	for _, kv := range a.claim.Envelope.Meta {
		if kv.Key == key {
			return kv.Value
		}
	}
	return ""
}

func (a *attempt) LeaseExpiry() time.Time {
	a.worker.mu.Lock()
	defer a.worker.mu.Unlock()
	return a.leaseUntil
}

func (a *attempt) Logger() *slog.Logger {
	return a.worker.cfg.Logger.With(
		"run", a.claim.ID.String(), "node", a.claim.Envelope.Node, "kind", a.claim.Envelope.Kind,
		"queue", a.claim.Queue, "attempt", a.ordinal, "worker", a.worker.id)
}

// attemptList is a list of attempts in the order of their claims. It is guarded
// by the worker's mutex.
type attemptList struct {
	first, last *attempt
	n           int
}

func (l *attemptList) add(a *attempt) {
	a.prev = l.last
	if l.last != nil {
		l.last.next = a
	} else {
		l.first = a
	}
	l.last = a
	l.n++
}

func (l *attemptList) remove(a *attempt) {
	if a.prev != nil {
		a.prev.next = a.next
	} else {
		l.first = a.next
	}
	if a.next != nil {
		a.next.prev = a.prev
	} else {
		l.last = a.prev
	}
	a.prev, a.next = nil, nil
	l.n--
}

// cancelled is the signal that a step was cancelled while it was ready or running.
func (w *Worker) cancelled(step queue.StepID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for a := w.attempts.first; a != nil; a = a.next {
		if a.claim.Step == step {
			a.doom(cyclone.ErrCancelled)
			return
		}
	}
	if len(w.parts) == 0 {
		return
	}
	if p := w.parts[int(step.Run)&(len(w.parts)-1)]; p.flight > 0 {
		if p.cancelled == nil {
			p.cancelled = make(map[queue.StepID]struct{})
		}
		p.cancelled[step] = struct{}{}
	}
}
