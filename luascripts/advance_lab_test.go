package luascripts_test

import (
	"strconv"
	"strings"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// graph stores a run of n nodes as it stands with left of them not ended, and more
// fields of its hash: name, value and so on.
func (l *lab) graph(id string, n, left int, fields ...any) {
	l.Helper()
	l.put(l.rdb.HSet(ctx, l.key("steps"), id, "graph"))
	l.put(l.rdb.HSet(ctx, l.key("run:"+id), append([]any{"st", "r", "n", n, "left", left, "keep", 5000}, fields...)...))
}

// holding makes nodes or steps ready, claims them and returns them as id:token in
// the order of the ids.
func (l *lab) holding(ids ...string) []string {
	l.Helper()
	l.ready(ids...)
	m := l.claim(len(ids))
	l.equal(len(m), len(ids))
	return m
}

// node is the completion of a held node, with the output out<node>.
func (l *lab) node(member string, change ...func(*luascripts.AdvanceItem)) luascripts.AdvanceItem {
	id, _, _ := strings.Cut(member, ":")
	run, index, _ := strings.Cut(id, ".")
	node, _ := strconv.Atoi(index)
	it := luascripts.AdvanceItem{
		Op: luascripts.OpComplete, Member: member, ID: id, Body: "out" + index,
		Run: l.key("run:" + run), Node: node, Attempt: 2,
	}
	for _, f := range change {
		f(&it)
	}
	return it
}

// single is the end of a held step that is a run of its own.
func (l *lab) single(op luascripts.Op, member string, change ...func(*luascripts.AdvanceItem)) luascripts.AdvanceItem {
	id, _, _ := strings.Cut(member, ":")
	it := luascripts.AdvanceItem{Op: op, Member: member, ID: id, Body: string(op) + id, KeepUntilMS: start + 60_000}
	for _, f := range change {
		f(&it)
	}
	return it
}

// before names the nodes, of the default lane of queue 0, that depend on a node.
func before(nodes ...int) func(*luascripts.AdvanceItem) {
	return func(it *luascripts.AdvanceItem) {
		for _, n := range nodes {
			it.Children = append(it.Children, luascripts.AdvanceChild{Node: n, Lane: 1})
		}
	}
}

// without is a discard with the body d<node>.
func without(it *luascripts.AdvanceItem) {
	it.Op, it.Body = luascripts.OpDiscard, "d"+strconv.Itoa(it.Node)
}

func (l *lab) withJournal(it *luascripts.AdvanceItem) { it.Journal = l.key("journal:" + it.ID) }

// with adds a transaction.
func with(ops ...luascripts.TxOp) func(*luascripts.AdvanceItem) {
	return func(it *luascripts.AdvanceItem) { it.Tx = ops }
}

func (l *lab) advanceInput(items ...luascripts.AdvanceItem) *luascripts.AdvanceInput {
	return &luascripts.AdvanceInput{
		Worker: "w", MaxBytes: 100, MaxSignals: 3, Channels: l.channels(), Partitions: 4, Partition: 1, Stem: len(l.key("run:")), Detail: []byte("detail"),
		Queues: []luascripts.TurnQueue{*named[luascripts.TurnQueue](l, "q"), *named[luascripts.TurnQueue](l, "p")}, Items: items,
	}
}

func (l *lab) advanceCall(in *luascripts.AdvanceInput) *luascripts.Call {
	c := new(luascripts.Call)
	in.Session = l.next()
	luascripts.AdvanceCall(c, named[luascripts.AdvanceKeys](l, ""), in)
	return c
}

func (l *lab) advance(items ...luascripts.AdvanceItem) luascripts.AdvanceReply {
	l.Helper()
	return luascripts.ParseAdvance(l.ok(luascripts.Advance, l.advanceCall(l.advanceInput(items...))))
}

// ended is advance of steps that are all held and without refusals.
func (l *lab) ended(items ...luascripts.AdvanceItem) luascripts.AdvanceReply {
	l.Helper()
	reply := l.advance(items...)
	l.equal(reply.Lost, lost())
	l.equal(len(reply.Refused), 0)
	return reply
}
