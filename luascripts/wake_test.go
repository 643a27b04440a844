package luascripts_test

import (
	"strconv"
	"testing"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// woken are the wake-ups of a worker by partition 3, as said returns them.
func woken(workers ...string) []string {
	var out []string
	for _, w := range workers {
		out = append(out, "wake."+w+" 3")
	}
	return out
}

// waking are the calls that bring work into queue q, each with its wake-up.
var waking = map[string]func(l *lab){
	"enqueue plain": func(l *lab) {
		in := l.enqueueInput()
		in.Partition, in.Groups = 3, []luascripts.EnqueueGroup{plain("1", "2")}
		l.ok(luascripts.Enqueue, l.enqueueCall(in))
	},
	"enqueue unique": func(l *lab) {
		in := l.enqueueInput(item("1", unique("D", 0, existing)))
		in.Partition = 3
		l.ok(luascripts.Enqueue, l.enqueueCall(in))
	},
	"enqueue the earliest": func(l *lab) {
		in := l.enqueueInput(item("1", due("+10")), item("2", due("+20")))
		in.Partition = 3
		l.ok(luascripts.Enqueue, l.enqueueCall(in))
	},
	"replace with the earliest": func(l *lab) {
		in := l.enqueueInput(item("9", due("+9"), unique("Z", 0, replace)))
		in.Partition = 3
		l.ok(luascripts.Enqueue, l.enqueueCall(in))
	},
	"promote": func(l *lab) {
		l.now += 5000
		in := l.turnInput()
		in.Partition = 3
		l.turn(in)
	},
	"leave work": func(l *lab) {
		l.put(l.rdb.LPush(ctx, l.key("ready:q:l"), "70", "71"))
		l.put(l.rdb.HSet(ctx, l.key("steps"), "70", "b", "71", "b"))
		in := wanting(l.turnInput(), 1)
		in.Partition = 3
		l.equal(members(l.turn(in), in.Token), []string{"70:" + in.Token})
	},
	"give back": func(l *lab) {
		in := settling(l.turnInput(), luascripts.OpGiveBack, "60:t1")
		in.Partition = 3
		l.turn(in)
	},
	"reap": func(l *lab) {
		l.expire("60")
		in := l.turnInput()
		in.Partition = 3
		l.turn(in)
	},
	"revive": func(l *lab) {
		c := new(luascripts.Call)
		luascripts.ReviveCall(c, named[luascripts.ReviveKeys](l, "q"), l.next(), l.channels(), 3, "q", nil, []luascripts.ReviveStep{{ID: "61"}})
		l.ok(luascripts.Revive, c)
	},
	"run now": func(l *lab) {
		c := new(luascripts.Call)
		luascripts.RescheduleCall(c, named[luascripts.RescheduleKeys](l, "q"), l.next(), l.channels(), 3, "q", nil, &luascripts.RescheduleStep{ID: "62", Lane: 1})
		l.ok(luascripts.Reschedule, c)
	},
	"reschedule": func(l *lab) {
		c := new(luascripts.Call)
		luascripts.RescheduleCall(c, named[luascripts.RescheduleKeys](l, "q"), l.next(), l.channels(), 3, "q", nil,
			&luascripts.RescheduleStep{ID: "62", Lane: 1, Due: strconv.FormatInt(l.now+1, 10)})
		l.ok(luascripts.Reschedule, c)
	},
}

// wakeScene has 60 running, 61 discarded, 62 and 8 scheduled, and nothing ready.
func wakeScene(l *lab) {
	l.ready("60", "61")
	m := l.claim(2)
	l.settle(luascripts.OpDiscard, m[1])
	l.enqueue(item("62", due("+5000")), item("8", due("+6000"), unique("Z", 0, existing)))
	l.said()
}

// TestWakeOne: what brings work wakes the worker that came last to the line, and
// only that one; a paused queue wakes nobody, a line that is over is removed.
func TestWakeOne(t *testing.T) {
	t.Parallel()
	for name, work := range waking {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(l *lab) {
				wakeScene(l)
				l.stand("a", 7000)
				l.stand("c", 9000)
				l.stand("b", 8000)
				work(l)
				l.equal(l.said(), woken("c"))
				l.equal(l.content("waiters:q"), []string{"a@7000", "b@8000"})
			})
		})
		t.Run(name+" paused", func(t *testing.T) {
			t.Parallel()
			each(t, func(l *lab) {
				wakeScene(l)
				l.pause(true)
				l.stand("a", 7000)
				if name != "leave work" { // which claims, and a paused queue gives nothing
					work(l)
				}
				l.equal(l.said(), nothing)
				l.equal(l.content("waiters:q"), []string{"a@7000"})
			})
		})
		t.Run(name+" too late", func(t *testing.T) {
			t.Parallel()
			each(t, func(l *lab) {
				wakeScene(l)
				l.stand("a", -1)
				l.stand("b", -2)
				work(l)
				l.equal(l.said(), nothing)
				l.equal(l.content("waiters:q"), nothing)
			})
		})
		t.Run(name+" unheard", func(t *testing.T) {
			t.Parallel()
			each(t, func(l *lab) {
				wakeScene(l)
				work(l)
				l.equal(l.said(), nothing)
			})
		})
	}
}

