package dag

import (
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// WideAbove is the number of children above which a node's end is spread by the
// sweep, and not by the script that settles it.
const WideAbove = 100

// Graph is what is stored of a run's shape. It does not change after the run
// has been built.
type Graph struct {
	Nodes       []Node
	DeadlineMS  int64 // from the enqueue; 0 for none
	RetentionMS int64 // how long the run is kept after its end
	Result      int   // index of the node whose output is the run's; -1 for none

	children [][]int
}

// Node is one step of the run. Its index is its place in Graph.Nodes.
type Node struct {
	Name         string
	Kind         string
	Class        wire.Class
	Queue        string
	Lane         wire.Priority
	Deps         []int // distinct, ascending, and all below the node's own index
	OnDepFailure wire.DepPolicy
	DelayMS      int64 // from the release; 0 for none
	StartMS      int64 // not before this time; 0 for none
	MaxAttempts  int   // 0 when the worker's definition decides
}

// Children returns for each node the nodes that depend on it, ascending. The
// result is made once and shared; the caller leaves it as it is. It is not safe
// to call it for the first time from two goroutines.
func (g *Graph) Children() [][]int {
	if g.children != nil || len(g.Nodes) == 0 {
		return g.children
	}
	count := make([]int, len(g.Nodes))
	edges := 0
	for i := range g.Nodes {
		edges += len(g.Nodes[i].Deps)
		for _, d := range g.Nodes[i].Deps {
			count[d]++
		}
	}
	room := make([]int, 0, edges)
	children := make([][]int, len(g.Nodes))
	for i, n := range count {
		at := len(room)
		room = room[:at+n]
		children[i] = room[at:at:len(room)]
	}
	for i := range g.Nodes {
		for _, d := range g.Nodes[i].Deps {
			children[d] = append(children[d], i)
		}
	}
	g.children = children
	return children
}

// Wide reports whether the node has more than [WideAbove] children.
func (g *Graph) Wide(node int) bool { return len(g.Children()[node]) > WideAbove }

// Contained tells for each node whether its failure stays in its branch: there
// is something downstream of it, and everything downstream, however far, says
// what to do when a dependency fails (C16). A failure that is not contained
// fails the run.
func (g *Graph) Contained() []bool {
	children := g.Children()
	contained := make([]bool, len(g.Nodes))
	prepared := make([]bool, len(g.Nodes)) // all that is downstream says what to do
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		prepared[i] = true
		for _, c := range children[i] {
			if g.Nodes[c].OnDepFailure == wire.DepFail || !prepared[c] {
				prepared[i] = false
				break
			}
		}
		contained[i] = prepared[i] && len(children[i]) > 0
	}
	return contained
}

// Find returns the index of the node with the name, or -1.
func (g *Graph) Find(name string) int {
	for i := range g.Nodes {
		if g.Nodes[i].Name == name {
			return i
		}
	}
	return -1
}
