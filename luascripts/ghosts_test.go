package luascripts_test

import (
	"testing"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// A step that is ready or running is cancelled, deleted and revived by a ghost.
// These tests take such a step out of its index in each way there is, and look at
// everything that is left.

// holders bring step 1 into ready or leased; take gets it out again and returns
// what it has claimed.
var holders = map[string]struct {
	hold func(l *lab) []string
	take func(l *lab, held []string) []string
}{
	"ready": {
		hold: func(l *lab) []string { l.ready("1"); return nil },
		take: func(l *lab, _ []string) []string { return l.claim(5) },
	},
	"settled": {
		hold: func(l *lab) []string { l.ready("1"); return l.claim(1) },
		take: func(l *lab, held []string) []string {
			l.equal(l.settle(luascripts.OpComplete, held...).Lost, map[string]string{held[0]: luascripts.ReasonCancelled})
			return l.claim(5)
		},
	},
	"reaped": {
		hold: func(l *lab) []string { l.ready("1"); return l.claim(1) },
		take: func(l *lab, held []string) []string {
			l.expire("1")
			defer func() {
				l.equal(l.settle(luascripts.OpComplete, held...).Lost, map[string]string{held[0]: luascripts.ReasonLost})
			}()
			got := l.claim(5)
			l.equal(l.total("lost"), 0)
			return got
		},
	},
}

// ghostCase does something to step 1 while it is held.
var ghostCases = map[string]struct {
	do    func(l *lab)
	ghost string   // the mark meanwhile
	taken bool     // whether it is claimed afterwards
	left  []string // the state at the end, but for leases
}{
	"cancelled": {
		do:    func(l *lab) { l.equal(l.cancel("1"), []string{"live"}) },
		ghost: "xq", left: lines(`
			cancelled:q 1@0
			steps 1=b1`),
	},
	"cancelled twice": {
		do:    func(l *lab) { l.equal(l.cancel("1", "1"), []string{"live", "cancelled"}) },
		ghost: "xq", left: lines(`
			cancelled:q 1@0
			steps 1=b1`),
	},
	"deleted": {
		do:    func(l *lab) { l.equal(l.delete("1", "1"), []string{"live", "absent"}) },
		ghost: "xq",
	},
	"cancelled and deleted": {
		do: func(l *lab) {
			l.cancel("1")
			l.equal(l.delete("1"), []string{"cancelled"})
		},
		ghost: "xq",
	},
	"cancelled and trimmed": {
		do: func(l *lab) {
			l.cancel("1")
			l.now++
			l.equal(l.trim("cancelled:q", 0, 10, 10), 1)
		},
		ghost: "xq",
	},
	"cancelled and purged": {
		do: func(l *lab) {
			l.cancel("1")
			l.equal(l.purge("cancelled:q", false, 10), [2]int{1, 1})
		},
		ghost: "xq",
	},
	"revived": {
		do: func(l *lab) {
			l.cancel("1")
			l.equal(l.revive("1", "1"), []string{"revived", "ended"})
		},
		ghost: "rq", taken: true, left: lines(`
			history 1=1800000000000_retried/
			steps 1=b1
			tries 1=0_0_0_0_0`),
	},
	"revived and cancelled": {
		do: func(l *lab) {
			l.cancel("1")
			l.revive("1")
			l.equal(l.cancel("1"), []string{"live"})
		},
		ghost: "xq", left: lines(`
			cancelled:q 1@0
			history 1=1800000000000_retried/
			steps 1=b1
			tries 1=0_0_0_0_0`),
	},
	"revived and deleted": {
		do: func(l *lab) {
			l.cancel("1")
			l.revive("1")
			l.equal(l.delete("1"), []string{"live"})
		},
		ghost: "xq",
	},
	"revived twice": {
		do: func(l *lab) {
			for range 2 {
				l.cancel("1")
				l.revive("1")
			}
		},
		ghost: "rq", taken: true, left: lines(`
			history 1=1800000000000_retried/1800000000000_retried/
			steps 1=b1
			tries 1=0_0_0_0_0`),
	},
}

func TestGhostsAreDisposedOfByEveryTaker(t *testing.T) {
	t.Parallel()
	for where, h := range holders {
		for name, c := range ghostCases {
			t.Run(where+"/"+name, func(t *testing.T) {
				t.Parallel()
				each(t, func(l *lab) {
					held := h.hold(l)
					c.do(l)
					l.equal(l.content("ghosts"), []string{"1=" + c.ghost})
					if l.step("1").Ghost != c.ghost {
						l.Fatalf("state shows the ghost %q", l.step("1").Ghost)
					}
					if taken := h.take(l, held); (len(taken) == 1) != c.taken {
						l.Fatalf("claimed %v", taken)
					}
					l.put(l.rdb.Del(ctx, l.key("leased:q")))
					l.want(join(c.left))
				})
			})
		}
	}
}

func join(list []string) (text string) {
	for _, line := range list {
		text += line + "\n"
	}
	return text
}

// TestGhostsOfPurgedReady: purging ready disposes of ghosts: what x drops is not
// deleted, what r keeps is.
func TestGhostsOfPurgedReady(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1", "2", "3", "4", "5")
		l.cancel("2", "4")
		l.revive("4")
		l.put(l.rdb.HSet(ctx, l.key("results"), "1", "out", "2", "out"))
		l.put(l.rdb.HSet(ctx, l.key("history"), "1", "h", "2", "h"))
		l.equal(l.purge("ready:q:d", true, 4), [2]int{4, 3})
		l.equal(l.total("deleted"), 3)
		l.want(`
			cancelled:q 2@0
			history 2=h
			ready:q:d 5
			results 2=out
			steps 2=b2 5=b5
		`)
		l.equal(l.purge("ready:q:d", true, 4), [2]int{1, 1})
		l.equal(l.purge("ready:q:d", true, 4), [2]int{0, 0})
		l.equal(l.total("deleted"), 4)
	})
}

