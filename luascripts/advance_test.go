package luascripts_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// TestAdvanceReleases: the end of a node counts it down for those that depend on
// it, and makes those ready that wait for nothing else.
func TestAdvanceReleases(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.graph("7", 5, 5, "d2", 2, "d3", 1, "d4", 1)
		m := l.holding("7.0", "7.1")
		l.put(l.rdb.HSet(ctx, l.key("tries"), "7.0", "1 0 0 0 0", "7.1", "1 0 0 0 0"))
		l.put(l.rdb.HSet(ctx, l.key("history"), "7.0", "h", "9", "h"))
		reply := l.ended(l.node(m[0], before(2), func(it *luascripts.AdvanceItem) {
			it.Children = append(it.Children, luascripts.AdvanceChild{Node: 3, Queue: 1, Lane: 2}, luascripts.AdvanceChild{Node: 4, DelayMS: 70})
		}))
		l.equal(reply.Sweep, false)
		l.want(`
			history 9=h
			leased:q 7.1:t1@30000d pad
			ready:p:l 7.3
			run:7 d2=1 d3= d4= keep=5000 left=4 n=5 o0=out0 s0=c2 st=r
			scheduled:q 7.4@70h
			steps 7=graph 7.1=b7.1
			tries 7.1=1_0_0_0_0
		`)
		l.equal(l.total("completed"), 1)
		l.equal(l.total("unblocked"), 2)
		// A node that is not blocked any more is not released again, and an empty
		// output is not stored.
		l.ended(l.node(m[1], before(2, 3), func(it *luascripts.AdvanceItem) { it.Body = "" }))
		l.want(`
			history 9=h
			leased:q pad
			ready:p:l 7.3
			ready:q:d 7.2
			run:7 d2= d3= d4= keep=5000 left=3 n=5 o0=out0 s0=c2 s1=c2 st=r
			scheduled:q 7.4@70h
			steps 7=graph
		`)
	})
}

// TestAdvanceFanIn: nodes that end in one call count down together.
func TestAdvanceFanIn(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.graph("7", 5, 5, "d3", 3, "d4", 4)
		l.graph("8", 2, 2, "d1", 1)
		l.graph("9", 3, 3, "d3", 2)
		m := l.holding("7.0", "7.1", "7.2", "8.0", "9.0", "9.1")
		l.ended(l.node(m[3], before(1)), l.node(m[0], before(3, 4)), l.node(m[1], before(3, 4)), l.node(m[2], before(3, 4)),
			l.node(m[4], before(3)), l.node(m[5], before(3)))
		l.want(`
			leased:q pad
			ready:q:d 9.3 7.3 8.1
			run:7 d3= d4=1 keep=5000 left=2 n=5 o0=out0 o1=out1 o2=out2 s0=c2 s1=c2 s2=c2 st=r
			run:8 d1= keep=5000 left=1 n=2 o0=out0 s0=c2 st=r
			run:9 d3= keep=5000 left=1 n=3 o0=out0 o1=out1 s0=c2 s1=c2 st=r
			steps 7=graph 8=graph 9=graph
		`)
	})
}

// TestAdvanceReadsAndWritesARunOnce for all of its nodes that stand together, also
// when some of them are refused.
func TestAdvanceReadsAndWritesARunOnce(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.graph("7", 5, 4, "d4", 3, "s3", "X")
		l.graph("8", 3, 3)
		m := l.holding("7.0", "7.1", "7.2", "7.3", "8.0", "8.1")
		call := l.advanceCall(l.advanceInput(l.node(m[0], before(4)), l.node("7.1:stale", before(4)), l.node(m[3], before(4)),
			l.node(m[2], before(4)), l.node(m[4]), l.node(m[5])))
		l.equal(luascripts.ParseAdvance(l.trace(luascripts.Advance, call, l.messages+":commands")).Lost, map[string]string{
			"7.1:stale": luascripts.ReasonLost, m[3]: luascripts.ReasonCancelled,
		})
		times := map[string]int{}
		for _, name := range l.rdb.LRange(ctx, l.messages+":commands", 0, -1).Val() {
			times[name]++
		}
		l.equal(times["HMGET"], 2)
		l.equal(times["HSET"], 2+1) // and the answer
		l.equal(l.content("run:7"), []string{"d4=1", "keep=5000", "left=2", "n=5", "o0=out0", "o2=out2", "s0=c2", "s2=c2", "s3=X", "st=r"})
		l.equal(l.content("run:8"), []string{"keep=5000", "left=1", "n=3", "o0=out0", "o1=out1", "s0=c2", "s1=c2", "st=r"})
	})
}

