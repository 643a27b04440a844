package luascripts_test

import (
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// scene is two queues with two steps in each lane: 10 and 11 in lane 0 of q, up
// to 24 and 25 in lane 2 of p.
func claimScene(l *lab) {
	in := l.enqueueInput(
		item("10", onLane(0)), item("11", onLane(0)), item("12", onLane(1)), item("13", onLane(1)), item("14", onLane(2)), item("15", onLane(2)),
		item("20", onLane(0)), item("21", onLane(0)), item("22", onLane(1)), item("23", onLane(1)), item("24", onLane(2)), item("25", onLane(2)))
	in.Queues = append(in.Queues, *named[luascripts.EnqueueQueue](l, "p"))
	for i := 6; i < 12; i++ {
		in.Items[i].Queue = 1
	}
	l.ok(luascripts.Enqueue, l.enqueueCall(in))
}

// TestClaimFollowsItsList: claims are served in order, each up to its count, up to
// the room of its queue and up to what is wanted in all.
func TestClaimFollowsItsList(t *testing.T) {
	t.Parallel()
	list := []luascripts.TurnClaim{{Queue: 0, Lane: 1, Count: 1}, {Queue: 1, Lane: 0, Count: 5}, {Queue: 0, Lane: 0, Count: 5}, {Queue: 0, Lane: 1, Count: 5}, {Queue: 1, Lane: 2, Count: 5}}
	for name, c := range map[string]struct {
		wanted, roomQ, roomP int
		claimed              []string
		more                 bool
	}{
		"everything":  {99, 99, 99, []string{"12:t1", "20:t1", "21:t1", "10:t1", "11:t1", "13:t1", "24:t1", "25:t1"}, false},
		"wanted":      {4, 99, 99, []string{"12:t1", "20:t1", "21:t1", "10:t1"}, true},
		"exactly":     {8, 99, 99, []string{"12:t1", "20:t1", "21:t1", "10:t1", "11:t1", "13:t1", "24:t1", "25:t1"}, true},
		"room of q":   {99, 2, 99, []string{"12:t1", "20:t1", "21:t1", "10:t1", "24:t1", "25:t1"}, false},
		"room of p":   {99, 99, 1, []string{"12:t1", "20:t1", "10:t1", "11:t1", "13:t1"}, false},
		"no room":     {99, 0, 0, nil, false},
		"none wanted": {0, 99, 99, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(l *lab) {
				claimScene(l)
				in := l.turnInput()
				in.Queues = append(in.Queues, *named[luascripts.TurnQueue](l, "p"))
				in.Queues[0].Room, in.Queues[1].Room = c.roomQ, c.roomP
				in.Wanted, in.Claims = c.wanted, list
				reply := l.turn(in)
				l.equal(members(reply, "t1"), c.claimed)
				l.equal(reply.More, c.more)
			})
		})
	}
}

// TestClaimLeases: each lease has its token, ends a lease from now and carries its
// lane; the padding keeps the set out of its compact encoding.
func TestClaimLeases(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		claimScene(l)
		l.now += 3
		in := wanting(l.turnInput(), 99)
		in.Claims = []luascripts.TurnClaim{{Lane: 0, Count: 9}, {Lane: 1, Count: 1}, {Lane: 2, Count: 9}}
		reply := l.turn(in)
		l.equal(reply.Claims, []luascripts.Claimed{
			{Queue: 0, Lane: 0, IDs: []string{"10", "11"}, Bodies: []string{"b10", "b11"}},
			{Queue: 0, Lane: 1, IDs: []string{"12"}, Bodies: []string{"b12"}},
			{Queue: 0, Lane: 2, IDs: []string{"14", "15"}, Bodies: []string{"b14", "b15"}},
		})
		l.equal(reply.NowMS, l.now)
		l.equal(l.content("leased:q"), []string{"10:t1@30003h", "11:t1@30003h", "12:t1@30003d", "14:t1@30003l", "15:t1@30003l", "pad"})
		if n := l.rdb.ZScore(ctx, l.key("leased:q"), padding).Val(); n < 1e300 {
			l.Fatalf("padding at %v", n)
		}
	})
}

const padding = "................................................................."

// TestClaimFromPausedQueue gets nothing, and other queues give.
func TestClaimFromPausedQueue(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		claimScene(l)
		l.pause(true)
		in := l.turnInput()
		in.Queues = append(in.Queues, *named[luascripts.TurnQueue](l, "p"))
		in.WaitMS = 3000
		reply := l.turn(wanting(in, 99))
		l.equal(members(reply, "t1"), []string{"20:t1", "21:t1", "22:t1", "23:t1", "24:t1", "25:t1"})
		l.equal(l.content("waiters:q"), []string{"w@3000"}) // for the resume
		l.equal(reply.More, false)
	})
}

