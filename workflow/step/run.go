package step

import (
	"context"
	"errors"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/record"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// Run starts a run of the step or task def, a child, and returns its output. The child
// is started once however often the handler runs, and lives on the partition of its
// parent. While it runs the task is suspended and holds no worker slot. A child run of
// many steps starts [github.com/cyclone-queue/cyclone/workflow.RunChildFor].
//
// A child that fails or is cancelled is an [*Error] with its code, in which errors.As
// finds the [*cyclone.RunError]. The other way round nothing is passed on: a child goes
// on when its parent fails or is cancelled, and a parent that is opened again finds it.
// When a task that has failed for good is retried, a child of which Run had returned the
// failure, or that has failed or was cancelled by the time Run is reached again, is
// started anew. A bad option, or an input that cannot be encoded, fails
// the run. The other errors are those of [Sleep].
func Run[In, Out any](ctx context.Context, name string, def cyclone.Returning[In, Out], in In, opts ...cyclone.EnqueueOption) (Out, error) {
	return child[Out](ctx, name, func(c *call, id string) (int64, bool, error) {
		if def == nil {
			return 0, false, errNilDefinition
		}
		spec := def.With(in, opts...).Spec()
		if spec.Err != nil {
			return 0, false, spec.Err
		}
		return c.journal.Start(ctx, id, spec)
	})
}

var errNilDefinition = errors.New("the definition is nil")

// RunSpec is [Run] for a run of many steps. It is for package workflow, whose RunChild
// and RunChildFor are what programs call.
func RunSpec[Out any](ctx context.Context, name string, spec *wire.RunSpec) (Out, error) {
	return child[Out](ctx, name, func(c *call, id string) (int64, bool, error) {
		return c.journal.StartRun(ctx, id, spec)
	})
}

// starter starts the child run of an id, or says that there is one.
type starter func(c *call, id string) (child int64, existed bool, err error)

// child waits for the child run that start starts. What start returns is a mistake.
func child[Out any](ctx context.Context, name string, start starter) (Out, error) {
	var none Out
	c, err := enter(ctx, name)
	if err != nil {
		return none, err
	}
	defer c.journal.End()
	if o, ok, err := c.recorded(); ok {
		if err != nil {
			return none, err
		}
		return settle[Out](c, &o)
	}
	if err := c.alive(); err != nil {
		return none, err
	}
	id, entries, err := c.begin(start)
	if err != nil {
		return none, misuse(name, err)
	}
	o, err := c.await(wire.ChildSignal(id), 0, entries)
	if err != nil {
		return none, err
	}
	return settle[Out](c, o)
}

// begin starts the child to wait for, or finds it, and returns its id and what to note
// while the task waits.
//
// Whoever opens a failed task again wants it to go on: a child of an earlier generation
// that has failed since is taken for told then, so that another one is started. One that
// this generation has waited for is the task's again, and its failure is told.
func (c *call) begin(start starter) (id string, entries []wire.Entry, err error) {
	for {
		id = c.childID()
		child, existed, err := start(c, id)
		if err != nil || !existed {
			return id, nil, err
		}
		if id == c.id || c.waitedFor() {
			return id, nil, c.journal.Ask(c.ctx, id, child)
		}
		failure, err := c.journal.Failure(c.ctx, child)
		if err != nil {
			return id, nil, err
		}
		if failure == nil {
			entries = []wire.Entry{{Kind: wire.EntryChild, ID: c.id, Value: record.AppendTime(nil, child)}}
			return id, entries, c.journal.Ask(c.ctx, id, child)
		}
		if err := c.journal.Record(c.ctx, wire.StepID(c.name, c.occurrence, c.journal.Generation()-1), failure); err != nil {
			return id, nil, err
		}
	}
}

// waitedFor tells whether this generation of the task has waited for the child.
func (c *call) waitedFor() bool {
	_, noted := c.journal.Entry(wire.EntryChild, c.id)
	return noted
}

// childID is the id of the child to wait for: of the one whose end is not recorded yet,
// in whichever generation it was started. After each recorded end there is a new one.
func (c *call) childID() string {
	for generation := c.journal.Generation(); generation > 0; generation-- {
		if _, ended := c.journal.Entry(wire.EntryRecord, wire.StepID(c.name, c.occurrence, generation-1)); ended {
			return wire.StepID(c.name, c.occurrence, generation)
		}
	}
	return wire.StepID(c.name, c.occurrence, 0)
}
