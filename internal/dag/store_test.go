package dag

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/cyclone-queue/cyclone/internal/pack"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

var sameGraph = cmp.Options{cmpopts.IgnoreUnexported(Graph{}), cmpopts.EquateEmpty()}

// drawStored draws a graph with everything that is stored.
func drawStored(t *rapid.T) *Graph {
	g := drawGraph(t)
	ms := rapid.Int64Range(0, maxMS)
	g.DeadlineMS, g.RetentionMS = ms.Draw(t, "deadline"), ms.Draw(t, "retention")
	g.Result = rapid.IntRange(-1, len(g.Nodes)-1).Draw(t, "result")
	for i := range g.Nodes {
		n := &g.Nodes[i]
		n.Kind = rapid.SampledFrom([]string{n.Name, "charge", wire.KindWait, wire.KindSleep}).Draw(t, "kind")
		n.Queue = rapid.SampledFrom([]string{"default", "mail"}).Draw(t, "queue")
		n.Class = wire.Class(rapid.IntRange(0, 2).Draw(t, "class"))
		n.Lane = wire.Priority(rapid.IntRange(0, 2).Draw(t, "lane"))
		if rapid.Bool().Draw(t, "times") {
			n.DelayMS, n.StartMS = ms.Draw(t, "delay"), ms.Draw(t, "start")
		}
		n.MaxAttempts = rapid.IntRange(0, 10_000).Draw(t, "attempts")
	}
	return g
}

func TestGraphsComeBackAsTheyWereStored(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := drawStored(t)
		stored := want.Append(nil)
		got, err := Decode(stored)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, sameGraph); diff != "" {
			t.Fatalf("stored and read (-want +got):\n%s", diff)
		}
		for cut := range stored {
			if _, err := Decode(stored[:cut]); err == nil {
				t.Fatalf("the first %d of %d bytes are read as a graph", cut, len(stored))
			}
		}
	})
}

// fan returns a graph in which one node depends on n others.
func fan(n int) *Graph {
	g := &Graph{Nodes: make([]Node, n+1), Result: n}
	for i := range g.Nodes {
		g.Nodes[i] = Node{Name: fmt.Sprintf("page-%05d", i), Kind: "fetch", Queue: "default", Class: wire.ClassStep, Lane: wire.Default}
		if i < n {
			g.Nodes[n].Deps = append(g.Nodes[n].Deps, i)
		}
	}
	return g
}

func TestGraphsAreStoredSmall(t *testing.T) {
	t.Parallel()
	const n = 10_000
	stored := fan(n).Append(nil)
	if perNode := float64(len(stored)) / n; perNode > 16 { // of which 10 are its name
		t.Errorf("%.1f bytes for each node and its edge", perNode)
	}
	if _, err := Decode(stored); err != nil {
		t.Error(err)
	}
}

// raw is a graph with the given tables and nodes; each node is a list of elements.
func raw(kinds, queues []string, result int64, nodes ...[]any) []byte {
	b := pack.AppendArray(nil, graphSlots)
	for _, v := range []int64{version, 0, 0, result} {
		b = pack.AppendInt(b, v)
	}
	b = rawList(b, anys(kinds))
	b = rawList(b, anys(queues))
	b = pack.AppendArray(b, len(nodes))
	for _, n := range nodes {
		b = rawList(b, n)
	}
	return b
}

func anys(texts []string) []any {
	list := make([]any, len(texts))
	for i, s := range texts {
		list[i] = s
	}
	return list
}

