package luascripts_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// sessionCase is one script that runs under a session. prepare returns a call
// that changes as much as the script can; its first two arguments are the lane
// and the number.
type sessionCase struct {
	script  *luascripts.Script
	prepare func(l *lab) *luascripts.Call
	// replayed lists the elements of the reply that a re-sent call repeats.
	replayed []int
}

var sessionCases = []sessionCase{
	{luascripts.Enqueue, prepareEnqueue, []int{0, 2, 3}},
	{luascripts.Turn, prepareTurn, []int{0, 2, 3, 4}},
	{luascripts.Cancel, func(l *lab) *luascripts.Call {
		everyState(l)
		return l.cancelCall("1", "2", "3", "4", "5", "6", "7", "8", "99")
	}, []int{0, 2}},
	{luascripts.Delete, func(l *lab) *luascripts.Call {
		everyState(l)
		return l.deleteCall("1", "2", "3", "4", "5", "6", "7", "8", "99")
	}, []int{0, 2}},
	{luascripts.Revive, func(l *lab) *luascripts.Call {
		everyState(l)
		return l.reviveCall(luascripts.ReviveStep{ID: "7", Limit: 9, Digest: "D", Note: "again"}, luascripts.ReviveStep{ID: "8", Note: "again"},
			luascripts.ReviveStep{ID: "2", Note: "no"}, luascripts.ReviveStep{ID: "99", Note: "no"})
	}, []int{0, 2}},
	{luascripts.Reschedule, func(l *lab) *luascripts.Call {
		everyState(l)
		return l.rescheduleCall(&luascripts.RescheduleStep{ID: "1", Lane: 1})
	}, []int{0, 2}},
	{luascripts.Purge, func(l *lab) *luascripts.Call {
		everyState(l)
		return l.purgeCall("ready:q:d", true, 10)
	}, []int{0, 2, 3}},
	{luascripts.Advance, prepareAdvance, []int{0, 2}},
	{luascripts.Suspend, prepareSuspend, []int{0, 2}},
	{luascripts.Signal, prepareSignal, []int{0, 2, 3}},
	{luascripts.Pause, func(l *lab) *luascripts.Call { return l.pauseCall(true) }, []int{0, 2}},
	{luascripts.Build, prepareBuild, []int{0, 2, 3}},
	{luascripts.Sweep, prepareSweep, []int{0, 2, 3}},
}

// everyState puts a step into each state of queue q, with an idle worker and a
// subscriber: 1 scheduled, 2 ready, 3 running, 4 retrying, 5 snoozed, 6 completed,
// 7 discarded, 8 cancelled.
func everyState(l *lab) {
	l.Helper()
	l.enqueue(item("1", due("+5000"), unique("U", 0, existing)))
	l.ready("3", "4", "5", "6", "7", "8")
	m := l.claim(6)
	in := settling(l.turnInput(), luascripts.OpRetry, m[1])
	settling(in, luascripts.OpSnooze, m[2])
	settling(in, luascripts.OpKeep, m[3])
	settling(in, luascripts.OpDiscard, m[4])
	l.turn(in)
	l.cancel("8")
	l.settle(luascripts.OpGiveBack, m[5])
	l.ready("2")
	l.want(`
		cancelled:q 8@0
		completed:q 6@60000
		discarded:q 7@0
		leased:q 3:t1@30000d pad
		ready:q:d 2
		results 6=out6
		retrying:q 4@1000d
		scheduled:q 1@5000d
		snoozed:q 5@1000d
		steps 1=b1 2=b2 3=b3 4=r4 5=s5 6=b6 7=d7 8=b8
		uniq U=1
		uniqof 1=uU
	`)
	l.stand("idle", 1000)
	l.watch()
	l.said()
}

func prepareEnqueue(l *lab) *luascripts.Call {
	l.enqueue(item("1", unique("held", 0, existing)), item("2", due("+9000"), unique("swap", 0, existing)))
	l.stand("idle", 1000)
	l.watch()
	in := l.enqueueInput(
		item("10", unique("held", 0, reject)), item("11", unique("swap", 0, replace)), item("12", unique("new", 5000, existing)),
		item("13", due("+70")), item("14", unique("new", 5000, existing)))
	in.Groups = []luascripts.EnqueueGroup{plain("15", "16")}
	in.Block = 10
	l.handedOut(100)
	return l.enqueueCall(in)
}

