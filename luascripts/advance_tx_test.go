package luascripts_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// txKeys puts a key of each type: tx:string "x", tx:number "41", tx:hash, tx:set,
// tx:list and tx:zset.
func txKeys(l *lab) {
	l.Helper()
	l.put(l.rdb.Set(ctx, l.key("tx:string"), "x", 0))
	l.put(l.rdb.Set(ctx, l.key("tx:number"), "41", 0))
	l.put(l.rdb.HSet(ctx, l.key("tx:hash"), "a", "1"))
	l.put(l.rdb.SAdd(ctx, l.key("tx:set"), "a"))
	l.put(l.rdb.RPush(ctx, l.key("tx:list"), "a"))
	l.put(l.rdb.ZAdd(ctx, l.key("tx:zset"), redis.Z{Score: start, Member: "a"}))
}

// TestTxApplies: every command takes effect with the completion.
func TestTxApplies(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		txKeys(l)
		k := l.key
		l.ended(l.single(luascripts.OpComplete, l.holding("5")[0], with(
			luascripts.TxSet(k("tx:string"), "y", 0),
			luascripts.TxSet(k("tx:hash"), "over", 70_000),
			luascripts.TxIncrBy(k("tx:number"), 1), luascripts.TxIncrBy(k("tx:new"), -3), luascripts.TxIncrBy(k("tx:new"), 1),
			luascripts.TxDelete(k("tx:zset")), luascripts.TxListPush(k("tx:zset"), "p", "q"), luascripts.TxListPush(k("tx:list"), "b"),
			luascripts.TxDelete(k("tx:set")), luascripts.TxHashSet(k("tx:set"), "f", "1", "g", "2"),
			luascripts.TxDelete(k("tx:nothing")), luascripts.TxSetAdd(k("tx:members"), "m", "m"),
			luascripts.TxSet(k("tx:fresh"), "7", 0), luascripts.TxIncrBy(k("tx:fresh"), 3),
		)))
		l.want(`
			leased:q pad
			tx:fresh 10
			tx:hash over
			tx:list a b
			tx:members m
			tx:new -2
			tx:number 42
			tx:set f=1 g=2
			tx:string y
			tx:zset p q
		`)
		if ttl := l.rdb.PTTL(ctx, k("tx:hash")).Val().Milliseconds(); ttl < 60_000 || ttl > 70_000 {
			l.Fatalf("the time to live is %d ms", ttl)
		}
		if ttl := l.rdb.TTL(ctx, k("tx:string")).Val(); ttl != -1 {
			l.Fatalf("the time to live is %v", ttl)
		}
	})
}