var nothing = []string{}

// quiet are the calls that bring no work for now.
var quiet = map[string]func(l *lab){
	"enqueue a later one":  func(l *lab) { l.enqueue(item("1", due("+9000"))) },
	"enqueue a duplicate":  func(l *lab) { l.enqueue(item("1", unique("Z", 0, existing))) },
	"swap a later one":     func(l *lab) { l.enqueue(item("1", due("+9000"), unique("Z", 0, replace))) },
	"claim everything":     func(l *lab) { l.claim(5) },
	"settle":               func(l *lab) { l.settle(luascripts.OpComplete, "60:t1") },
	"cancel":               func(l *lab) { l.cancel("62") },
	"delete":               func(l *lab) { l.delete("62") },
	"revive what lives":    func(l *lab) { l.revive("60", "99") },
	"reschedule what runs": func(l *lab) { l.reschedule("60", "") },
}

func TestWakeNobodyWithoutWork(t *testing.T) {
	t.Parallel()
	for name, call := range quiet {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(l *lab) {
				wakeScene(l)
				l.stand("a", 7000)
				call(l)
				l.equal(l.said(), nothing)
				l.equal(l.content("waiters:q"), []string{"a@7000"})
			})
		})
	}
}

// TestWakeOnResume: pausing wakes nobody, resuming one; both tell how it was and
// the time of the first pause stays.
func TestWakeOnResume(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.stand("a", 7000)
		l.equal(l.pause(true), false)
		l.now++
		l.equal(l.pause(true), true)
		l.equal(l.content("paused"), []string{"q=1800000000000"})
		l.ready("1")
		l.equal(l.claim(5), nothing)
		l.equal(l.said(), nothing)
		l.equal(l.pause(false), true)
		l.equal(l.said(), []string{"wake.a 0"})
		l.equal(l.pause(false), false)
		l.equal(l.content("paused"), nothing)
		l.equal(l.claim(5), []string{"1:t2"})
	})
}

// TestWakeStandingInLine: a worker whose turn fell short stands in the lines of
// the queues for which it has room, behind others, and leaves them with its next turn.
func TestWakeStandingInLine(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		two := func() *luascripts.TurnInput {
			in := l.turnInput()
			in.Queues = append(in.Queues, *named[luascripts.TurnQueue](l, "p"))
			in.WaitMS = 3000
			return wanting(in, 5)
		}
		l.stand("a", 1000)
		in := two()
		in.Queues[1].Room = 0
		l.equal(l.turn(in).Rank, 1)
		l.equal(l.content("waiters:q"), []string{"a@1000", "w@3000"})
		l.equal(l.content("waiters:p"), nothing)

		l.now += 100
		in = two()
		l.equal(l.turn(in).Rank, 1)
		l.equal(l.content("waiters:q"), []string{"a@1000", "w@3100"})
		l.equal(l.content("waiters:p"), []string{"w@3100"})

		// A turn that has enough leaves all lines.
		l.ready("7")
		in = two()
		l.equal(l.turn(wanting(in, 1)).More, true)
		l.equal(l.content("waiters:q"), []string{"a@1000"})
		l.equal(l.content("waiters:p"), nothing)

		// Nobody is woken by its own turn.
		l.ready("1", "2", "3")
		l.stand("a", 1000)
		l.stand("w", 3000)
		l.said()
		in = wanting(l.turnInput(), 1)
		in.WaitMS = 3000
		reply := l.turn(in)
		l.equal(l.said(), []string{"wake.a 0"})
		l.equal(l.content("waiters:q"), nothing)
		l.equal(reply.More, true)
		l.equal(reply.NextMS, int64(30_000))
	})
}