func prepareTurn(l *lab) *luascripts.Call {
	l.ready("1", "2", "3", "4", "5", "6", "7", "8", "9")
	m := l.claim(9)
	l.expire("8", "9")
	l.stand("idle", 1000)
	l.watch()
	l.enqueue(item("20", due("+1")), item("21", unique("U", 0, existing)))
	l.put(l.rdb.HSet(ctx, l.key("tries"), "21", "1 0 0 0 0"))
	l.now++
	in := wanting(l.turnInput(), 20)
	for i, op := range []luascripts.Op{luascripts.OpComplete, luascripts.OpKeep, luascripts.OpRetry, luascripts.OpSnooze, luascripts.OpDiscard, luascripts.OpGiveBack, luascripts.OpRelease} {
		settling(in, op, m[i])
	}
	settling(in, luascripts.OpComplete, "77:gone")
	in.WaitMS = 3000
	return l.turnCall(in)
}

func prepareBuild(l *lab) *luascripts.Call {
	l.build(l.graphRun("1", 1, keyed("held", 0)), l.graphRun("2", 2, inPhase(luascripts.BuildOpen)))
	l.stand("idle", 1000)
	l.watch()
	l.handedOut(100)
	in := l.buildInput(l.graphRun("3", 2, keyed("held", 0)), l.graphRun("4", 0, inPhase(luascripts.BuildAdd)),
		l.graphRun("2", 0, inPhase(luascripts.BuildCommit)), l.graphRun("5", 20, keyed("new", 500)), l.graphRun("6", 2, inPhase(luascripts.BuildOpen)))
	in.Block = 10
	return l.buildCall(in)
}

func prepareSweep(l *lab) *luascripts.Call {
	liveScene(l)
	l.build(l.graphRun("4", 2, keyed("D", 0)), l.graphRun("5", 1, keyed("E", 0)), l.graphRun("6", 1))
	l.sweep(l.sweepInput(l.opsOf("4", op("c", 0, "", "XR"), op("b", 1, "", "XB"), op("f", 0, "r", "f"))))
	l.enqueue(item("7", unique("D", 0, existing)))
	l.sweeping("3", 3000)
	l.sweeping("s 6 name", 3000)
	l.sweeping("c 7 8.1 name", 0)
	l.sweeping("9", -1)
	l.stand("idle", 1000)
	l.watch()
	run := l.opsOf("3", op("c", 1, "", "XR"), op("r", 7, "1", ""), op("o", 9, "d", ""), op("s", 0, "r", "F"))
	run.Score = strconv.Itoa(start + 3000)
	in := l.sweepInput(run, l.opsOf("4", op("a", 0, "f", "D"), op("v", 0, "XR", "")), l.opsOf("5", op("x", 0, "", ""), op("c", 7, "", "XR")),
		l.opsOf("6", op("d", 0, "1", "2")), l.opsOf("66", op("p", 0, "", "")))
	in.Take, in.Done = 1, []luascripts.SweepItem{{Item: "s 6 name", Score: strconv.Itoa(start + 3000)}}
	return l.sweepCall(in)
}

// TestSessionReplaysAndRefuses: a call that is sent again changes nothing and is
// answered alike, whatever the time; a late original, a call with a gap before it
// and one without a session change nothing and are refused.
func TestSessionReplaysAndRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range sessionCases {
		t.Run(c.script.Name, func(t *testing.T) {
			t.Parallel()
			each(t, c.test)
		})
	}
}

func (c *sessionCase) test(l *lab) {
	call := c.prepare(l)
	seq := call.Args[1].(int64)
	before := l.dump()
	l.said()

	refused := func(lane string, seq int64, want luascripts.Status) {
		l.Helper()
		dump := l.dump()
		call.Args[0], call.Args[1] = lane, seq
		reply := l.run(c.script, call)
		if status := luascripts.StatusOf(reply); status != want || len(reply) != 1 {
			l.Fatalf("lane %s, number %d: answered %v", lane, seq, reply)
		}
		l.equal(l.dump(), dump)
		l.equal(l.said(), []string{})
	}
	refused("nobody.1", seq, luascripts.NoSession)
	refused("c.1", seq-2, luascripts.Stale)
	refused("c.1", seq+1, luascripts.Gap)

	call.Args[0], call.Args[1] = "c.1", seq
	first := l.ok(c.script, call)
	after := l.dump()
	if slices.Equal(before, after) {
		l.Fatal("the call changes nothing, so it proves nothing")
	}
	l.said()

	l.now += 120_000
	again := l.ok(c.script, call)
	l.equal(l.dump(), after)
	l.equal(l.said(), []string{})
	if len(again) != len(first) {
		l.Fatalf("replayed %d elements of %d", len(again), len(first))
	}
	for _, i := range c.replayed {
		l.equal(again[i], first[i])
	}
	if again[1] != l.now {
		l.Fatalf("replayed at %v, not at %d", again[1], l.now)
	}
	refused("c.1", seq-1, luascripts.Stale)
	refused("c.1", seq+2, luascripts.Gap)

	// The lane goes on.
	l.session.Seq = seq
	l.ready("200")
}

