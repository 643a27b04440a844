package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/dag"
	"github.com/cyclone-queue/cyclone/internal/record"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/luascripts"
)

var (
	// ErrNotWaiting is returned when a step that does not wait for a time is to get
	// another one: it is ready or running. Nothing has changed.
	ErrNotWaiting = errors.New("queue: step does not wait for a time")
	// ErrAwaitsSignal is returned when a step is to get another time that waits for a
	// signal or a child run, and for no time. Nothing has changed: send it the signal.
	ErrAwaitsSignal = errors.New("queue: step waits for a signal or a child run, and for no time")
	// ErrBlocked is returned when a node of a run is to get another time while others
	// that it depends on have not ended. The error names them. Nothing has changed.
	ErrBlocked = errors.New("queue: node is blocked")
	// ErrManySteps is returned when a run of many steps is to get another time: it has
	// none of its own, but its nodes have. Nothing has changed.
	ErrManySteps = errors.New("queue: it is a run of many steps, and has no time of its own: name one of its nodes")
)

// Reschedule makes a step that waits for its time wait until at instead, in whole
// milliseconds, rounded up. That is one that is scheduled, retrying or snoozed, and a
// task that waits: its sleep then ends at that time, its wait for a signal times out at
// it, its recorded step is tried again at it. Where it waits for several times, that is
// about the one which comes first.
//
// It returns [cyclone.ErrNotFound] when nothing is kept of the run, [ErrNotWaiting]
// when it is ready or running, [ErrAwaitsSignal] when it waits without a time, and
// [ErrFinished] when it has ended. A run of many steps is refused with [ErrManySteps]:
// see [Client.RescheduleNode].
func (c *Client) Reschedule(ctx context.Context, id cyclone.RunID, at time.Time) error {
	due, err := dueText(at)
	if err == nil {
		err = c.moveDue(ctx, id, "", due)
	}
	return named(err, "reschedule", id, "")
}

// RescheduleNode is [Client.Reschedule] for one node of a run. It returns
// [cyclone.ErrNotFound] also when the run has no such node, and [ErrBlocked] when the
// node waits for others.
func (c *Client) RescheduleNode(ctx context.Context, id cyclone.RunID, node string, at time.Time) error {
	due, err := dueText(at)
	if err == nil {
		err = c.moveDue(ctx, id, node, due)
	}
	return named(err, "reschedule", id, node)
}

// RunNow makes a step that waits for its time ready, as though that time had come: a
// sleep is over, a wait for a signal has timed out unless the signal is there by now. It
// does nothing to one that is ready or running, and returns the errors of
// [Client.Reschedule] otherwise.
func (c *Client) RunNow(ctx context.Context, id cyclone.RunID) error {
	return named(unlessLive(c.moveDue(ctx, id, "", atOnce)), "run now", id, "")
}

// RunNodeNow is [Client.RunNow] for one node of a run. It returns the errors of
// [Client.RescheduleNode].
func (c *Client) RunNodeNow(ctx context.Context, id cyclone.RunID, node string) error {
	return named(unlessLive(c.moveDue(ctx, id, node, atOnce)), "run now", id, node)
}

// atOnce is a due time that has come.
const atOnce = ""

// dueText is a time as scripts get it.
func dueText(at time.Time) (string, error) {
	if at.IsZero() || !at.Before(wire.MaxStart) {
		return "", fmt.Errorf("time %v: must be before the year 2150 and not zero", at)
	}
	return strconv.FormatInt(max(at.Add(time.Millisecond-1).UnixMilli(), 0), 10), nil
}

// unlessLive drops the error of a step that is ready or running.
func unlessLive(err error) error {
	if errors.Is(err, ErrNotWaiting) {
		return nil
	}
	return err
}

// named says what an error is about.
func named(err error, what string, id cyclone.RunID, node string) error {
	switch {
	case err == nil:
		return nil
	case node == "":
		return fmt.Errorf("queue: %s: run %v: %w", what, id, err)
	}
	return fmt.Errorf("queue: %s: %s of run %v: %w", what, node, id, err)
}

// moveDue gives a waiting step another due time in ms: the one step of a run, or the
// node that is named.
func (c *Client) moveDue(ctx context.Context, id cyclone.RunID, node, due string) error {
	for range operateTries {
		var s *stored
		var v *runView
		var err error
		if node == "" {
			s, err = c.look(ctx, id)
		} else {
			s, v, err = c.lookNode(ctx, id, node)
		}
		if err != nil {
			return err
		}
		if moved, err := c.reschedule(ctx, s, v, due); !moved || err != nil {
			return err
		}
	}
	return errBusyRun
}