// TestAdvanceAnswersWhatItBrings to who asks for it, whether somebody subscribes to
// events or not; also when it answers again.
func TestAdvanceAnswersWhatItBrings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		watched, listens bool
		want             string
	}{
		"nobody":       {false, false, ""},
		"a subscriber": {true, false, ""},
		"the caller":   {false, true, "enqueued q 7.1 - 0\nfinished - 8 - 0 c"},
		"both":         {true, true, "enqueued q 7.1 - 0\nfinished - 8 - 0 c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(l *lab) {
				l.graph("7", 2, 2, "d1", 1)
				l.graph("8", 1, 1)
				m := l.holding("7.0", "8.0")
				if c.watched {
					l.watch()
				}
				in := l.advanceInput(l.node(m[0], before(1)), l.node(m[1]))
				in.Listens = c.listens
				call := l.advanceCall(in)
				for range 2 {
					l.equal(luascripts.ParseAdvance(l.ok(luascripts.Advance, call)).Lines, c.want)
				}
			})
		})
	}
}

// TestAdvanceKeysOfOneRun: the nodes of one run share its key, each has its own
// journal, and what stands behind them has its own keys.
func TestAdvanceKeysOfOneRun(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.graph("7", 4, 4)
		l.graph("8", 2, 2)
		m := l.holding("5", "6", "7.0", "7.1", "7.2", "8.0")
		for _, id := range []string{"6", "7.1", "8.0"} {
			l.put(l.rdb.HSet(ctx, l.key("journal:"+id), "r:a#1", "x"))
		}
		empty := func(it *luascripts.AdvanceItem) { it.Body = "" }
		l.ended(l.single(luascripts.OpComplete, m[0]), l.node(m[2], empty), l.node(m[3], empty, l.withJournal), l.node(m[4], empty),
			l.single(luascripts.OpComplete, m[1], l.withJournal), l.node(m[5], empty, l.withJournal))
		l.want(`
			leased:q pad
			run:7 keep=5000 left=1 n=4 s0=c2 s1=c2 s2=c2 st=r
			run:8 keep=5000 left=1 n=2 s0=c2 st=r
			steps 7=graph 8=graph
		`)
	})
}

// TestAdvanceReleasesOnce: whoever else ends in the same call.
func TestAdvanceReleasesOnce(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.graph("7", 3, 3, "d2", 1)
		m := l.holding("7.0", "7.1")
		l.ended(l.node(m[0], before(2)), l.node(m[1], before(2)))
		l.equal(l.content("ready:q:d"), []string{"7.2"})
	})
}

// TestAdvanceReleasesTheRevived: a node whose former claim, or place in a list, still
// has a ghost gets no second place: who takes it there makes it ready.
func TestAdvanceReleasesTheRevived(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.graph("7", 3, 3, "d1", 1, "d2", 1)
		m := l.holding("7.0")
		l.put(l.rdb.HSet(ctx, l.key("ghosts"), "7.1", "xq"))
		l.watch()
		l.said()
		l.ended(l.node(m[0], before(1, 2)))
		l.equal(l.content("ghosts"), []string{"7.1=rq"})
		l.equal(l.content("ready:q:d"), []string{"7.2"})
		l.equal(l.content("run:7"), []string{"d1=", "d2=", "keep=5000", "left=2", "n=3", "o0=out0", "s0=c2", "st=r"})
		l.equal(l.said(), []string{"events 1800000000000 w/enqueued q 7.1 - 0/enqueued q 7.2 - 0/completed q 7.0 0 0//detail"})
	})
}

// TestAdvanceTimes: a child starts no later than in the year 2150.
func TestAdvanceTimes(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.graph("7", 2, 2, "d1", 1)
		l.ended(l.node(l.holding("7.0")[0], before(1), func(it *luascripts.AdvanceItem) { it.Children[0].DelayMS = 5_680_281_600_000 }))
		l.equal(l.content("scheduled:q"), []string{"7.1@3880281600000d"})
	})
}

