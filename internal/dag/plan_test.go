package dag

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// candidates returns the nodes for which ok holds.
func (m *machine) candidates(ok func(i int, n NodeState) bool) []int {
	var found []int
	for i, n := range m.s.Nodes {
		if ok(i, n) {
			found = append(found, i)
		}
	}
	return found
}

// event draws something that happens to a run; it may be nothing.
func (m *machine) event(kinds ...string) {
	kind := rapid.SampledFrom(kinds).Draw(m.t, "event")
	open := !m.s.Run.Ended()
	var nodes []int
	switch kind {
	case "complete", "discard":
		nodes = m.candidates(func(i int, _ NodeState) bool { return m.live(i) })
	case "cancel node":
		nodes = m.candidates(func(_ int, n NodeState) bool { return open && n.Ended == MarkNone && !n.NoBody })
	case "delete":
		nodes = m.candidates(func(_ int, n NodeState) bool {
			return open && (n.Ended == MarkNone || n.Ended.Dropped()) || n.Ended == MarkDiscarded
		})
	case "reopen":
		nodes = m.candidates(func(_ int, n NodeState) bool { return m.s.Run != RunCancelled && n.Ended == MarkDiscarded })
	case "cancel run":
		if open {
			m.s.Run = RunCancelling
		}
	case "deadline":
		m.s.Overdue = m.s.Overdue || m.s.Run == RunRunning
	}
	if len(nodes) == 0 {
		return
	}
	switch i := rapid.SampledFrom(nodes).Draw(m.t, "node"); kind {
	case "complete":
		m.complete(i, rapid.Bool().Draw(m.t, "inline"))
	case "discard":
		m.end(i, MarkDiscarded)
	case "cancel node":
		m.cancel(i)
	case "delete":
		m.s.Nodes[i].NoBody = true
	case "reopen":
		if m.s.Run != RunCancelling {
			m.reopen(i)
		}
	}
}

// sweep applies all that is due and holds what must be true then.
func (m *machine) sweep() {
	before := State{Run: m.s.Run, Overdue: m.s.Overdue, Nodes: slices.Clone(m.s.Nodes)}
	ops := Plan(m.g, &m.s)
	m.apply(ops)
	if diff := cmp.Diff(settled(m.g, before), m.s); diff != "" {
		m.t.Fatalf("from %+v by %+v (-want +got):\n%s", before, ops, diff)
	}
	if again := Plan(m.g, &m.s); len(again) > 0 {
		m.t.Fatalf("after the whole plan there is more to do: %+v", again)
	}
	live := len(m.candidates(func(i int, _ NodeState) bool { return m.live(i) }))
	switch remaining := m.remaining(); {
	case m.s.Run.Ended() != (remaining == 0):
		m.t.Fatalf("the run is %c with %d nodes remaining", m.s.Run, remaining)
	case remaining > 0 && live == 0:
		m.t.Fatalf("no run may wait for nothing: %+v", m.s)
	}
	if decisive := Decisive(m.g, &m.s); m.s.Run == RunCompleted && decisive >= 0 {
		m.t.Fatalf("completed, though node %d fails it", decisive)
	} else if m.s.Run == RunFailed && decisive < 0 && !m.s.Overdue {
		m.t.Fatalf("failed, and no node tells why")
	}
}

// sweepPartly applies the first part of what is due, as one script of many does.
func (m *machine) sweepPartly() {
	ops := Plan(m.g, &m.s)
	m.apply(ops[:rapid.IntRange(0, len(ops)).Draw(m.t, "ops")])
}

func TestRunsComeToWhatTheirGraphDemands(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t, drawGraph(t))
		for range rapid.IntRange(1, 25).Draw(t, "events") {
			m.event("complete", "complete", "complete", "discard", "discard", "cancel node", "delete", "reopen", "reopen", "cancel run", "deadline")
			switch rapid.IntRange(0, 2).Draw(t, "sweep") {
			case 0:
				m.sweep()
			case 1:
				m.sweepPartly()
			}
		}
		m.sweep()
	})
}

// Whatever failed and was dropped: when all failures have been opened again, and
// succeed, the run is as though nothing had ever failed.
func TestRevivalIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t, drawGraph(t))
		for range rapid.IntRange(1, 20).Draw(t, "events") {
			m.event("complete", "discard", "reopen", "deadline")
			if rapid.Bool().Draw(t, "sweep") {
				m.sweepPartly()
			}
		}
		m.sweep()
		m.reopen(m.candidates(func(_ int, n NodeState) bool { return n.Ended == MarkDiscarded })...)
		m.sweep()
		for !m.s.Run.Ended() {
			live := m.candidates(func(i int, _ NodeState) bool { return m.live(i) })
			m.complete(rapid.SampledFrom(live).Draw(t, "node"), rapid.Bool().Draw(t, "inline"))
			m.sweep()
		}
		if m.s.Run != RunCompleted {
			t.Fatalf("the run is %c", m.s.Run)
		}
		for i, n := range m.s.Nodes {
			if n.Ended != MarkCompleted {
				t.Fatalf("node %d has ended as %v", i, n.Ended)
			}
		}
	})
}

// Plan is total: no state, however odd, makes it panic or go on for ever.
func TestPlanTakesAnyState(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		s := State{Run: RunMark(rapid.Byte().Draw(t, "run")), Overdue: rapid.Bool().Draw(t, "overdue")}
		for range rapid.IntRange(0, len(g.Nodes)+1).Draw(t, "states") {
			s.Nodes = append(s.Nodes, NodeState{
				Ended: Mark(rapid.IntRange(0, 8).Draw(t, "mark")), Blocked: rapid.Bool().Draw(t, "blocked"),
				Left: rapid.IntRange(-1, 3).Draw(t, "left"), NoBody: rapid.Bool().Draw(t, "no body"),
			})
		}
		first := Plan(g, &s)
		if diff := cmp.Diff(first, Plan(g, &s)); diff != "" {
			t.Fatalf("planned twice, two answers:\n%s", diff)
		}
		if len(first) > len(g.Nodes)+2 {
			t.Fatalf("%d ops for %d nodes", len(first), len(g.Nodes))
		}
		Reopen(g, &s, []int{-1, 0, len(g.Nodes)})
	})
}
