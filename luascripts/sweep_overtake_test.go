package luascripts_test

import (
	"testing"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// TestSweepOperatorsOvertakePlans: a plan that was made before an operator has opened
// or cancelled a node again is refused, however late it comes. The failure that it
// acts on may be gone.
func TestSweepOperatorsOvertakePlans(t *testing.T) {
	t.Parallel()
	for name, word := range map[string]luascripts.SweepOp{
		"reopen": op("o", 9, "d", ""), "cancel": op("c", 0, "", "xR"), "cancel blocked": op("b", 7, "", "xB"),
		"reopen cancelled": op("v", 5, "xR", ""), "reopen blocked": op("v", 6, "xB", "2"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(l *lab) {
				liveScene(l)
				l.plan(op("c", 5, "", "xR"), op("b", 6, "", "xB"))
				late := l.sweepInput(l.opsOf("3", op("s", 0, "r", "F"), op("c", 1, "", "XR")))
				l.equal(l.plan(word), "done")
				before := l.state()
				l.equal(l.sweep(late), []luascripts.SweepOutcome{{Outcome: luascripts.SweepStale}})
				l.equal(l.state(), before)
			})
		})
	}
}

// TestSweepPlansGoOn: what is planned overtakes nothing, so that the next part of a
// long plan is as good as the first.
func TestSweepPlansGoOn(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		liveScene(l)
		next := l.sweepInput(l.opsOf("3", op("c", 4, "", "XR")))
		l.equal(l.plan(op("c", 0, "", "XR"), op("b", 7, "", "XB"), op("v", 0, "XR", "")), "done")
		l.equal(l.sweep(next), done)
		l.equal(l.plan(op("x", 0, "", "")), "done")
		next = l.sweepInput(l.opsOf("3", op("c", 3, "", "xR")))
		l.equal(l.plan(op("c", 1, "", "xR"), op("b", 6, "", "xB")), "done")
		l.equal(l.sweep(next), done)
	})
}

// TestSweepOutcomeOfRunsWithoutNodes: that a live run has no node left makes a plan
// stale which was done, and nothing else: not the one that ends the run, nor one that
// another run stands in the way of.
func TestSweepOutcomeOfRunsWithoutNodes(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		endScene(l)
		l.put(l.rdb.HSet(ctx, l.key("run:3"), "left", "0"))
		l.enqueue(item("7", unique("E", 0, existing)))
		outcome := func(op luascripts.SweepOp) luascripts.SweepOutcome {
			r := l.opsOf("3", op)
			r.Score = "3000"
			return l.sweep(l.sweepInput(r))[0]
		}
		l.equal(outcome(op("a", 0, "r", "E")), luascripts.SweepOutcome{Outcome: luascripts.SweepConflict, Holder: "7"})
		l.equal(outcome(op("p", 0, "", "")), luascripts.SweepOutcome{Outcome: luascripts.SweepStale})
		l.equal(outcome(op("f", 0, "r", "c")), luascripts.SweepOutcome{Outcome: luascripts.SweepDone})
	})
}

// TestSweepCountsFirst: where a node cannot be made to wait, what comes behind is left
// out, since it may let that node start.
func TestSweepCountsFirst(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		liveScene(l)
		before := l.state()
		l.equal(l.plan(op("d", 6, "1", "3"), op("o", 9, "d", ""), op("c", 0, "", "XR")), "stale")
		l.equal(l.state(), before)
		l.equal(l.plan(op("c", 8, "", "XR"), op("c", 0, "", "XR")), "stale")
		l.equal(count(l, "run:3", "s0=XR"), 1) // any other guard concerns its own node only
	})
}
