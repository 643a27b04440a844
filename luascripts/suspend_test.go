package luascripts_test

import (
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// TestSuspendStores: each step goes into the index that was asked for until its
// time, with its body and what it has noted; who waits for a signal stands in line.
func TestSuspendStores(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.graph("7", 2, 2)
		m := l.holding("1", "2", "3", "7.0", "7.1")
		l.watch()
		l.said()
		outcomes := l.suspend(
			l.sleeping(m[0], func(it *luascripts.SuspendItem) {
				it.In, it.Lane, it.Due, it.Body = luascripts.SuspendRetrying, 0, strconv.Itoa(start+70), "new"
			}, noting(field("t:a#1", "1"))),
			l.sleeping(m[1], func(it *luascripts.SuspendItem) { it.In, it.Lane = luascripts.SuspendSnoozed, 2 }),
			l.sleeping(m[2], awaiting("go", "stop"), noting()),
			l.sleeping(m[3], awaiting("go")),
			l.sleeping(m[4], awaiting("go"), func(it *luascripts.SuspendItem) { it.Lane, it.Due = 2, "+5" }))
		l.equal(outcomes, []string{"suspended", "suspended", "suspended", "suspended", "suspended"})
		l.want(`
			journal:1 t:a#1=1
			journal:3 gw:go=3_q_2; gw:stop=3_q_2;
			journals 1@0 3@0
			leased:q pad
			retrying:q 1@70h
			run:7 gw:go=7.0_q_2;7.1_q_3; keep=5000 left=2 n=2 st=r
			snoozed:q 2@1000l
			steps 1=new 2=b2 3=b3 7=graph 7.0=b7.0 7.1=b7.1
			waiting:q 7.1@5l 3@3880281600000d 7.0@3880281600000d
		`)
		for verb, n := range map[string]int{"suspended": 3, "failed": 1, "snoozed": 1} {
			l.equal(l.total(verb), n)
		}
		l.equal(l.said(), []string{"events 1800000000000 w/failed q 1 0 1800000000070/snoozed q 2 1 1800000001000/" +
			"suspended q 3 2 0/suspended q 7.0 3 0/suspended q 7.1 4 1800000000005//detail"})

		// Who waits for a time is promoted, stands in line still, and not twice.
		l.now += 5
		again := l.claim(1)
		l.equal(again, []string{"7.1:t2"})
		l.suspend(l.sleeping(again[0], awaiting("go")))
		l.equal(l.content("run:7")[0], "gw:go=7.0_q_2;7.1_q_3;")
	})
}

// TestSuspendFence: nothing of a step that is not held is written.
func TestSuspendFence(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		m := l.holding("1", "2", "3", "4")
		l.cancel("2", "3")
		l.revive("3")
		l.put(l.rdb.Del(ctx, l.key("history"), l.key("tries")))
		l.put(l.rdb.HSet(ctx, l.key("journal:4"), "r:a#1", "x"))
		l.stand("idle", 1000)
		l.said()
		change := func(it *luascripts.SuspendItem) {
			it.Body, it.Names, it.First = "new", []string{"go"}, true
			it.Fields = []luascripts.JournalField{field("t:b#1", "1"), field("r:a#1", "other")}
		}
		held := l.state()
		l.equal(l.suspend(), nothing)
		l.equal(l.suspend(l.sleeping("1:stale", change), l.sleeping("2:stale", change), l.sleeping("3:stale", change), l.sleeping("4:stale", change)),
			[]string{luascripts.ReasonLost, luascripts.ReasonLost, luascripts.ReasonLost, luascripts.ReasonLost})
		l.equal(l.state(), held)
		l.equal(l.suspend(l.sleeping(m[1], change), l.sleeping(m[2], change), l.sleeping(m[3], change)),
			[]string{luascripts.ReasonCancelled, luascripts.ReasonCancelled, luascripts.Different})
		l.want(`
			cancelled:q 2@0
			journal:4 r:a#1=x
			leased:q 1:t1@30000d 4:t1@30000d pad
			ready:q:d 3
			steps 1=b1 2=b2 3=b3 4=b4
		`)
		l.equal(l.said(), []string{"wake.idle 0"})
		l.equal(l.total("suspended"), 0)
	})
}

