package luascripts_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// graphRun is a run of n nodes, all of queue 0 and the default lane. Node 0 is the
// root, and all others wait for it.
func (l *lab) graphRun(id string, n int, change ...func(*luascripts.BuildRun)) luascripts.BuildRun {
	r := luascripts.BuildRun{
		Key: l.key("run:" + id), ID: id, Phase: luascripts.BuildWhole, Graph: "graph" + id, Nodes: n, KeepMS: 500,
		Bodies: bodies(id, 0, n), Blocked: blockedBy(1, n, 1),
		Roots: []luascripts.BuildRoot{{Lane: 1, Node: 0}},
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

// bodies are those of nodes from up to, not including, to.
func bodies(id string, from, to int) (out []luascripts.BuildBody) {
	for i := from; i < to; i++ {
		member := id + "." + strconv.Itoa(i)
		out = append(out, luascripts.BuildBody{Member: member, Body: "b" + member})
	}
	return out
}

func blockedBy(from, to, count int) (out []luascripts.BuildBlocked) {
	for i := from; i < to; i++ {
		out = append(out, luascripts.BuildBlocked{Field: "d" + strconv.Itoa(i), Count: count})
	}
	return out
}

// keyed makes a run hold a unique key.
func keyed(digest string, scope int64) func(*luascripts.BuildRun) {
	return func(r *luascripts.BuildRun) { r.Digest, r.ScopeMS = digest, scope }
}

func inPhase(phase luascripts.BuildPhase) func(*luascripts.BuildRun) {
	return func(r *luascripts.BuildRun) {
		r.Phase = phase
		if phase == luascripts.BuildOpen || phase == luascripts.BuildAdd {
			r.ExpiryMS, r.Roots = 1000, nil
		}
	}
}

func (l *lab) buildInput(runs ...luascripts.BuildRun) *luascripts.BuildInput {
	return &luascripts.BuildInput{
		MaxBytes: 100, Channels: l.channels(), Detail: []byte("detail"),
		Queues: []luascripts.EnqueueQueue{*named[luascripts.EnqueueQueue](l, "q")}, Runs: runs,
	}
}

func (l *lab) buildCall(in *luascripts.BuildInput) *luascripts.Call {
	c := new(luascripts.Call)
	in.Session = l.next()
	luascripts.BuildCall(c, named[luascripts.BuildKeys](l, ""), in)
	return c
}

// build stores runs and returns what was refused.
func (l *lab) build(runs ...luascripts.BuildRun) []luascripts.BuildRefusal {
	l.Helper()
	return luascripts.ParseBuild(l.ok(luascripts.Build, l.buildCall(l.buildInput(runs...)))).Refused
}

// TestBuildStoresRuns with all that belongs to them, and starts their roots, each
// at its time.
func TestBuildStoresRuns(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.watch()
		in := l.buildInput(l.graphRun("8", 3, func(r *luascripts.BuildRun) {
			r.Up, r.Deadline = "5.1 child", "+900"
		}), l.graphRun("9", 3, keyed("D", 0), func(r *luascripts.BuildRun) {
			r.Blocked = nil
			r.Roots = []luascripts.BuildRoot{
				{Lane: 0, Node: 0, Due: "+70"}, {Queue: 1, Lane: 2, Node: 1}, {Lane: 1, Node: 2, Due: "1800000000060"},
			}
		}))
		in.Queues = append(in.Queues, *named[luascripts.EnqueueQueue](l, "p"))
		in.Block = 10
		l.handedOut(100)
		reply := luascripts.ParseBuild(l.ok(luascripts.Build, l.buildCall(in)))
		l.equal(reply, luascripts.BuildReply{NowMS: start, First: 101})
		l.want(`
			ids 110
			ready:p:l 9.1
			ready:q:d 8.0
			run:8 d1=1 d2=1 dl=1800000000900 keep=500 left=3 n=3 st=r up=5.1_child
			run:9 keep=500 left=3 n=3 st=r
			scheduled:q 9.2@60d 9.0@70h
			steps 8=graph8 8.0=b8.0 8.1=b8.1 8.2=b8.2 9=graph9 9.0=b9.0 9.1=b9.1 9.2=b9.2
			sweep 8@900
			uniq D=9
			uniqof 9=sD
		`)
		l.equal(l.said(), []string{"events 1800000000000/enqueued q 8.0 0 0/enqueued q 9.0 1 1800000000070/" +
			"enqueued p 9.1 2 0/enqueued q 9.2 3 1800000000060//detail"})
		l.equal(l.total("enqueued"), 2) // as many as ids were used
		l.equal(l.total("unblocked"), 4)
	})
}

