package luascripts_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/luascripts"
)

func (l *lab) forgetCall(in luascripts.ForgetInput) *luascripts.Call {
	k := named[luascripts.ForgetKeys](l, "q")
	k.Run = l.key("run:" + in.ID)
	c := new(luascripts.Call)
	luascripts.ForgetCall(c, k, &in)
	return c
}

func (l *lab) forget(in luascripts.ForgetInput) bool {
	l.Helper()
	return luascripts.Forgotten(l.ok(luascripts.Forget, l.forgetCall(in)))
}

// endedRun has run 3 of two nodes, discarded, to be kept for 500 ms, beside a step 9
// with as much of everything.
func endedRun(l *lab) {
	l.Helper()
	l.build(l.graphRun("3", 2, keyed("D", 7000)))
	for _, side := range []string{"tries", "results", "history"} {
		l.put(l.rdb.HSet(ctx, l.key(side), "3.0", "x", "3.1", "x", "9", "x"))
	}
	l.put(l.rdb.HSet(ctx, l.key("steps"), "9", "b9"))
	for _, member := range []string{"3.0", "3.1", "9"} {
		l.put(l.rdb.ZAdd(ctx, l.key("discarded:q"), redis.Z{Member: member, Score: start}))
		l.put(l.rdb.ZAdd(ctx, l.key("journals"), redis.Z{Member: member, Score: start}))
		l.put(l.rdb.HSet(ctx, l.key("journal:"+member), "r:a#1", "x"))
	}
	l.put(l.rdb.Del(ctx, l.key("ready:q:d")))
	l.equal(l.sweep(l.sweepInput(l.opsOf("3", op("c", 0, "", "XR"), op("b", 1, "", "XB"), op("f", 0, "r", "f")))), done)
	l.equal(l.content("runs"), []string{"3@500"})
	l.put(l.rdb.Del(ctx, l.key("ghosts")))
}

// whole is everything of the run of endedRun in one chunk.
func (l *lab) whole() luascripts.ForgetInput {
	return luascripts.ForgetInput{
		ID: "3", Last: true, Members: []string{"3.0", "3.1"},
		Queues:   []luascripts.ForgetQueue{{Discarded: l.key("discarded:q"), Members: []string{"3.0", "3.1"}}},
		Journals: []string{l.key("journal:3.0"), l.key("journal:3.1")},
	}
}

const nineIsLeft = `
	discarded:q 9@0
	history 9=x
	journal:9 r:a#1=x
	journals 9@0
	results 9=x
	steps 9=b9
	tries 9=x
`

// TestForgetWhenItsTimeHasPassed: a run leaves nothing behind, but a key that it
// holds for a duration.
func TestForgetWhenItsTimeHasPassed(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		endedRun(l)
		before := l.dump()
		l.now += 499
		l.equal(l.forget(l.whole()), false)
		l.equal(l.dump(), before)
		l.now++
		l.sweeping("3", 10)
		l.equal(l.forget(l.whole()), true)
		l.want(nineIsLeft + `
			uniq D=3
			uniqof 3=dD
			uniqx D@7000
		`)
		l.equal(l.forget(l.whole()), false)
	})
}

// TestForgetAtOnce: an operator waits for nothing, and frees the key.
func TestForgetAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		endedRun(l)
		in := l.whole()
		in.Now = true
		l.equal(l.forget(in), true)
		l.want(nineIsLeft + "uniqx D@7000")

		l.build(l.graphRun("3", 2))
		l.equal(l.forget(in), false) // it lives
		l.equal(count(l, "run:3", "st=r"), 1)
	})
}

// TestForgetInChunks: after the first one nobody opens the run again, and the last
// one takes the run.
func TestForgetInChunks(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		endedRun(l)
		l.now += 500
		l.equal(l.forget(luascripts.ForgetInput{ID: "3", Members: []string{"3.1"}, Journals: []string{l.key("journal:3.1")}}), true)
		l.equal(l.content("steps"), []string{"3=graph3", "3.0=b3.0", "9=b9"})
		l.equal(l.content("journals"), []string{"3.0@0", "9@0"})
		l.equal(l.content("runs"), []string{"3@500"})
		l.equal(l.sweep(l.sweepInput(l.opsOf("3", op("a", 0, "f", "")))), []luascripts.SweepOutcome{{Outcome: luascripts.SweepAbsent}})
		l.equal(l.forget(luascripts.ForgetInput{ID: "3", Last: true}), true)
		l.equal(l.content("steps"), []string{"3.0=b3.0", "9=b9"})
		l.equal(l.content("run:3"), nothing)
		l.equal(l.content("runs"), nothing)
	})
}

// TestForgetOfManyQueues: what was discarded leaves the index of its queue.
func TestForgetOfManyQueues(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		endedRun(l)
		l.put(l.rdb.Rename(ctx, l.key("discarded:q"), l.key("discarded:p")))
		in := l.whole()
		in.Now = true
		in.Queues[0].Members = []string{"9", "3.0"} // no member of this queue
		in.Queues = append(in.Queues, luascripts.ForgetQueue{Discarded: l.key("discarded:p"), Members: []string{"3.1", "3.0"}})
		l.equal(l.forget(in), true)
		l.equal(l.content("discarded:p"), []string{"9@0"})
	})
}

// TestForgetAbandonedBuild: one that was not committed by its expiry.
func TestForgetAbandonedBuild(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.build(l.graphRun("3", 20, inPhase(luascripts.BuildOpen), func(r *luascripts.BuildRun) { r.Bodies = r.Bodies[:2] }))
		l.now += 999
		in := luascripts.ForgetInput{ID: "3", Last: true, Members: []string{"3.0", "3.1"}}
		l.equal(l.forget(in), false)
		l.now++
		l.equal(l.forget(in), true)
		l.want(``)
	})
}
