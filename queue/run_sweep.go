package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/record"
	"github.com/cyclone-queue/cyclone/luascripts"
)

const (
	// sweepTake is how many items one call takes off the sweep.
	sweepTake = 16
	// sweepHold is how long a taken item is not due for others: whoever took it may
	// have died. One that needs longer is held again with every call for it.
	sweepHold = 5 * time.Second
)

// Sweep does what is due for the runs of many steps of one partition: releases to
// many nodes, failures and cancellations that reach others, deadlines, signals to
// steps of many queues, and the outcomes of child runs. More tells that there may be
// more to do. Any number of workers may call it; work that one of them leaves
// undone is due again after a few seconds.
func (s *Store) Sweep(ctx context.Context, partition int) (more bool, err error) {
	d, err := s.client.join(ctx)
	if err != nil {
		return false, err
	}
	p := d.parts[partition]
	call := sweepCall{p: p}
	call.input.Take, call.input.HoldMS = sweepTake, p.hold()
	began := time.Now()
	reply, err := call.send(ctx)
	if err != nil {
		return false, err
	}
	var errs []error
	var done []luascripts.SweepItem
	for _, item := range reply.Taken {
		if time.Since(began) > sweepHold/2 {
			break // they are about to be due for others, and for this one
		}
		settled, err := p.sweepItem(ctx, item)
		if err != nil {
			errs = append(errs, fmt.Errorf("queue: sweep %q: %w", item.Item, err))
		}
		if settled {
			done = append(done, item)
		}
	}
	if len(done) > 0 {
		call := sweepCall{p: p}
		call.input.Done = done
		_, err := call.send(ctx)
		errs = append(errs, err)
	}
	return len(reply.Taken) > 0, errors.Join(errs...)
}

// hold is for how many ms an item is held. Two that take the same one hold it for
// different times.
func (p *partition) hold() int64 {
	return sweepHold.Milliseconds() + int64(p.client.cfg.Dice()*1000)
}

// sweepItem does one item; settled means that it has to be taken off by its taker.
func (p *partition) sweepItem(ctx context.Context, item luascripts.SweepItem) (settled bool, err error) {
	words := strings.Split(item.Item, " ")
	switch {
	case words[0] == "s" && len(words) == 3:
		return false, p.rouse(ctx, words[1], words[2])
	case words[0] == "c" && len(words) == 4:
		return p.tellParent(ctx, words[1], words[2], words[3])
	}
	id, err := cyclone.ParseRunID(item.Item)
	if err != nil {
		return true, errors.New("it is not a known kind of work")
	}
	v, err := p.loadRun(ctx, id)
	if errors.Is(err, errNoRun) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, p.settleRun(ctx, v, item.Score)
}

// rouse rouses the steps that wait for a signal of a run.
func (p *partition) rouse(ctx context.Context, run, name string) error {
	targets, err := p.signalTargets(ctx, []string{run})
	if err != nil {
		return err
	}
	_, err = p.sendSignal(ctx, &signalCall{to: targets[run], name: name, rouse: true})
	return err
}

// tellParent sends the outcome of a child run to the step that waits for it, once.
func (p *partition) tellParent(ctx context.Context, child, parent, name string) (settled bool, err error) {
	id, err := cyclone.ParseRunID(child)
	if err != nil {
		return true, err
	}
	step, ok := parseStepID(parent)
	if !ok {
		return true, fmt.Errorf("%q is no step", parent)
	}
	payload, ended, err := p.childOutcome(ctx, id)
	if err != nil {
		return false, err
	}
	if !ended {
		return true, nil // it was opened again, and will tell by itself
	}
	run := step.Run.String()
	targets, err := p.signalTargets(ctx, []string{run})
	if err != nil {
		return false, err
	}
	outcome, err := p.sendSignal(ctx, &signalCall{to: targets[run], name: name, key: "child " + child, payload: payload})
	return err == nil && outcome != luascripts.SignalFull, err
}

// childOutcome is how a run has ended, as the one that waits for it reads it.
func (p *partition) childOutcome(ctx context.Context, id cyclone.RunID) (payload []byte, ended bool, err error) {
	end, err := p.client.outcome(ctx, id)
	switch {
	case errors.Is(err, cyclone.ErrNotFound):
		return record.AppendFailure(nil, &record.Outcome{
			Code: "error", Message: "nothing is kept of the child run", Run: int64(id), State: string(cyclone.RunCancelled),
		}), true, nil
	case err != nil || !end.state.Finished():
		return nil, false, err
	case end.state == cyclone.RunCompleted && end.output != nil:
		return record.AppendValue(nil, end.output.Codec, end.output.Output), true, nil
	case end.state == cyclone.RunCompleted:
		return record.AppendValue(nil, codecNone, nil), true, nil
	}
	return end.record(id), true, nil
}

// putOnSweep puts work on the sweep, also at maxmemory, where a bare command is refused.
func (p *partition) putOnSweep(ctx context.Context, items ...luascripts.SweepPut) error {
	call := sweepCall{p: p}
	call.input.Put = items
	_, err := call.send(ctx)
	return err
}

// sweepNow does at once what an operation has left to do for a run, if there is such
// a run of many steps. What it cannot do the workers do.
func (p *partition) sweepNow(ctx context.Context, id cyclone.RunID) error {
	v, err := p.loadRun(ctx, id)
	if errors.Is(err, errNoRun) {
		return nil
	}
	if err != nil {
		return err
	}
	held := v.nowMS + p.hold()
	item := luascripts.SweepItem{Item: v.text, Score: strconv.FormatInt(held, 10)}
	if err := p.putOnSweep(ctx, luascripts.SweepPut{SweepItem: item}); err != nil {
		return err
	}
	if v, err = p.loadRun(ctx, id); err != nil {
		if errors.Is(err, errNoRun) {
			return nil
		}
		return err
	}
	return p.settleRun(ctx, v, item.Score)
}
