package luascripts_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// all are the ids of everyState with one that does not exist.
var all = []string{"1", "2", "3", "4", "5", "6", "7", "8", "99"}

// TestCancelEachState: what has not ended is cancelled, what has is left alone.
func TestCancelEachState(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		everyState(l)
		l.now++
		l.equal(l.cancel(all...), []string{"scheduled", "live", "live", "retrying", "snoozed", "completed", "discarded", "cancelled", "absent"})
		l.want(`
			cancelled:q 8@0 1@1 2@1 3@1 4@1 5@1
			completed:q 6@60000
			discarded:q 7@0
			ghosts 2=xq 3=xq
			leased:q 3:t1@30000d pad
			ready:q:d 2
			results 6=out6
			steps 1=b1 2=b2 3=b3 4=r4 5=s5 6=b6 7=d7 8=b8
			waiters:q idle@1000
		`)
		l.equal(l.total("cancelled"), 6)
		l.equal(l.said(), []string{
			"events 1800000000001/cancelled q 1 0 0/cancelled q 2 1 0/cancelled q 3 2 0/cancelled q 4 3 0/cancelled q 5 4 0//detail",
			"cancels 2 3",
		})
		l.cancel(all...)
		l.equal(l.said(), nothing)
		l.equal(l.total("cancelled"), 6)
	})
}

// TestDeleteEachState: nothing is left of any step but the ghosts of those that
// somebody holds.
func TestDeleteEachState(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		everyState(l)
		for _, side := range []string{"tries", "history", "results"} {
			for _, id := range all {
				l.put(l.rdb.HSet(ctx, l.key(side), id, "0 0 0 0 0"))
			}
		}
		l.equal(l.delete(all...), []string{"scheduled", "live", "live", "retrying", "snoozed", "completed", "discarded", "cancelled", "absent"})
		l.want(`
			ghosts 2=xq 3=xq
			history 99=0_0_0_0_0
			leased:q 3:t1@30000d pad
			ready:q:d 2
			results 99=0_0_0_0_0
			tries 99=0_0_0_0_0
			waiters:q idle@1000
		`)
		l.equal(l.total("deleted"), 8)
		l.equal(l.said(), []string{
			"events 1800000000000/deleted q 1 0 0/deleted q 2 1 0/deleted q 3 2 0/deleted q 4 3 0/deleted q 5 4 0/deleted q 6 5 0/deleted q 7 6 0/deleted q 8 7 0//detail",
			"cancels 2 3",
		})
		l.delete(all...)
		l.equal(l.said(), nothing)
		l.equal(l.total("deleted"), 8)
	})
}

// TestReviveEachState: only what was discarded or cancelled is opened again.
func TestReviveEachState(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		everyState(l)
		l.now++
		l.equal(l.revive(all...), []string{"ended", "ended", "ended", "ended", "ended", "ended", "revived", "revived", "absent"})
		l.want(`
			completed:q 6@60000
			history 7=1800000000001_retried/ 8=1800000000001_retried/
			leased:q 3:t1@30000d pad
			ready:q:d 8 7 2
			results 6=out6
			retrying:q 4@1000d
			scheduled:q 1@5000d
			snoozed:q 5@1000d
			steps 1=b1 2=b2 3=b3 4=r4 5=s5 6=b6 7=d7 8=b8
			tries 7=0_0_0_0_0 8=0_0_0_0_0
			uniq U=1
			uniqof 1=uU
		`)
		l.equal(l.total("retried"), 2)
		l.equal(l.said(), []string{"events 1800000000001/retried q 7 6 0/retried q 8 7 0//detail", "wake.idle 0"})
	})
}

