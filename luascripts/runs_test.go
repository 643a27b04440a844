package luascripts_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

// sweeping puts an item on the sweep that is due in ms from now.
func (l *lab) sweeping(item string, ms int64) {
	l.Helper()
	l.put(l.rdb.ZAdd(ctx, l.key("sweep"), redis.Z{Member: item, Score: float64(l.now + ms)}))
}

// TestTurnTellsOfTheSweep: work of the sweep that is due is told, and what will be
// due counts into the time after which the worker looks again.
func TestTurnTellsOfTheSweep(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		reply := l.turn(l.turnInput())
		l.equal(reply.Sweep, false)
		l.equal(reply.NextMS, int64(-1))
		l.sweeping("7", 1500)
		reply = l.turn(l.turnInput())
		l.equal(reply.Sweep, false)
		l.equal(reply.NextMS, int64(1500))
		l.enqueue(item("6", due("+700")))
		l.equal(l.turn(l.turnInput()).NextMS, int64(700)) // the sooner of the two
		l.put(l.rdb.Del(ctx, l.key("scheduled:q")))
		l.sweeping("8", 0)
		reply = l.turn(l.turnInput())
		l.equal(reply.Sweep, true)
		l.equal(reply.NextMS, int64(-1)) // whoever is told of work looks again after it
		l.put(l.rdb.ZAdd(ctx, l.key("waiting:q"), redis.Z{Member: "9", Score: float64((l.now + 40) * 16)}))
		reply = l.turn(l.turnInput())
		l.equal(reply.Sweep, true)
		l.equal(reply.NextMS, int64(40))
	})
}

// TestTurnPromotesWhatWaits: a step whose wait has run out of time is ready.
func TestTurnPromotesWhatWaits(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.bulk("waiting:q", []string{"4.1"}, l.now+1, 1)
		l.bulk("waiting:q", []string{"5"}, 5680281600000, 1)
		l.equal(l.step("4.1").State, "waiting")
		l.turn(l.turnInput())
		l.equal(l.step("4.1").State, "waiting")
		l.now++
		l.turn(l.turnInput())
		l.equal(l.content("ready:q:d"), []string{"4.1"})
		l.equal(count(l, "waiting:q", "5@"), 1)
	})
}

// TestOperatorsReachWhatWaits: cancelled and deleted like what else waits.
func TestOperatorsReachWhatWaits(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.bulk("waiting:q", []string{"4", "5"}, l.now+1, 1)
		l.equal(l.cancel("4"), []string{"waiting"})
		l.equal(l.delete("5"), []string{"waiting"})
		l.want(`
			cancelled:q 4@0
			steps 4=b4
		`)
	})
}

// TestDeletedNodesAreSwept: whoever deletes a node puts its run on the sweep, by
// whatever way; a step that is a run by itself concerns nobody else.
func TestDeletedNodesAreSwept(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("12.3", "4")
		l.bulk("retrying:q", []string{"13.0"}, l.now+1, 1)
		l.bulk("scheduled:q", []string{"14.10", "15"}, l.now+1, 1)
		l.equal(l.delete("13.0", "99.1"), []string{"retrying", "absent"})
		l.now += 3
		l.equal(l.purge("ready:q:d", true, 9), [2]int{2, 2})
		l.equal(l.purge("scheduled:q", false, 9), [2]int{2, 2})
		l.want(`sweep 13@0 12@3 14@3`)
	})
}
