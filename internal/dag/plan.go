package dag

import "github.com/cyclone-queue/cyclone/internal/wire"

// OpKind is a transition that is due.
type OpKind uint8

// The kinds of transitions. Each holds for a node that still stands as the State
// said; whoever applies it checks that, in the script that writes.
const (
	// OpRun gives the run another mark, RunRunning or RunFailing. For [Reopen] the
	// run may have ended.
	OpRun OpKind = iota + 1
	// OpCancel ends the node with Mark, one of the four that mean cancelled. It had
	// not ended, or it was dropped before and cannot come back any more; only in
	// the first case does one node less remain.
	OpCancel
	// OpRevive takes Mark, one of the two that mean dropped, from the node; one node
	// more remains. It is released when Left is 0, and blocked by so many otherwise.
	OpRevive
	// OpBlock corrects the number of dependencies for which a blocked node waits to
	// Left, which is above 0.
	OpBlock
	// OpRelease releases a blocked node.
	OpRelease
	// OpReopen makes a discarded node live again; one node more remains. Only
	// [Reopen] asks for it.
	OpReopen
	// OpFinish ends the run with the mark Run. It comes last, and no node remains.
	OpFinish
)

// Op is one transition. What its kind does not name is zero.
type Op struct {
	Kind OpKind
	Run  RunMark
	Node int
	Mark Mark
	Left int
}

// Plan returns what has to be done so that the run is as its graph demands,
// in the order in which to do it. Any first part of it may be applied alone, for
// example as much as one script can take; a plan made from what is then stored
// does the rest, and after all of it there is nothing left to do.
//
// The rules: A failure is a discarded node, one cancelled by an operator or one
// whose body was deleted. One that is not [Graph.Contained] fails the run, and so
// does a deadline that counts; a failing or cancelled run cancels everything that
// has not ended. Where failures are contained, a node with the policy DepCancel
// is cancelled with its dependency, and for one with DepRun any end will do. What
// was dropped and is held down by nothing any more comes back. When no node
// remains the run ends.
func Plan(g *Graph, s *State) []Op {
	if s.Run.Ended() {
		return nil
	}
	p := planner{g: g, s: s, marks: make([]Mark, len(g.Nodes))}
	run := p.judge()
	if run != s.Run {
		p.ops = append(p.ops, Op{Kind: OpRun, Run: run})
	}
	remaining := 0
	for i := range g.Nodes {
		if p.node(i, run); p.marks[i] == MarkNone {
			remaining++
		}
	}
	if remaining == 0 {
		p.ops = append(p.ops, Op{Kind: OpFinish, Run: ending(run)})
	}
	return p.ops
}

type planner struct {
	g     *Graph
	s     *State
	marks []Mark // how each node stands after the ops so far
	ops   []Op
}

// judge finds the failures and returns the mark that the run must have.
func (p *planner) judge() RunMark {
	contained, failing := p.g.Contained(), p.s.Overdue
	for i := range p.marks {
		n := p.state(i)
		p.marks[i] = n.Ended
		if n.NoBody {
			p.marks[i] = withoutBody(n)
		}
		if p.marks[i].Failed() && !contained[i] {
			failing = true
		}
	}
	switch {
	case p.s.Run == RunCancelling:
		return RunCancelling
	case failing:
		return RunFailing
	}
	return RunRunning
}

// state returns the node's state; a node of which nothing is known is live.
func (p *planner) state(i int) NodeState {
	if i < len(p.s.Nodes) {
		return p.s.Nodes[i]
	}
	return NodeState{}
}

// node notes what is due for one node. Those that it depends on come before it.
func (p *planner) node(i int, run RunMark) {
	n := p.state(i)
	switch mark := p.marks[i]; {
	case mark != n.Ended: // its body is gone
		p.cancel(i, mark)
	case mark != MarkNone && !mark.Dropped():
	case run == RunCancelling:
		if mark == MarkNone {
			p.cancel(i, cancelled(n.Blocked))
		}
	case run == RunFailing:
		if mark == MarkNone {
			p.cancel(i, dropped(n.Blocked))
		}
	default:
		p.progress(i, n)
	}
}

// progress notes what is due for a node that is blocked, live or dropped, in a
// run that goes on.
func (p *planner) progress(i int, n NodeState) {
	unmet, held := p.dependencies(i)
	switch {
	case held:
		if n.Ended == MarkNone && n.Blocked {
			p.cancel(i, MarkDroppedBlocked)
		}
	case n.Ended != MarkNone:
		p.ops = append(p.ops, Op{Kind: OpRevive, Node: i, Mark: n.Ended, Left: unmet})
		p.marks[i] = MarkNone
	case n.Blocked && unmet == 0:
		p.ops = append(p.ops, Op{Kind: OpRelease, Node: i})
	case n.Blocked && unmet != n.Left:
		p.ops = append(p.ops, Op{Kind: OpBlock, Node: i, Left: unmet})
	}
}

// dependencies counts those that have not ended, and tells whether one has ended
// in a way that holds the node down.
func (p *planner) dependencies(i int) (unmet int, held bool) {
	node := &p.g.Nodes[i]
	for _, d := range node.Deps {
		switch p.marks[d] {
		case MarkNone:
			unmet++
		case MarkCompleted:
		default:
			held = held || node.OnDepFailure != wire.DepRun
		}
	}
	return unmet, held
}

func (p *planner) cancel(i int, mark Mark) {
	p.ops = append(p.ops, Op{Kind: OpCancel, Node: i, Mark: mark})
	p.marks[i] = mark
}

// withoutBody is the mark of a node whose body is gone: a deleted node counts as
// one that an operator has cancelled.
func withoutBody(n NodeState) Mark {
	switch n.Ended {
	case MarkNone:
		return cancelled(n.Blocked)
	case MarkDroppedReleased:
		return MarkCancelledReleased
	case MarkDroppedBlocked:
		return MarkCancelledBlocked
	}
	return n.Ended
}

func cancelled(blocked bool) Mark {
	if blocked {
		return MarkCancelledBlocked
	}
	return MarkCancelledReleased
}

func dropped(blocked bool) Mark {
	if blocked {
		return MarkDroppedBlocked
	}
	return MarkDroppedReleased
}

// ending is the mark with which a run ends that has the mark so far.
func ending(run RunMark) RunMark {
	switch run {
	case RunCancelling:
		return RunCancelled
	case RunFailing:
		return RunFailed
	}
	return RunCompleted
}

// Decisive returns the node whose failure fails the run, the first one if there
// are several, or -1.
func Decisive(g *Graph, s *State) int {
	contained := g.Contained()
	for i := range min(len(g.Nodes), len(s.Nodes)) {
		if s.Nodes[i].Ended.Failed() && !contained[i] {
			return i
		}
	}
	return -1
}