// TestSuspendNotesTwice: a record that stands there already is accepted, what is no
// record is replaced, and the journal keeps the time at which it was begun.
func TestSuspendNotesTwice(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		m := l.holding("1", "2")
		l.equal(l.record(rec(m[0], true, "r:a#1", "x"), rec(m[0], false, "t:b#1", "1")), []string{luascripts.Recorded, luascripts.Recorded})
		l.now++
		l.equal(l.suspend(
			l.sleeping(m[0], noting(field("t:b#1", "2"), field("r:a#1", "x"), field("r:c#1", "y"))),
			l.sleeping(m[1], noting(field("r:a#1", "x")))), []string{"suspended", "suspended"})
		l.equal(l.content("journal:1"), []string{"r:a#1=x", "r:c#1=y", "t:b#1=2"})
		l.equal(l.content("journal:2"), []string{"r:a#1=x"})
		l.equal(l.content("journals"), []string{"1@0", "2@1"})
	})
}

// TestSuspendFindsTheSignal: a signal that came while the step ran makes it ready
// again at once.
func TestSuspendFindsTheSignal(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		m := l.holding("1", "2")
		l.signalled("1", toTask)
		l.stand("idle", 1000)
		l.equal(l.suspend(l.sleeping(m[0], awaiting("stop", "go")), l.sleeping(m[1], awaiting("go"))), []string{luascripts.Resumed, luascripts.Suspended})
		l.want(`
			journal:1 g:go:1=payload gn=1 gt:go=1
			journal:2 gw:go=2_q_2;
			journals 1@0
			leased:q pad
			ready:q:d 1
			steps 1=b1 2=b2
			waiting:q 2@3880281600000d
		`)
		l.equal(l.said(), []string{"wake.idle 0"})
	})
}

// TestSuspendWakes somebody who has to know when the step is due, if nothing in its
// index is due before.
func TestSuspendWakes(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		m := l.holding("1", "2")
		l.stand("w1", 1000)
		l.stand("w2", 1000)
		l.suspend(l.sleeping(m[0]))
		l.equal(l.said(), []string{"wake.w2 0"})
		l.suspend(l.sleeping(m[1], func(it *luascripts.SuspendItem) { it.Due = "+2000" }))
		l.equal(l.said(), nothing)
		l.equal(l.rdb.ZCard(ctx, l.key("waiters:q")).Val(), int64(1))
	})
}

// TestTakeFirstInFirstOut: signals are taken in their order, each once, and the taker
// leaves the line.
func TestTakeFirstInFirstOut(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.graph("7", 3, 3, "gw:go", "17.0 q 2;7.0 q 2;7.00 q 2;")
		m := l.holding("7.0", "7.1", "7.2")
		for _, payload := range []string{"a", "b"} {
			l.signal("7", blind, func(in *luascripts.SignalInput) { in.Payload = payload })
		}
		take := func(member, wantOutcome, wantRecord string) {
			l.Helper()
			for range 2 { // a second call is answered alike
				outcome, record := l.take(member, "go", 0)
				l.equal([]string{outcome, record}, []string{wantOutcome, wantRecord})
			}
		}
		take(m[0], luascripts.Recorded, "sent a")
		take(m[1], luascripts.Recorded, "sent b")
		take(m[2], luascripts.TakeNothing, "")
		l.want(`
			journal:7.0 r:go#1=sent_a
			journal:7.1 r:go#1=sent_b
			journals 7.0@0 7.1@0
			leased:q 7.0:t1@30000d 7.1:t1@30000d 7.2:t1@30000d pad
			run:7 gh:go=2 gn=0 gt:go=2 gw:go=17.0_q_2;7.00_q_2; keep=5000 left=3 n=3 st=r
			steps 7=graph 7.0=b7.0 7.1=b7.1 7.2=b7.2
			sweep s 7 go@0
		`)
	})
}