// TestAdvanceCountsAndTells what was done, and nothing else.
func TestAdvanceCountsAndTells(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		counted := func(verbs ...string) {
			l.Helper()
			var got []string
			for _, verb := range []string{"enqueued", "completed", "discarded", "unblocked"} {
				if l.rdb.HExists(ctx, l.key("stats"), "total:"+verb).Val() {
					got = append(got, verb)
				}
			}
			l.equal(got, verbs)
		}
		l.graph("7", 1, 1)
		m := l.holding("7.0", "1", "2")
		l.put(l.rdb.Del(ctx, l.key("stats")))
		l.put(l.rdb.ZAdd(ctx, l.key("sweep"), redis.Z{Score: start + 1, Member: "8"}))
		l.advance(l.node("7.0:stale"))
		counted()
		reply := l.advance(l.node(m[0]))
		l.equal([]bool{reply.Sweep, reply.Watched}, []bool{false, false})
		l.equal(l.said(), nothing)
		counted("completed")
		l.put(l.rdb.Del(ctx, l.key("stats")))
		l.watch()
		reply = l.advance(l.single(luascripts.OpDiscard, m[1]))
		l.equal([]bool{reply.Sweep, reply.Watched}, []bool{false, true})
		counted("discarded")
		l.equal(l.said(), []string{"events 1800000000000 w/discarded q 1 0 0//detail"})
		l.now++
		l.equal(l.ended(l.single(luascripts.OpComplete, m[2])).Sweep, true)
	})
}

// TestAdvanceWide: who depends on a wide node is left to the sweep.
func TestAdvanceWide(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.graph("7", 900, 900, "d1", 1)
		reply := l.ended(l.node(l.holding("7.0")[0], func(it *luascripts.AdvanceItem) { it.Wide = true }))
		l.equal(reply.Sweep, true)
		l.want(`
			leased:q pad
			run:7 d1=1 keep=5000 left=899 n=900 o0=out0 s0=c2 st=r
			steps 7=graph
			sweep 7@0
		`)
	})
}

// TestAdvanceEndsTheRun: the last node ends a run of which every node has completed,
// and leaves any other to the sweep.
func TestAdvanceEndsTheRun(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.graph("7", 2, 2, "up", "5.1 child#1")
		l.graph("8", 2, 1, "s1", "d", "bad", 1)
		l.graph("9", 1, 1)
		l.put(l.rdb.HSet(ctx, l.key("uniq"), "U", "7", "D", "9"))
		l.put(l.rdb.HSet(ctx, l.key("uniqof"), "7", "uU", "9", "dD"))
		l.put(l.rdb.ZAdd(ctx, l.key("sweep"), redis.Z{Score: start + 9000, Member: "7"}, redis.Z{Score: start + 9000, Member: "6"}))
		l.watch()
		m := l.holding("7.0", "7.1", "8.0", "9.0")
		l.said()
		reply := l.ended(l.node(m[0]), l.node(m[1]), l.node(m[2]), l.node(m[3]))
		l.equal(reply.Sweep, true)
		l.equal(reply.Watched, true)
		l.want(`
			leased:q pad
			run:7 fin=1800000000000 keep=5000 left=0 n=2 o0=out0 o1=out1 s0=c2 s1=c2 st=c up=5.1_child#1
			run:8 bad=1 keep=5000 left=0 n=2 o0=out0 s0=c2 s1=d st=r
			run:9 fin=1800000000000 keep=5000 left=0 n=1 o0=out0 s0=c2 st=c
			runs 7@5000 9@5000
			steps 7=graph 8=graph 9=graph
			sweep 8@0 c 7 5.1 child#1@0 6@9000
			uniq D=9
			uniqof 9=dD
		`)
		l.equal(l.said(), []string{"events 1800000000000 w/completed q 7.0 0 0/completed q 7.1 1 0/completed q 8.0 2 0/completed q 9.0 3 0/" +
			"finished - 7 - 0 c/finished - 9 - 0 c//detail"})
	})
}