// TestGhostsInABatch: a claim gets the steps that no ghost holds, in their order,
// and is told that there may be more behind.
func TestGhostsInABatch(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1", "2", "3", "4", "5", "6")
		l.cancel("1", "3", "4")
		l.revive("3")
		l.put(l.rdb.HDel(ctx, l.key("steps"), "5"))
		in := wanting(l.turnInput(), 5)
		in.WaitMS = 3000
		reply := l.turn(in)
		l.equal(members(reply, "t1"), []string{"2:t1", "3:t1"})
		l.equal(reply.Claims[0].Bodies, []string{"b2", "b3"})
		if !reply.More {
			l.Fatal("does not tell that there may be more")
		}
		l.want(`
			cancelled:q 1@0 4@0
			history 3=1800000000000_retried/
			leased:q 2:t1@30000d 3:t1@30000d pad
			ready:q:d 6
			steps 1=b1 2=b2 3=b3 4=b4 6=b6
			tries 3=0_0_0_0_0
		`)
	})
}

// TestGhostsOnly: a claim that finds nothing but ghosts leases nothing, and says
// the same when it is asked again.
func TestGhostsOnly(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1", "2")
		l.delete("1", "2")
		call := l.turnCall(wanting(l.turnInput(), 5))
		for range 2 {
			l.equal(luascripts.ParseTurn(l.ok(luascripts.Turn, call)).Claims, []luascripts.Claimed{})
			l.want(``)
		}
	})
}

// TestGhostsOfOneGroup: settling a group with ghosts in it settles the others,
// drops the cancelled and makes the revived ready in its own lane.
func TestGhostsOfOneGroup(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.enqueue(item("1"), item("2"), item("3"), item("4", onLane(2)))
		m := l.claim(4)
		l.cancel("1", "3", "4")
		l.revive("3", "4")
		reply := l.settle(luascripts.OpDiscard, append(m, "5:x")...)
		l.equal(reply.Lost, map[string]string{m[0]: "cancelled", m[2]: "cancelled", m[3]: "cancelled", "5:x": "lost"})
		l.want(`
			cancelled:q 1@0
			discarded:q 2@0
			history 3=1800000000000_retried/ 4=1800000000000_retried/
			leased:q pad
			ready:q:d 3
			ready:q:l 4
			steps 1=b1 2=d2 3=b3 4=b4
			tries 3=0_0_0_0_0 4=0_0_0_0_0
		`)
	})
}

// TestGhostsAreToldByExtend: a renewal tells of cancelled attempts and keeps
// their leases, so that nobody else starts beside them.
func TestGhostsAreToldByExtend(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1", "2", "3")
		m := l.claim(3)
		l.cancel("2")
		l.now += 10_000
		l.equal(l.extend(3, append(m, "9:gone")...), map[string]string{m[1]: "cancelled", "9:gone": "lost"})
		l.equal(l.content("leased:q"), []string{"1:t1@40000d*", "2:t1@40000d*", "3:t1@40000d*", "pad"})
		l.equal(l.content("ghosts"), []string{"2=xq"})
	})
}
