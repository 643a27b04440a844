package shape

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A diamond behind a fan of chains: each stage of the fan becomes one vertex.
func TestFold(t *testing.T) {
	t.Parallel()
	const n = 10
	kinds, deps := []string{"list"}, [][]int{nil}
	var last []int
	for range n {
		i := len(kinds)
		kinds, deps, last = append(kinds, "fetch", "parse"), append(deps, []int{0}, []int{i}), append(last, i+1)
	}
	kinds, deps = append(kinds, "sum", "mail", "store", "end"), append(deps, last, []int{2*n + 1}, []int{0, 2*n + 1}, []int{2*n + 2, 2*n + 3})

	g := Fold(kinds, deps, n)
	var fetch, parse []int
	for i := range n {
		fetch, parse = append(fetch, 1+2*i), append(parse, 2+2*i)
	}
	want := &Graph{Roots: []int{0}, Vertices: []Vertex{
		{Nodes: []int{0}, Parent: -1, Children: []int{1}},
		{Nodes: fetch, Deps: []int{0}, Depth: 1, Children: []int{2}},
		{Nodes: parse, Deps: []int{1}, Depth: 2, Parent: 1, Children: []int{3}},
		{Nodes: []int{21}, Deps: []int{2}, Depth: 3, Parent: 2, Children: []int{4, 5}},
		{Nodes: []int{22}, Deps: []int{3}, Depth: 4, Parent: 3},
		{Nodes: []int{23}, Deps: []int{0, 3}, Depth: 4, Parent: 3, Children: []int{6}},
		{Nodes: []int{24}, Deps: []int{4, 5}, Depth: 5, Parent: 5},
	}}
	if diff := cmp.Diff(want, g); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, atLeast := range []int{0, n + 1} {
		if g := Fold(kinds, deps, atLeast); len(g.Vertices) != len(kinds) {
			t.Errorf("%d vertices of %d nodes with %d", len(g.Vertices), len(kinds), atLeast)
		}
	}
}

// What looks alike from one side only stays apart.
func TestFoldKeepsApart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kinds []string
		deps  [][]int
		want  int
	}{
		"kinds":        {[]string{"a", "b"}, [][]int{nil, nil}, 2},
		"dependencies": {[]string{"x", "a", "a"}, [][]int{nil, {0}, nil}, 3},
		"dependents":   {[]string{"a", "a", "x"}, [][]int{nil, nil, {0}}, 3},
		"a chain":      {[]string{"a", "a", "a"}, [][]int{nil, {0}, {1}}, 3},
		"alike":        {[]string{"a", "a"}, [][]int{nil, nil}, 1},
		"nothing":      {nil, nil, 0},
	} {
		if g := Fold(c.kinds, c.deps, 2); len(g.Vertices) != c.want {
			t.Errorf("%s: %+v", name, g.Vertices)
		}
	}
}
