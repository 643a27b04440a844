package luascripts_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// scriptIDs is the most ids that one script may touch.
const scriptIDs = 500

// The bounds of package queue: what a turn settles and claims together, what it
// reaps and promotes beside them, and the items of an enqueue.
const (
	turnBudget  = 300
	sideBudget  = 200 // for expired leases, and for each of the four indexes of what waits for a time
	batchItems  = 250
	extendBatch = 400
)

func ids(from, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = strconv.Itoa(from + i)
	}
	return out
}

// TestBoundsOfATurn: the biggest turn, its settlements in one group, touches no
// more than 500 ids and no group of it is too big for a command.
func TestBoundsOfATurn(t *testing.T) {
	t.Parallel()
	for _, s := range settlements {
		t.Run(string(s.op), func(t *testing.T) {
			t.Parallel()
			each(t, func(l *lab) {
				const half = turnBudget / 2
				for _, first := range []int{1, 101, 201} {
					l.ready(ids(first, 100)...)
				}
				held := slices.Concat(l.claim(100), l.claim(50))
				l.bulk("leased:q", ids(1001, sideBudget), l.now-1, 2)
				l.bulk("scheduled:q", ids(2001, sideBudget), l.now, 1)
				l.bulk("retrying:q", ids(3001, sideBudget), l.now, 0)
				l.bulk("snoozed:q", ids(4001, sideBudget), l.now, 2)
				l.bulk("waiting:q", ids(5001, sideBudget), l.now, 1)
				l.watch()
				l.put(l.rdb.HSet(ctx, l.key("history"), "1", "x"))
				l.put(l.rdb.HSet(ctx, l.key("uniqof"), "1", "uD"))
				in := settling(l.turnInput(), s.op, held...)
				in.Budget = sideBudget
				in.WaitMS = 3000
				reply := l.turn(wanting(in, half))
				l.equal(len(members(reply, "")), half)
				l.equal(reply.More, true)
				touched := len(held) + half + sideBudget - count(l, "leased:q", ":old")
				for _, index := range []string{"scheduled:q", "retrying:q", "snoozed:q", "waiting:q"} {
					touched += sideBudget - count(l, index, "@0")
				}
				l.equal(touched, scriptIDs)
			})
		})
	}
}

// count counts the elements of a key that contain a text.
func count(l *lab, name, part string) (n int) {
	for _, element := range l.content(name) {
		if strings.Contains(element, part) {
			n++
		}
	}
	return n
}

// bulk puts steps with bodies into a sorted set.
func (l *lab) bulk(index string, ids []string, ms int64, bits int) {
	l.Helper()
	var members []redis.Z
	var bodies []any
	for _, id := range ids {
		member := id
		if strings.HasPrefix(index, "leased") {
			member += ":old"
		}
		members = append(members, redis.Z{Member: member, Score: float64(ms*16 + int64(bits))})
		bodies = append(bodies, id, "b"+id)
	}
	l.put(l.rdb.ZAdd(ctx, l.key(index), members...))
	l.put(l.rdb.HSet(ctx, l.key("steps"), bodies...))
}

// TestBoundsOfAClaim: a turn may also claim all of its budget at once, ghosts among it.
func TestBoundsOfAClaim(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		for first := 1; first < 400; first += 100 {
			l.ready(ids(first, 100)...)
		}
		l.cancel(ids(1, 100)...)
		l.equal(len(l.claim(turnBudget)), turnBudget-100)
		l.equal(len(l.claim(turnBudget)), 100)
		l.equal(l.content("ghosts"), nothing)
	})
}

