package luascripts_test

import (
	"testing"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// runOp begins the run of the id, which was opened and filled: node 0 is ready, node 1
// waits for its time and node 2 for both.
func (l *lab) runOp(id string, change ...func(*luascripts.BuildRun)) luascripts.TxOp {
	run := luascripts.BuildRun{Key: l.key("run:" + id), ID: id, Roots: []luascripts.BuildRoot{
		{Queue: 1, Lane: 1, Node: 0}, {Lane: 2, Node: 1, Due: "+50"},
	}}
	for _, f := range change {
		f(&run)
	}
	return luascripts.TxRun(&run, l.key("building"))
}

// opened stores a run of three nodes that has not begun.
func (l *lab) opened(id string, change ...func(*luascripts.BuildRun)) {
	l.Helper()
	run := l.graphRun(id, 3, inPhase(luascripts.BuildOpen), func(r *luascripts.BuildRun) { r.Blocked = blockedBy(2, 3, 2) })
	for _, f := range change {
		f(&run)
	}
	l.equal(l.build(run), []luascripts.BuildRefusal(nil))
}

// TestTxBeginsRuns: what was stored in parts before begins with the completion, once.
func TestTxBeginsRuns(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.opened("21")
		l.opened("25", func(r *luascripts.BuildRun) { r.Blocked = append(blockedBy(0, 2, 0), r.Blocked...) })
		m := l.holding("5")
		l.watch()
		l.now += 10
		call := l.advanceCall(l.advanceInput(l.single(luascripts.OpComplete, m[0], with(
			l.runOp("21", func(r *luascripts.BuildRun) { r.Deadline = "+700" }),
			l.runOp("25", func(r *luascripts.BuildRun) { r.Sweep, r.Roots, r.Deadline = true, nil, "+900" }),
		))))
		for range 2 { // an answer that was lost is answered again
			reply := luascripts.ParseAdvance(l.ok(luascripts.Advance, call))
			if len(reply.Lost) > 0 || len(reply.Refused) > 0 || !reply.Sweep {
				t.Errorf("%+v", reply)
			}
		}
		l.equal(l.said(), []string{
			"events 1800000000010 w/enqueued p 21.0 - 0/enqueued q 21.1 - 1800000000060/completed q 5 0 0//detail",
		})
		l.equal(l.content("building"), nothing)
		l.equal(l.content("ready:p:d"), []string{"21.0"})
		l.equal(l.content("scheduled:q"), []string{"21.1@60l"})
		l.equal(l.content("run:21"), []string{"d2=2", "dl=1800000000710", "keep=500", "left=3", "n=3", "st=r"})
		l.equal(l.content("run:25"), []string{"d0=0", "d1=0", "d2=2", "dl=1800000000910", "keep=500", "left=3", "n=3", "st=r"})
		l.equal(l.content("sweep"), []string{"25@10", "21@710"})
		l.equal([]int{l.total("enqueued"), l.total("unblocked"), l.total("completed")}, []int{3, 2, 1}) // step 5 among them
	})
}

// TestTxRefusesRuns that are not there, not whole, or given up, to the millisecond; and
// one that is whole does not begin when something else cannot be applied.
func TestTxRefusesRuns(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		txKeys(l)
		m := l.holding("1", "2", "3", "4", "5", "6")
		l.opened("21")
		l.opened("25", func(r *luascripts.BuildRun) { r.Nodes = 4 })
		l.now += 500
		l.opened("29")
		l.build(l.graphRun("33", 1))
		l.now += 499
		before := l.state()
		unbuilt := luascripts.TxRefusal{Op: 1, Reason: luascripts.TxUnbuilt}
		set := luascripts.TxSet(l.key("tx:never"), "1", 0)
		reply := l.advance(
			l.single(luascripts.OpComplete, m[0], with(set, l.runOp("41"))),
			l.single(luascripts.OpComplete, m[1], with(set, l.runOp("25"))),
			l.single(luascripts.OpComplete, m[2], with(set, l.runOp("33"))),
			l.single(luascripts.OpComplete, m[3], with(l.runOp("29"), luascripts.TxIncrBy(l.key("tx:string"), 1))))
		l.equal(reply.Refused, map[string]luascripts.TxRefusal{
			m[0]: unbuilt, m[1]: unbuilt, m[2]: unbuilt, m[3]: {Op: 1, Reason: luascripts.TxNotInteger},
		})
		l.equal(l.state(), before)

		l.ended(l.single(luascripts.OpComplete, m[4], with(l.runOp("21")))) // in its last millisecond
		l.equal([]int{count(l, "run:21", "st=r"), count(l, "run:21", "dl=")}, []int{1, 0})
		l.now += 501
		reply = l.advance(l.single(luascripts.OpComplete, m[5], with(set, l.runOp("29"))))
		l.equal(reply.Refused, map[string]luascripts.TxRefusal{m[5]: unbuilt})
		l.equal(count(l, "run:29", "st="), 0)
		l.equal(l.content("tx:never"), nothing)
	})
}
