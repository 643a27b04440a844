package luascripts_test

import (
	"testing"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// TestEventsOfEnqueue: one message with a line per new step in the order of the
// call, none for a step that met a held key.
func TestEventsOfEnqueue(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.watch()
		in := l.enqueueInput(item("1", unique("D", 0, existing)), item("2", unique("D", 0, existing)), item("3", due("+5")), item("4", due("1")))
		in.Groups = []luascripts.EnqueueGroup{plain("5", "6"), {Lane: 2, IDs: []string{"7"}, Bodies: []string{"b"}}}
		l.ok(luascripts.Enqueue, l.enqueueCall(in))
		l.equal(l.said(), []string{"events 1800000000000/enqueued q 5 0 0/enqueued q 6 1 0/enqueued q 7 2 0" +
			"/enqueued q 1 3 0/enqueued q 3 5 1800000000005/enqueued q 4 6 0//detail"})
		l.enqueue(item("8", unique("D", 0, existing)))
		l.equal(l.said(), nothing)
	})
}

// TestEventsOfTurn: one message with the settlements in the order of the call,
// lost leases and claims.
func TestEventsOfTurn(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1", "2", "3", "4", "5", "6", "7", "8", "9")
		m := l.claim(9)
		l.cancel("5")
		l.expire("9")
		l.watch()
		l.said()
		in := settling(l.turnInput(), luascripts.OpComplete, m[0], "77:x", m[1])
		settling(in, luascripts.OpRetry, m[2])
		settling(in, luascripts.OpSnooze, m[3])
		settling(in, luascripts.OpDiscard, m[4])
		settling(in, luascripts.OpPutBack, m[5])
		settling(in, luascripts.OpKeep, m[6])
		settling(in, luascripts.OpRelease, m[7])
		l.turn(wanting(in, 1))
		l.equal(l.said(), []string{"events 1800000000000 w" +
			"/completed q 1 0 0/completed q 2 2 0/failed q 3 3 1800000001000/snoozed q 4 4 1800000001000" +
			"/released q 6 6 1800000001000/completed q 7 7 0/released q 8 8 0/lost q 9 - 0 t1/claimed q 9 - 0//detail"})
		l.now += 30_000
		l.turn(l.turnInput())
		l.equal(l.said(), []string{"events 1800000030000 w/lost q 9 - 1800000034000 t2//detail"})
		l.turn(l.turnInput())
		l.equal(l.said(), nothing)
	})
}

// TestTurnTellsItsCallerOfLostLeases, whether or not anybody subscribes, and again when
// the answer is lost.
func TestTurnTellsItsCallerOfLostLeases(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1", "2")
		l.claim(2)
		l.expire("1", "2")
		call := l.turnCall(wanting(l.turnInput(), 1))
		for range 2 {
			l.equal(luascripts.ParseTurn(l.ok(luascripts.Turn, call)).Reaped, "lost q 1 - 0 t1\nlost q 2 - 0 t1")
		}
		l.equal(l.said(), nothing)
		l.equal(l.turn(l.turnInput()).Reaped, "")
	})
}

// TestEventsOfAPlainTurn: nothing but good completions, and no side table in use.
func TestEventsOfAPlainTurn(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1", "2")
		m := l.claim(2)
		l.watch()
		l.settle(luascripts.OpComplete, m...)
		l.equal(l.said(), []string{"events 1800000000000 w/completed q 1 0 0/completed q 2 1 0//detail"})
		l.want(`leased:q pad`)
	})
}

// TestEventsAreWatched: a turn tells its worker that somebody listens.
func TestEventsAreWatched(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.equal(l.turn(l.turnInput()).Watched, false)
		call := l.turnCall(l.turnInput())
		l.ok(luascripts.Turn, call)
		l.watch()
		l.equal(luascripts.ParseTurn(l.ok(luascripts.Turn, call)).Watched, true)
		l.equal(l.turn(l.turnInput()).Watched, true)
	})
}

// TestEventsCostNothingUnheard: without a subscriber nothing is published.
func TestEventsCostNothingUnheard(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		everyState(l)
		l.put(l.rdb.Del(ctx, l.key("subs"), l.key("waiters:q")))
		l.reschedule("1", "")
		l.cancel("4")
		l.revive("4")
		l.expire("3")
		l.claim(9)
		l.enqueue(item("20"))
		l.purge("ready:q:d", true, 9)
		l.purge("snoozed:q", false, 9)
		l.delete("6", "7")
		l.equal(l.said(), nothing)
	})
}

// TestEventsReachSubscribers over a connection, as the script publishes them.
func TestEventsReachSubscribers(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.watch()
		channel := l.key("events")
		sub := l.rdb.Subscribe(ctx, channel)
		defer func() { _ = sub.Close() }()
		if _, err := sub.Receive(ctx); err != nil {
			l.Fatal(err)
		}
		in := l.enqueueInput(item("1"))
		in.Channels.Events = channel
		call := l.enqueueCall(in)
		if _, err := luascripts.Enqueue.Run(ctx, l.rdb, call.Keys, call.Args); err != nil {
			l.Fatal(err)
		}
		msg, err := sub.ReceiveMessage(ctx)
		if err != nil {
			l.Fatal(err)
		}
		l.equal(msg.Payload[13:], "\nenqueued q 1 0 0\n\ndetail")
	})
}