// TestAdvanceDiscards: a discarded node stays with its body and its journal, and the
// sweep judges what becomes of the run, even when it was the last.
func TestAdvanceDiscards(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.graph("7", 2, 2, "d1", 1)
		l.graph("8", 1, 1)
		m := l.holding("7.0", "8.0")
		for _, id := range []string{"7.0", "8.0"} {
			l.put(l.rdb.HSet(ctx, l.key("journal:"+id), "r:a#1", "x"))
			l.put(l.rdb.HSet(ctx, l.key("tries"), id, "1 0 0 0 0"))
		}
		reply := l.ended(l.node(m[0], without, l.withJournal), l.node(m[1], without, l.withJournal))
		l.equal(reply.Sweep, true)
		l.want(`
			discarded:q 7.0@0 8.0@0
			journal:7.0 r:a#1=x
			journal:8.0 r:a#1=x
			leased:q pad
			run:7 bad=1 d1=1 keep=5000 left=1 n=2 s0=d st=r
			run:8 bad=1 keep=5000 left=0 n=1 s0=d st=r
			steps 7=graph 7.0=d0 8=graph 8.0=d0
			sweep 7@0 8@0
			tries 7.0=1_0_0_0_0 8.0=1_0_0_0_0
		`)
		l.equal(l.total("discarded"), 2)
		l.equal(l.total("completed"), 0)
	})
}

// TestAdvanceSingleSteps: runs of one step end as a turn ends them; the journal goes
// unless an operator may open them again, and the sweep is told of a parent.
func TestAdvanceSingleSteps(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.enqueue(item("1", unique("A", 0, existing)), item("2", unique("B", 0, existing)), item("3", unique("C", 0, existing)),
			item("4", unique("D", 5000, existing)))
		m := l.claim(4)
		for _, id := range []string{"1", "2", "3"} {
			l.put(l.rdb.HSet(ctx, l.key("journal:"+id), "r:a#1", "x"))
			l.put(l.rdb.ZAdd(ctx, l.key("journals"), redis.Z{Score: start, Member: id}))
			l.put(l.rdb.HSet(ctx, l.key("tries"), id, "1 0 0 0 0"))
		}
		l.now++
		reply := l.ended(l.single(luascripts.OpComplete, m[0], l.withJournal),
			l.single(luascripts.OpKeep, m[1], l.withJournal, func(it *luascripts.AdvanceItem) { it.Sweep = "c 2 9.1 kid#1" }),
			l.single(luascripts.OpDiscard, m[2], l.withJournal), l.single(luascripts.OpComplete, m[3]))
		l.equal(reply.Sweep, true)
		l.equal(reply.Watched, false)
		l.want(`
			completed:q 2@60000
			discarded:q 3@1
			journal:3 r:a#1=x
			journals 3@0
			leased:q pad
			results 2=k2
			steps 2=b2 3=d3
			sweep c 2 9.1 kid#1@1
			tries 2=1_0_0_0_0 3=1_0_0_0_0
			uniq D=4
			uniqof 4=dD
			uniqx D@5000
		`)
		l.equal(l.total("completed"), 3)
		l.equal(l.total("discarded"), 1)
	})
}

// TestAdvanceKeepsEmptyResults like others.
func TestAdvanceKeepsEmptyResults(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ended(l.single(luascripts.OpKeep, l.holding("1")[0], func(it *luascripts.AdvanceItem) { it.Body = "" }))
		l.equal(l.content("completed:q"), []string{"1@60000"})
		l.equal(l.content("results"), []string{"1="})
	})
}