// TestTxRefuses: what cannot be applied is told, by its position, before anything of
// the completion is written; the step is still held, and the others end.
func TestTxRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 101)
	many := make([]string, 501)
	for name, c := range map[string]struct {
		ops    func(k func(string) string) []luascripts.TxOp
		reason string
	}{
		"hash of a string": {func(k func(string) string) []luascripts.TxOp {
			return ops(luascripts.TxHashSet(k("tx:string"), "a", "b"))
		}, luascripts.TxWrongType},
		"set of a hash":    {func(k func(string) string) []luascripts.TxOp { return ops(luascripts.TxSetAdd(k("tx:hash"), "b")) }, luascripts.TxWrongType},
		"list of a set":    {func(k func(string) string) []luascripts.TxOp { return ops(luascripts.TxListPush(k("tx:set"), "b")) }, luascripts.TxWrongType},
		"number of a list": {func(k func(string) string) []luascripts.TxOp { return ops(luascripts.TxIncrBy(k("tx:list"), 1)) }, luascripts.TxWrongType},
		"hash of a zset": {func(k func(string) string) []luascripts.TxOp {
			return ops(luascripts.TxHashSet(k("tx:zset"), "a", "b"))
		}, luascripts.TxWrongType},
		"number of a text": {func(k func(string) string) []luascripts.TxOp { return ops(luascripts.TxIncrBy(k("tx:string"), 1)) }, luascripts.TxNotInteger},
		"odd fields":       {func(k func(string) string) []luascripts.TxOp { return ops(luascripts.TxHashSet(k("tx:hash"), "a")) }, luascripts.TxArguments},
		"no fields":        {func(k func(string) string) []luascripts.TxOp { return ops(luascripts.TxHashSet(k("tx:hash"))) }, luascripts.TxArguments},
		"no members":       {func(k func(string) string) []luascripts.TxOp { return ops(luascripts.TxSetAdd(k("tx:set"))) }, luascripts.TxArguments},
		"too many members": {func(k func(string) string) []luascripts.TxOp { return ops(luascripts.TxSetAdd(k("tx:set"), many...)) }, luascripts.TxArguments},
		"negative life":    {func(k func(string) string) []luascripts.TxOp { return ops(luascripts.TxSet(k("tx:new"), "a", -1)) }, luascripts.TxArguments},
		"endless life": {func(k func(string) string) []luascripts.TxOp {
			return ops(luascripts.TxSet(k("tx:new"), "a", 3153600000001))
		}, luascripts.TxArguments},
		"large value": {func(k func(string) string) []luascripts.TxOp { return ops(luascripts.TxSet(k("tx:new"), long, 0)) }, luascripts.TxTooLarge},
		"large element": {func(k func(string) string) []luascripts.TxOp {
			return ops(luascripts.TxListPush(k("tx:list"), "a", long))
		}, luascripts.TxTooLarge},
		"large body":         {func(func(string) string) []luascripts.TxOp { return ops(luascripts.TxEnqueue(0, 1, "", long)) }, luascripts.TxTooLarge},
		"unknown run":        {signalOp("404", false), luascripts.SignalUnknown},
		"run that has ended": {signalOp("8", false), luascripts.SignalEnded},
		"type of a write before": {func(k func(string) string) []luascripts.TxOp {
			return ops(luascripts.TxSetAdd(k("tx:new"), "a"), luascripts.TxListPush(k("tx:new"), "a"))
		}, "1 " + luascripts.TxWrongType},
		"text of a write before": {func(k func(string) string) []luascripts.TxOp {
			return ops(luascripts.TxSet(k("tx:number"), "a", 0), luascripts.TxIncrBy(k("tx:number"), 1))
		}, "1 " + luascripts.TxNotInteger},
		"sum of a write before": {func(k func(string) string) []luascripts.TxOp {
			return ops(luascripts.TxIncrBy(k("tx:number"), math.MaxInt64-41), luascripts.TxIncrBy(k("tx:number"), 1))
		}, "1 " + luascripts.TxOverflow},
		"deleted before": {func(k func(string) string) []luascripts.TxOp {
			return ops(luascripts.TxDelete(k("tx:number")), luascripts.TxIncrBy(k("tx:number"), math.MinInt64), luascripts.TxIncrBy(k("tx:number"), -1))
		}, "2 " + luascripts.TxOverflow},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(l *lab) {
				txKeys(l)
				l.graph("7", 2, 2, "d1", 1)
				l.graph("8", 1, 0, "st", "c")
				m := l.holding("7.0", "5", "6")
				l.handedOut(10)
				refused := append(c.ops(l.key), luascripts.TxSet(l.key("tx:never"), "1", 0))
				want := luascripts.TxRefusal{Reason: c.reason}
				if op, reason, found := strings.Cut(c.reason, " "); found {
					want.Op, _ = strconv.Atoi(op)
					want.Reason = reason
				}
				before := l.state()
				call := l.advanceCall(l.advanceInput(
					l.node(m[0], before1, with(refused...)), l.single(luascripts.OpComplete, m[1], with(refused...))))
				reply := luascripts.ParseAdvance(l.ok(luascripts.Advance, call))
				l.equal(reply.Refused, map[string]luascripts.TxRefusal{m[0]: want, m[1]: want})
				l.equal(reply.Lost, lost())
				l.equal(l.state(), before)
				l.equal(luascripts.ParseAdvance(l.ok(luascripts.Advance, call)), reply)

				// What a refused transaction would have written misleads no other one.
				reply = l.advance(l.single(luascripts.OpComplete, m[1], with(refused...)),
					l.single(luascripts.OpComplete, m[2], with(luascripts.TxIncrBy(l.key("tx:new"), math.MaxInt64), luascripts.TxIncrBy(l.key("tx:number"), 1))))
				l.equal(reply.Refused, map[string]luascripts.TxRefusal{m[1]: want})
				l.equal(l.content("tx:number"), []string{"42"})
				l.equal(l.content("tx:new"), []string{strconv.Itoa(math.MaxInt64)})
				l.equal(l.content("tx:never"), nothing)
			})
		})
	}
}

var before1 = before(1)

func ops(list ...luascripts.TxOp) []luascripts.TxOp { return list }

