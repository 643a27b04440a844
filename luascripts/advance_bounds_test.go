package luascripts_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// The bounds of what the scripts for nodes and tasks get in one call.
const (
	advanceItems = 100
	advanceNodes = 400 // children, or follow-ups, beside them
)

// TestBoundsOfAnAdvance: the biggest call, in three shapes: steps with a few children
// each, one with all of them, and follow-ups.
func TestBoundsOfAnAdvance(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.watch()
		held := func(from int, prefix string) []string {
			l.Helper()
			all := ids(from, advanceItems)
			for i := range all {
				all[i] = prefix + all[i]
			}
			m := l.holding(all...)
			slices.Sort(m)
			return m
		}
		blocked := func(n, count int) (fields []any) {
			for i := range n {
				fields = append(fields, "d"+strconv.Itoa(1000+i), count)
			}
			return fields
		}
		children := func(it *luascripts.AdvanceItem, from, n int) {
			for i := range n {
				it.Children = append(it.Children, luascripts.AdvanceChild{Node: 1000 + from + i, Lane: 1, DelayMS: int64(i % 2)})
			}
		}
		var items []luascripts.AdvanceItem
		l.graph("7", 600, 600, blocked(advanceNodes, 1)...)
		for i, m := range held(0, "7.") {
			items = append(items, l.node(m))
			children(&items[i], 4*i, 4)
		}
		l.ended(items...)
		l.equal(l.total("unblocked"), advanceNodes)
		l.equal(len(l.content("ready:q:d"))+len(l.content("scheduled:q")), advanceNodes)

		l.put(l.rdb.Del(ctx, l.key("ready:q:d"), l.key("scheduled:q")))
		l.graph("8", 600, 600, blocked(advanceNodes, 2)...)
		items = items[:0]
		for i, m := range held(0, "8.") {
			items = append(items, l.node(m))
			if i < 2 {
				children(&items[i], 0, advanceNodes/2)
			}
		}
		l.ended(items...)
		l.equal(l.total("unblocked"), advanceNodes+advanceNodes/2)

		l.put(l.rdb.Del(ctx, l.key("ready:q:d"), l.key("scheduled:q")))
		l.handedOut(1000)
		items = items[:0]
		for _, m := range held(0, "9") {
			items = append(items, l.single(luascripts.OpKeep, m, with(luascripts.TxEnqueue(0, 1, "", "a"), luascripts.TxEnqueue(0, 1, "+1", "b"),
				luascripts.TxEnqueue(0, 1, "", "c"), luascripts.TxEnqueue(0, 1, "+1", "d"))))
		}
		l.ended(items...)
		l.equal(len(l.content("ready:q:d"))+len(l.content("scheduled:q")), advanceNodes)
	})
}

// TestBoundsOfTasks: records and suspensions of a full call, and a signal for which
// more steps wait than one call rouses.
func TestBoundsOfTasks(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.watch()
		l.graph("7", 400, 400)
		var held []string
		for from := range 4 {
			all := ids(100*from, 100)
			for i := range all {
				all[i] = "7." + all[i]
			}
			held = append(held, l.holding(all...)...)
		}
		var records []luascripts.RecordItem
		for _, m := range held[:250] {
			records = append(records, rec(m, true, "r:a#1", "x"))
		}
		l.equal(len(l.record(records...)), 250)
		l.equal(l.rdb.ZCard(ctx, l.key("journals")).Val(), int64(250))
		many := make([]luascripts.RecordItem, scriptIDs)
		for i := range many {
			many[i] = rec(held[0], false, "r:b#"+strconv.Itoa(i), "x")
		}
		l.equal(len(slices.Compact(l.record(many...))), 1)

		for chunk := range slices.Chunk(held, 200) {
			var items []luascripts.SuspendItem
			for _, m := range chunk {
				items = append(items, l.sleeping(m, awaiting("go")))
			}
			for _, outcome := range l.suspend(items...) {
				l.equal(outcome, luascripts.Suspended)
			}
		}
		_, queues := l.signal("7")
		l.equal(queues, []string{"q"})
		l.equal(len(l.content("ready:q:d")), 250)
		_, queues = l.signal("7", onlyRouse)
		l.equal(queues, nothing)
		l.equal(len(l.content("ready:q:d")), 400)
	})
}