// TestWakeOverTheDead: who died in line is in front of nobody, and a bounded number
// of them is removed in passing.
func TestWakeOverTheDead(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		for i := range 150 {
			l.stand("dead"+strconv.Itoa(i), -1)
		}
		l.stand("a", 0)
		l.stand("b", 5000)
		for _, want := range []int{52, 2} {
			in := wanting(l.turnInput(), 5)
			in.WaitMS = 3000
			l.equal(l.turn(in).Rank, want)
		}
		l.equal(l.content("waiters:q"), []string{"a@0", "w@3000", "b@5000"})
	})
}

// TestWakeForWhatIsDelayed: a worker without room tells a peer that a step will be
// due; one with room looks itself.
func TestWakeForWhatIsDelayed(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		for i, op := range []luascripts.Op{luascripts.OpRetry, luascripts.OpSnooze, luascripts.OpPutBack} {
			l.ready(ids(10*i+1, 2)...)
			held := l.claim(2)
			for room, want := range [][]string{{"wake.a 0"}, nothing} {
				l.stand("a", 7000)
				in := settling(l.turnInput(), op, held[room])
				in.Queues[0].Room = room
				l.said()
				l.turn(in)
				l.equal(l.said(), want)
			}
		}
	})
}

// TestWakeForWhatIsLostAgain: the same for a step that comes back later, since its
// lease was lost for the second time.
func TestWakeForWhatIsLostAgain(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1", "2")
		l.claim(2)
		for room, want := range [][]string{{"wake.a 0"}, nothing} {
			id := strconv.Itoa(room + 1)
			l.put(l.rdb.HSet(ctx, l.key("tries"), id, "1 0 0 0 0"))
			l.expire(id)
			l.stand("a", 7000)
			in := l.turnInput()
			in.Queues[0].Room = room
			l.said()
			l.turn(in)
			l.equal(l.said(), want)
			l.equal(count(l, "retrying:q", id+"@"), 1)
		}
	})
}

// TestWakeOfTheRightQueue: lines are per queue, and so are their names.
func TestWakeOfTheRightQueue(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.stand("a", 7000)
		l.put(l.rdb.Rename(ctx, l.key("waiters:q"), l.key("waiters:p")))
		l.stand("b", 7000)
		l.pause(true)
		in := l.enqueueInput(item("1"), item("2"))
		in.Queues = append(in.Queues, *named[luascripts.EnqueueQueue](l, "p"))
		in.Items[1].Queue = 1
		l.ok(luascripts.Enqueue, l.enqueueCall(in))
		l.equal(l.said(), []string{"wake.a 0"})
		l.equal(l.content("ready:q:d"), []string{"1"})
		l.equal(l.content("ready:p:d"), []string{"2"})
	})
}

// TestWakeInTheLastMillisecond of a registration.
func TestWakeInTheLastMillisecond(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.stand("a", 0)
		l.ready("1")
		l.equal(l.said(), []string{"wake.a 0"})
	})
}

// TestWakeOfTheSecondQueue: of several queues that an enqueue is for, one in whose line
// somebody stands is enough.
func TestWakeOfTheSecondQueue(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.stand("a", 1000)
		in := l.enqueueInput()
		in.Partition, in.Groups = 3, []luascripts.EnqueueGroup{plain("1")}
		in.Groups[0].Queue = 1
		in.Queues = []luascripts.EnqueueQueue{*named[luascripts.EnqueueQueue](l, "p"), in.Queues[0]}
		l.ok(luascripts.Enqueue, l.enqueueCall(in))
		l.equal(l.said(), woken("a"))
	})
}
