package step

import (
	"context"
	"fmt"

	"github.com/cyclone-queue/cyclone/internal/record"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/retry"
)

// call is one use of a recorded step in one attempt.
type call struct {
	ctx        context.Context
	journal    wire.Journal
	name       string
	occurrence int
	id         string // of this generation
}

// nested stands for the journal inside the function of a recorded step.
type nested struct{}

// enter begins a step: the caller defers journal.End. The error is the program's
// mistake. It does not return when the attempt is suspended.
func enter(ctx context.Context, name string) (*call, error) {
	if err := wire.CheckName("name", name); err != nil {
		return nil, misuse(name, err)
	}
	var journal wire.Journal
	switch found := ctx.Value(wire.JournalKey{}).(type) {
	case wire.Journal:
		journal = found
	case nested:
		return nil, misuse(name, ErrNested)
	default:
		return nil, misuse(name, ErrNoTask)
	}
	n, err := journal.Begin(name)
	if err != nil {
		return nil, misuse(name, err)
	}
	return &call{ctx: ctx, journal: journal, name: name, occurrence: n, id: wire.StepID(name, n, journal.Generation())}, nil
}

// misuse is a mistake that another attempt would not mend.
func misuse(name string, err error) error {
	return retry.Permanent(fmt.Errorf("step %.80q: %w", name, err))
}

// alive returns an error when there is no point in starting anything: ctx is done.
// When the attempt was ended from outside it does not return.
func (c *call) alive() error {
	if c.ctx.Err() == nil {
		return nil
	}
	c.journal.Yield()
	return fmt.Errorf("step %s: not started: %w", c.name, context.Cause(c.ctx))
}

// recorded returns the step's recorded end. A value counts in every generation of the
// task, a failure only in the one in which it was recorded.
func (c *call) recorded() (o record.Outcome, ok bool, err error) {
	for generation := c.journal.Generation(); generation >= 0; generation-- {
		id := wire.StepID(c.name, c.occurrence, generation)
		b, found := c.journal.Entry(wire.EntryRecord, id)
		if !found {
			continue
		}
		if o, err = record.Decode(b); err != nil {
			return o, true, c.undecodable(id, "no record that this program knows", err)
		}
		if o.Kind == record.Value || id == c.id {
			return o, true, nil
		}
	}
	return o, false, nil
}

// settle turns a recorded end into what the step returns.
func settle[T any](c *call, o *record.Outcome) (out T, err error) {
	var none T
	switch o.Kind {
	case record.Value:
		if err := c.journal.Decode(o.Codec, o.Payload, &out); err != nil {
			return none, c.undecodable(c.id, fmt.Sprintf("not a %T", none), err)
		}
		return out, nil
	case record.Timeout:
		return none, &Error{Step: c.name, Occurrence: c.occurrence, Code: retry.CodeTimeout, Err: ErrTimeout}
	}
	return none, c.errorOf(o)
}

// undecodable is what a program sees that was changed so much that it cannot read
// what an earlier one has recorded. Nothing is recorded for it: the earlier program
// still can.
func (c *call) undecodable(id, what string, err error) error {
	return &Error{Step: c.name, Occurrence: c.occurrence, Code: retry.CodeDecode, Err: fmt.Errorf(
		"record %s is %s: %w; give the step a new name to run it again, or make its type read what is stored, then retry the run", id, what, err)}
}

// save records the step's end. It returns when that is in Redis.
func (c *call) save(value []byte) error {
	if err := c.journal.Record(c.ctx, c.id, value); err != nil {
		return misuse(c.name, err)
	}
	return nil
}

// fail records the failure and returns it as an [Error].
func (c *call) fail(o *record.Outcome) error {
	if err := c.save(record.AppendFailure(nil, o)); err != nil {
		return err
	}
	return c.errorOf(o)
}