// TestBuildPadsWideRuns so that their hash stays out of the compact encoding.
func TestBuildPadsWideRuns(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.build(l.graphRun("1", 16), l.graphRun("2", 17))
		l.equal(count(l, "run:1", "pad="), 0)
		l.equal(count(l, "run:2", "pad="+padding), 1)
	})
}

// TestBuildOfAHeldKey: the holder is answered and nothing of the run is stored; the
// other runs of the call are built. A key lasts as its scope says.
func TestBuildOfAHeldKey(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.enqueue(item("1", unique("A", 0, existing)))
		l.equal(l.build(l.graphRun("2", 1, keyed("A", 0)), l.graphRun("3", 1, keyed("B", 0)), l.graphRun("4", 1, keyed("B", 0)),
			l.graphRun("5", 1, keyed("C", 50))), []luascripts.BuildRefusal{
			{Run: 0, Reason: luascripts.BuildHeld, Holder: "1"}, {Run: 2, Reason: luascripts.BuildHeld, Holder: "3"},
		})
		l.equal(l.content("steps"), []string{"1=b1", "3=graph3", "3.0=b3.0", "5=graph5", "5.0=b5.0"})
		l.equal(l.content("uniqof"), []string{"1=uA", "3=sB", "5=dC"})
		l.equal(l.content("uniqx"), []string{"C@50"})

		// An enqueue meets the run, and does not replace it.
		reply := l.enqueue(item("6", unique("B", 0, replace)))
		l.equal(reply.Conflicts, []luascripts.Conflict{{Holder: "3"}})
		l.equal(l.build(l.graphRun("7", 1, keyed("C", 0))), []luascripts.BuildRefusal{{Reason: luascripts.BuildHeld, Holder: "5"}})

		// A key whose time has passed is taken over from the one that held it, and held for a time no longer.
		l.now += 50
		l.equal(l.build(l.graphRun("8", 1, keyed("C", 0))), []luascripts.BuildRefusal(nil))
		l.equal(l.content("uniq"), []string{"A=1", "B=3", "C=8"})
		l.equal(l.content("uniqof"), []string{"1=uA", "3=sB", "8=sC"})
		l.equal(l.content("uniqx"), nothing)

		// That of a child is held like a request's.
		l.build(l.graphRun("9", 1, keyed("D", 50), func(r *luascripts.BuildRun) { r.Up = "2 x#1" }))
		l.equal(count(l, "uniqof", "9=rD"), 1)
	})
}