// TestSessionEnqueueRefusalIsFinal: an enqueue that was refused stays so when its
// original comes late, even if what stood in its way is gone by then.
func TestSessionEnqueueRefusalIsFinal(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1")
		for _, c := range []struct {
			name string
			want luascripts.Status
			in   func() *luascripts.EnqueueInput
		}{
			{"lost ids", luascripts.IDsLost, func() *luascripts.EnqueueInput {
				l.put(l.rdb.Del(ctx, l.key("ids")))
				return l.enqueueInput(item("2"))
			}},
			{"body of an item", luascripts.TooLarge, func() *luascripts.EnqueueInput {
				in := l.enqueueInput(item("2"), item("3"))
				in.Items[1].Body = strings.Repeat("x", 101)
				return in
			}},
			{"body of a group", luascripts.TooLarge, func() *luascripts.EnqueueInput {
				in := l.enqueueInput(item("2"))
				in.Groups = []luascripts.EnqueueGroup{plain("3", "4")}
				in.Groups[0].Bodies[1] = strings.Repeat("x", 101)
				return in
			}},
		} {
			l.handedOut(100)
			in := c.in()
			before := l.state()
			in.Block = 5
			call := l.enqueueCall(in)
			for range 2 {
				if status := luascripts.StatusOf(l.run(luascripts.Enqueue, call)); status != c.want {
					l.Fatalf("%s: status %v", c.name, status)
				}
				l.equal(l.state(), before)
			}
			if c.want == luascripts.IDsLost {
				l.handedOut(100)
				before = l.state()
				if status := luascripts.StatusOf(l.run(luascripts.Enqueue, call)); status != luascripts.IDsLost {
					l.Fatalf("%s, restored: status %v", c.name, status)
				}
				l.equal(l.state(), before)
			}
		}
		in := l.enqueueInput(item("5"))
		in.Groups = []luascripts.EnqueueGroup{plain("6")}
		in.Items[0].Body, in.Groups[0].Bodies[0] = strings.Repeat("x", 100), strings.Repeat("x", 100)
		l.ok(luascripts.Enqueue, l.enqueueCall(in))
	})
}

// TestEnqueueNoticesLostIDs: a counter that is missing, or behind the steps that were
// ever stored, gives out no block; calls that ask for none go on.
func TestEnqueueNoticesLostIDs(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		block := func() luascripts.Status {
			l.Helper()
			in := l.enqueueInput()
			in.Block = 5
			return luascripts.StatusOf(l.run(luascripts.Enqueue, l.enqueueCall(in)))
		}
		l.equal(block(), luascripts.OK) // a partition that was never used
		l.equal(l.content("ids"), []string{"5"})
		l.ready("1", "2", "3")
		l.handedOut(3)
		l.equal(block(), luascripts.OK) // every id was used
		for _, last := range []int{0, 2} {
			l.handedOut(last)
			l.equal(block(), luascripts.IDsLost)
		}
		l.put(l.rdb.Del(ctx, l.key("ids")))
		l.equal(block(), luascripts.IDsLost)
		l.ready("4")

		l.put(l.rdb.Del(ctx, l.key("stats"))) // the steps still tell
		l.equal(block(), luascripts.IDsLost)
		l.put(l.rdb.Del(ctx, l.key("steps")))
		l.equal(block(), luascripts.OK)
	})
}

// TestSessionOpenKeepsNumbers: opening a lane again resets nothing.
func TestSessionOpenKeepsNumbers(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1")
		l.now += 500
		l.open("c.1", "c.2")
		l.equal(l.content("sess"), []string{"c.1=1800000000001_0|", "c.2=1800000000500_", "pad=" + padding})
		l.equal(l.content("sessx"), []string{"c.1@500", "c.2@500"})
	})
}

// TestSessionForgottenLane: a late duplicate of open that makes a forgotten lane
// again opens it to no late call of the lane's first life.
func TestSessionForgottenLane(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		late := l.enqueueCall(l.enqueueInput(item("1")))
		l.now += 24 * 3_600_000
		l.tidy(1)
		l.equal(l.content("sess"), []string{"pad=" + padding})
		l.open("c.1")
		l.equal(luascripts.StatusOf(l.run(luascripts.Enqueue, late)), luascripts.Stale)
		l.equal(l.content("steps"), nothing)
	})
}
