package queue

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// childHold is when the sweep looks at children that an operator ends, if whoever
// does it has not told their parents by then.
const childHold = 30 * time.Second

// tellingParents makes an operation that ends steps tell the steps that wait for them.
// What has to be told is on the sweep before anything ends, so that it is told even
// when this process does not come to it.
func tellingParents(end operation) operation {
	return func(ctx context.Context, steps []*stored) ([]error, error) {
		children := childrenAmong(steps)
		if len(children) == 0 {
			return end(ctx, steps)
		}
		p := steps[0].part
		held, err := p.holdChildren(ctx, children)
		if err != nil {
			return nil, err
		}
		errs, err := end(ctx, steps)
		if err != nil {
			return nil, err
		}
		held.tell(ctx)
		return errs, nil
	}
}

// childrenAmong are the steps that others wait for.
func childrenAmong(steps []*stored) (children []*stored) {
	for _, s := range steps {
		if s.env != nil && s.env.Parent != nil {
			children = append(children, s)
		}
	}
	return children
}

// heldChildren are children whose ends are on the sweep before they have come.
type heldChildren struct {
	p    *partition
	list []*stored
	due  int64 // ms, of their items
}

// holdChildren puts what has to be told of children on the sweep.
func (p *partition) holdChildren(ctx context.Context, children []*stored) (heldChildren, error) {
	held := heldChildren{p: p, list: children, due: p.client.clock.nowMS() + childHold.Milliseconds()}
	if len(children) == 0 {
		return held, nil
	}
	items := make([]luascripts.SweepPut, len(children))
	for i, s := range children {
		items[i] = luascripts.SweepPut{SweepItem: luascripts.SweepItem{Item: s.childItem(), Score: strconv.FormatInt(held.due, 10)}, New: true}
	}
	return held, p.putOnSweep(ctx, items...)
}

// tell tells what became of the children. What does not get through now is the
// sweep's; so is what was put there anew meanwhile, by the end of a child above all.
func (h *heldChildren) tell(ctx context.Context) {
	call := sweepCall{p: h.p}
	for _, s := range h.list {
		if settled, err := h.p.tellParent(ctx, s.text, s.env.Parent.Step, s.env.Parent.Signal); err == nil && settled {
			call.input.Done = append(call.input.Done, luascripts.SweepItem{Item: s.childItem(), Score: strconv.FormatInt(h.due, 10)})
		}
	}
	if len(call.input.Done) > 0 {
		_, _ = call.send(ctx)
	}
}

// childItem is the work of telling whoever waits for the child.
func (s *stored) childItem() string {
	return "c " + s.text + " " + s.env.Parent.text()
}

// AskChild has the outcome of a child run told to the claimed step again, as the signal
// of the given name, if the child has ended: its end may have come when nothing could
// be told, because the step's own run had ended before somebody opened it again. It is
// safe to repeat: an outcome is told once. It works at maxmemory; what it asks for comes
// when there is room.
func (s *Store) AskChild(ctx context.Context, c *Claimed, child cyclone.RunID, signal string) error {
	d, err := s.client.join(ctx)
	if err != nil {
		return err
	}
	p := d.parts[c.partition]
	_, ended, err := p.childOutcome(ctx, child)
	if err != nil || !ended {
		return err // else the child will tell by itself
	}
	item := strings.Join([]string{"c", child.String(), c.id(), signal}, " ")
	return p.putOnSweep(ctx, luascripts.SweepPut{
		SweepItem: luascripts.SweepItem{Item: item, Score: strconv.FormatInt(p.client.clock.nowMS(), 10)},
	})
}

// ChildFailure is how a child run has failed or was cancelled, as a recorded step. It is
// nil for any other, and for one of which nothing is kept.
func (s *Store) ChildFailure(ctx context.Context, child cyclone.RunID) ([]byte, error) {
	end, err := s.client.outcome(ctx, child)
	switch {
	case errors.Is(err, cyclone.ErrNotFound):
		return nil, nil
	case err != nil || end.state != cyclone.RunFailed && end.state != cyclone.RunCancelled:
		return nil, err
	}
	return end.record(child), nil
}
