package luascripts_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// settlements are all operations with what is left of step 1 of queue q after each.
var settlements = []struct {
	op   luascripts.Op
	verb string
	left string
}{
	{luascripts.OpComplete, "completed", `leased:q pad`},
	{luascripts.OpKeep, "completed", `
		completed:q 1@60000
		leased:q pad
		results 1=out1
		steps 1=b1`},
	{luascripts.OpRetry, "failed", `
		leased:q pad
		retrying:q 1@1000d
		steps 1=r1`},
	{luascripts.OpSnooze, "snoozed", `
		leased:q pad
		snoozed:q 1@1000d
		steps 1=s1`},
	{luascripts.OpDiscard, "discarded", `
		discarded:q 1@0
		leased:q pad
		steps 1=d1`},
	{luascripts.OpGiveBack, "released", `
		leased:q pad
		ready:q:d 1
		steps 1=b1`},
	{luascripts.OpRelease, "released", `
		leased:q pad
		ready:q:d 1
		steps 1=b1
		tries 1=0_0_1_0_0`},
	{luascripts.OpPutBack, "released", `
		leased:q pad
		scheduled:q 1@1000d
		steps 1=b1`},
}

// TestFenceEachOperation: each settlement does what it says to a step whose lease
// it names, and nothing to one whose lease it does not.
func TestFenceEachOperation(t *testing.T) {
	t.Parallel()
	for _, s := range settlements {
		t.Run(string(s.op), func(t *testing.T) {
			t.Parallel()
			each(t, func(l *lab) {
				l.ready("1")
				m := l.claim(1)
				held, counted := l.state(), l.content("stats")
				reply := l.settle(s.op, "1:stale")
				l.equal(reply.Lost, map[string]string{"1:stale": luascripts.ReasonLost})
				l.equal(l.state(), held)
				l.equal(l.content("stats"), counted)

				reply = l.settle(s.op, m...)
				l.equal(len(reply.Lost), 0)
				l.want(s.left)
				l.equal(l.total(s.verb), 1)

				// A second settlement under the same token comes too late.
				settled := l.state()
				l.equal(l.settle(s.op, m...).Lost, map[string]string{m[0]: luascripts.ReasonLost})
				l.equal(l.state(), settled)
				l.equal(l.total(s.verb), 1)
			})
		})
	}
}

// TestFenceSortsGoodFromLost: a group with lost members settles the others, each
// with its own arguments, and names the lost.
func TestFenceSortsGoodFromLost(t *testing.T) {
	t.Parallel()
	want := map[luascripts.Op]string{
		luascripts.OpComplete: `
			leased:q 3:t1@30000d pad
			steps 1=b1 3=b3`,
		luascripts.OpKeep: `
			completed:q 2@60000 4@60000
			leased:q 3:t1@30000d pad
			results 2=out2 4=out4
			steps 1=b1 2=b2 3=b3 4=b4`,
		luascripts.OpRetry: `
			leased:q 3:t1@30000d pad
			retrying:q 2@1000d 4@1000d
			steps 1=b1 2=r2 3=b3 4=r4`,
		luascripts.OpSnooze: `
			leased:q 3:t1@30000d pad
			snoozed:q 2@1000d 4@1000d
			steps 1=b1 2=s2 3=b3 4=s4`,
		luascripts.OpDiscard: `
			discarded:q 2@0 4@0
			leased:q 3:t1@30000d pad
			steps 1=b1 2=d2 3=b3 4=d4`,
		luascripts.OpGiveBack: `
			leased:q 3:t1@30000d pad
			ready:q:d 2 4
			steps 1=b1 2=b2 3=b3 4=b4`,
		luascripts.OpRelease: `
			leased:q 3:t1@30000d pad
			ready:q:d 2 4
			steps 1=b1 2=b2 3=b3 4=b4
			tries 2=0_0_1_0_0 4=0_0_1_0_0`,
		luascripts.OpPutBack: `
			leased:q 3:t1@30000d pad
			scheduled:q 2@1000d 4@1000d
			steps 1=b1 2=b2 3=b3 4=b4`,
	}
	for op, state := range want {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			each(t, func(l *lab) {
				l.ready("1", "2", "3", "4")
				m := l.claim(4)
				l.settle(luascripts.OpGiveBack, m[0])
				l.put(l.rdb.Del(ctx, l.key("ready:q:d")))
				reply := l.settle(op, m[0], m[1], "3:other", m[3])
				l.equal(reply.Lost, map[string]string{m[0]: luascripts.ReasonLost, "3:other": luascripts.ReasonLost})
				l.want(state)
			})
		})
	}
}