// TestTakeTimesOut: past the deadline the timeout is recorded, unless there is a
// signal; the last of the line leaves none behind.
func TestTakeTimesOut(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		m := l.holding("1", "2")
		l.put(l.rdb.HSet(ctx, l.key("journal:1"), "gw:go", "1 q 2;"))
		l.now += 5
		outcome, _ := l.take(m[0], "go", start+6)
		l.equal(outcome, luascripts.TakeNothing)
		outcome, record := l.take(m[0], "go", start+5)
		l.equal([]string{outcome, record}, []string{luascripts.Recorded, "late"})
		l.equal(l.content("journal:1"), []string{"r:go#1=late"})
		l.signalled("1", toTask)
		l.now++
		l.signalled("1", toTask)
		l.now--
		l.signalled("2", toTask)
		outcome, record = l.take(m[0], "go", start+5)
		l.equal([]string{outcome, record}, []string{luascripts.Recorded, "late"})
		outcome, record = l.take(m[1], "go", start+5)
		l.equal([]string{outcome, record}, []string{luascripts.Recorded, "sent payload"})
		l.want(`
			journal:1 g:go:1=payload g:go:2=payload gn=2 gt:go=2 r:go#1=late
			journal:2 gh:go=1 gn=0 gt:go=1 r:go#1=sent_payload
			journals 1@5 2@5
			leased:q 1:t1@30000d 2:t1@30000d pad
			steps 1=b1 2=b2
		`)
	})
}

// TestTakeNotesTheJournal once, with the time at which it was begun.
func TestTakeNotesTheJournal(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		m := l.holding("7.0", "7.1")
		l.put(l.rdb.ZAdd(ctx, l.key("journals"), redis.Z{Score: start - 5, Member: "7.0"}))
		l.take(m[0], "go", 1)
		l.taking(m[1], "go", 1, false)
		l.equal(l.content("journals"), []string{"7.0@-5"})
		l.equal(l.content("journal:7.1"), []string{"r:go#1=late"})
	})
}

// TestTakeFence: nothing is taken by a step that is not held.
func TestTakeFence(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		m := l.holding("1")
		l.signalled("1", toTask)
		l.put(l.rdb.HSet(ctx, l.key("ghosts"), "1", "rq"))
		before := l.state()
		outcome, _ := l.take(m[0], "go", 1)
		l.equal(outcome, luascripts.ReasonCancelled)
		outcome, _ = l.take("1:stale", "go", 1)
		l.equal(outcome, luascripts.ReasonLost)
		l.equal(l.state(), before)
	})
}

// TestSignalRefusals: what is unknown or has ended gets no signal, and no more are
// queued than may be.
func TestSignalRefusals(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		everyState(l)
		for i, st := range []string{"F", "X", "c", "f", "x"} {
			l.graph(strconv.Itoa(20+i), 1, 1, "st", st)
		}
		l.put(l.rdb.HSet(ctx, l.key("steps"), "30", "a body without a run"))
		refused := func(id, want string, change ...func(*luascripts.SignalInput)) {
			l.Helper()
			before := l.state()
			outcome, queues := l.signal(id, change...)
			l.equal(outcome, want)
			l.equal(queues, nothing)
			l.equal(l.state(), before)
		}
		for _, id := range []string{"20", "21", "22", "23", "24", "30"} {
			refused(id, luascripts.SignalEnded)
		}
		for _, id := range []string{"6", "7", "8"} {
			refused(id, luascripts.SignalEnded, toTask)
		}
		refused("99", luascripts.SignalUnknown)
		refused("99", luascripts.SignalUnknown, toTask)
		refused("2", luascripts.SignalTooLarge, toTask, func(in *luascripts.SignalInput) { in.MaxBytes = 6 })
		for _, id := range []string{"1", "2", "3", "4", "5"} {
			l.signalled(id, toTask, func(in *luascripts.SignalInput) { in.MaxBytes = 7 })
		}
		l.graph("40", 1, 1)
		for _, name := range []string{"a", "b", "a"} {
			l.signalled("40", func(in *luascripts.SignalInput) { in.Name = name })
		}
		refused("40", luascripts.SignalFull)
		l.equal(l.total("signalled"), 5+3)
	})
}

