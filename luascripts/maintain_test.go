package luascripts_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// TestTrimByAgeAndCount: what is over either bound goes, oldest first, a bounded
// number at a time, with all that is kept of it; the rest stays.
func TestTrimByAgeAndCount(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		fill := func() {
			l.put(l.rdb.Del(ctx, l.key("steps")))
			for i := range 6 {
				id := fmt.Sprint(i)
				l.put(l.rdb.ZAdd(ctx, l.key("discarded:q"), redis.Z{Score: float64(start + 10*i), Member: id}))
				for _, side := range []string{"steps", "tries", "results", "history"} {
					l.put(l.rdb.HSet(ctx, l.key(side), id, "x"))
				}
				l.put(l.rdb.HSet(ctx, l.key("uniqof"), id, "uD"+id))
				l.put(l.rdb.HSet(ctx, l.key("uniq"), "D"+id, id))
			}
		}
		left := func(from int) {
			l.Helper()
			var ids, index, uniq, uniqof []string
			for i := from; i < 6; i++ {
				ids = append(ids, fmt.Sprintf("%d=x", i))
				index = append(index, fmt.Sprintf("%d@%d", i, 10*i))
				uniq = append(uniq, fmt.Sprintf("D%d=%d", i, i))
				uniqof = append(uniqof, fmt.Sprintf("%d=uD%d", i, i))
			}
			for _, side := range []string{"steps", "tries", "results", "history"} {
				l.equal(l.content(side), ids)
			}
			l.equal(l.content("discarded:q"), index)
			l.equal(l.content("uniq"), uniq)
			l.equal(l.content("uniqof"), uniqof)
		}
		l.now += 50
		for _, c := range []struct {
			age               int64
			keep, limit, gone int
		}{
			{51, 6, 9, 0},   // nothing is older, nor over
			{50, 6, 9, 1},   // exactly as old
			{30, 9, 9, 3},   // by age
			{0, 9, 4, 4},    // by age, bounded
			{99, 4, 9, 2},   // by count
			{99, 0, 5, 5},   // by count, bounded
			{30, 1, 9, 5},   // both: the count says more
			{30, 5, 9, 3},   // both: the age says more
			{30, 3, 9, 3},   // both say the same
			{0, 0, 99, 6},   // everything
			{99, -1, 99, 6}, // a negative bound keeps nothing
		} {
			fill()
			l.equal(l.trim("discarded:q", c.age, c.keep, c.limit), c.gone)
			left(c.gone)
		}
	})
}

// tidy forgets lanes that were not seen for a minute and counters of more than
// two minutes.
func (l *lab) tidy(limit int) {
	l.Helper()
	c := new(luascripts.Call)
	luascripts.TidyCall(c, named[luascripts.TidyKeys](l, ""), 60_000, 2, limit, []string{"enqueued", "lost"})
	l.ok(luascripts.Tidy, c)
}

// TestTidyForgetsLanes that were not seen for long, oldest first.
func TestTidyForgetsLanes(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.open("d.1", "d.2")
		l.now++
		l.open("d.3")
		l.now += 59_999
		l.tidy(2)
		l.equal(l.content("sessx"), []string{"d.2@0", "d.3@1"})
		l.tidy(2)
		l.equal(l.content("sessx"), []string{"d.3@1"})
		l.equal(l.content("sess"), []string{"d.3=1800000000001_", "pad=" + padding})
		l.tidy(2)
		l.equal(l.content("sessx"), []string{"d.3@1"})
	})
}

// TestTidyFreesKeysWhoseTimeHasPassed, and no others.
func TestTidyFreesKeysWhoseTimeHasPassed(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.enqueue(item("1", unique("A", 10, existing)), item("2", unique("B", 20, existing)), item("3", unique("C", 30, existing)),
			item("4", unique("D", 40, existing)), item("5", unique("E", 0, existing)))
		l.cancel("2")
		l.now += 30
		l.tidy(2)
		l.equal(l.content("uniq"), []string{"C=3", "D=4", "E=5"})
		l.equal(l.content("uniqof"), []string{"3=dC", "4=dD", "5=uE"})
		l.equal(l.content("uniqx"), []string{"C@30", "D@40"})
		l.tidy(2)
		l.equal(l.content("uniq"), []string{"D=4", "E=5"})
		l.equal(l.content("uniqof"), []string{"4=dD", "5=uE"})
		l.equal(l.content("uniqx"), []string{"D@40"})
	})
}

// TestCountersByMinute: each transition counts in its minute and in its total.
func TestCountersByMinute(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1", "2")
		l.now += 59_999
		l.enqueue(item("3"))
		l.now++
		l.settle(luascripts.OpComplete, l.claim(5)...)
		counted := []string{"30000000:enqueued=3", "30000001:completed=3", "total:completed=3", "total:enqueued=3"}
		l.equal(l.content("stats"), counted)
		// What did not happen makes no counter.
		l.put(l.rdb.HSet(ctx, l.key("uniq"), "D", "3"))
		l.put(l.rdb.ZAdd(ctx, l.key("uniqx"), redis.Z{Member: "D", Score: start + 1e9}))
		l.now += 60_000
		l.equal(len(l.enqueue(item("4", unique("D", 0, existing))).Conflicts), 1)
		l.settle(luascripts.OpRetry, "1:x")
		l.equal(l.content("stats"), counted)
	})
}

// TestTidyForgetsOldCounters: none stays, even when nobody tidied for long, and a
// clock that was set back stops nothing.
func TestTidyForgetsOldCounters(t *testing.T) {
	t.Parallel()
	const minute = start / 60_000
	each(t, func(l *lab) {
		put := func(minutes ...int64) {
			for _, m := range minutes {
				l.put(l.rdb.HSet(ctx, l.key("stats"), fmt.Sprintf("%d:enqueued", m), 1, fmt.Sprintf("%d:lost", m), 1))
			}
		}
		left := func(minutes ...int64) {
			l.Helper()
			var want []string
			for _, m := range minutes {
				want = append(want, fmt.Sprintf("%d:enqueued=1", m), fmt.Sprintf("%d:lost=1", m))
			}
			got := slices.DeleteFunc(l.content("stats"), func(s string) bool { return s[:6] == "total:" })
			l.equal(got, want)
		}
		put(minute-9, minute-3, minute-2, minute-1, minute)
		l.tidy(100)
		left(minute-1, minute)

		l.now += 60 * 60_000
		put(minute+9, minute+60)
		l.tidy(20) // ten minutes of two verbs
		left(minute+9, minute+60)
		for range 4 {
			l.tidy(20)
		}
		left(minute + 60)
		l.tidy(20)
		left(minute + 60)
		l.equal(l.content("stats")[len(l.content("stats"))-1], fmt.Sprintf("total:tidied=%d", minute+58))

		l.now = start
		put(minute)
		l.tidy(20)
		left(minute, minute+60)
		l.now += 4 * 60_000
		l.tidy(20)
		left(minute + 60)
	})
}
