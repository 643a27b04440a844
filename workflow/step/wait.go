package step

import (
	"context"
	"fmt"
	"time"

	"github.com/cyclone-queue/cyclone/internal/record"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// WaitSignal returns the payload of the oldest signal of the name that was sent to
// the run and not yet taken. While there is none the task is suspended and holds no
// worker slot; a signal that was sent before the wait began counts. Each signal is
// delivered to one wait. When none comes within timeout, measured from the first time
// that the wait was reached and by Redis' clock, it returns an [*Error] that matches
// [ErrTimeout]: signal or timeout, whichever is recorded first, is what every later
// attempt sees. A timeout of 0 waits for ever; a negative one is a mistake.
//
// A payload that T cannot hold is an [*Error] with the code "decode". The other errors
// are those of [Sleep].
func WaitSignal[T any](ctx context.Context, name string, timeout time.Duration) (T, error) {
	var none T
	c, err := enter(ctx, name)
	if err != nil {
		return none, err
	}
	defer c.journal.End()
	if timeout < 0 {
		return none, misuse(name, fmt.Errorf("timeout %v: must not be negative", timeout))
	}
	if o, ok, err := c.recorded(); ok {
		if err != nil {
			return none, err
		}
		return settle[T](c, &o)
	}
	var deadline int64
	var entries []wire.Entry
	if timeout > 0 {
		deadline, entries = c.wake(c.id, min(c.journal.NowMS()+milliseconds(timeout), lastWake))
	}
	o, err := c.await(name, deadline, entries)
	if err != nil {
		return none, err
	}
	return settle[T](c, o)
}

// await returns the signal when it is there, or its timeout; else it suspends.
func (c *call) await(signal string, deadline int64, entries []wire.Entry) (*record.Outcome, error) {
	if err := c.alive(); err != nil {
		return nil, err
	}
	payload, taken, timedOut, err := c.journal.Take(c.ctx, signal, c.id, deadline)
	switch {
	case err != nil:
		return nil, misuse(c.name, err)
	case timedOut:
		return &record.Outcome{Kind: record.Timeout}, nil
	case taken:
		o, err := record.Decode(payload)
		if err != nil {
			return nil, c.undecodable(c.id, "no signal that this program knows", err)
		}
		return &o, nil
	}
	c.journal.Suspend(wire.Suspension{State: wire.SuspendedWaiting, DueMS: deadline, Signal: signal, Entries: entries})
	return nil, nil
}
