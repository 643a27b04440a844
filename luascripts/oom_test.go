package luascripts_test

import (
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/internal/testserver"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// atMaxmemory runs f on real servers whose memory is used up, with everyState
// stored. Scripts run as they are.
func atMaxmemory(t *testing.T, f func(l *lab)) {
	t.Helper()
	testserver.EachReal(t, func(t *testing.T, s *testserver.RealServer) {
		t.Parallel()
		l := newLab(t, s.Server)
		everyState(l)
		l.enqueue(item("9", due("+5000"), unique("R", 0, existing)))
		l.open("c.9")
		l.handedOut(100)
		l.bare = true
		l.put(l.rdb.ConfigSet(ctx, "maxmemory", "1"))
		if err := l.rdb.Set(ctx, l.key("more"), "x", 0).Err(); !redis.HasErrorPrefix(err, "OOM") {
			l.Fatalf("a plain write is answered %v", err)
		}
		f(l)
	})
}

// TestMaxmemoryRefusesEnqueue in each of its forms, with nothing written.
func TestMaxmemoryRefusesEnqueue(t *testing.T) {
	t.Parallel()
	atMaxmemory(t, func(l *lab) {
		before := l.dump()
		group := l.enqueueInput()
		group.Groups = []luascripts.EnqueueGroup{plain("20")}
		block := l.enqueueInput()
		block.Block = 10
		large := l.enqueueInput(item("20"))
		large.MaxBytes = 1
		for name, in := range map[string]*luascripts.EnqueueInput{
			"group": group, "block": block, "large body": large,
			"item":     l.enqueueInput(item("20")),
			"delayed":  l.enqueueInput(item("20", due("+5"))),
			"unique":   l.enqueueInput(item("20", unique("N", 5, existing))),
			"conflict": l.enqueueInput(item("20", unique("U", 0, existing))),
			"replace":  l.enqueueInput(item("20", due("+5"), unique("U", 0, replace))),
		} {
			call := l.enqueueCall(in)
			l.session.Seq-- // it was never applied
			if reply, err := l.try(luascripts.Enqueue, call, ""); !redis.HasErrorPrefix(err, "OOM") {
				l.Fatalf("%s: answered %v, %v", name, reply, err)
			}
			l.equal(l.dump(), before)
		}
	})
}

// TestMaxmemoryRefusesBuilds in each of their forms, with nothing written.
func TestMaxmemoryRefusesBuilds(t *testing.T) {
	t.Parallel()
	atMaxmemory(t, func(l *lab) {
		l.put(l.rdb.ConfigSet(ctx, "maxmemory", "0"))
		l.bare = false
		l.build(l.graphRun("30", 2, inPhase(luascripts.BuildOpen), func(r *luascripts.BuildRun) { r.ExpiryMS = 1e13 }))
		l.bare = true
		l.put(l.rdb.ConfigSet(ctx, "maxmemory", "1"))
		before := l.dump()
		block := l.buildInput()
		block.Block = 10
		large := l.buildInput(l.graphRun("31", 1))
		large.MaxBytes = 1
		for name, in := range map[string]*luascripts.BuildInput{
			"block": block, "large body": large,
			"whole":    l.buildInput(l.graphRun("31", 20)),
			"unique":   l.buildInput(l.graphRun("31", 1, keyed("N", 5))),
			"conflict": l.buildInput(l.graphRun("31", 1, keyed("U", 0))),
			"open":     l.buildInput(l.graphRun("31", 2, inPhase(luascripts.BuildOpen))),
			"add":      l.buildInput(l.graphRun("30", 0, inPhase(luascripts.BuildAdd))),
			"commit":   l.buildInput(l.graphRun("30", 0, inPhase(luascripts.BuildCommit))),
			"gone":     l.buildInput(l.graphRun("31", 0, inPhase(luascripts.BuildCommit))),
		} {
			call := l.buildCall(in)
			l.session.Seq-- // it was never applied
			if reply, err := l.try(luascripts.Build, call, ""); !redis.HasErrorPrefix(err, "OOM") {
				l.Fatalf("%s: answered %v, %v", name, reply, err)
			}
			l.equal(l.dump(), before)
		}
	})
}

// TestMaxmemorySweeps: what is planned for runs is done, and they are forgotten.
func TestMaxmemorySweeps(t *testing.T) {
	t.Parallel()
	atMaxmemory(t, func(l *lab) {
		l.put(l.rdb.ConfigSet(ctx, "maxmemory", "0"))
		l.bare = false
		l.build(l.graphRun("30", 3, func(r *luascripts.BuildRun) { r.KeepMS = 0 }))
		l.bare = true
		l.put(l.rdb.ConfigSet(ctx, "maxmemory", "1"))
		l.equal(l.sweep(l.sweepInput(l.opsOf("30", op("c", 0, "", "XR"), op("r", 1, "1", ""), op("d", 2, "1", "2"), op("p", 0, "", "")))), done)
		l.equal(l.sweep(l.sweepInput(l.opsOf("30", op("v", 0, "XR", ""), op("x", 0, "", ""), op("c", 0, "", "xR"), op("c", 1, "", "xR"),
			op("b", 2, "", "xB"), op("f", 0, "X", "x")))), done)
		l.equal(l.sweep(l.sweepInput()), []luascripts.SweepOutcome(nil))
		put := l.sweepInput()
		put.Put = []luascripts.SweepPut{{SweepItem: luascripts.SweepItem{Item: "c 7 8 name", Score: "5"}, New: true}}
		l.equal(l.sweep(put), []luascripts.SweepOutcome(nil))
		l.equal(l.forget(luascripts.ForgetInput{ID: "30", Last: true, Members: []string{"30.0", "30.1", "30.2"}}), true)
		l.equal(l.content("run:30"), nothing)
	})
}

// TestMaxmemoryDrains: every other script does all of its work, claims and
// failures included, until there is room again.
func TestMaxmemoryDrains(t *testing.T) {
	t.Parallel()
	atMaxmemory(t, func(l *lab) {
		opened := strconv.FormatInt(l.open("d.1", "c.1")[0], 10)
		l.equal(l.content("sess")[len(l.content("sess"))-2], "d.1="+opened+"_")
		l.equal(l.clamp(3_600_000, 5), 1)
		l.equal(l.extend(3, "3:t1"), lost())
		info := new(luascripts.Call)
		luascripts.ExtendCall(info, *named[luascripts.ExtendKeys](l, ""), 1, "w", []byte("info"), nil)
		l.ok(luascripts.Extend, info)
		held := func() []string {
			l.Helper()
			m := l.claim(5)
			l.equal(len(m), 1)
			return m
		}
		settle := func(op luascripts.Op, members ...string) {
			l.Helper()
			l.equal(l.settle(op, members...).Lost, lost())
		}
		settle(luascripts.OpRelease, held()...)
		settle(luascripts.OpPutBack, held()...)
		l.equal(l.reschedule("2", "1800000009000"), "scheduled")
		l.equal(l.reschedule("2", ""), "scheduled")
		l.equal(l.reschedule("99", ""), "absent")
		in := wanting(settling(l.turnInput(), luascripts.OpDiscard, "3:t1"), 5)
		in.WaitMS = 3000
		second := members(l.turn(in), in.Token)
		l.equal(len(second), 1)
		l.equal(l.revive("3", "99"), []string{"revived", "absent"})
		settle(luascripts.OpRetry, held()...)
		settle(luascripts.OpKeep, second...)
		l.equal(l.pause(true), false)
		l.equal(l.pause(true), true)
		l.equal(l.pause(false), true)
		l.equal(l.cancel("1", "99"), []string{"scheduled", "absent"})
		l.equal(l.delete("4", "99"), []string{"retrying", "absent"})
		l.equal(l.purge("snoozed:q", false, 5), [2]int{1, 1})
		l.equal(l.trim("completed:q", 0, 0, 5), 2)
		l.equal(l.trim("discarded:q", 0, 0, 5), 1)
		l.equal(l.step("3").State, "retrying")

		// Each by itself, with nothing to do but to store its answer.
		l.equal(l.cancel("99"), []string{"absent"})
		l.equal(l.delete("99"), []string{"absent"})
		l.equal(l.revive("99"), []string{"absent"})
		l.equal(l.purge("ready:q:d", true, 5), [2]int{0, 0})
		l.equal(l.purge("snoozed:q", false, 5), [2]int{0, 0})
		l.tidy(99)
		l.tidy(99)
		l.turn(l.turnInput())
		l.equal(l.content("steps"), []string{"1=b1", "3=r3", "8=b8", "9=b9"})
	})
}

// TestMaxmemoryFirstWrites: as TestStaticFirstWrite, seen from the server.
func TestMaxmemoryFirstWrites(t *testing.T) {
	t.Parallel()
	for _, c := range sessionCases {
		t.Run(c.script.Name, func(t *testing.T) {
			t.Parallel()
			each(t, func(l *lab) {
				call := c.prepare(l)
				l.trace(c.script, call, l.messages+":commands")
				names := l.rdb.LRange(ctx, l.messages+":commands", 0, -1).Val()
				for _, name := range names {
					if !commands[name].writes {
						continue
					}
					if commands[name].needsMemory != producers[c.script.Name] {
						l.Fatalf("%s comes first of %v", name, names)
					}
					return
				}
				l.Fatalf("no write in %v", names)
			})
		})
	}
}
