package luascripts_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// op is an operation on a node of queue 0 and the default lane, or on the run.
func op(act luascripts.SweepAct, node int, was, to string) luascripts.SweepOp {
	return luascripts.SweepOp{Act: act, Node: node, Lane: 1, Was: was, To: to, Note: "note"}
}

// opsOf are operations for a run as it is: of its present generation.
func (l *lab) opsOf(id string, ops ...luascripts.SweepOp) luascripts.SweepRun {
	gen, _ := l.rdb.HGet(ctx, l.key("run:"+id), "gen").Int()
	return luascripts.SweepRun{Key: l.key("run:" + id), ID: id, Gen: gen, Ops: ops}
}

func (l *lab) sweepInput(runs ...luascripts.SweepRun) *luascripts.SweepInput {
	return &luascripts.SweepInput{
		Channels: l.channels(), Detail: []byte("detail"), HoldMS: 3000,
		Queues: []luascripts.SweepQueue{*named[luascripts.SweepQueue](l, "q")}, Runs: runs,
	}
}

func (l *lab) sweepCall(in *luascripts.SweepInput) *luascripts.Call {
	c := new(luascripts.Call)
	in.Session = l.next()
	luascripts.SweepCall(c, named[luascripts.SweepKeys](l, ""), in)
	return c
}

// sweep applies operations and returns what became of each run's.
func (l *lab) sweep(in *luascripts.SweepInput) []luascripts.SweepOutcome {
	l.Helper()
	return luascripts.ParseSweep(l.ok(luascripts.Sweep, l.sweepCall(in))).Outcomes
}

// plan applies operations to run 3.
func (l *lab) plan(ops ...luascripts.SweepOp) string {
	l.Helper()
	out := l.sweep(l.sweepInput(l.opsOf("3", ops...)))[0]
	if out.Holder != "" {
		return out.Outcome + " " + out.Holder
	}
	return out.Outcome
}

// done is the answer for one run of which all was done.
var done = []luascripts.SweepOutcome{{Outcome: luascripts.SweepDone}}

// liveScene has run 3 with node 0 ready, 1 running, 2 scheduled, 3 retrying, 4 snoozed, 5 waiting,
// 6 and 7 blocked by 2 and 1 nodes, as 0 was once, 8 completed and 9 discarded.
func liveScene(l *lab) {
	l.Helper()
	l.ready("3.1")
	l.claim(1)
	r := l.graphRun("3", 10)
	r.Blocked = []luascripts.BuildBlocked{{Field: "d6", Count: 2}, {Field: "d7", Count: 1}}
	l.build(r)
	for i, index := range []string{"scheduled", "retrying", "snoozed", "waiting"} {
		l.bulk(index+":q", []string{"3." + strconv.Itoa(i+2)}, l.now+1000, 1)
	}
	l.put(l.rdb.HSet(ctx, l.key("run:3"), "s8", "c1", "s9", "d", "left", "8", "d0", ""))
	l.put(l.rdb.ZAdd(ctx, l.key("discarded:q"), redis.Z{Member: "3.9", Score: start}))
	l.said()
}

// hash returns fields of run 3 that begin with one of the letters, and what is left.
func (l *lab) hash() []string {
	l.Helper()
	return slices.DeleteFunc(l.content("run:3"), func(field string) bool {
		return slices.ContainsFunc([]string{"keep=", "n=", "up=", "d0="}, func(p string) bool { return len(field) >= len(p) && field[:len(p)] == p })
	})
}