// TestClaimPromotesWhatIsDue, of all three waiting states, in order, into its
// lane, and not a ms before its time.
func TestClaimPromotesWhatIsDue(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.enqueue(item("1"), item("2"))
		m := l.claim(2)
		l.settle(luascripts.OpRetry, m[0])
		l.settle(luascripts.OpSnooze, m[1])
		l.enqueue(item("3", due("+1001")), item("4", due("+999"), onLane(0)), item("5", due("+1000"), onLane(2)), item("6", due("1800000001002")), item("7", due("1799999999999"), onLane(0)))
		l.equal(l.content("scheduled:q"), []string{"4@999h", "5@1000l", "3@1001d", "6@1002d"})
		l.equal(l.content("ready:q:h"), []string{"7"})
		l.now += 998
		l.equal(l.turn(l.turnInput()).NextMS, int64(1))
		l.equal(l.content("ready:q:h"), []string{"7"})
		l.now += 2
		l.equal(l.turn(l.turnInput()).NextMS, int64(1))
		l.want(`
			leased:q pad
			ready:q:d 2 1
			ready:q:h 4 7
			ready:q:l 5
			scheduled:q 3@1001d 6@1002d
			steps 1=r1 2=s2 3=b3 4=b4 5=b5 6=b6 7=b7
		`)
	})
}

// TestClaimPromotionIsBounded per index, and tells that there is more.
func TestClaimPromotionIsBounded(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.enqueue(item("1", due("+1")), item("2", due("+2")), item("3", due("+3")))
		l.now += 5
		in := l.turnInput()
		in.Budget = 2
		reply := l.turn(in)
		l.equal(reply.More, true)
		l.equal(reply.NextMS, int64(0))
		l.equal(l.content("ready:q:d"), []string{"2", "1"})
		in = l.turnInput()
		in.Budget = 2
		l.equal(l.turn(in).More, false)
		l.equal(l.content("ready:q:d"), []string{"3", "2", "1"})
	})
}

// TestClaimPromotionIsShared: a flood in one index leaves the next one something of the budget, and what finds nothing
// left waits for the next turn.
func TestClaimPromotionIsShared(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.bulk("scheduled:q", ids(1, 10), l.now, 1)
		l.bulk("retrying:q", ids(11, 5), l.now, 1)
		l.bulk("snoozed:q", ids(21, 5), l.now, 1)
		turn := func(budget int) bool {
			in := l.turnInput()
			in.Budget = budget
			return l.turn(in).More
		}
		left := func() []int {
			return []int{count(l, "scheduled:q", "@0"), count(l, "retrying:q", "@0"), count(l, "snoozed:q", "@0")}
		}
		l.equal(turn(8), true)
		l.equal(left(), []int{4, 3, 5})
		l.equal(turn(20), false)
		l.equal(left(), []int{0, 0, 0})
	})
}

// TestClaimPromotesNothingElse: a score between two ms, which no script writes,
// takes nothing else of its index along.
func TestClaimPromotesNothingElse(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.enqueue(item("1", due("+9")))
		l.put(l.rdb.ZAdd(ctx, l.key("scheduled:q"), redis.Z{Member: "2", Score: start*16 + 15.5}))
		l.turn(l.turnInput())
		l.equal(l.content("scheduled:q"), []string{"2@0?", "1@9d"})
	})
}

// TestClaimTellsWhatIsNext: the earliest due step or lease of any queue, never
// below zero, -1 when there is none.
func TestClaimTellsWhatIsNext(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		next := func() int64 {
			l.Helper()
			in := l.turnInput()
			in.Queues = append(in.Queues, *named[luascripts.TurnQueue](l, "p"))
			return l.turn(in).NextMS
		}
		l.equal(next(), int64(-1))
		l.ready("1", "2", "3")
		in := wanting(l.turnInput(), 5)
		reply := l.turn(in)
		l.equal(reply.NextMS, int64(30_000))
		m := members(reply, in.Token)
		l.equal(next(), int64(30_000))
		l.settle(luascripts.OpRetry, m[0])
		l.equal(next(), int64(1000))
		l.now += 400
		l.settle(luascripts.OpSnooze, m[1])
		l.equal(next(), int64(600))
		l.put(l.rdb.Rename(ctx, l.key("retrying:q"), l.key("retrying:p")))
		l.equal(next(), int64(600))
		l.put(l.rdb.Del(ctx, l.key("retrying:p")))
		l.equal(next(), int64(1000))
		l.enqueue(item("4", due("+5")))
		l.equal(next(), int64(5))
		l.ready("5")
		l.equal(l.turn(wanting(l.turnInput(), 5)).NextMS, int64(5))
		l.settle(luascripts.OpComplete, "5:t"+strconv.Itoa(l.tokens))
		l.settle(luascripts.OpComplete, m[2])
		l.put(l.rdb.Del(ctx, l.key("scheduled:q"), l.key("snoozed:q")))
		l.equal(next(), int64(-1)) // the padding is no lease
	})
}
