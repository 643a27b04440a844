package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/dag"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// operateTries bounds how often an operation on a run is tried that others change
// meanwhile.
const operateTries = 20

// errBusyRun is returned when a run changes all the time.
var errBusyRun = errors.New("queue: the run changes all the time")

// reopenNodes opens nodes of a run again, all that were discarded or cancelled by an
// operator when which is nil. The result says by node what came of it; it is empty
// when there was none to open.
func (c *Client) reopenNodes(ctx context.Context, p *partition, id cyclone.RunID, which []int, reopen *wire.Reopen) (map[int]error, error) {
	outcome, sent := make(map[int]error), make(map[int]bool)
	for range operateTries {
		v, err := p.loadRun(ctx, id)
		if errors.Is(err, errNoRun) {
			return nil, cyclone.ErrNotFound
		}
		if err != nil {
			return nil, err
		}
		if !v.state.Run.Ended() && v.state.Run != dag.RunRunning { // first it comes to its end
			if err := p.sweepNow(ctx, id); err != nil {
				return nil, err
			}
			continue
		}
		todo, err := v.toReopen(ctx, which, sent, outcome)
		if err != nil {
			return nil, err
		}
		if len(todo) == 0 {
			return outcome, p.sweepNow(ctx, id)
		}
		for _, s := range todo {
			sent[s.node()] = true
		}
		if err := c.reopenSome(ctx, v, todo, reopen, outcome); err != nil {
			return nil, err
		}
	}
	return nil, errBusyRun
}

// toReopen returns some of the nodes that are still to be opened, and notes about
// which of the wanted ones there is nothing to do. Those that were sent before, in a
// call of which only a part was done, may be open by now.
func (v *runView) toReopen(ctx context.Context, which []int, sent map[int]bool, outcome map[int]error) ([]*stored, error) {
	wanted := which
	if wanted == nil {
		for i := range v.state.Nodes {
			if v.state.Nodes[i].Ended.Failed() {
				wanted = append(wanted, i)
			}
		}
	}
	var asked []int
	for _, i := range wanted {
		if _, known := outcome[i]; known {
			continue
		}
		if !v.state.Nodes[i].Ended.Failed() {
			if outcome[i] = nil; !sent[i] {
				outcome[i] = notReopened(&v.state.Nodes[i])
			}
			continue
		}
		if asked = append(asked, i); len(asked) == nodeBatch {
			break
		}
	}
	steps, err := v.nodes(ctx, asked, false)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(steps, func(s *stored) bool {
		if !s.deleted {
			return false
		}
		outcome[s.env.Part.Index] = fmt.Errorf("%w: it was deleted", cyclone.ErrNotFound)
		return true
	}), nil
}

func notReopened(n *dag.NodeState) error {
	if n.Ended.Dropped() {
		return fmt.Errorf("%w: it was cancelled because of another node: retry that one", cyclone.ErrNotDiscarded)
	}
	return cyclone.ErrNotDiscarded
}

// reopenSome makes one call that opens some nodes, and with them the run if it has
// ended.
func (c *Client) reopenSome(ctx context.Context, v *runView, steps []*stored, reopen *wire.Reopen, outcome map[int]error) error {
	call := sweepCall{p: v.p}
	var ops []luascripts.SweepOp
	if v.state.Run.Ended() {
		ops = append(ops, call.run(v, luascripts.SweepAgain, string(v.state.Run), v.env.Digest))
	}
	ops = append(ops, call.waitAgain(v, steps)...)
	for _, s := range steps {
		ops = append(ops, call.reopened(v, s, reopen))
	}
	ops = append(ops, call.run(v, luascripts.SweepPlan, "", ""))
	call.add(v, "", ops)
	reply, err := call.send(ctx)
	if err != nil {
		return err
	}
	switch first := reply.Outcomes[0]; first.Outcome {
	case luascripts.SweepConflict:
		holder, _ := strconv.ParseInt(first.Holder, 10, 64)
		return &cyclone.DuplicateError{Holder: cyclone.RunID(holder)}
	case luascripts.SweepDone:
		for _, s := range steps {
			outcome[s.env.Part.Index] = nil
		}
	}
	return nil // what is stale is looked at again
}

// waitAgain makes blocked nodes wait for those that are about to be opened, in the same
// call: another dependency that ends before the sweep comes would release them too
// early. Of very many the last ones have to wait for the sweep.
func (s *sweepCall) waitAgain(v *runView, reopened []*stored) (ops []luascripts.SweepOp) {
	more := make(map[int]int)
	children := v.graph.Children()
	for _, step := range reopened {
		for _, child := range children[step.node()] {
			if v.state.Nodes[child].Blocked {
				more[child]++
			}
		}
	}
	waiting := slices.Sorted(maps.Keys(more))
	for _, child := range waiting[:min(len(waiting), planOps)] {
		was := v.state.Nodes[child].Left
		op := s.node(v, luascripts.SweepCount, child)
		op.Was, op.To = strconv.Itoa(was), strconv.Itoa(was+more[child])
		ops = append(ops, op)
	}
	return ops
}

// reopened opens one node. One that was blocked when it was cancelled is blocked
// again, and the sweep finds out by how many.
func (s *sweepCall) reopened(v *runView, step *stored, reopen *wire.Reopen) luascripts.SweepOp {
	i := step.node()
	n := &v.state.Nodes[i]
	if n.Ended == dag.MarkCancelledBlocked {
		op := s.node(v, luascripts.SweepRevive, i)
		op.Was, op.To = n.Ended.Text(0), strconv.Itoa(len(v.graph.Nodes[i].Deps))
		return op
	}
	op := s.nodeAt(v, luascripts.SweepReopen, i, step.env.Failures+1)
	op.Was, op.Limit, op.Note = n.Ended.Text(0), step.env.Failures+reopen.Attempts(), retryNote(reopen)
	return op
}