// TestSweepCancelsLiveNodes wherever they are: what waits leaves its index, what is
// ready or running becomes a ghost, and none is indexed as cancelled.
func TestSweepCancelsLiveNodes(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		liveScene(l)
		l.watch()
		var ops []luascripts.SweepOp
		for node := range 6 {
			ops = append(ops, op(luascripts.SweepCancel, node, "", "XR"))
		}
		l.equal(l.plan(ops...), "done")
		l.equal(l.hash(), []string{"bad=1", "d6=2", "d7=1", "left=2", "s0=XR", "s1=XR", "s2=XR", "s3=XR", "s4=XR", "s5=XR", "s8=c1", "s9=d", "st=r"})
		l.equal(l.content("ghosts"), []string{"3.0=xq", "3.1=xq"})
		l.equal(l.total("cancelled"), 6)
		l.equal(l.said(), []string{
			"events 1800000000000/cancelled q 3.0 0 0/cancelled q 3.1 1 0/cancelled q 3.2 2 0/cancelled q 3.3 3 0/" +
				"cancelled q 3.4 4 0/cancelled q 3.5 5 0//detail",
			"cancels 3.0 3.1",
		})
		for _, index := range []string{"scheduled:q", "retrying:q", "snoozed:q", "waiting:q", "cancelled:q"} {
			l.equal(l.content(index), nothing)
		}
		// Each guard: it has ended, as whatever, or is blocked.
		before := l.state()
		for _, node := range []int{0, 6, 8, 9} {
			l.equal(l.plan(op(luascripts.SweepCancel, node, "", "xR")), "stale")
		}
		l.equal(l.state(), before)
	})
}

// TestSweepCancelsDeletedNodes without a trace in the ghosts: whoever deleted one
// has seen to that.
func TestSweepCancelsDeletedNodes(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		liveScene(l)
		l.delete("3.2", "3.6")
		l.equal(l.content("sweep"), []string{"3@0"})
		l.equal(l.content("ghosts"), []string{"3.6=xq"})
		l.said()
		l.equal(l.plan(op(luascripts.SweepCancel, 2, "", "xR"), op(luascripts.SweepDrop, 6, "", "xB")), "done")
		l.equal(l.content("ghosts"), nothing)
		l.equal(l.said(), nothing)
		l.equal(l.hash(), []string{"bad=1", "d7=1", "gen=2", "left=6", "s2=xR", "s6=xB", "s8=c1", "s9=d", "st=r"})
	})
}

// TestSweepOfBlockedNodes: they are cancelled, counted down and released.
func TestSweepOfBlockedNodes(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		liveScene(l)
		l.watch()
		l.stand("idle", 1000)
		for _, stale := range []luascripts.SweepOp{
			op(luascripts.SweepDrop, 0, "", "XB"), op(luascripts.SweepDrop, 8, "", "XB"),
			op(luascripts.SweepCount, 6, "3", "1"), op(luascripts.SweepCount, 0, "", "1"),
			op(luascripts.SweepRelease, 6, "1", ""), op(luascripts.SweepRelease, 0, "", ""), op(luascripts.SweepRelease, 8, "0", ""),
		} {
			before := l.state()
			l.equal(l.plan(stale), "stale")
			l.equal(l.state(), before)
		}
		l.equal(l.said(), nothing)
		l.equal(l.plan(op(luascripts.SweepCount, 6, "2", "1"), op(luascripts.SweepRelease, 6, "1", ""), op(luascripts.SweepDrop, 7, "", "XB")), "done")
		l.equal(l.hash(), []string{"bad=1", "left=7", "s7=XB", "s8=c1", "s9=d", "st=r"})
		l.equal(l.content("ready:q:d"), []string{"3.6", "3.0"})
		l.equal(l.total("unblocked"), 2) // node 0 with the run, node 6 now
		l.equal(l.said(), []string{"events 1800000000000/enqueued q 3.6 1 0/cancelled q 3.7 2 0//detail", "wake.idle 0"})
	})
}