// signalOp is a signal "go" to a run of many steps, or to a single task of queue 0.
func signalOp(id string, task bool) func(k func(string) string) []luascripts.TxOp {
	return func(k func(string) string) []luascripts.TxOp {
		key := k("run:" + id)
		if task {
			key = k("journal:" + id)
		}
		return ops(luascripts.TxSignal(luascripts.SignalTarget{Signals: key, ID: id, Task: task}, "go", "payload"))
	}
}

// TestTxSeesTheOthers: transactions of one call are checked one behind the other.
func TestTxSeesTheOthers(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.graph("7", 1, 1)
		m := l.holding("1", "2", "3", "4")
		key, signals := l.key("tx:a"), signalOp("7", false)(l.key)[0]
		reply := l.advance(
			l.single(luascripts.OpComplete, m[0], with(luascripts.TxIncrBy(key, math.MaxInt64-1), signals)),
			l.single(luascripts.OpComplete, m[1], with(luascripts.TxIncrBy(key, 2))),
			l.single(luascripts.OpComplete, m[2], with(luascripts.TxIncrBy(key, 1), signals, signals)),
			l.single(luascripts.OpComplete, m[3], with(signals)))
		l.equal(reply.Refused, map[string]luascripts.TxRefusal{
			m[1]: {Op: 0, Reason: luascripts.TxOverflow}, m[3]: {Op: 0, Reason: luascripts.SignalFull},
		})
		l.want(`
			leased:q 2:t1@30000d 4:t1@30000d pad
			run:7 g:go:1=payload g:go:2=payload g:go:3=payload gn=3 gt:go=3 keep=5000 left=1 n=1 st=r
			steps 2=b2 4=b4 7=graph
			tx:a 9223372036854775807
		`)
	})
}

// TestTxNumbers: what Redis takes for a number is one, sums are exact and nothing
// overflows.
func TestTxNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stored string
		by     int64
		want   string // the sum, or why there is none
	}{
		{"0", 0, "0"},
		{"0", -1, "-1"},
		{"10", -11, "-1"},
		{"-5", 3, "-2"},
		{"9999999999", 1, "10000000000"},
		{"-10000000000", 1, "-9999999999"},
		{"9007199254740993", 2, "9007199254740995"},
		{"9223372036854775806", 1, "9223372036854775807"},
		{"9223372036854775807", 0, "9223372036854775807"},
		{"9223372036854775807", 1, luascripts.TxOverflow},
		{"9223372026854775807", 9_999_999_999, "9223372036854775806"},
		{"9223372026854775807", 10_000_000_001, luascripts.TxOverflow},
		{"-9223372036854775807", -1, "-9223372036854775808"},
		{"-9223372036854775808", 0, "-9223372036854775808"},
		{"-9223372036854775808", -1, luascripts.TxOverflow},
		{"-9223372036854775808", math.MaxInt64, "-1"},
		{"9223372036854775807", math.MinInt64, "-1"},
		{"1", math.MinInt64, "-9223372036854775807"},
		{"9223372036854775808", -1, luascripts.TxNotInteger},
		{"-9223372036854775809", 1, luascripts.TxNotInteger},
		{"9999999999999999999", -1, luascripts.TxNotInteger},
		{"9999999990000000000", -1, luascripts.TxNotInteger},
		{"-9999999985000000000", 1, luascripts.TxNotInteger},
		{"10000000000000000000", -1, luascripts.TxNotInteger},
		{strings.Repeat("9", 90), -1, luascripts.TxNotInteger},
		{"", 1, luascripts.TxNotInteger},
		{"-", 1, luascripts.TxNotInteger},
		{"-0", 1, luascripts.TxNotInteger},
		{"+1", 1, luascripts.TxNotInteger},
		{" 1", 1, luascripts.TxNotInteger},
		{"1 ", 1, luascripts.TxNotInteger},
		{"01", 1, luascripts.TxNotInteger},
		{"1.5", 1, luascripts.TxNotInteger},
		{"1e3", 1, luascripts.TxNotInteger},
	} {
		t.Run(c.stored+"+"+strconv.FormatInt(c.by, 10), func(t *testing.T) {
			t.Parallel()
			each(t, func(l *lab) {
				key := l.key("tx:a")
				l.put(l.rdb.Set(ctx, key, c.stored, 0))
				m := l.holding("1", "2")
				reply := l.advance(l.single(luascripts.OpComplete, m[0], with(luascripts.TxIncrBy(key, c.by))))
				// The same within one transaction.
				l.put(l.rdb.Del(ctx, l.key("tx:b")))
				inside := l.advance(l.single(luascripts.OpComplete, m[1], with(
					luascripts.TxSet(l.key("tx:b"), c.stored, 0), luascripts.TxIncrBy(l.key("tx:b"), c.by))))
				if _, err := strconv.ParseInt(c.want, 10, 64); err != nil {
					l.equal(reply.Refused[m[0]], luascripts.TxRefusal{Op: 0, Reason: c.want})
					l.equal(inside.Refused[m[1]], luascripts.TxRefusal{Op: 1, Reason: c.want})
					return
				}
				l.equal(l.content("tx:a"), []string{c.want})
				l.equal(l.content("tx:b"), []string{c.want})
			})
		})
	}
}