// TestAdvanceFence: nothing of a step that is not held is written, and the others
// end all the same.
func TestAdvanceFence(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.graph("7", 9, 9, "d8", 9)
		m := l.holding("7.0", "7.1", "7.2", "7.3", "5")
		l.put(l.rdb.HSet(ctx, l.key("ghosts"), "7.1", "xq", "7.2", "rq"))
		l.stand("idle", 1000)
		stale := "7.3:stale"
		reply := l.advance(l.node(stale, before(8)), l.node(m[1], before(8)), l.node(m[2], before(8)), l.node(m[0], before(8)),
			l.node(m[0], before(8)), l.single(luascripts.OpKeep, "5:stale", with(luascripts.TxDelete(l.key("steps")))))
		l.equal(reply.Lost, map[string]string{
			stale: luascripts.ReasonLost, m[1]: luascripts.ReasonCancelled, m[2]: luascripts.ReasonCancelled,
			m[0]: luascripts.ReasonLost, "5:stale": luascripts.ReasonLost, // the second time
		})
		l.want(`
			leased:q 5:t1@30000d 7.3:t1@30000d pad
			ready:q:d 7.2
			run:7 d8=8 keep=5000 left=8 n=9 o0=out0 s0=c2 st=r
			steps 5=b5 7=graph 7.1=b7.1 7.2=b7.2 7.3=b7.3
		`)
		l.equal(l.said(), []string{"wake.idle 1"})
		l.equal(l.total("completed"), 1)
	})
}

// TestAdvanceOfARunThatEnds: a run that is failing or being cancelled takes no result
// of a node that the sweep has not come to; what has no place any more loses its
// lease.
func TestAdvanceOfARunThatEnds(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.graph("6", 2, 2, "st", "F")
		l.graph("7", 2, 2, "st", "X")
		l.graph("8", 2, 1, "s0", "XR")
		m := l.holding("6.0", "7.0", "8.0", "9.0")
		l.put(l.rdb.HSet(ctx, l.key("ghosts"), "5.0", "xq"))
		l.equal(l.advance(l.node("6.0:stale"), l.node("8.0:stale"), l.node("5.0:stale")).Lost, map[string]string{
			"6.0:stale": luascripts.ReasonLost, "8.0:stale": luascripts.ReasonLost, "5.0:stale": luascripts.ReasonLost,
		})
		l.equal(l.content("ghosts"), []string{"5.0=xq"})
		l.put(l.rdb.Del(ctx, l.key("ghosts")))
		counter := luascripts.TxIncrBy(l.key("tx"), 1)
		reply := l.advance(l.node(m[0], with(counter)), l.node(m[1], without), l.node(m[2], with(counter)), l.node(m[3], with(counter)))
		l.equal(reply.Lost, map[string]string{
			m[0]: luascripts.ReasonCancelled, m[1]: luascripts.ReasonCancelled, m[2]: luascripts.ReasonCancelled, m[3]: luascripts.ReasonLost,
		})
		l.equal(len(reply.Refused), 0)
		l.want(`
			leased:q 6.0:t1@30000d 7.0:t1@30000d pad
			run:6 keep=5000 left=2 n=2 st=F
			run:7 keep=5000 left=2 n=2 st=X
			run:8 keep=5000 left=1 n=2 s0=XR st=r
			steps 6=graph 6.0=b6.0 7=graph 7.0=b7.0 8=graph 8.0=b8.0
		`)
	})
}

// TestAdvanceWakes: one idle worker for each queue that got work, and one that learns
// of a delayed child when nothing is due before it.
func TestAdvanceWakes(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.graph("7", 4, 4, "d1", 1, "d2", 1, "d3", 1)
		m := l.holding("7.0")
		for _, w := range []string{"w1", "w2"} {
			l.stand(w, 1000)
		}
		l.put(l.rdb.ZAdd(ctx, l.key("waiters:p"), redis.Z{Score: float64(l.now + 9), Member: "v"}))
		l.put(l.rdb.ZAdd(ctx, l.key("scheduled:p"), redis.Z{Score: start * 16, Member: "1"}))
		l.ended(l.node(m[0], before(1, 2), func(it *luascripts.AdvanceItem) {
			it.Children = append(it.Children, luascripts.AdvanceChild{Node: 3, Queue: 1, DelayMS: 5})
		}))
		l.equal(l.said(), []string{"wake.w2 1"})
		l.put(l.rdb.Del(ctx, l.key("scheduled:p")))
		l.graph("8", 2, 2, "d1", 1)
		l.put(l.rdb.Del(ctx, l.key("ready:q:d"), l.key("waiters:q")))
		l.ended(l.node(l.holding("8.0")[0], func(it *luascripts.AdvanceItem) {
			it.Children = append(it.Children, luascripts.AdvanceChild{Node: 1, Queue: 1, DelayMS: 5})
		}))
		l.equal(l.said(), []string{"wake.v 1"})
	})
}