// reschedule makes the call. It was in vain when the step has moved since it was seen.
func (c *Client) reschedule(ctx context.Context, s *stored, v *runView, due string) (moved bool, err error) {
	if err := waitsForTime(s, v); err != nil {
		return false, err
	}
	times, err := s.timesAt(ctx, due)
	if err != nil {
		return false, err
	}
	p, lane := s.part, int(s.env.Priority)
	k, q := p.keys, p.keys.queue(s.queue)
	reply, err := p.operate(ctx, luascripts.Reschedule, func(call *luascripts.Call) {
		luascripts.RescheduleCall(call, &luascripts.RescheduleKeys{
			Steps: k.steps(), Sess: k.sess(), Subs: k.subs(), Paused: k.paused(), Waiters: q.waiters, Ready: q.ready[lane],
			Scheduled: q.scheduled, Retrying: q.retrying, Snoozed: q.snoozed, Waiting: q.waiting, Journal: k.journal(s.text),
		}, luascripts.Session{}, p.channels(), p.number, s.queue, detailOf([]*stored{s}), &luascripts.RescheduleStep{
			ID: s.text, Lane: lane, Due: due, Seen: strconv.FormatInt(s.score/scoreUnit, 10), Times: times,
		})
	})
	if err != nil {
		return false, err
	}
	switch found := luascripts.RescheduleReply(reply); found {
	case luascripts.Absent:
		return false, cyclone.ErrNotFound
	case luascripts.Live, luascripts.Moved:
		return true, nil
	default:
		c.emit(rescheduled(s, cyclone.StepState(found), due, timeOf(luascripts.Now(reply))))
		return false, nil
	}
}

// waitsForTime tells why a step has no time that could be another.
func waitsForTime(s *stored, v *runView) error {
	switch {
	case s.many:
		return ErrManySteps
	case s.state.Finished():
		return &endedError{s.state}
	case s.state == cyclone.StepBlocked:
		return v.blockedBy(s.node())
	case s.state == cyclone.StepReady, s.state == cyclone.StepRunning:
		return ErrNotWaiting
	case s.state == cyclone.StepWaiting && !timeOf(s.score/scoreUnit).Before(wire.MaxStart):
		return ErrAwaitsSignal
	}
	return nil
}

// blockedNames is how many nodes the error of a blocked one names.
const blockedNames = 5

// blockedBy is the error of a blocked node.
func (v *runView) blockedBy(i int) error {
	var names []string
	more := 0
	for _, d := range v.graph.Nodes[i].Deps {
		switch {
		case v.state.Nodes[d].Ended != dag.MarkNone:
		case len(names) == blockedNames:
			more++
		default:
			names = append(names, v.graph.Nodes[d].Name)
		}
	}
	text := strings.Join(names, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if text == "" { // the sweep is about to release it
		return ErrNotWaiting
	}
	return fmt.Errorf("%w: it waits for %s", ErrBlocked, text)
}

// timesAt returns the entries of the step's journal that say what it waits for, as they
// are to be then.
func (s *stored) timesAt(ctx context.Context, due string) ([]luascripts.RescheduleTime, error) {
	to := int64(1) // any time that has passed
	if due != atOnce {
		to, _ = strconv.ParseInt(due, 10, 64)
	}
	fields := s.part.client.rdb.HScan(ctx, s.part.keys.journal(s.text), 0, timeEntries, scanCount).Iterator()
	var times []luascripts.RescheduleTime
	for fields.Next(ctx) {
		field := fields.Val()
		if !fields.Next(ctx) {
			break
		}
		if value := fields.Val(); len(times) < operateBatch {
			if moved, ok := timeAt(field, value, s.score/scoreUnit, to); ok {
				times = append(times, luascripts.RescheduleTime{Field: field, Seen: value, To: moved})
			}
		}
	}
	return times, fields.Err()
}

// timeEntries matches the journal's entries that hold a time.
var timeEntries = "[" + string([]byte{wire.EntryWake, wire.EntryTries}) + "]:*"

// timeAt is an entry that stands for the one time, with the other instead.
func timeAt(field, value string, was, to int64) (moved string, ok bool) {
	if field[0] == wire.EntryWake {
		at, err := record.DecodeTime([]byte(value))
		return string(record.AppendTime(nil, to)), err == nil && at == was
	}
	tries, err := record.DecodeTries([]byte(value))
	ok = err == nil && tries.DueMS == was
	tries.DueMS = to
	return string(tries.Append(nil)), ok
}

func rescheduled(s *stored, found cyclone.StepState, due string, at time.Time) cyclone.StepEvent {
	if due == atOnce {
		return s.event(cyclone.EventPromoted, cyclone.StepReady, at)
	}
	e := s.event(cyclone.EventRescheduled, found, at)
	ms, _ := strconv.ParseInt(due, 10, 64)
	e.DueAt = timeOf(ms)
	return e
}
