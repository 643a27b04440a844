package shape

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Graph is what is drawn of a run.
type Graph struct {
	Vertices []Vertex
	// Roots are the vertices without a parent, in the order of their nodes.
	Roots []int
}

// Vertex is one node of a run, or many that are alike.
type Vertex struct {
	// Nodes are the indexes of the nodes, ascending.
	Nodes []int
	// Deps are the vertices that it depends on, ascending. All of them have a lower
	// Depth, which is the longest way from a root.
	Deps  []int
	Depth int
	// Parent is the vertex below which a tree shows it, -1 for none: the last one
	// of its deepest dependencies. Children are those that it is the parent of.
	Parent   int
	Children []int
}

// Fold returns the graph of nodes of the given kinds; deps has for each of them
// the indexes of those that it depends on. Nodes become one vertex when there are
// as many as atLeast that are alike: of one kind, dependent on nodes that are
// alike, and with dependents that are alike. With atLeast 0 none do.
func Fold(kinds []string, deps [][]int, atLeast int) *Graph {
	depth := depths(deps)
	g := &Graph{}
	vertexOf := make([]int, len(kinds))
	for _, nodes := range groups(classes(kinds, deps), len(kinds), atLeast) {
		for _, n := range nodes {
			vertexOf[n] = len(g.Vertices)
		}
		g.Vertices = append(g.Vertices, Vertex{Nodes: nodes, Depth: depth[nodes[0]]})
	}
	for i := range g.Vertices {
		v := &g.Vertices[i]
		for _, n := range v.Nodes {
			for _, d := range deps[n] {
				v.Deps = append(v.Deps, vertexOf[d])
			}
		}
		slices.Sort(v.Deps)
		v.Deps = slices.Compact(v.Deps)
		g.place(i)
	}
	return g
}

// place finds a vertex's parent.
func (g *Graph) place(i int) {
	v := &g.Vertices[i]
	v.Parent = -1
	for _, d := range v.Deps {
		if v.Parent < 0 || g.Vertices[d].Depth >= g.Vertices[v.Parent].Depth {
			v.Parent = d
		}
	}
	if v.Parent < 0 {
		g.Roots = append(g.Roots, i)
		return
	}
	parent := &g.Vertices[v.Parent]
	parent.Children = append(parent.Children, i)
}

// depths returns the longest way to each node. A dependency has a lower index.
func depths(deps [][]int) []int {
	depth := make([]int, len(deps))
	for i, own := range deps {
		for _, d := range own {
			depth[i] = max(depth[i], depth[d]+1)
		}
	}
	return depth
}

// classes numbers the nodes so that those that are alike have the same number:
// alike in what they depend on, however far, and in what depends on them.
func classes(kinds []string, deps [][]int) []int {
	children := make([][]int, len(deps))
	for i, own := range deps {
		for _, d := range own {
			children[d] = append(children[d], i)
		}
	}
	up, down, both := make([]int, len(kinds)), make([]int, len(kinds)), make([]int, len(kinds))
	known := make(map[string]int)
	for i := range kinds {
		up[i] = number(known, "u", kinds[i], deps[i], up)
	}
	for i := len(kinds) - 1; i >= 0; i-- {
		down[i] = number(known, "d", kinds[i], children[i], down)
	}
	for i := range kinds {
		both[i] = number(known, "b", "", []int{0, 1}, []int{up[i], -down[i]})
	}
	return both
}

// number is the class of a node of a kind whose neighbours are of some classes.
func number(known map[string]int, direction, kind string, neighbours []int, class []int) int {
	of := make([]int, len(neighbours))
	for k, n := range neighbours {
		of[k] = class[n]
	}
	slices.Sort(of)
	var key strings.Builder
	key.WriteString(direction + kind)
	for _, c := range slices.Compact(of) {
		key.WriteString(" " + strconv.Itoa(c))
	}
	n, ok := known[key.String()]
	if !ok {
		n = len(known) + 1
		known[key.String()] = n
	}
	return n
}

// groups returns the nodes by vertex, in the order of their first nodes.
func groups(class []int, n, atLeast int) [][]int {
	byClass := make(map[int][]int)
	for i, c := range class {
		byClass[c] = append(byClass[c], i)
	}
	all := make([][]int, 0, n)
	for _, nodes := range byClass {
		if atLeast > 0 && len(nodes) >= atLeast {
			all = append(all, nodes)
			continue
		}
		for _, i := range nodes {
			all = append(all, []int{i})
		}
	}
	slices.SortFunc(all, func(a, b []int) int { return cmp.Compare(a[0], b[0]) })
	return all
}
