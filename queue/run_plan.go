package queue

import (
	"context"
	"strconv"

	"github.com/cyclone-queue/cyclone/internal/dag"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// planOps is how many operations one script applies.
const planOps = 200

// sweepCall is one call of the sweep script: operations on one run.
type sweepCall struct {
	p      *partition
	kind   string // of the run
	input  luascripts.SweepInput
	detail detail
	starts []starter // the nodes that may start, where somebody listens
}

// node adds the node's description and returns an operation on it.
func (s *sweepCall) node(v *runView, act luascripts.SweepAct, i int) luascripts.SweepOp {
	return s.nodeAt(v, act, i, 1)
}

// nodeAt is node with the attempt that comes next.
func (s *sweepCall) nodeAt(v *runView, act luascripts.SweepAct, i, attempt int) luascripts.SweepOp {
	n := &v.graph.Nodes[i]
	s.detail.add(n.Kind, n.Name, attempt, "", "")
	if s.p.client.hasListeners() {
		s.starts = append(s.starts, starter{v.id, n.Name})
	}
	return luascripts.SweepOp{Act: act, Node: i, Queue: s.queue(n.Queue), Lane: int(n.Lane)}
}

// run adds the run's description and returns an operation on it.
func (s *sweepCall) run(v *runView, act luascripts.SweepAct, was, to string) luascripts.SweepOp {
	s.detail.add(v.env.Kind, v.env.Kind, 1, "", "")
	return luascripts.SweepOp{Act: act, Was: was, To: to}
}

func (s *sweepCall) queue(name string) int {
	for i := range s.input.Queues {
		if s.input.Queues[i].Name == name {
			return i
		}
	}
	k := s.p.keys.queue(name)
	s.input.Queues = append(s.input.Queues, luascripts.SweepQueue{
		Name: name, Scheduled: k.scheduled, Retrying: k.retrying, Snoozed: k.snoozed, Waiting: k.waiting,
		Discarded: k.discarded, Waiters: k.waiters, Ready: k.ready,
	})
	return len(s.input.Queues) - 1
}

// add adds the operations on a run. score is that of its item, "" to leave it.
func (s *sweepCall) add(v *runView, score string, ops []luascripts.SweepOp) {
	s.kind = v.env.Kind
	s.input.Runs = append(s.input.Runs, luascripts.SweepRun{
		Key: s.p.keys.run(v.text), ID: v.text, Gen: int(v.state.Generation), Score: score, Ops: ops,
	})
}

// send makes the call.
func (s *sweepCall) send(ctx context.Context) (luascripts.SweepReply, error) {
	p, k := s.p, s.p.keys
	s.input.Channels, s.input.Partition, s.input.Detail = p.channels(), p.number, s.detail.bytes()
	if s.input.Listens = p.client.hasListeners(); s.input.Listens {
		p.client.firsts.expect(s.starts)
		defer func() { p.client.firsts.release(s.starts, p.client.tell) }()
	}
	reply, err := p.operate(ctx, luascripts.Sweep, func(call *luascripts.Call) {
		luascripts.SweepCall(call, &luascripts.SweepKeys{
			Steps: k.steps(), Sess: k.sess(), Ghosts: k.ghosts(), Tries: k.tries(), Uniq: k.uniq(), UniqOf: k.uniqof(), UniqX: k.uniqx(),
			History: k.history(), Stats: k.stats(), Subs: k.subs(), Paused: k.paused(), Sweep: k.sweep(), Runs: k.runs(),
		}, &s.input)
	})
	if err != nil {
		return luascripts.SweepReply{}, refine(err)
	}
	out := luascripts.ParseSweep(reply)
	p.client.hear(out.NowMS, out.Lines, s.input.Detail, s.kind)
	return out, nil
}

// planned is an operation of a plan as the script has it.
func (s *sweepCall) planned(v *runView, op *dag.Op) luascripts.SweepOp {
	was := &v.state.Nodes[min(op.Node, len(v.state.Nodes)-1)]
	switch op.Kind {
	case dag.OpRun:
		return s.run(v, luascripts.SweepState, string(v.state.Run), string(op.Run))
	case dag.OpFinish:
		return s.run(v, luascripts.SweepFinish, string(v.state.Run), string(op.Run))
	case dag.OpCancel:
		return s.cancelled(v, op, was)
	case dag.OpRevive:
		out := s.node(v, luascripts.SweepRevive, op.Node)
		out.Was, out.Due = op.Mark.Text(0), dueOfNode(&v.graph.Nodes[op.Node])
		if op.Left > 0 {
			out.To, out.Due = strconv.Itoa(op.Left), ""
		}
		return out
	case dag.OpBlock:
		out := s.node(v, luascripts.SweepCount, op.Node)
		out.Was, out.To = strconv.Itoa(was.Left), strconv.Itoa(op.Left)
		return out
	default: // dag.OpRelease
		out := s.node(v, luascripts.SweepRelease, op.Node)
		out.Was, out.Due = strconv.Itoa(was.Left), dueOfNode(&v.graph.Nodes[op.Node])
		return out
	}
}

// cancelled cancels a node. One that was dropped before and has no body any more is
// turned into one that an operator has cancelled by trying to revive it.
func (s *sweepCall) cancelled(v *runView, op *dag.Op, was *dag.NodeState) luascripts.SweepOp {
	act := luascripts.SweepCancel
	switch {
	case was.Ended != dag.MarkNone:
		out := s.node(v, luascripts.SweepRevive, op.Node)
		out.Was = was.Ended.Text(was.Attempt)
		return out
	case was.Blocked:
		act = luascripts.SweepDrop
	}
	out := s.node(v, act, op.Node)
	out.To = op.Mark.Text(0)
	return out
}

// dueOfNode is when a node starts that is released now.
func dueOfNode(n *dag.Node) string {
	switch {
	case n.StartMS > 0:
		return strconv.FormatInt(n.StartMS, 10)
	case n.DelayMS > 0:
		return "+" + strconv.FormatInt(n.DelayMS, 10)
	}
	return ""
}

// settleRun brings the run to where its graph demands it to be. score is that of its
// item on the sweep, which it leaves when that is done.
func (p *partition) settleRun(ctx context.Context, v *runView, score string) error {
	for try := 0; ; try++ {
		if err := v.readBodies(ctx); err != nil {
			return err
		}
		done, err := p.applyPlan(ctx, v, &score)
		if err != nil || done || try == settleTries {
			return err // what is left stays on the sweep
		}
		again, err := p.loadRun(ctx, v.id)
		if err != nil {
			return err
		}
		*v = *again
	}
}

// settleTries bounds how often a run is planned that others change meanwhile.
const settleTries = 20

// applyPlan applies what is due, and tells whether nothing is left to the caller. The
// item is held on while there is more, and score is that of the item then.
func (p *partition) applyPlan(ctx context.Context, v *runView, score *string) (done bool, err error) {
	ops := dag.Plan(v.graph, &v.state)
	for {
		part := ops[:min(len(ops), planOps)]
		ops = ops[len(part):]
		call := sweepCall{p: p}
		var list []luascripts.SweepOp
		for i := range part {
			list = append(list, call.planned(v, &part[i]))
			if part[i].Kind == dag.OpRun {
				v.state.Run = part[i].Run
			}
		}
		call.add(v, *score, list)
		keep := int64(0)
		if len(ops) > 0 {
			keep = p.hold()
		}
		call.input.Runs[0].KeepMS = keep
		reply, err := call.send(ctx)
		if err != nil {
			return false, err
		}
		if len(reply.Outcomes) != 1 || reply.Outcomes[0].Outcome != luascripts.SweepDone || len(ops) == 0 {
			return len(reply.Outcomes) == 1 && reply.Outcomes[0].Outcome != luascripts.SweepStale, nil
		}
		*score = strconv.FormatInt(reply.NowMS+keep, 10)
	}
}