// TestBuildInParts: a run of which parts are stored is not seen until it is
// committed, and counts as one.
func TestBuildInParts(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.watch()
		open := l.graphRun("3", 20, inPhase(luascripts.BuildOpen), keyed("D", 0), func(r *luascripts.BuildRun) {
			r.Bodies, r.Blocked = bodies("3", 0, 8), blockedBy(1, 8, 1)
		})
		add := l.graphRun("3", 0, inPhase(luascripts.BuildAdd), func(r *luascripts.BuildRun) {
			r.Bodies, r.Blocked = bodies("3", 8, 15), blockedBy(8, 15, 2)
		})
		commit := l.graphRun("3", 0, inPhase(luascripts.BuildCommit), keyed("D", 0), func(r *luascripts.BuildRun) {
			r.Bodies, r.Blocked, r.Deadline, r.Sweep = bodies("3", 15, 20), blockedBy(15, 20, 0), "+900", true
		})
		gone := []luascripts.BuildRefusal{{Reason: luascripts.BuildGone}}
		l.equal(l.build(add), gone)
		l.equal(l.build(commit), gone)
		l.want(``)

		l.equal(l.build(open), []luascripts.BuildRefusal(nil))
		l.equal(l.content("building"), []string{"3@1000"})
		l.equal(l.content("uniq"), nothing)
		l.equal(count(l, "run:3", "st="), 0)
		l.equal(count(l, "run:3", "need=12"), 1)
		l.equal(l.content("stats"), nothing) // no counter of nothing
		l.now += 10
		l.equal(l.build(add), []luascripts.BuildRefusal(nil))
		l.equal(l.content("building"), []string{"3@1010"})
		l.equal(count(l, "run:3", "need=5"), 1)
		l.equal(count(l, "run:3", "st="), 0)
		short := commit
		short.Bodies = short.Bodies[1:]
		l.equal(l.build(short), []luascripts.BuildRefusal{{Reason: luascripts.BuildShort}})
		l.equal(l.total("enqueued"), 0)
		l.equal(l.said(), nothing)

		l.stand("idle", 1000)
		l.now++
		l.equal(l.build(commit), []luascripts.BuildRefusal(nil))
		l.equal(l.said(), []string{"events 1800000000011/enqueued q 3.0 0 0//detail", "wake.idle 0"})
		l.equal(l.content("building"), nothing)
		l.equal(l.content("uniq"), []string{"D=3"})
		l.equal(l.content("sweep"), []string{"3@11"})
		l.equal(l.content("ready:q:d"), []string{"3.0"})
		l.equal(len(l.content("steps")), 21)
		l.equal(strings.Join(l.content("run:3"), " "), "d1=1 d10=2 d11=2 d12=2 d13=2 d14=2 d15=0 d16=0 d17=0 d18=0 d19=0 d2=1 d3=1 d4=1 d5=1 "+
			"d6=1 d7=1 d8=2 d9=2 dl=1800000000911 keep=500 left=20 n=20 pad="+padding+" st=r")
		l.equal(l.total("enqueued"), 1)
		l.equal(l.build(commit), gone)
	})
}

// TestBuildIsGivenUp at its expiry, to the millisecond.
func TestBuildIsGivenUp(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.build(l.graphRun("3", 2, inPhase(luascripts.BuildOpen)), l.graphRun("4", 2, inPhase(luascripts.BuildOpen)))
		l.now += 999
		l.equal(l.build(l.graphRun("3", 0, inPhase(luascripts.BuildAdd))), []luascripts.BuildRefusal(nil))
		l.now++
		l.equal(l.build(l.graphRun("3", 0, inPhase(luascripts.BuildCommit)), l.graphRun("4", 0, inPhase(luascripts.BuildCommit)),
			l.graphRun("4", 0, inPhase(luascripts.BuildAdd))), []luascripts.BuildRefusal{
			{Run: 1, Reason: luascripts.BuildGone}, {Run: 2, Reason: luascripts.BuildGone},
		})
		l.equal(count(l, "run:3", "st=r"), 1)
		l.equal(count(l, "run:4", "st="), 0)
	})
}

// TestBuildLooksForTheKeyEarly, and takes it with the commit only.
func TestBuildLooksForTheKeyEarly(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.build(l.graphRun("1", 1, keyed("D", 0)))
		l.equal(l.build(l.graphRun("2", 1, inPhase(luascripts.BuildOpen), keyed("D", 0))),
			[]luascripts.BuildRefusal{{Reason: luascripts.BuildHeld, Holder: "1"}})
		l.equal(l.build(l.graphRun("3", 1, inPhase(luascripts.BuildOpen), keyed("E", 0))), []luascripts.BuildRefusal(nil))
		l.build(l.graphRun("4", 1, keyed("E", 0)))
		l.equal(l.build(l.graphRun("3", 0, inPhase(luascripts.BuildCommit), keyed("E", 0))),
			[]luascripts.BuildRefusal{{Reason: luascripts.BuildHeld, Holder: "4"}})
		l.equal(l.content("building"), []string{"3@1000"})
	})
}