// TestFenceAllLost: a group of which nothing is left changes nothing, whatever
// else is in the call.
func TestFenceAllLost(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1", "2")
		m := l.claim(1)
		in := settling(l.turnInput(), luascripts.OpComplete, "8:x", "9:x")
		settling(in, luascripts.OpDiscard, "1:x")
		settling(in, luascripts.OpRetry, m[0])
		reply := l.turn(wanting(in, 1))
		l.equal(reply.Lost, map[string]string{"8:x": "lost", "9:x": "lost", "1:x": "lost"})
		l.equal(members(reply, "t2"), []string{"2:t2"})
		l.want(`
			leased:q 2:t2@30000d pad
			retrying:q 1@1000d
			steps 1=r1 2=b2
		`)
	})
}

// TestFenceOfAnotherQueue: a lease holds in its own queue only.
func TestFenceOfAnotherQueue(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1")
		m := l.claim(1)
		in := l.turnInput()
		in.Queues = []luascripts.TurnQueue{*named[luascripts.TurnQueue](l, "p")}
		l.equal(l.turn(settling(in, luascripts.OpComplete, m...)).Lost, map[string]string{m[0]: luascripts.ReasonLost})
		l.want(`
			leased:q 1:t1@30000d pad
			steps 1=b1
		`)
	})
}

// TestFenceSettlesSideTables: what is kept beside a body goes with the body, by
// the variadic path and by the other one.
func TestFenceSettlesSideTables(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1", "2", "3", "4")
		m := l.claim(4)
		l.put(l.rdb.HSet(ctx, l.key("history"), "1", "h", "2", "h", "3", "h", "9", "h"))
		l.settle(luascripts.OpComplete, m[0]) // history only
		l.put(l.rdb.HSet(ctx, l.key("tries"), "2", "1 0 0 0 0", "3", "2 0 0 0 0", "9", "1 0 0 0 0"))
		l.settle(luascripts.OpComplete, m[1], "7:x")
		l.settle(luascripts.OpKeep, m[2])
		l.equal(l.content("history"), []string{"3=h", "9=h"})
		l.put(l.rdb.Del(ctx, l.key("history")))
		l.put(l.rdb.HSet(ctx, l.key("tries"), "4", "1 0 0 0 0"))
		l.settle(luascripts.OpComplete, m[3]) // tries only
		l.want(`
			completed:q 3@60000
			leased:q pad
			results 3=out3
			steps 3=b3
			tries 3=2_0_0_0_0 9=1_0_0_0_0
		`)
	})
}

// TestFenceTimes: delays count from Redis' time, end at the year 2150, and keep
// the lane.
func TestFenceTimes(t *testing.T) {
	t.Parallel()
	const limit = 5_680_281_600_000
	each(t, func(l *lab) {
		l.ready("1", "2", "3")
		m := l.claim(3)
		l.now += 7
		in := l.turnInput()
		far := int64(limit)
		in.Groups = []luascripts.TurnGroup{
			{Op: luascripts.OpRetry, Members: m[:1], IDs: []string{"1"}, Extra: []any{far, 3, "r"}},
			{Op: luascripts.OpSnooze, Members: m[1:2], IDs: []string{"2"}, Extra: []any{10, 1, "s"}},
			{Op: luascripts.OpPutBack, Members: m[2:], IDs: []string{"3"}, Extra: []any{far, 1}},
		}
		l.turn(in)
		got := map[string]string{}
		for _, name := range []string{"retrying:q", "snoozed:q", "scheduled:q"} {
			got[name] = l.content(name)[0]
		}
		want := map[string]string{"retrying:q": "1@3880281600000l", "snoozed:q": "2@17h", "scheduled:q": "3@3880281600000h"}
		if diff := cmp.Diff(want, got); diff != "" {
			l.Fatal(diff)
		}
	})
}
