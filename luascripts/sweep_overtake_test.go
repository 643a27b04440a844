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