// TestBoundsOfAnEnqueue: the biggest batch, as one group and as items with unique
// keys, half of which are held.
func TestBoundsOfAnEnqueue(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.watch()
		in := l.enqueueInput()
		in.Groups = []luascripts.EnqueueGroup{plain(ids(1, batchItems)...)}
		l.ok(luascripts.Enqueue, l.enqueueCall(in))
		l.equal(len(l.content("ready:q:d")), batchItems)
		var items []luascripts.EnqueueItem
		for i, id := range ids(1001, batchItems) {
			items = append(items, item(id, due("+5"), unique("D"+strconv.Itoa(i/2), 0, replace)))
		}
		call := l.enqueueCall(l.enqueueInput(items...))
		reply := luascripts.ParseEnqueue(l.ok(luascripts.Enqueue, call))
		l.equal(len(reply.Conflicts), batchItems/2)
		l.equal(luascripts.ParseEnqueue(l.ok(luascripts.Enqueue, call)), reply)
		l.equal(l.total("enqueued"), batchItems+batchItems/2)
	})
}

// TestBoundsOfAnExtend renews as many leases as one call may have.
func TestBoundsOfAnExtend(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		all := ids(1, extendBatch)
		l.bulk("leased:q", all[:300], l.now, 2)
		for i := range all {
			all[i] += ":old"
		}
		l.put(l.rdb.HSet(ctx, l.key("ghosts"), "1", "xq", "300", "xq"))
		gone := l.extend(3, all...)
		l.equal(len(gone), extendBatch-300+2)
		l.equal(count(l, "leased:q", "*"), 300)
	})
}

// TestBoundsOfRuns: as many nodes as one call may have are built, cancelled, revived
// and forgotten.
func TestBoundsOfRuns(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		const n = luascripts.MaxIDs - 1
		l.watch()
		l.build(l.graphRun("3", n))
		var ops []luascripts.SweepOp
		var members []string
		for i := range n {
			members = append(members, "3."+strconv.Itoa(i))
			ops = append(ops, op(luascripts.SweepDrop, i, "", "XB"))
		}
		ops[0] = op(luascripts.SweepCancel, 0, "", "XR")
		l.equal(l.sweep(l.sweepInput(l.opsOf("3", ops...))), done)
		for i := range n {
			ops[i] = op(luascripts.SweepRevive, i, "XB", "")
		}
		ops[0] = op(luascripts.SweepCancel, 0, "", "XR")
		l.equal(l.sweep(l.sweepInput(l.opsOf("3", ops...))), []luascripts.SweepOutcome{{Outcome: luascripts.SweepStale}})
		l.equal(len(l.content("ready:q:d")), n)
		for i := range n {
			ops[i] = op(luascripts.SweepCancel, i, "", "xR")
		}
		l.equal(l.sweep(l.sweepInput(l.opsOf("3", append(ops[1:], op("f", 0, "r", "x"))...))), done)
		l.equal(l.forget(luascripts.ForgetInput{
			ID: "3", Now: true, Last: true, Members: members,
			Queues: []luascripts.ForgetQueue{{Discarded: l.key("discarded:q"), Members: members}},
		}), true)
		l.equal(l.content("steps"), nothing)
	})
}

// TestBoundsOfOperators: cancel, delete and revive of what a page may hold, and
// purge and trim of a whole budget.
func TestBoundsOfOperators(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.watch()
		all := ids(1, scriptIDs)
		for chunk := range slices.Chunk(all, 100) {
			l.ready(chunk...)
		}
		l.equal(len(l.cancel(all...)), scriptIDs)
		l.equal(len(l.revive(all...)), scriptIDs)
		l.equal(l.total("retried"), scriptIDs)
		l.equal(l.purge("ready:q:d", true, scriptIDs), [2]int{scriptIDs, scriptIDs})
		for chunk := range slices.Chunk(all, 100) {
			l.ready(chunk...)
		}
		l.equal(len(l.delete(all...)), scriptIDs)
		l.equal(l.total("deleted"), 2*scriptIDs)
		l.bulk("discarded:q", all, 0, 0)
		l.equal(l.trim("discarded:q", 0, 0, scriptIDs), scriptIDs)
	})
}
