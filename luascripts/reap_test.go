package luascripts_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// TestReapCountsAndSpreads: a lost lease is counted by whether the attempt had
// started; the first loss comes back at once, ahead of what waits, later ones with
// 2^n s, up to 2^12 s.
func TestReapCountsAndSpreads(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1")
		var unstarted, started int
		for loss := 1; loss <= 14; loss++ {
			m := l.claim(1)
			if len(m) != 1 {
				l.Fatalf("loss %d: claimed %v", loss, m)
			}
			if loss%3 == 0 {
				l.extend(3, m...)
				started++
			} else {
				unstarted++
			}
			l.now += 30_000 // the lease ends at this very ms
			reply := l.turn(l.turnInput())
			l.equal(l.content("tries"), []string{fmt.Sprintf("1=%d_%d_0_0_0", started, unstarted)})
			l.equal(l.total("lost"), loss)
			if loss == 1 {
				l.equal(l.content("ready:q:d"), []string{"1"})
				continue
			}
			delay := int64(1000) << min(loss, 12)
			l.equal(l.content("retrying:q"), []string{fmt.Sprintf("1@%dd", l.now-start+delay)})
			l.equal(reply.NextMS, delay)
			l.now += delay
		}
		lines := l.rdb.HGet(ctx, l.key("history"), "1").Val()
		if n := strings.Count(lines, "\n"); n != 14 || !strings.Contains(lines, fmt.Sprintf("%d lost unstarted t1\n", int64(start+30_000))) || !strings.Contains(lines, " lost started ") {
			l.Fatalf("history of %d lines:\n%s", n, lines)
		}
	})
}

// TestReapForgivesAfterARetry: losses from before an operator's retry do not
// delay, and stay in the counters.
func TestReapForgivesAfterARetry(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1")
		for range 3 {
			l.claim(1)
			l.now += 30_000
			l.turn(l.turnInput())
			l.now += 10_000
		}
		l.equal(l.content("tries"), []string{"1=0_3_0_0_0"})
		l.settle(luascripts.OpDiscard, l.claim(1)...)
		l.ok(luascripts.Revive, l.reviveCall(luascripts.ReviveStep{ID: "1", Limit: 9, Note: "n"}))
		l.equal(l.content("tries"), []string{"1=0_3_0_9_3"})
		l.claim(1)
		l.now += 30_000
		l.turn(l.turnInput())
		l.equal(l.content("tries"), []string{"1=0_4_0_9_3"})
		l.equal(l.content("ready:q:d"), []string{"1"})

		// A retry without a limit leaves the one that is there.
		l.settle(luascripts.OpDiscard, l.claim(1)...)
		l.revive("1")
		l.equal(l.content("tries"), []string{"1=0_4_0_9_4"})
	})
}

// TestReapKeepsTheLane: what was lost comes back in its own lane, at the head.
func TestReapKeepsTheLane(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.enqueue(item("1", onLane(0)), item("2", onLane(1)), item("3", onLane(2)))
		m := l.claim(3)
		l.extend(5, m[2])
		l.enqueue(item("4", onLane(0)), item("5", onLane(2)))
		l.now += 30_000
		l.turn(l.turnInput())
		l.equal(l.content("ready:q:h"), []string{"4", "1"})
		l.equal(l.content("ready:q:d"), []string{"2"})
		l.equal(l.content("ready:q:l"), []string{"5", "3"})
		l.equal(l.content("tries"), []string{"1=0_1_0_0_0", "2=0_1_0_0_0", "3=1_0_0_0_0"})
		for _, id := range []string{"1", "2", "3"} {
			l.put(l.rdb.HSet(ctx, l.key("tries"), id, "1 0 0 0 0"))
		}
		l.claim(10)
		l.now += 30_000
		l.turn(l.turnInput())
		l.equal(l.content("retrying:q"), []string{"1@64000h", "2@64000d", "3@64000l"})
	})
}

// TestReapIsBounded and tells that there is more; a live lease stays.
func TestReapIsBounded(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1", "2", "3", "4")
		l.claim(4)
		l.expire("1", "2", "3")
		in := l.turnInput()
		in.Budget = 2
		if !l.turn(in).More {
			l.Fatal("does not tell that there may be more")
		}
		l.equal(l.content("ready:q:d"), []string{"1", "2"})
		in = l.turnInput()
		in.Budget = 2
		if l.turn(in).More {
			l.Fatal("tells of more")
		}
		l.equal(l.content("leased:q"), []string{"4:t1@30000d", "pad"})
	})
}

// TestReapOfWhatIsGone: a lease whose body is gone is dropped without a count.
func TestReapOfWhatIsGone(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1")
		l.claim(1)
		l.put(l.rdb.Del(ctx, l.key("steps")))
		l.expire("1")
		counted := l.content("stats")
		l.turn(l.turnInput())
		l.want(`leased:q pad`)
		l.equal(l.content("stats"), counted)
	})
}

