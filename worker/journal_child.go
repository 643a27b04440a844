package worker

import (
	"context"
	"errors"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/record"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/queue"
)

// Start implements [wire.Journal].
func (j *journal) Start(_ context.Context, id string, spec *wire.Spec) (child int64, existed bool, err error) {
	a := j.attempt
	return j.start(id, func() (*queue.ChildRun, error) {
		return a.worker.store.PrepareChild(a.claim, wire.ChildSignal(id), spec)
	})
}

// StartRun implements [wire.Journal].
func (j *journal) StartRun(_ context.Context, id string, spec *wire.RunSpec) (child int64, existed bool, err error) {
	a := j.attempt
	return j.start(id, func() (*queue.ChildRun, error) {
		return a.worker.store.PrepareChildRun(a.claim, wire.ChildSignal(id), spec)
	})
}

// start starts the child run that prepare makes, unless that is known to have been done.
func (j *journal) start(id string, prepare func() (*queue.ChildRun, error)) (run int64, existed bool, err error) {
	a := j.attempt
	if b, ok := j.Entry(wire.EntryChild, id); ok {
		if child, err := record.DecodeTime(b); err == nil {
			return child, true, nil
		}
	}
	child, err := prepare()
	if err != nil {
		return 0, false, err
	}
	const what = "start child run"
	var started cyclone.Receipt
	var refused error
	err = a.persist(what, func(ctx context.Context) (err error) {
		started, err = a.worker.store.StartChild(ctx, child)
		if err != nil && !queue.Passing(err) {
			refused, err = err, nil
		}
		return err
	})
	if err != nil {
		j.lose(err)
	}
	if errors.Is(refused, queue.ErrFull) {
		a.worker.trouble(what, refused)
		j.postpone()
	}
	if refused != nil {
		return 0, false, refused
	}
	run = int64(started.ID)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.unsaved = append(j.unsaved, wire.Entry{Kind: wire.EntryChild, ID: id, Value: record.AppendTime(nil, run)})
	return run, started.Existing, nil // by an attempt that did not come to saying so
}

// A task whose child Redis has no room for comes back after a while, uncounted, so that
// its slot is free for what makes room. The spread keeps such tasks from coming back all
// at once.
const (
	fullDelay  = 5 * time.Second
	fullSpread = 5 * time.Second
)

// postpone suspends the attempt for a while.
func (j *journal) postpone() {
	wait := fullDelay + j.attempt.worker.spread(fullSpread)
	j.Suspend(wire.Suspension{State: wire.SuspendedSnoozed, DueMS: j.NowMS() + wait.Milliseconds()})
}

// Ask implements [wire.Journal].
func (j *journal) Ask(_ context.Context, id string, child int64) error {
	a := j.attempt
	err := a.persist("ask after child run", func(ctx context.Context) error {
		return a.worker.store.AskChild(ctx, a.claim, cyclone.RunID(child), wire.ChildSignal(id))
	})
	if err != nil {
		j.lose(err)
	}
	return err
}

// Failure implements [wire.Journal].
func (j *journal) Failure(_ context.Context, child int64) (failure []byte, err error) {
	a := j.attempt
	err = a.persist("look at child run", func(ctx context.Context) (err error) {
		failure, err = a.worker.store.ChildFailure(ctx, cyclone.RunID(child))
		return err
	})
	if err != nil {
		j.lose(err)
	}
	return failure, err
}