func rawList(b []byte, list []any) []byte {
	b = pack.AppendArray(b, len(list))
	for _, v := range list {
		switch v := v.(type) {
		case string:
			b = pack.AppendString(b, v)
		case int:
			b = pack.AppendInt(b, int64(v))
		case []any:
			b = rawList(b, v)
		}
	}
	return b
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	k, q := []string{"k"}, []string{"q"}
	deps := func(d ...any) []any { return append([]any{}, d...) }
	for name, b := range map[string][]byte{
		"nothing":               nil,
		"no nodes":              raw(k, q, 0),
		"a bad kind":            raw([]string{"_other"}, q, 0, []any{"a", 0, deps()}),
		"a bad queue":           raw(k, []string{"{q}"}, 0, []any{"a", 0, deps()}),
		"no queue":              raw(k, nil, 0, []any{"a", 0, deps()}),
		"a kind out of range":   raw(k, q, 0, []any{"a", 1, deps()}),
		"a queue out of range":  raw(k, q, 0, []any{"a", 0, deps(), 0, 1}),
		"a bad name":            raw(k, q, 0, []any{"a b", 0, deps()}),
		"a wait without a name": raw([]string{wire.KindWait}, q, 0, []any{"", 0, deps()}),
		"a name twice":          raw(k, q, 0, []any{"a", 0, deps()}, []any{"a", 0, deps()}),
		"a bad result":          raw(k, q, 2, []any{"a", 0, deps()}),
		"itself as dependency":  raw(k, q, 0, []any{"a", 0, deps()}, []any{"b", 0, deps(0)}),
		"a later dependency":    raw(k, q, 0, []any{"a", 0, deps()}, []any{"b", 0, deps(-1)}),
		"one before the first":  raw(k, q, 0, []any{"a", 0, deps()}, []any{"b", 0, deps(2)}),
		"one twice":             raw(k, q, 0, []any{"a", 0, deps()}, []any{"c", 0, deps()}, []any{"b", 0, deps(1, 0)}),
		"too far ahead":         raw(k, q, 0, []any{"a", 0, deps()}, []any{"c", 0, deps()}, []any{"b", 0, deps(1, 1)}),
		"a class that is none":  raw(k, q, 0, []any{"a", 0, deps(), 3}),
		"a lane that is none":   raw(k, q, 0, []any{"a", 0, deps(), 3 << laneShift}),
		"a policy that is none": raw(k, q, 0, []any{"a", 0, deps(), 3 << policyShift}),
		"more flags":            raw(k, q, 0, []any{"a", 0, deps(), 1 << 6}),
		"a negative delay":      raw(k, q, 0, []any{"a", 0, deps(), 0, 0, -1}),
		"too many attempts":     raw(k, q, 0, []any{"a", 0, deps(), 0, 0, 0, 0, 10_001}),
		"more elements":         raw(k, q, 0, []any{"a", 0, deps(), 0, 0, 0, 0, 0, 0}),
		"bytes behind":          append(raw(k, q, 0, []any{"a", 0, deps()}), 0),
	} {
		if g, err := Decode(b); err == nil || errors.Is(err, ErrVersion) {
			t.Errorf("%s: read as %+v, %v", name, g, err)
		}
	}
	if _, err := Decode(raw(k, q, 1, []any{"a", 0, deps()})); err != nil {
		t.Errorf("what all of these are but for one thing: %v", err)
	}
	later := raw(k, q, 0, []any{"a", 0, deps()})
	later[1] = version + 1
	if _, err := Decode(later); !errors.Is(err, ErrVersion) {
		t.Errorf("a later version: %v", err)
	}
	for name, g := range map[string]*Graph{"nodes": fan(wire.MaxNodes), "edges": dense(450)} {
		if _, err := Decode(g.Append(nil)); err == nil {
			t.Errorf("too many %s are read", name)
		}
	}
}

// dense returns a graph in which each node depends on all before it.
func dense(n int) *Graph {
	g := fan(n - 1)
	for i := range g.Nodes {
		g.Nodes[i].Deps = nil
		for d := range i {
			g.Nodes[i].Deps = append(g.Nodes[i].Deps, d)
		}
	}
	return g
}

func FuzzDecode(f *testing.F) {
	f.Add(fan(3).Append(nil))
	f.Add(dense(4).Append(nil))
	f.Add(raw([]string{"k", wire.KindWait}, []string{"q"}, 1, []any{"a", 1, []any{}, 2, 0, 5, 6, 7}, []any{"", 0, []any{1}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Decode(g.Append(nil))
		if err != nil {
			t.Fatalf("what was read cannot be stored: %v", err)
		}
		if diff := cmp.Diff(g, again, sameGraph); diff != "" {
			t.Fatal(diff)
		}
		s := State{Run: RunRunning, Nodes: make([]NodeState, len(g.Nodes))}
		Plan(g, &s)
	})
}

func TestGraphOfASpec(t *testing.T) {
	t.Parallel()
	def := &wire.Definition{Name: "charge", Class: wire.ClassStep, Options: wire.Options{
		Set: wire.FieldQueue | wire.FieldMaxAttempts | wire.FieldRetention, Queue: "money", MaxAttempts: 7, Retention: 2 * time.Hour,
	}}
	spec := &wire.RunSpec{
		Name: "order", Result: 0, Deadline: time.Second + 1,
		Nodes: []wire.RunNode{
			{Name: "charge", Kind: "charge", Def: def},
			{
				Name: "later", Kind: "charge", Def: def, Deps: []int{0}, Policy: wire.DepRun,
				Options: wire.Options{
					Set:     wire.FieldQueue | wire.FieldPriority | wire.FieldMaxAttempts | wire.FieldStartAt,
					StartAt: time.UnixMilli(5).Add(1), Queue: "slow", Priority: wire.Low, MaxAttempts: 2,
				},
			},
			{Name: "pause", Kind: wire.KindSleep, Deps: []int{1}, Options: wire.Options{Set: wire.FieldDelay, Delay: time.Second}},
		},
	}
	want := &Graph{
		DeadlineMS: 1001, RetentionMS: 2 * 3600_000, Result: 0,
		Nodes: []Node{
			{Name: "charge", Kind: "charge", Class: wire.ClassStep, Queue: "money", Lane: wire.Default},
			{
				Name: "later", Kind: "charge", Class: wire.ClassStep, Queue: "slow", Lane: wire.Low, Deps: []int{0},
				OnDepFailure: wire.DepRun, StartMS: 6, MaxAttempts: 2,
			},
			{Name: "pause", Kind: wire.KindSleep, Class: wire.ClassTask, Queue: "default", Lane: wire.Default, Deps: []int{1}, DelayMS: 1000},
		},
	}
	got := New(spec)
	if diff := cmp.Diff(want, got, sameGraph); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if stored := got.Append(nil); !bytes.Equal(stored, New(spec).Append(nil)) {
		t.Error("the same spec is stored in two ways")
	}
}
