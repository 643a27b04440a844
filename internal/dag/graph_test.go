package dag

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cyclone-queue/cyclone/internal/wire"
)

// chain returns nodes of which each depends on the one before.
func chain(policies ...wire.DepPolicy) *Graph {
	g := &Graph{Nodes: make([]Node, len(policies))}
	for i, p := range policies {
		g.Nodes[i].OnDepFailure = p
		if i > 0 {
			g.Nodes[i].Deps = []int{i - 1}
		}
	}
	return g
}

func TestSpec_C16_FailuresStayWhereAllDownstreamSaysSo(t *testing.T) {
	t.Parallel()
	const fail, cancel, run = wire.DepFail, wire.DepCancel, wire.DepRun
	for _, tt := range []struct {
		policies []wire.DepPolicy
		want     []bool
	}{
		{[]wire.DepPolicy{fail}, []bool{false}}, // nothing is downstream
		{[]wire.DepPolicy{fail, fail}, []bool{false, false}},
		{[]wire.DepPolicy{fail, cancel}, []bool{true, false}},
		{[]wire.DepPolicy{fail, run}, []bool{true, false}},
		{[]wire.DepPolicy{fail, cancel, fail}, []bool{false, false, false}}, // however far
		{[]wire.DepPolicy{fail, fail, cancel}, []bool{false, true, false}},
		{[]wire.DepPolicy{fail, cancel, run}, []bool{true, true, false}},
	} {
		if got := chain(tt.policies...).Contained(); !slices.Equal(got, tt.want) {
			t.Errorf("%v: contained %v, want %v", tt.policies, got, tt.want)
		}
	}
}

func TestContainedByDefinition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		for i, got := range g.Contained() {
			if want := containedNaively(g, i); got != want {
				t.Fatalf("node %d of %+v: %v, want %v", i, g.Nodes, got, want)
			}
		}
	})
}

func TestChildrenAreTheOtherEndsOfDependencies(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		edges := 0
		for i, children := range g.Children() {
			for _, c := range children {
				if edges++; !slices.Contains(g.Nodes[c].Deps, i) {
					t.Fatalf("%d is no child of %d", c, i)
				}
			}
			if !slices.IsSorted(children) {
				t.Fatalf("children %v of %d", children, i)
			}
		}
		for i := range g.Nodes {
			edges -= len(g.Nodes[i].Deps)
		}
		if edges != 0 {
			t.Fatalf("%d edges too many", edges)
		}
	})
}

func TestWideNodes(t *testing.T) {
	t.Parallel()
	g := fan(WideAbove + 1)
	for i := range g.Nodes { // turned round: the first node has all others as children
		g.Nodes[i].Deps = nil
		if i > 0 {
			g.Nodes[i].Deps = []int{0}
		}
	}
	if !g.Wide(0) || g.Wide(1) {
		t.Errorf("wide: %v, %v", g.Wide(0), g.Wide(1))
	}
	g = &Graph{Nodes: g.Nodes[:WideAbove+1]}
	if g.Wide(0) {
		t.Errorf("wide with %d children", WideAbove)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	g := fan(2)
	if g.Find("page-00001") != 1 || g.Find("page") != -1 {
		t.Errorf("found %d and %d", g.Find("page-00001"), g.Find("page"))
	}
}

func TestMarksAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for m := MarkNone; m <= MarkCancelledBlocked; m++ {
		attempt := 0
		if m == MarkCompleted {
			attempt = 12
		}
		got, n, ok := ParseMark(m.Text(attempt))
		if !ok || got != m || n != attempt {
			t.Errorf("%v is written as %q and read as %v, %d, %v", m, m.Text(attempt), got, n, ok)
		}
	}
	for _, text := range []string{"c", "c0", "c01", "c-1", "cx", "D", "X", "xr", "dd"} {
		if m, _, ok := ParseMark(text); ok {
			t.Errorf("%q is read as %v", text, m)
		}
	}
}