// TestReapTellsTheCountersWithTheClaim, in the same turn and for claims that
// follow, for those steps that have any.
func TestReapTellsTheCountersWithTheClaim(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1", "2")
		l.claim(2)
		l.expire("1")
		l.ready("3")
		reply := l.turn(wanting(l.turnInput(), 5))
		l.equal(members(reply, "t2"), []string{"1:t2", "3:t2"})
		l.equal(reply.Counters, map[string]string{"1": "0 1 0 0 0"})
		l.settle(luascripts.OpRelease, "1:t2")
		reply = l.turn(wanting(l.turnInput(), 5))
		l.equal(reply.Counters, map[string]string{"1": "0 1 1 0 0"})
	})
	each(t, func(l *lab) {
		l.ready("1")
		in := settling(l.turnInput(), luascripts.OpRelease, l.claim(1)...)
		l.equal(l.turn(wanting(in, 5)).Counters, map[string]string{"1": "0 0 1 0 0"})
	})
}

// TestReapHistoryIsBounded: the oldest lines go first, and a line that is over
// the bound by itself stays alone.
func TestReapHistoryIsBounded(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1")
		note := func(text string) {
			l.settle(luascripts.OpDiscard, l.claim(1)...)
			l.ok(luascripts.Revive, l.reviveCall(luascripts.ReviveStep{ID: "1", Note: text}))
		}
		length := func() int { return len(l.rdb.HGet(ctx, l.key("history"), "1").Val()) }
		line := strings.Repeat("x", 1000-15)
		for range 4 {
			note(line)
		}
		l.equal(length(), 4000)
		note(strings.Repeat("y", 96-15)) // exactly the bound
		l.equal(length(), 4096)
		note("") // 4096 + 15 is over: the first line goes
		l.equal(length(), 3111)
		note(strings.Repeat("z", 5000))
		l.equal(length(), 5015)
	})
}

// TestClampBringsFarLeasesBack: leases that end later than a full lease from now
// end then, with their lane and their start; the others stay.
func TestClampBringsFarLeasesBack(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.enqueue(item("1"), item("2"), item("3", onLane(2)))
		m := l.claim(3)
		l.extend(5, m[2])
		l.now -= 3_600_000
		l.equal(l.clamp(60_000, 2), 2)
		l.equal(l.clamp(60_000, 2), 1)
		l.equal(l.clamp(60_000, 2), 0)
		l.equal(l.content("leased:q"), []string{"1:t1@-3540000d", "2:t1@-3540000d", "3:t1@-3540000l*", "pad"})
		l.now += 30_000
		l.equal(l.clamp(30_000, 2), 0) // exactly a lease from now
		l.equal(l.clamp(29_999, 5), 3)
	})
}

// lost lists members that a renewal found gone.
func lost(members ...string) map[string]string {
	out := map[string]string{}
	for _, m := range members {
		out[m] = luascripts.ReasonLost
	}
	return out
}

// TestExtendRenewsWhatIsHeld, whatever order renewals come in: a started attempt
// stays started.
func TestExtendRenewsWhatIsHeld(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1", "2")
		m := l.claim(2)
		l.now += 1000
		l.equal(l.extend(2, m...), lost())
		l.equal(l.content("leased:q"), []string{"1:t1@31000d", "2:t1@31000d", "pad"})
		l.now += 1000
		l.equal(l.extend(3, m[0]), lost())
		l.now += 1000
		l.equal(l.extend(2, m[0], "1:t9", "3:t1"), lost("1:t9", "3:t1"))
		l.equal(l.content("leased:q"), []string{"2:t1@31000d", "1:t1@33000d*", "pad"})
		l.settle(luascripts.OpComplete, m...)
		l.equal(l.extend(3, m...), lost(m...))
		l.equal(l.content("leased:q"), []string{"pad"})
	})
}

// TestExtendDescribesTheWorker: with its leases or without any.
func TestExtendDescribesTheWorker(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1", "2")
		m := l.claim(2)
		extend := func(info string, groups ...luascripts.ExtendGroup) map[string]string {
			c := new(luascripts.Call)
			luascripts.ExtendCall(c, *named[luascripts.ExtendKeys](l, ""), 30_000, "w", []byte(info), groups)
			return luascripts.ParseExtend(l.ok(luascripts.Extend, c))
		}
		l.equal(extend("one"), lost())
		l.equal(l.content("workers"), []string{"w=1800000000000_one"})
		l.now += 10
		extend("", extending(l, 2, m[0]))
		l.equal(l.content("workers"), []string{"w=1800000000000_one"})
		p := extending(l, 2, m[1])
		p.Leased = l.key("leased:p")
		l.equal(extend("two", extending(l, 3, m[0]), p, extending(l, 2, m[1])), lost(m[1]))
		l.equal(l.content("workers"), []string{"w=1800000000010_two"})
		l.equal(l.content("leased:q"), []string{"2:t1@30010d", "1:t1@30010d*", "pad"})
		l.equal(l.content("leased:p"), []string{})
	})
}
