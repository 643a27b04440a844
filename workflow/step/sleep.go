package step

import (
	"context"
	"time"

	"github.com/cyclone-queue/cyclone/internal/record"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// Sleep suspends the task for d, by Redis' clock, and returns nil when that has
// passed. It holds no worker slot. When the handler runs again the time that is left
// counts, not d anew. d of zero or less is no sleep.
//
// Its errors are those of [Do] for a mistake of the program, and for a ctx that is
// done.
func Sleep(ctx context.Context, name string, d time.Duration) error {
	return sleep(ctx, name, func(now int64) int64 { return now + milliseconds(max(d, 0)) })
}

// SleepUntil is [Sleep] until t; a t that has passed is no sleep.
func SleepUntil(ctx context.Context, name string, t time.Time) error {
	return sleep(ctx, name, func(int64) int64 { return t.Add(time.Millisecond - 1).UnixMilli() })
}

// lastWake is the latest time at which anything can be due.
var lastWake = wire.MaxStart.UnixMilli() - 1

func sleep(ctx context.Context, name string, until func(now int64) int64) error {
	c, err := enter(ctx, name)
	if err != nil {
		return err
	}
	defer c.journal.End()
	id := wire.StepID(c.name, c.occurrence, 0) // a sleep is over once and for all
	due, entries := c.wake(id, min(until(c.journal.NowMS()), lastWake))
	if due <= c.journal.NowMS() {
		return nil
	}
	if err := c.alive(); err != nil {
		return err
	}
	c.journal.Suspend(wire.Suspension{State: wire.SuspendedWaiting, DueMS: due, Entries: entries})
	return nil
}

// wake returns when the step's time is over: as it is stored, or else as given, with
// the entry that stores it.
func (c *call) wake(id string, given int64) (due int64, entries []wire.Entry) {
	if b, ok := c.journal.Entry(wire.EntryWake, id); ok {
		if due, err := record.DecodeTime(b); err == nil {
			return due, nil
		}
	}
	return given, []wire.Entry{{Kind: wire.EntryWake, ID: id, Value: record.AppendTime(nil, given)}}
}