// TestRescheduleEachState: what waits for its time gets another one, or starts
// now; what does not is left alone.
func TestRescheduleEachState(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		everyState(l)
		var found []string
		for _, id := range all {
			found = append(found, l.reschedule(id, "1800000007000"))
		}
		l.equal(found, []string{"scheduled", "live", "live", "retrying", "snoozed", "live", "live", "live", "absent"})
		l.want(`
			cancelled:q 8@0
			completed:q 6@60000
			discarded:q 7@0
			leased:q 3:t1@30000d pad
			ready:q:d 2
			results 6=out6
			retrying:q 4@7000d
			scheduled:q 1@7000d
			snoozed:q 5@7000d
			steps 1=b1 2=b2 3=b3 4=r4 5=s5 6=b6 7=d7 8=b8
			uniq U=1
			uniqof 1=uU
		`)
		l.equal(l.said(), []string{
			"events 1800000000000/rescheduled q 1 0 1800000007000//detail", "wake.idle 0",
			"events 1800000000000/rescheduled q 4 0 1800000007000//detail",
			"events 1800000000000/rescheduled q 5 0 1800000007000//detail",
		})
		for _, id := range all {
			l.reschedule(id, "")
		}
		l.equal(l.content("ready:q:d"), []string{"5", "4", "1", "2"})
		l.equal(append(l.content("retrying:q"), append(l.content("scheduled:q"), l.content("snoozed:q")...)...), nothing)
		l.equal(l.said(), []string{
			"events 1800000000000/promoted q 1 0 0//detail",
			"events 1800000000000/promoted q 4 0 0//detail",
			"events 1800000000000/promoted q 5 0 0//detail",
		})
	})
}

// TestRescheduleMovesTheTimesOfATask along: those that are as they were seen, and only
// where the step waits for the time that was seen.
func TestRescheduleMovesTheTimesOfATask(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.ready("1")
		l.claim(1)
		l.suspend(l.sleeping("1:t1"))
		due := l.now + 5000
		l.put(l.rdb.ZAdd(ctx, l.key("waiting:q"), redis.Z{Score: float64(due*16 + 2), Member: "1"}))
		l.put(l.rdb.HSet(ctx, l.key("journal:1"), "z:a#1", "old", "z:b#1", "other"))
		step := &luascripts.RescheduleStep{ID: "1", Lane: 1, Due: strconv.FormatInt(due+1000, 10), Seen: strconv.FormatInt(due+1, 10),
			Times: []luascripts.RescheduleTime{{Field: "z:a#1", Seen: "old", To: "new"}, {Field: "z:b#1", Seen: "old", To: "new"}, {Field: "z:c#1", Seen: "", To: "new"}}}
		before := l.content("journal:1")
		l.equal(l.rescheduleStep(step), luascripts.Moved)
		l.equal(l.content("journal:1"), before)
		l.equal(l.content("waiting:q"), []string{"1@5000l"})
		step.Seen = strconv.FormatInt(due, 10)
		l.equal(l.rescheduleStep(step), "waiting")
		l.equal(l.content("waiting:q"), []string{"1@6000d"})
		l.equal(l.content("journal:1"), []string{"z:a#1=new", "z:b#1=other"})
		step.Due, step.Seen, step.Times = "", "", nil
		l.equal(l.rescheduleStep(step), "waiting")
		l.equal(l.content("ready:q:d"), []string{"1"})
		l.equal(l.content("waiting:q"), nothing)
		l.equal(l.rescheduleStep(step), luascripts.Live)
		step.ID, step.Seen = "99", "5"
		l.equal(l.rescheduleStep(step), "absent")
	})
}

// TestRescheduleKeepsToTheLimit of start times, and to the lane.
func TestRescheduleKeepsToTheLimit(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.enqueue(item("1", due("99999999999999"), onLane(2)))
		l.equal(l.content("scheduled:q"), []string{"1@3880281600000l"})
		l.reschedule("1", "99999999999999")
		l.equal(l.content("scheduled:q"), []string{"1@3880281600000d"})
	})
}

