package luascripts_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/luascripts"
)

func prepareAdvance(l *lab) *luascripts.Call {
	l.graph("7", 4, 4, "d2", 1, "d3", 2)
	l.graph("8", 1, 1, "up", "9.1 child#1")
	l.graph("9", 2, 2, "gw:go", "9.1 q 2;")
	m := l.holding("7.0", "7.1", "8.0", "5", "6", "4")
	l.handedOut(50)
	l.stand("idle", 1000)
	l.watch()
	return l.advanceCall(l.advanceInput(
		l.node(m[0], before(2, 3)), l.node(m[1], without, l.withJournal), l.node(m[2]),
		l.single(luascripts.OpKeep, m[3], l.withJournal, with(luascripts.TxIncrBy(l.key("tx:a"), 1), luascripts.TxEnqueue(0, 1, "+9", "b"),
			signalOp("9", false)(l.key)[0])),
		l.single(luascripts.OpComplete, m[4], with(luascripts.TxDelete(l.key("tx:a")), luascripts.TxHashSet(l.key("tx:a")))),
		l.single(luascripts.OpDiscard, "4:stale")))
}

func prepareSuspend(l *lab) *luascripts.Call {
	l.graph("7", 2, 2)
	m := l.holding("7.0", "1", "2", "3")
	l.signal("7", blind)
	l.cancel("2")
	l.put(l.rdb.HSet(ctx, l.key("journal:3"), "r:a#1", "x"))
	l.stand("idle", 1000)
	l.watch()
	return l.suspendCall(l.sleeping(m[0], awaiting("go")), l.sleeping(m[1], awaiting("go"), noting(field("t:a#1", "1"))),
		l.sleeping(m[2]), l.sleeping(m[3], noting(field("r:a#1", "y"))), l.sleeping("1:stale"))
}

func prepareSignal(l *lab) *luascripts.Call {
	l.graph("7", 3, 3)
	l.suspend(l.sleeping(l.holding("7.0")[0], awaiting("go")))
	l.put(l.rdb.HSet(ctx, l.key("run:7"), "gw:go", "7.0 q 2;7.1 p 2;7.2 o 1;7.3 p 1;"))
	l.stand("idle", 1000)
	return l.signalCall(l.signalInput("7", knownBy("K")))
}

// TestSessionRepeatsRefusals: the answer that is stored has every member with its
// reason.
func TestSessionRepeatsRefusals(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		call := prepareAdvance(l)
		first := luascripts.ParseAdvance(l.ok(luascripts.Advance, call))
		l.equal(first.Lost, map[string]string{"4:stale": luascripts.ReasonLost})
		l.equal(first.Refused, map[string]luascripts.TxRefusal{"6:t1": {Op: 1, Reason: luascripts.TxArguments}})
		l.equal([]bool{first.Sweep, first.Watched}, []bool{true, true})
		l.put(l.rdb.Del(ctx, l.key("sweep"), l.key("subs")))
		again := luascripts.ParseAdvance(l.ok(luascripts.Advance, call))
		first.Sweep, first.Watched = false, false
		l.equal(again, first)
	})
}

// TestSessionSignalRefusalIsFinal: what was refused stays so when it is sent again,
// and the same signal can be sent by another call.
func TestSessionSignalRefusalIsFinal(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		call := l.signalCall(l.signalInput("7"))
		for range 2 {
			l.equal(luascripts.ParseSignal(l.ok(luascripts.Signal, call)).Outcome, luascripts.SignalUnknown)
			l.graph("7", 1, 1)
		}
		l.signalled("7")
	})
}

