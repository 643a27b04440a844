package dag

import "slices"

// Reopen returns what has to be done when an operator opens discarded nodes of a
// run again: an OpReopen for each of them, and what follows from it as by [Plan].
// The run may have ended; it goes on. Nodes that are not discarded, or whose body
// is gone, are left out; when none remains there is nothing to do, except in a run
// that its deadline has failed: it goes on, and its deadline does not count again.
//
// What makes dependents wait again comes before the nodes that they wait for, and
// both belong into one script call as far as that can take them: a dependency that
// ends in between would release a node too early.
func Reopen(g *Graph, s *State, nodes []int) []Op {
	after := *s
	after.Nodes = slices.Clone(s.Nodes)
	after.Run, after.Overdue = RunRunning, false
	var reopened []Op
	for _, i := range nodes {
		if i < 0 || i >= len(after.Nodes) || after.Nodes[i].Ended != MarkDiscarded || after.Nodes[i].NoBody {
			continue
		}
		after.Nodes[i] = NodeState{}
		reopened = append(reopened, Op{Kind: OpReopen, Node: i})
	}
	late := s.Overdue && (s.Run == RunFailing || s.Run == RunFailed)
	if len(reopened) == 0 && !late {
		return nil
	}
	var first, rest []Op
	if s.Run != RunRunning {
		first = append(first, Op{Kind: OpRun, Run: RunRunning})
	}
	for _, op := range Plan(g, &after) {
		if op.Kind == OpBlock {
			first = append(first, op)
		} else {
			rest = append(rest, op)
		}
	}
	return slices.Concat(first, reopened, rest)
}