// TestSweepReleasesAtItsTime: with a delay a node is scheduled.
func TestSweepReleasesAtItsTime(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		liveScene(l)
		l.watch()
		later := op(luascripts.SweepRelease, 6, "2", "")
		later.Due = "+70"
		l.equal(l.plan(later), "done")
		l.equal(l.content("scheduled:q"), []string{"3.6@70d", "3.2@1000d"})
		l.equal(l.said(), []string{"events 1800000000000/enqueued q 3.6 0 1800000000070//detail"})
		// One without a body is live without one, for the next plan to see.
		l.put(l.rdb.HDel(ctx, l.key("steps"), "3.7"))
		l.equal(l.plan(op(luascripts.SweepRelease, 7, "1", "")), "stale")
		l.equal(l.plan(op(luascripts.SweepCancel, 7, "", "xR")), "done")
		l.equal(count(l, "ready:q:d", "3.7"), 0)
	})
}

// TestSweepRevives what a failure had cancelled: at once, at its time, blocked, or
// where a ghost still stands.
func TestSweepRevives(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		liveScene(l)
		l.plan(op("c", 0, "", "XR"), op("c", 1, "", "XR"), op("c", 2, "", "XR"), op("c", 3, "", "XR"), op("b", 6, "", "XB"), op("b", 7, "", "XB"))
		l.watch()
		l.said()
		for _, stale := range []luascripts.SweepOp{
			op("v", 0, "XB", ""), op("v", 4, "", ""), op("v", 8, "XR", ""), op("v", 6, "", "1"),
		} {
			before := l.state()
			l.equal(l.plan(stale), "stale")
			l.equal(l.state(), before)
		}
		later := op("v", 3, "XR", "")
		later.Due = "+70"
		l.equal(l.plan(op("v", 0, "XR", ""), op("v", 1, "XR", ""), op("v", 2, "XR", ""), later, op("v", 6, "XB", "1"), op("v", 7, "XB", "")), "done")
		l.equal(l.hash(), []string{"bad=1", "d6=1", "left=8", "s8=c1", "s9=d", "st=r"})
		l.equal(l.content("ghosts"), []string{"3.0=rq", "3.1=rq"})
		l.equal(l.content("ready:q:d"), []string{"3.7", "3.2", "3.0"})
		l.equal(l.content("scheduled:q"), []string{"3.3@70d"})
		l.equal(l.total("retried"), 6)
		l.equal(l.said(), []string{"events 1800000000000/retried q 3.0 0 0/retried q 3.1 1 0/retried q 3.2 2 0/" +
			"retried q 3.3 3 1800000000070/retried q 3.6 4 0/retried q 3.7 5 0//detail"})
		l.equal(l.claim(9), []string{"3.0:t2", "3.2:t2", "3.7:t2"})
		l.equal(l.settle(luascripts.OpComplete, "3.1:t1").Lost, map[string]string{"3.1:t1": "cancelled"})
		l.equal(l.content("ready:q:d"), []string{"3.1"})
	})
}

// TestSweepReopens a discarded node: with what an operator gives it, and with the
// run that may have ended by then.
func TestSweepReopens(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		liveScene(l)
		l.put(l.rdb.HSet(ctx, l.key("tries"), "3.9", "2 1 4 5 0"))
		l.watch()
		for _, stale := range []luascripts.SweepOp{op("o", 9, "XR", ""), op("o", 8, "d", ""), op("o", 0, "", "")} {
			l.equal(l.plan(stale), "stale")
		}
		again := op("o", 9, "d", "")
		again.Limit = 7
		l.equal(l.plan(again), "done")
		l.equal(l.hash(), []string{"d6=2", "d7=1", "gen=1", "left=9", "s8=c1", "st=r"})
		l.equal(l.content("tries"), []string{"3.9=2_1_4_7_3"})
		l.equal(l.content("history"), []string{"3.9=1800000000000_note/"})
		l.equal(l.content("discarded:q"), nothing)
		l.equal(l.content("ready:q:d"), []string{"3.9", "3.0"})
		l.equal(l.said(), []string{"events 1800000000000/retried q 3.9 0 0//detail"})

		// Without a limit the one that stands remains.
		l.put(l.rdb.HSet(ctx, l.key("run:3"), "s9", "d"))
		l.equal(l.plan(op("o", 9, "d", "")), "done")
		l.equal(l.content("tries"), []string{"3.9=2_1_4_7_3"})
	})
}