// TestMaxmemoryAdvances: what runs goes on, to its end or its suspension.
func TestMaxmemoryAdvances(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(l *lab, m []string){
		"node": func(l *lab, m []string) {
			l.ended(l.node(m[0], before(1), with(luascripts.TxSet(l.key("tx:a"), "a", 0), luascripts.TxEnqueue(0, 1, "", "b"))))
			l.equal(l.content("ready:q:d")[:2], []string{"7.1", "2025"})
		},
		"discarded": func(l *lab, m []string) { l.ended(l.node(m[0], without)) },
		"single":    func(l *lab, m []string) { l.ended(l.single(luascripts.OpKeep, m[1])) },
		"lost":      func(l *lab, _ []string) { l.equal(len(l.advance(l.node("7.0:stale")).Lost), 1) },
		"suspended": func(l *lab, m []string) {
			l.equal(l.suspend(l.sleeping(m[0], awaiting("go"), noting(field("t:a#1", "1"))), l.sleeping("7.0:stale")), []string{"suspended", "lost"})
		},
		"nobody": func(l *lab, _ []string) { l.equal(l.suspend(), nothing) },
		"recorded": func(l *lab, m []string) {
			l.equal(l.record(rec(m[1], true, "r:a#1", "x")), []string{"ok"})
		},
		"taken": func(l *lab, m []string) {
			outcome, _ := l.take(m[0], "stop", 0)
			l.equal(outcome, luascripts.Recorded)
		},
		"late": func(l *lab, m []string) {
			outcome, _ := l.take(m[0], "go", 1)
			l.equal(outcome, luascripts.Recorded)
		},
		"roused": func(l *lab, _ []string) {
			l.signal("7", onlyRouse, func(in *luascripts.SignalInput) { in.Name = "stop" })
		},
		"nobody roused": func(l *lab, _ []string) { l.signal("7", onlyRouse) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atMaxmemory(t, func(l *lab) {
				l.put(l.rdb.ConfigSet(ctx, "maxmemory", "0"))
				l.graph("7", 3, 3, "d1", 1, "d2", 1, "gw:stop", "7.2 q 2;7.1 p 2;")
				l.put(l.rdb.Del(ctx, l.key("ready:q:d")))
				m := l.holding("7.0", "60")
				l.handedOut(505)
				l.signal("7", blind, func(in *luascripts.SignalInput) { in.Name = "stop" })
				l.put(l.rdb.ConfigSet(ctx, "maxmemory", "1"))
				f(l, m)
			})
		})
	}
}

// TestMaxmemoryRefusesSignals with nothing written.
func TestMaxmemoryRefusesSignals(t *testing.T) {
	t.Parallel()
	atMaxmemory(t, func(l *lab) {
		l.put(l.rdb.ConfigSet(ctx, "maxmemory", "0"))
		l.graph("7", 1, 1, "gw:go", "7.0 q 2;")
		l.put(l.rdb.ZAdd(ctx, l.key("waiting:q"), redis.Z{Score: start, Member: "7.0"}))
		l.put(l.rdb.ConfigSet(ctx, "maxmemory", "1"))
		before := l.dump()
		for _, change := range []func(*luascripts.SignalInput){blind, knownBy("K"), func(in *luascripts.SignalInput) { in.MaxBytes = 1 }} {
			call := l.signalCall(l.signalInput("7", change))
			l.session.Seq-- // it was never applied
			if reply, err := l.try(luascripts.Signal, call, ""); !redis.HasErrorPrefix(err, "OOM") {
				l.Fatalf("answered %v, %v", reply, err)
			}
			l.equal(l.dump(), before)
		}
	})
}

// TestAdvanceTwiceInOneCall: the second of two that end the same step is refused,
// also where a ghost has the first.
func TestAdvanceTwiceInOneCall(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		m := l.holding("1", "2")
		l.cancel("2")
		l.revive("2")
		first, second := l.single(luascripts.OpComplete, m[0]), l.single(luascripts.OpComplete, m[1])
		l.advance(first, first, second, second)
		l.want(`
			history 2=1800000000000_retried/
			leased:q pad
			ready:q:d 2
			steps 2=b2
			tries 2=0_0_0_0_0
		`)
		l.equal(l.total("completed"), 1)
	})
}
