package dag

import (
	"slices"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// The rules once more, as simply as they can be said: one change at a time, until
// nothing changes.

// downstream returns all that depends on the node, however far.
func downstream(g *Graph, node int) []int {
	var found []int
	for i := range g.Nodes {
		for _, d := range g.Nodes[i].Deps {
			if d == node || slices.Contains(found, d) {
				found = append(found, i)
				break
			}
		}
	}
	return found
}

func containedNaively(g *Graph, node int) bool {
	after := downstream(g, node)
	for _, i := range after {
		if g.Nodes[i].OnDepFailure == wire.DepFail {
			return false
		}
	}
	return len(after) > 0
}

// settled returns the state that the run must come to without further events.
func settled(g *Graph, s State) State {
	s.Nodes = slices.Clone(s.Nodes)
	if s.Run.Ended() {
		return s
	}
	for removeDeleted(&s) {
	}
	if s.Run != RunCancelling {
		s.Run = RunRunning
		for i, n := range s.Nodes {
			if s.Overdue || n.Ended.Failed() && !containedNaively(g, i) {
				s.Run = RunFailing
			}
		}
	}
	for change(g, &s) {
	}
	if slices.ContainsFunc(s.Nodes, func(n NodeState) bool { return n.Ended == MarkNone }) {
		return s
	}
	s.Run = map[RunMark]RunMark{RunRunning: RunCompleted, RunFailing: RunFailed, RunCancelling: RunCancelled}[s.Run]
	return s
}

// removeDeleted cancels one node whose body is gone.
func removeDeleted(s *State) bool {
	for i, n := range s.Nodes {
		mark := n.Ended
		switch {
		case !n.NoBody:
		case n.Ended == MarkNone && n.Blocked, n.Ended == MarkDroppedBlocked:
			mark = MarkCancelledBlocked
		case n.Ended == MarkNone, n.Ended == MarkDroppedReleased:
			mark = MarkCancelledReleased
		}
		if mark != n.Ended {
			s.Nodes[i] = NodeState{Ended: mark, NoBody: true}
			return true
		}
	}
	return false
}

// change makes one change that is due; those that revive come first, so that no
// node is taken for ended that comes back.
func change(g *Graph, s *State) bool {
	if s.Run != RunRunning {
		for i, n := range s.Nodes {
			if n.Ended == MarkNone {
				mark := map[bool]Mark{true: MarkDroppedBlocked, false: MarkDroppedReleased}[n.Blocked]
				if s.Run == RunCancelling {
					mark = map[bool]Mark{true: MarkCancelledBlocked, false: MarkCancelledReleased}[n.Blocked]
				}
				s.Nodes[i] = NodeState{Ended: mark}
				return true
			}
		}
		return false
	}
	for i, n := range s.Nodes {
		if left, held := look(g, s, i); n.Ended.Dropped() && !held {
			s.Nodes[i] = NodeState{Blocked: left > 0, Left: left}
			return true
		}
	}
	for i, n := range s.Nodes {
		if n.Ended != MarkNone || !n.Blocked {
			continue
		}
		left, held := look(g, s, i)
		next := NodeState{Blocked: left > 0, Left: left}
		if held {
			next = NodeState{Ended: MarkDroppedBlocked}
		}
		if next != n {
			s.Nodes[i] = next
			return true
		}
	}
	return false
}

func look(g *Graph, s *State, node int) (left int, held bool) {
	for _, d := range g.Nodes[node].Deps {
		ended := s.Nodes[d].Ended
		if ended == MarkNone {
			left++
		} else if ended != MarkCompleted && g.Nodes[node].OnDepFailure != wire.DepRun {
			held = true
		}
	}
	return left, held
}