// TestSweepOpensNothingWithoutABody: a node that was deleted counts as cancelled by
// an operator, and stays so.
func TestSweepOpensNothingWithoutABody(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		liveScene(l)
		l.plan(op("c", 0, "", "XR"))
		l.put(l.rdb.HDel(ctx, l.key("steps"), "3.0", "3.9"))
		l.equal(l.plan(op("v", 0, "XR", ""), op("o", 9, "d", "")), "stale")
		l.equal(l.hash(), []string{"bad=1", "d6=2", "d7=1", "left=7", "s0=xR", "s8=c1", "s9=xR", "st=r"})
		l.equal(l.content("history"), nothing)
	})
}

// TestSweepMovesRuns: states, the stop of a run, and the generation that refuses
// plans from before it.
func TestSweepMovesRuns(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		liveScene(l)
		l.equal(l.plan(op("s", 0, "F", "X")), "stale")
		l.equal(l.plan(op("s", 0, "r", "F")), "done")
		l.equal(l.content("sweep"), nothing)
		old := l.opsOf("3", op("c", 0, "", "XR"), op("p", 0, "", ""))
		l.now += 5
		l.equal(l.plan(op("x", 0, "", "")), "done")
		l.equal(l.content("sweep"), []string{"3@5"})
		l.equal(l.hash(), []string{"d6=2", "d7=1", "gen=1", "left=8", "s8=c1", "s9=d", "st=X"})
		before := l.state()
		l.equal(l.plan(op("x", 0, "", "")), "stale")
		l.equal(l.sweep(l.sweepInput(old)), []luascripts.SweepOutcome{{Outcome: luascripts.SweepStale}})
		l.equal(l.state(), before)
		l.now++
		l.equal(l.plan(op("p", 0, "", "")), "done")
		l.equal(l.content("sweep"), []string{"3@6"})
		l.equal(l.sweep(l.sweepInput(l.opsOf("77", op("p", 0, "", "")))), []luascripts.SweepOutcome{{Outcome: luascripts.SweepAbsent}})
		l.equal(l.content("sweep"), []string{"3@6"})

		// From r as well, and from nowhere else.
		l.put(l.rdb.HSet(ctx, l.key("run:3"), "st", "r"))
		l.equal(l.plan(op("x", 0, "", "")), "done")
		l.put(l.rdb.HSet(ctx, l.key("run:3"), "st", "c"))
		l.equal(l.plan(op("x", 0, "", "")), "stale")
	})
}

// endScene has run 3 with one node, which was discarded, and a unique key.
func endScene(l *lab) {
	l.Helper()
	l.build(l.graphRun("3", 1, keyed("D", 0), func(r *luascripts.BuildRun) { r.Up, r.Deadline = "5.1 child", "+9000" }))
	l.put(l.rdb.Del(ctx, l.key("ready:q:d")))
	l.put(l.rdb.HSet(ctx, l.key("run:3"), "s0", "d", "left", "0"))
	l.put(l.rdb.ZAdd(ctx, l.key("discarded:q"), redis.Z{Member: "3.0", Score: start}))
}

