package dag

import (
	"pgregory.net/rapid"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// machine is a run in memory: it takes events as the scripts do, and applies ops
// as the sweep does, with the conditions that those check.
type machine struct {
	g *Graph
	s State
	t *rapid.T
}

// drawGraph draws a small graph of which every shape is likely.
func drawGraph(t *rapid.T) *Graph {
	g := &Graph{Nodes: make([]Node, rapid.IntRange(1, 10).Draw(t, "nodes")), Result: -1}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		n.Name, n.Kind, n.Queue = "n"+string(rune('a'+i)), "k", "q"
		n.OnDepFailure = wire.DepPolicy(rapid.IntRange(0, 2).Draw(t, "policy"))
		for d := range i {
			if rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
				n.Deps = append(n.Deps, d)
			}
		}
	}
	return g
}

// newMachine starts a run of the graph.
func newMachine(t *rapid.T, g *Graph) *machine {
	m := &machine{g: g, t: t, s: State{Run: RunRunning, Nodes: make([]NodeState, len(g.Nodes))}}
	for i := range g.Nodes {
		if n := len(g.Nodes[i].Deps); n > 0 {
			m.s.Nodes[i] = NodeState{Blocked: true, Left: n}
		}
	}
	return m
}

func (m *machine) live(i int) bool {
	n := m.s.Nodes[i]
	return !m.s.Run.Ended() && n.Ended == MarkNone && !n.Blocked && !n.NoBody
}

func (m *machine) end(i int, mark Mark) {
	n := &m.s.Nodes[i]
	n.Ended, n.Blocked, n.Left = mark, false, 0
}

// complete ends a live node. inline counts its dependents down in the same
// instant, as the settling script does for a node that is not wide.
func (m *machine) complete(i int, inline bool) {
	m.end(i, MarkCompleted)
	if !inline || m.s.Run != RunRunning {
		return
	}
	for _, c := range m.g.Children()[i] {
		if n := &m.s.Nodes[c]; n.Ended == MarkNone && n.Blocked {
			if n.Left--; n.Left == 0 {
				m.release(c)
			}
		}
	}
}

// release holds that a node never starts before what it depends on has ended as
// its policy requires.
func (m *machine) release(i int) {
	m.s.Nodes[i].Blocked, m.s.Nodes[i].Left = false, 0
	for _, d := range m.g.Nodes[i].Deps {
		ended := m.s.Nodes[d].Ended
		if ended == MarkNone || ended != MarkCompleted && m.g.Nodes[i].OnDepFailure != wire.DepRun {
			m.t.Fatalf("node %d is released although %d has ended as %v", i, d, ended)
		}
	}
}

func (m *machine) cancel(i int) { m.end(i, cancelled(m.s.Nodes[i].Blocked)) }

func (m *machine) reopen(nodes ...int) { m.apply(Reopen(m.g, &m.s, nodes)) }

// remaining counts the nodes that have not ended.
func (m *machine) remaining() (n int) {
	for i := range m.s.Nodes {
		if m.s.Nodes[i].Ended == MarkNone {
			n++
		}
	}
	return n
}

func (m *machine) apply(ops []Op) {
	for _, op := range ops {
		m.applyOne(op)
	}
}

func (m *machine) applyOne(op Op) {
	must := func(ok bool) {
		if !ok {
			m.t.Fatalf("%+v does not fit %+v", op, m.s)
		}
	}
	var n *NodeState
	if op.Kind != OpRun && op.Kind != OpFinish {
		must(!m.s.Run.Ended())
		n = &m.s.Nodes[op.Node]
	}
	switch op.Kind {
	case OpRun:
		must(op.Run != m.s.Run && (op.Run == RunRunning || op.Run == RunFailing && !m.s.Run.Ended()))
		m.s.Run = op.Run
		m.s.Overdue = m.s.Overdue && op.Run == RunFailing
	case OpCancel:
		if n.Ended.Dropped() {
			must(n.NoBody && op.Mark == withoutBody(*n))
		} else {
			must(n.Ended == MarkNone && (op.Mark == cancelled(n.Blocked) || op.Mark == dropped(n.Blocked) && !n.NoBody))
		}
		m.end(op.Node, op.Mark)
	case OpRevive:
		must(n.Ended.Dropped() && n.Ended == op.Mark && !n.NoBody)
		n.Ended, n.Blocked, n.Left = MarkNone, op.Left > 0, op.Left
		if op.Left == 0 {
			m.release(op.Node)
		}
	case OpBlock:
		must(n.Ended == MarkNone && n.Blocked && op.Left > 0 && op.Left != n.Left)
		n.Left = op.Left
	case OpRelease:
		must(n.Ended == MarkNone && n.Blocked)
		m.release(op.Node)
	case OpReopen:
		must(n.Ended == MarkDiscarded && !n.NoBody)
		*n = NodeState{}
	case OpFinish:
		must(op.Run.Ended() && m.remaining() == 0)
		m.s.Run = op.Run
	default:
		m.t.Fatalf("unknown op %+v", op)
	}
}