// node is the index of a node of a run of many steps, -1 for the one step of a run.
func (s *stored) node() int {
	id, _ := parseStepID(s.text)
	return id.Node - 1
}

// stopRun cancels a run of many steps, and with it all of its nodes.
func (p *partition) stopRun(ctx context.Context, id cyclone.RunID) error {
	for range operateTries {
		v, err := p.loadRun(ctx, id)
		if errors.Is(err, errNoRun) {
			return cyclone.ErrNotFound
		}
		if err != nil {
			return err
		}
		switch v.state.Run {
		case dag.RunCancelled:
			return nil
		case dag.RunCompleted:
			return &endedError{cyclone.StepCompleted}
		case dag.RunFailed:
			return &endedError{cyclone.StepExhausted}
		case dag.RunCancelling:
			return p.sweepNow(ctx, id)
		}
		call := sweepCall{p: p}
		call.add(v, "", []luascripts.SweepOp{call.run(v, luascripts.SweepStop, "", "")})
		if _, err := call.send(ctx); err != nil {
			return err
		}
	}
	return errBusyRun
}

// cancelNodes cancels nodes of a run, and with them what cannot run without them.
func (c *Client) cancelNodes(ctx context.Context, p *partition, id cyclone.RunID, which []int) (map[int]error, error) {
	outcome := make(map[int]error)
	for range operateTries {
		v, err := p.loadRun(ctx, id)
		if errors.Is(err, errNoRun) {
			return nil, cyclone.ErrNotFound
		}
		if err != nil {
			return nil, err
		}
		call := sweepCall{p: p}
		var ops []luascripts.SweepOp
		var asked []int
		for _, i := range which {
			if _, known := outcome[i]; known {
				continue
			}
			if n := &v.state.Nodes[i]; n.Ended != dag.MarkNone || v.state.Run.Ended() {
				outcome[i] = notCancelled(n)
				continue
			}
			ops, asked = append(ops, call.cancelNode(v, i)), append(asked, i)
		}
		if len(asked) == 0 {
			return outcome, p.sweepNow(ctx, id)
		}
		call.add(v, "", append(ops, call.run(v, luascripts.SweepPlan, "", "")))
		reply, err := call.send(ctx)
		if err != nil {
			return nil, err
		}
		if reply.Outcomes[0].Outcome == luascripts.SweepDone {
			for _, i := range asked {
				outcome[i] = nil
			}
		}
	}
	return nil, errBusyRun
}

func (s *sweepCall) cancelNode(v *runView, i int) luascripts.SweepOp {
	act, mark := luascripts.SweepCancel, dag.MarkCancelledReleased
	if v.state.Nodes[i].Blocked {
		act, mark = luascripts.SweepDrop, dag.MarkCancelledBlocked
	}
	op := s.node(v, act, i)
	op.To = mark.Text(0)
	return op
}

// notCancelled is nil for a node that is cancelled already.
func notCancelled(n *dag.NodeState) error {
	switch n.Ended {
	case dag.MarkCompleted:
		return &endedError{cyclone.StepCompleted}
	case dag.MarkDiscarded:
		return &endedError{cyclone.StepExhausted}
	}
	return nil
}

// perRun makes an operation of one on single steps and one on nodes of a run.
func perRun(single operation, nodes func(ctx context.Context, p *partition, id cyclone.RunID, which []int) (map[int]error, error)) operation {
	return func(ctx context.Context, steps []*stored) ([]error, error) {
		errs := make([]error, len(steps))
		var singles []*stored
		var at []int
		runs := make(map[cyclone.RunID][]int) // positions in steps
		for i, s := range steps {
			if s.node() < 0 {
				singles, at = append(singles, s), append(at, i)
			} else {
				runs[s.id] = append(runs[s.id], i)
			}
		}
		if len(singles) > 0 {
			found, err := single(ctx, singles)
			if err != nil {
				return nil, err
			}
			for k, i := range at {
				errs[i] = found[k]
			}
		}
		for id, positions := range runs {
			which := make([]int, len(positions))
			for k, i := range positions {
				which[k] = steps[i].node()
			}
			outcome, err := nodes(ctx, steps[positions[0]].part, id, which)
			if err != nil && !ofRun(err) {
				return nil, err
			}
			for k, i := range positions {
				if errs[i] = err; err == nil {
					errs[i] = outcome[which[k]]
				}
			}
		}
		return errs, nil
	}
}

// ofRun tells whether an error is about one run, so that others can go on.
func ofRun(err error) bool {
	var duplicate *cyclone.DuplicateError
	return errors.Is(err, cyclone.ErrNotFound) || errors.Is(err, errBusyRun) || errors.As(err, &duplicate)
}

// cancelAny, deleteAny and reviveAny are operations on steps of either sort.
func (c *Client) cancelAny() operation { return perRun(c.cancel, c.cancelNodes) }

func (c *Client) reviveAny(reopen *wire.Reopen) operation {
	return perRun(c.revive(reopen), func(ctx context.Context, p *partition, id cyclone.RunID, which []int) (map[int]error, error) {
		return c.reopenNodes(ctx, p, id, which, reopen)
	})
}

func (c *Client) deleteAny() operation {
	return func(ctx context.Context, steps []*stored) ([]error, error) {
		errs, err := c.delete(ctx, steps)
		if err != nil {
			return nil, err
		}
		swept := make(map[cyclone.RunID]bool)
		for _, s := range steps {
			if s.node() >= 0 && !swept[s.id] {
				swept[s.id] = true
				if err := s.part.sweepNow(ctx, s.id); err != nil {
					return nil, err
				}
			}
		}
		return errs, nil
	}
}