// TestSweepFinishesRuns: the key is free, what waits for the run is told, its
// deadline is no matter any more.
func TestSweepFinishesRuns(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		endScene(l)
		l.watch()
		l.equal(l.plan(op("f", 0, "F", "f")), "stale")
		l.put(l.rdb.HSet(ctx, l.key("run:3"), "left", "1"))
		l.equal(l.plan(op("f", 0, "r", "f")), "stale")
		l.put(l.rdb.HSet(ctx, l.key("run:3"), "left", "0"))
		l.now += 5
		l.equal(l.plan(op("f", 0, "r", "f")), "done")
		l.want(`
			discarded:q 3.0@0
			run:3 dl=1800000009000 fin=1800000000005 keep=500 left=0 n=1 s0=d st=f up=5.1_child
			runs 3@505
			steps 3=graph3 3.0=b3.0
			sweep c 3 5.1 child@5
		`)
		l.equal(l.said(), []string{"events 1800000000005/finished - 3 - 0 f//detail"})
		// Nothing moves a node of a run that has ended.
		for _, stale := range []luascripts.SweepOp{op("o", 0, "d", ""), op("v", 0, "d", ""), op("c", 1, "", "XR"), op("f", 0, "r", "c")} {
			before := l.state()
			l.equal(l.plan(stale), "stale")
			l.equal(l.state(), before)
		}
	})
}

// TestSweepOfSeveralRuns: each has its own operations and details, and one's failure
// is not another's.
func TestSweepOfSeveralRuns(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		liveScene(l)
		l.build(l.graphRun("4", 2))
		l.watch()
		stats := l.content("stats")
		l.equal(l.sweep(l.sweepInput(l.opsOf("4", op("p", 0, "", "")))), done)
		l.equal(l.content("stats"), stats) // no counter of nothing
		l.equal(l.said(), nothing)
		l.equal(l.sweep(l.sweepInput(l.opsOf("3", op("c", 8, "", "XR"), op("b", 6, "", "XB")), l.opsOf("4", op("c", 0, "", "XR"), op("b", 1, "", "XB")))),
			[]luascripts.SweepOutcome{{Outcome: luascripts.SweepStale}, {Outcome: luascripts.SweepDone}})
		l.equal(l.said()[0], "events 1800000000000/cancelled q 3.6 1 0/cancelled q 4.0 2 0/cancelled q 4.1 3 0//detail")

		// With nobody who listens, and for a run of which nobody said how long it stays.
		l.put(l.rdb.Del(ctx, l.key("subs")))
		l.put(l.rdb.HDel(ctx, l.key("run:4"), "keep"))
		l.equal(l.sweep(l.sweepInput(l.opsOf("4", op("f", 0, "r", "f")))), done)
		l.equal(l.content("runs"), []string{"4@0"})
		l.equal(l.said(), nothing)
	})
}

// TestSweepOpensRunsAgain, with their nodes, if their key is free; a deadline that
// was set before is no matter any more.
func TestSweepOpensRunsAgain(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		endScene(l)
		l.plan(op("f", 0, "r", "f"))
		l.equal(l.plan(op("a", 0, "x", "D"), op("o", 0, "d", "")), "stale")
		l.enqueue(item("7", unique("D", 0, existing)))
		before := l.state()
		l.equal(l.plan(op("a", 0, "f", "D"), op("o", 0, "d", "")), "conflict 7")
		l.equal(l.state(), before)
		l.cancel("7")
		l.now += 5
		l.equal(l.plan(op("a", 0, "f", "D"), op("o", 0, "d", "")), "done")
		l.equal(l.hash(), []string{"gen=2", "left=1", "st=r"})
		l.equal(l.content("runs"), nothing)
		l.equal(l.content("sweep"), []string{"c 3 5.1 child@0", "3@5"})
		l.equal(l.content("uniq"), []string{"D=3"})
		l.equal(l.content("uniqof"), []string{"3=sD"})
		l.equal(l.content("ready:q:d"), []string{"3.0", "7"})

		// One that still runs: its own key is in nobody's way.
		l.equal(l.plan(op("a", 0, "r", "D")), "done")
		l.equal(l.content("uniqof"), []string{"3=sD"})
		l.equal(count(l, "run:3", "gen=3"), 1)
		// Without a key, and with one that another had for a time that has passed.
		l.equal(l.plan(op("a", 0, "r", "")), "done")
		l.equal(l.content("uniq"), []string{"D=3"})
		l.put(l.rdb.HSet(ctx, l.key("uniq"), "D", "8"))
		l.put(l.rdb.HSet(ctx, l.key("uniqof"), "8", "dD"))
		l.put(l.rdb.ZAdd(ctx, l.key("uniqx"), redis.Z{Member: "D", Score: start}))
		l.equal(l.plan(op("a", 0, "r", "D")), "done")
		l.equal(l.content("uniqof"), []string{"3=sD"})
		l.equal(l.content("uniqx"), nothing)
	})
}