// TestTxLimits: what is just within them is applied.
func TestTxLimits(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		value, members := strings.Repeat("x", 100), ids(1, 500)
		l.handedOut(10)
		l.ended(l.single(luascripts.OpComplete, l.holding("5")[0], with(
			luascripts.TxSet(l.key("tx:a"), value, 3153600000000), luascripts.TxListPush(l.key("tx:b"), members...),
			luascripts.TxEnqueue(0, 1, "", value))))
		l.equal(l.content("tx:a"), []string{value})
		l.equal(len(l.content("tx:b")), 500)
		l.equal(l.content("steps"), []string{"45=" + value})
	})
}

// TestTxEnqueues: follow-ups get ids of the partition, their place, and a worker.
func TestTxEnqueues(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		m := l.holding("1", "2", "3")
		l.handedOut(10)
		l.watch()
		l.stand("idle", 1000)
		l.said()
		in := l.advanceInput(
			l.single(luascripts.OpComplete, m[0], with(luascripts.TxEnqueue(0, 1, "", "now"), luascripts.TxEnqueue(1, 2, "+70", "later"))),
			l.single(luascripts.OpComplete, m[1], with(luascripts.TxEnqueue(0, 0, "", "refused"), luascripts.TxSet(l.key("tx:a"), "a", -1))),
			l.single(luascripts.OpComplete, m[2], with(luascripts.TxEnqueue(1, 0, strconv.Itoa(start+5), "then"))))
		in.Listens = true
		call := l.advanceCall(in)
		for range 2 { // the answer is lost once
			said := luascripts.ParseAdvance(l.ok(luascripts.Advance, call)).Lines
			l.equal(said, "enqueued q 45 3 0\nenqueued p 49 4 1800000000070\nenqueued p 53 6 1800000000005")
		}
		l.want(`
			ids 13
			leased:q 2:t1@30000d pad
			ready:q:d 45
			scheduled:p 53@5h 49@70l
			steps 2=b2 45=now 49=later 53=then
		`)
		l.equal(l.total("enqueued"), 3+3)
		l.equal(l.said(), []string{"wake.idle 1", "events 1800000000000 w/" +
			"enqueued q 45 3 0/enqueued p 49 4 1800000000070/completed q 1 0 0/enqueued p 53 6 1800000000005/completed q 3 2 0//detail"})

		// Ids that could be handed out twice are handed out to nobody.
		l.put(l.rdb.Del(ctx, l.key("ids")))
		reply := l.advance(l.single(luascripts.OpComplete, m[1], with(luascripts.TxEnqueue(0, 0, "", "refused"))))
		l.equal(reply.Refused, map[string]luascripts.TxRefusal{m[1]: {Reason: luascripts.TxIDsLost}})
	})
}

// TestTxSignals: a signal is queued with the completion, and the sweep is told when
// somebody waits for it.
func TestTxSignals(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.graph("7", 1, 1)
		l.graph("8", 1, 1, "gw:go", "8.0 q 2;")
		l.enqueue(item("9", due("+5")))
		m := l.holding("1", "2")
		l.equal(l.ended(l.single(luascripts.OpComplete, m[0], with(signalOp("7", false)(l.key)[0], signalOp("9", true)(l.key)[0]))).Sweep, false)
		l.equal(l.ended(l.single(luascripts.OpComplete, m[1], with(signalOp("8", false)(l.key)[0]))).Sweep, true)
		l.want(`
			journal:9 g:go:1=payload gn=1 gt:go=1
			journals 9@0
			leased:q pad
			run:7 g:go:1=payload gn=1 gt:go=1 keep=5000 left=1 n=1 st=r
			run:8 g:go:1=payload gn=1 gt:go=1 gw:go=8.0_q_2; keep=5000 left=1 n=1 st=r
			scheduled:q 9@5d
			steps 7=graph 8=graph 9=b9
			sweep s 8 go@0
		`)
	})
}