// TestPurgeEachIndex empties one index, a bounded number at a time, with all that
// is kept of its steps.
func TestPurgeEachIndex(t *testing.T) {
	t.Parallel()
	for _, index := range []string{"scheduled:q", "ready:q:d", "retrying:q", "snoozed:q", "completed:q", "discarded:q", "cancelled:q"} {
		t.Run(index, func(t *testing.T) {
			t.Parallel()
			each(t, func(l *lab) {
				everyState(l)
				id := strings.SplitN(l.content(index)[0], "@", 2)[0]
				for _, side := range []string{"tries", "history", "results"} {
					for _, id := range all {
						l.put(l.rdb.HSet(ctx, l.key(side), id, "0 0 0 0 0"))
					}
				}
				l.equal(l.purge(index, strings.HasPrefix(index, "ready"), 5), [2]int{1, 1})
				l.equal(l.said(), []string{"events 1800000000000/deleted q " + id + " 0 0//detail"})
				l.equal(l.total("deleted"), 1)
				for _, name := range []string{index, "steps", "tries", "history", "results"} {
					for _, element := range l.content(name) {
						if strings.HasPrefix(element, id+"=") || strings.HasPrefix(element, id+"@") || element == id {
							l.Errorf("%s still has %s", name, element)
						}
					}
				}
				l.equal(len(l.content("steps")), 7)
				l.equal(l.purge(index, strings.HasPrefix(index, "ready"), 5), [2]int{0, 0})
				l.equal(l.said(), nothing)
				l.equal(l.total("deleted"), 1)
			})
		})
	}
}

// TestPurgeLeavesWhatWasNotLookedAt, in its order.
func TestPurgeLeavesWhatWasNotLookedAt(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.enqueue(item("1", due("+1")), item("2", due("+3")))
		l.ready("4", "5")
		l.enqueue(item("3", due("+2")))
		l.ready("6")
		l.put(l.rdb.RPush(ctx, l.key("ready:q:d"), "8"))
		purge := func(index string, list, listens bool, ids ...string) []any {
			taken, deleted, lines := luascripts.PurgeReply(l.ok(luascripts.Purge, l.purgeOf(index, list, listens, ids...)))
			return []any{taken, deleted, lines}
		}
		l.equal(purge("scheduled:q", false, false, "1", "2", "99"), []any{2, 2, ""})
		l.equal(l.content("scheduled:q"), []string{"3@2d"})
		l.equal(purge("ready:q:d", true, false, "4", "5"), []any{1, 1, ""})
		l.equal(l.content("ready:q:d"), []string{"6", "5", "8"})
		l.equal(purge("ready:q:d", true, true, "5", "6", "8"), []any{3, 3, "deleted q 8 2 0\ndeleted q 5 0 0\ndeleted q 6 1 0"})
		l.equal(purge("ready:q:d", true, true), []any{0, 0, ""})
	})
}

// TestPurgeIsBounded: the oldest go first.
func TestPurgeIsBounded(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.enqueue(item("1", due("+1")), item("2", due("+2")), item("3", due("+3")))
		l.equal(l.purge("scheduled:q", false, 2), [2]int{2, 2})
		l.equal(l.content("scheduled:q"), []string{"3@3d"})
		l.ready("4", "5", "6")
		l.equal(l.purge("ready:q:d", true, 2), [2]int{2, 2})
		l.equal(l.content("ready:q:d"), []string{"6"})
	})
}

// TestStateEachState shows all that is known of a step.
func TestStateEachState(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		everyState(l)
		l.cancel("3")
		l.put(l.rdb.HSet(ctx, l.key("tries"), "4", "1 0 0 0 0"))
		l.put(l.rdb.HSet(ctx, l.key("history"), "4", "line"))
		for id, want := range map[string]luascripts.StateReply{
			"1":  {State: "scheduled", Score: "28800000080001", Body: "b1"},
			"2":  {State: luascripts.Live, Body: "b2"},
			"3":  {State: "cancelled", Score: "1800000000000", Body: "b3", Ghost: "xq"},
			"4":  {State: "retrying", Score: "28800000016001", Body: "r4", Counters: "1 0 0 0 0", History: "line"},
			"5":  {State: "snoozed", Score: "28800000016001", Body: "s5"},
			"6":  {State: "completed", Score: "1800000060000", Body: "b6", Result: "out6"},
			"7":  {State: "discarded", Score: "1800000000000", Body: "d7"},
			"99": {State: luascripts.Absent},
		} {
			got := l.step(id)
			if n, err := strconv.ParseFloat(got.Score, 64); err == nil {
				got.Score = strconv.FormatInt(int64(n), 10) // miniredis prints 1.8e+12
			}
			l.equal(got, want)
		}
	})
}