// TestSweepHoldsItems that are due, oldest first, for their taker: others see them
// when the time has passed.
func TestSweepHoldsItems(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.sweeping("5", -1)
		l.sweeping("s 6 name", 0)
		l.sweeping("c 7 8.1 name", -2)
		l.sweeping("9", 1)
		take := func(n int) []luascripts.SweepItem {
			in := l.sweepInput()
			in.Take = n
			return luascripts.ParseSweep(l.ok(luascripts.Sweep, l.sweepCall(in))).Taken
		}
		const until = "1800000003000"
		l.equal(take(0), []luascripts.SweepItem(nil))
		l.equal(take(2), []luascripts.SweepItem{{Item: "c 7 8.1 name", Score: until}, {Item: "5", Score: until}})
		l.equal(take(9), []luascripts.SweepItem{{Item: "s 6 name", Score: until}})
		l.now += 2999
		l.equal(take(9), []luascripts.SweepItem{{Item: "9", Score: "1800000005999"}})

		// What is settled leaves, but not what somebody has put there again.
		l.sweeping("5", 0)
		in := l.sweepInput()
		in.Done = []luascripts.SweepItem{{Item: "5", Score: until}, {Item: "s 6 name", Score: until}, {Item: "77", Score: until}}
		l.sweep(in)
		l.equal(l.content("sweep"), []string{"5@2999", "c 7 8.1 name@3000", "9@5999"})
	})
}

// TestSweepPutsItems, and leaves what is there where that is asked for.
func TestSweepPutsItems(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.sweeping("5", 100)
		l.sweeping("6", 100)
		in := l.sweepInput()
		at := func(item string, ms int) luascripts.SweepItem {
			return luascripts.SweepItem{Item: item, Score: strconv.Itoa(start + ms)}
		}
		in.Put = []luascripts.SweepPut{{at("5", 7), true}, {at("6", 7), false}, {at("7", 0), true}}
		in.Take = 2
		l.equal(luascripts.ParseSweep(l.ok(luascripts.Sweep, l.sweepCall(in))).Taken, []luascripts.SweepItem{at("7", 3000)})
		l.equal(l.content("sweep"), []string{"6@7", "5@100", "7@3000"})
	})
}

// TestSweepTellsItsCaller of its events, whether or not anybody subscribes, and again
// when the answer is lost.
func TestSweepTellsItsCaller(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		liveScene(l)
		l.put(l.rdb.Del(ctx, l.key("subs")))
		l.said()
		in := l.sweepInput(l.opsOf("3", op("c", 2, "", "XR"), op("b", 7, "", "XB")))
		in.Listens, in.Take = true, 1
		l.sweeping("9", 0)
		call := l.sweepCall(in)
		for range 2 {
			reply := luascripts.ParseSweep(l.ok(luascripts.Sweep, call))
			l.equal(reply.Lines, "cancelled q 3.2 0 0\ncancelled q 3.7 1 0")
			l.equal(reply.Taken, []luascripts.SweepItem{{Item: "9", Score: strconv.Itoa(start + 3000)}})
		}
		l.equal(l.said(), nothing)
		l.watch()
		quiet := l.sweepInput(l.opsOf("3", op("c", 3, "", "XR")))
		l.equal(luascripts.ParseSweep(l.ok(luascripts.Sweep, l.sweepCall(quiet))).Lines, "")
	})
}