// TestBuildRefusalIsFinal: as that of an enqueue.
func TestBuildRefusalIsFinal(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		big := strings.Repeat("x", 101)
		for name, c := range map[string]struct {
			want   luascripts.Status
			change func(in *luascripts.BuildInput)
		}{
			"graph":    {luascripts.TooLarge, func(in *luascripts.BuildInput) { in.Runs[1].Graph = big }},
			"body":     {luascripts.TooLarge, func(in *luascripts.BuildInput) { in.Runs[1].Bodies[1].Body = big }},
			"lost ids": {luascripts.IDsLost, func(in *luascripts.BuildInput) { in.Block = 5 }},
		} {
			in := l.buildInput(l.graphRun("1", 2), l.graphRun("2", 2))
			c.change(in)
			l.put(l.rdb.HSet(ctx, l.key("stats"), "total:enqueued", "7"))
			l.handedOut(6)
			call := l.buildCall(in)
			for range 2 {
				if status := luascripts.StatusOf(l.run(luascripts.Build, call)); status != c.want {
					l.Fatalf("%s: status %v", name, status)
				}
				l.want(`ids 6`)
				l.handedOut(100) // what stood in the way is gone
				if c.want == luascripts.IDsLost {
					l.equal(luascripts.StatusOf(l.run(luascripts.Build, call)), c.want)
				}
				l.handedOut(6)
			}
		}
		fits := l.graphRun("1", 1)
		fits.Graph, fits.Bodies[0].Body = big[1:], big[1:]
		l.equal(l.build(fits), []luascripts.BuildRefusal(nil))
	})
}

// TestBuildWakes one worker for each queue that got work, and none for a queue of
// which a node is due after others.
func TestBuildWakes(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.stand("a", 1000)
		l.build(l.graphRun("1", 2), l.graphRun("2", 2))
		l.equal(l.said(), []string{"wake.a 0"})
		later := func(ms string) func(r *luascripts.BuildRun) {
			return func(r *luascripts.BuildRun) { r.Roots[0].Due = ms }
		}
		l.stand("a", 1000)
		l.build(l.graphRun("3", 2, later("+20")))
		l.equal(l.said(), []string{"wake.a 0"})
		l.stand("a", 1000)
		l.build(l.graphRun("4", 2, later("+30")))
		l.equal(l.said(), nothing)
		l.build(l.graphRun("5", 2, inPhase(luascripts.BuildOpen)))
		l.equal(l.said(), nothing)
		l.build(l.graphRun("8", 2, func(r *luascripts.BuildRun) { r.Roots, r.Sweep = nil, true })) // for the sweep
		l.equal(l.said(), []string{"wake.a 0"})
		l.stand("a", 1000)
		l.build(l.graphRun("6", 2, later("+40"), func(r *luascripts.BuildRun) { r.Deadline = "+5" }))
		l.equal(l.said(), nothing)
		l.pause(true)
		l.build(l.graphRun("7", 2))
		l.equal(l.said(), nothing)
	})
}

// TestBuildKeepsTimesInBounds: no node and no deadline is later than any score can say.
func TestBuildKeepsTimesInBounds(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.build(l.graphRun("1", 1, func(r *luascripts.BuildRun) {
			r.Deadline, r.Roots[0].Due = "+99999999999999", "99999999999999"
		}))
		const latest = 5680281600000
		l.equal(l.rdb.ZScore(ctx, l.key("scheduled:q"), "1.0").Val(), float64(latest*16+1))
		l.equal(l.rdb.ZRangeWithScores(ctx, l.key("sweep"), 0, -1).Val(), []redis.Z{{Member: "1", Score: latest}})
	})
}