// TestSignalKnownByItsKey: a signal that is sent again under its key is not queued
// again, whatever has become of the first one; the latest thousand keys are kept.
func TestSignalKnownByItsKey(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.graph("7", 1, 1)
		m := l.holding("7.0")
		l.signalled("7", knownBy("K"))
		again := func(want string) {
			l.Helper()
			outcome, _ := l.signal("7", knownBy("K"))
			l.equal(outcome, want)
		}
		again(luascripts.SignalDuplicate)
		l.take(m[0], "go", 0)
		again(luascripts.SignalDuplicate)
		l.equal(l.content("run:7"), []string{"gc=1", "gh:go=1", "gi:1=K", "gk:K=1", "gn=0", "gt:go=1", "keep=5000", "left=1", "n=1", "st=r"})
		l.put(l.rdb.HSet(ctx, l.key("run:7"), "gc", 999))
		l.signalled("7", knownBy("L")) // of slot 0
		again(luascripts.SignalDuplicate)
		l.put(l.rdb.HSet(ctx, l.key("run:7"), "st", "c"))
		again(luascripts.SignalDuplicate)
		l.put(l.rdb.HSet(ctx, l.key("run:7"), "st", "r"))
		l.signalled("7", knownBy("M")) // takes the slot of K
		again(luascripts.SignalAccepted)
	})
}

// TestSignalRouses who waits for it in the queues of the call; the sweep is told of
// the others until they are roused.
func TestSignalRouses(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.graph("7", 5, 5)
		m := l.holding("7.0", "7.1", "7.2")
		l.ok(luascripts.Suspend, l.suspendCall(l.sleeping(m[0], awaiting("go")),
			l.sleeping(m[1], awaiting("go"), func(it *luascripts.SuspendItem) { it.Lane = 0 }),
			l.sleeping(m[2], awaiting("stop"))))
		// One that its time has promoted, and two of another queue.
		l.put(l.rdb.HSet(ctx, l.key("run:7"), "gw:go", "7.4 p 3;7.0 q 2;7.9 q 2;7.1 q 1;7.3 p 3;"))
		l.put(l.rdb.ZAdd(ctx, l.key("waiting:p"), redis.Z{Member: "7.3"}, redis.Z{Member: "7.4"}))
		l.stand("idle", 1000)
		l.said()
		outcome, queues := l.signal("7")
		l.equal(outcome, luascripts.SignalAccepted)
		l.equal(queues, []string{"p"})
		l.equal(l.said(), []string{"wake.idle 0"})
		rest := `
			run:7 g:go:1=payload gn=1 gt:go=1 gw:go=7.4_p_3;7.3_p_3; gw:stop=7.2_q_2; keep=5000 left=5 n=5 st=r
			steps 7=graph 7.0=b7.0 7.1=b7.1 7.2=b7.2
			sweep s 7 go@0
			waiting:p 7.3@-1800000000000h 7.4@-1800000000000h
			waiting:q 7.2@3880281600000d
		`
		l.want(`
			leased:q pad
			ready:q:d 7.0
			ready:q:h 7.1` + rest)
		l.now += 9
		_, queues = l.signal("7", onlyRouse)
		l.equal(queues, []string{"p"})
		l.equal(l.content("sweep"), []string{"s 7 go@9"})
		outcome, queues = l.signal("7", onlyRouse, func(in *luascripts.SignalInput) {
			in.Queues = append(in.Queues, *named[luascripts.TurnQueue](l, "p"))
		})
		l.equal(outcome, luascripts.SignalAccepted)
		l.equal(queues, nothing)
		l.want(`
			leased:q pad
			ready:p:l 7.3 7.4
			ready:q:d 7.0
			ready:q:h 7.1
			run:7 g:go:1=payload gn=1 gt:go=1 gw:stop=7.2_q_2; keep=5000 left=5 n=5 st=r
			steps 7=graph 7.0=b7.0 7.1=b7.1 7.2=b7.2
			waiting:q 7.2@3880281600000d
		`)
		l.equal(l.total("signalled"), 1)

		// Nobody is roused for what is not queued.
		l.put(l.rdb.ZAdd(ctx, l.key("sweep"), redis.Z{Score: start, Member: "s 7 stop"}))
		_, queues = l.signal("7", onlyRouse, func(in *luascripts.SignalInput) { in.Name = "stop" })
		l.equal(queues, nothing)
		l.equal(l.content("waiting:q"), []string{"7.2@3880281600000d"})
		l.equal(l.content("sweep"), nothing)
	})
}