// TestSweepHoldsOn to an item of which there is more to do, for as long as it is the
// caller's.
func TestSweepHoldsOn(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		liveScene(l)
		part := func(gen int, ops ...luascripts.SweepOp) string {
			t.Helper()
			r := l.opsOf("3", ops...)
			r.Score, r.KeepMS, r.Gen = strconv.Itoa(start+3000), 7000, r.Gen+gen
			return l.sweep(l.sweepInput(r))[0].Outcome
		}
		l.sweeping("3", 3000)
		l.now += 2000
		l.equal(part(0, op("c", 8, "", "XR")), luascripts.SweepStale)
		l.equal(part(1), luascripts.SweepStale)
		l.equal(l.content("sweep"), []string{"3@3000"})
		l.equal(part(0), luascripts.SweepDone)
		l.equal(l.content("sweep"), []string{"3@9000"})
		l.equal(part(0), luascripts.SweepTaken) // it has the time of another
		l.equal(l.content("sweep"), []string{"3@9000"})
		l.put(l.rdb.Del(ctx, l.key("sweep")))
		l.equal(part(0), luascripts.SweepTaken)
		l.equal(l.content("sweep"), nothing)
	})
}

// TestSweepTakesRunsOff when all of a plan was done and nobody has asked for
// another; a run with a deadline stays for it.
func TestSweepTakesRunsOff(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		liveScene(l)
		held := strconv.Itoa(start + 3000)
		settle := func(ops ...luascripts.SweepOp) {
			t.Helper()
			r := l.opsOf("3", ops...)
			r.Score = held
			l.sweep(l.sweepInput(r))
		}
		l.sweeping("3", 3000)
		settle(op("c", 8, "", "XR")) // a guard did not hold
		l.equal(l.content("sweep"), []string{"3@3000"})
		l.sweeping("3", 0)
		settle() // somebody has asked again
		l.equal(l.content("sweep"), []string{"3@0"})
		l.sweeping("3", 3000)
		settle(op("p", 0, "", "")) // the plan itself has
		l.equal(l.content("sweep"), []string{"3@0"})
		l.sweeping("3", 3000)
		settle()
		l.equal(l.content("sweep"), nothing)
		settle()
		l.equal(l.content("sweep"), nothing)

		l.put(l.rdb.HSet(ctx, l.key("run:3"), "dl", start+9000))
		l.sweeping("3", 3000)
		settle()
		l.equal(l.content("sweep"), []string{"3@9000"})
		l.put(l.rdb.Del(ctx, l.key("sweep")))
		l.equal(l.plan(), "done") // which was for no item
		l.equal(l.content("sweep"), nothing)
		l.put(l.rdb.HSet(ctx, l.key("run:3"), "dl", start-1)) // it passed meanwhile
		l.sweeping("3", 3000)
		settle()
		l.equal(l.content("sweep"), []string{"3@0"})
		l.sweeping("3", 3000)
		settle(op("s", 0, "r", "F"))
		l.equal(l.content("sweep"), nothing)

		// No node is left: one that was not the last when it ended, and those of the plan.
		l.put(l.rdb.HSet(ctx, l.key("run:3"), "left", 1))
		l.sweeping("3", 3000)
		r := l.opsOf("3", op("c", 0, "", "XR"))
		r.Score = held
		l.equal(l.sweep(l.sweepInput(r))[0].Outcome, luascripts.SweepStale)
		l.equal(l.content("sweep"), []string{"3@3000"})
		settle(op("f", 0, "F", "f"))
		l.equal(l.content("sweep"), nothing)

		// A run that is gone has no work.
		l.put(l.rdb.Del(ctx, l.key("run:3")))
		l.sweeping("3", 3000)
		settle(op("p", 0, "", ""))
		l.equal(l.content("sweep"), nothing)
	})
}
