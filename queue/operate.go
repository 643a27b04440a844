package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// ErrFinished is returned when a step that has ended is to be cancelled or to get
// another time. Nothing has changed.
var ErrFinished = errors.New("queue: step has ended")

// The outcomes that scripts name beside states.
const (
	outcomeRevived  = "revived"
	outcomeConflict = "conflict="
)

// operation changes steps of one queue on one partition, at most operateBatch, and
// returns what came of each: nil when it was changed.
type operation func(ctx context.Context, steps []*stored) ([]error, error)

// operateBatch is how many steps one script changes.
const operateBatch = 100

// detailOf describes the steps for the script's events.
func detailOf(steps []*stored) []byte {
	var d detail
	for _, s := range steps {
		d.add(s.env.Kind, s.env.Node, s.env.Failures+1, "", "")
	}
	return d.bytes()
}

func idsOf(steps []*stored) []string {
	ids := make([]string, len(steps))
	for i, s := range steps {
		ids[i] = s.text
	}
	return ids
}

// cancel is the operation behind [Client.Cancel].
func (c *Client) cancel(ctx context.Context, steps []*stored) ([]error, error) {
	return tellingParents(c.cancelSteps)(ctx, steps)
}

func (c *Client) cancelSteps(ctx context.Context, steps []*stored) ([]error, error) {
	p, queue := steps[0].part, steps[0].queue
	k, q := p.keys, p.keys.queue(queue)
	reply, err := p.operate(ctx, luascripts.Cancel, func(call *luascripts.Call) {
		luascripts.CancelCall(call, &luascripts.CancelKeys{
			Steps: k.steps(), Sess: k.sess(), Ghosts: k.ghosts(), Uniq: k.uniq(), UniqOf: k.uniqof(), Stats: k.stats(), Subs: k.subs(),
			Scheduled: q.scheduled, Retrying: q.retrying, Snoozed: q.snoozed, Waiting: q.waiting,
			Completed: q.completed, Discarded: q.discarded, Cancelled: q.cancelled,
		}, luascripts.Session{}, p.channels(), queue, detailOf(steps), idsOf(steps))
	})
	return c.outcomes(reply, err, steps, cyclone.EventCancelled, cyclone.StepCancelled, func(outcome string) error {
		switch cyclone.StepState(outcome) {
		case luascripts.Absent:
			return cyclone.ErrNotFound
		case cyclone.StepCompleted, cyclone.StepExhausted, cyclone.StepCancelled:
			return &endedError{cyclone.StepState(outcome)}
		}
		return nil
	})
}

// endedError is ErrFinished with the state that was found.
type endedError struct{ state cyclone.StepState }

func (e *endedError) Error() string   { return ErrFinished.Error() + ": it is " + string(e.state) }
func (e *endedError) Is(t error) bool { return t == ErrFinished }

// delete is the operation behind [Client.Delete].
func (c *Client) delete(ctx context.Context, steps []*stored) ([]error, error) {
	return tellingParents(c.deleteSteps)(ctx, steps)
}

func (c *Client) deleteSteps(ctx context.Context, steps []*stored) ([]error, error) {
	p, queue := steps[0].part, steps[0].queue
	k, q := p.keys, p.keys.queue(queue)
	reply, err := p.operate(ctx, luascripts.Delete, func(call *luascripts.Call) {
		luascripts.DeleteCall(call, &luascripts.DeleteKeys{
			Steps: k.steps(), Sess: k.sess(), Ghosts: k.ghosts(), Tries: k.tries(), Uniq: k.uniq(), UniqOf: k.uniqof(),
			Results: k.results(), History: k.history(), Stats: k.stats(), Subs: k.subs(), Sweep: k.sweep(),
			Scheduled: q.scheduled, Retrying: q.retrying, Snoozed: q.snoozed, Waiting: q.waiting,
			Completed: q.completed, Discarded: q.discarded, Cancelled: q.cancelled,
		}, luascripts.Session{}, p.channels(), queue, detailOf(steps), idsOf(steps))
	})
	return c.outcomes(reply, err, steps, cyclone.EventDeleted, "", func(outcome string) error {
		if outcome == luascripts.Absent {
			return cyclone.ErrNotFound
		}
		return nil
	})
}

// revive is the operation behind [Client.Retry]. The steps are of one lane too.
func (c *Client) revive(reopen *wire.Reopen) operation {
	return func(ctx context.Context, steps []*stored) ([]error, error) {
		p, queue := steps[0].part, steps[0].queue
		k, q := p.keys, p.keys.queue(queue)
		list := make([]luascripts.ReviveStep, len(steps))
		for i, s := range steps {
			list[i] = luascripts.ReviveStep{
				ID: s.text, Limit: s.env.Failures + reopen.Attempts(), Digest: s.env.Digest, Note: retryNote(reopen),
			}
		}
		reply, err := p.operate(ctx, luascripts.Revive, func(call *luascripts.Call) {
			luascripts.ReviveCall(call, &luascripts.ReviveKeys{
				Steps: k.steps(), Sess: k.sess(), Ghosts: k.ghosts(), Tries: k.tries(), Uniq: k.uniq(), UniqOf: k.uniqof(),
				UniqX: k.uniqx(), History: k.history(), Stats: k.stats(), Subs: k.subs(), Paused: k.paused(), Waiters: q.waiters,
				Ready: q.ready[steps[0].env.Priority], Discarded: q.discarded, Cancelled: q.cancelled,
			}, luascripts.Session{}, p.channels(), p.number, queue, detailOf(steps), list)
		})
		return c.outcomes(reply, err, steps, cyclone.EventRetried, cyclone.StepReady, reviveError)
	}
}

func reviveError(outcome string) error {
	if holder, ok := strings.CutPrefix(outcome, outcomeConflict); ok {
		id, _ := strconv.ParseInt(holder, 10, 64)
		return &cyclone.DuplicateError{Holder: cyclone.RunID(id)}
	}
	switch outcome {
	case outcomeRevived:
		return nil
	case luascripts.Absent:
		return cyclone.ErrNotFound
	}
	return cyclone.ErrNotDiscarded
}

// outcomes reads what a script answered for each step and tells the process's own
// listeners of those that were changed.
func (c *Client) outcomes(reply []any, err error, steps []*stored, event cyclone.EventType, state cyclone.StepState, read func(string) error) ([]error, error) {
	if err != nil {
		return nil, err
	}
	answers := luascripts.Outcomes(reply)
	if len(answers) != len(steps) {
		return nil, fmt.Errorf("%d answers for %d steps", len(answers), len(steps))
	}
	now := timeOf(luascripts.Now(reply))
	errs := make([]error, len(steps))
	for i, s := range steps {
		if errs[i] = read(answers[i]); errs[i] == nil {
			c.emit(s.event(event, state, now))
		}
	}
	return errs, nil
}

func (s *stored) event(event cyclone.EventType, state cyclone.StepState, at time.Time) cyclone.StepEvent {
	return cyclone.StepEvent{
		Type: event, RunID: s.id, Node: s.env.Node, Kind: s.env.Kind, Queue: s.queue, State: state, Attempt: s.env.Failures + 1, At: at,
	}
}

// one applies an operation to a single step.
func one(ctx context.Context, s *stored, op operation) error {
	errs, err := op(ctx, []*stored{s})
	if err != nil {
		return err
	}
	return errs[0]
}
