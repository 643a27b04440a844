package luascripts_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// offer has a worker stand in line of queue q, offer a slot by a turn, and hear.
// Its token is that of the turn.
func (l *lab) offer(worker string) (token string) {
	l.Helper()
	l.put(l.rdb.HSet(ctx, l.messages+":hears", "wake."+worker, "1"))
	in := l.offering(worker)
	l.turn(in)
	return in.Token
}

// offering is a turn that offers a slot, if there is nothing to claim.
func (l *lab) offering(worker string) *luascripts.TurnInput {
	in := wanting(l.turnInput(), 1)
	in.Worker, in.WaitMS, in.Offer = worker, 1000, true
	return in
}

func (l *lab) enqueuePlain(ids ...string) {
	l.Helper()
	in := l.enqueueInput()
	in.Partition, in.Groups = 3, []luascripts.EnqueueGroup{plain(ids...)}
	l.ok(luascripts.Enqueue, l.enqueueCall(in))
}

// TestHandOver: a step that comes alone is leased to the worker that came last to
// the line, and sent to it; what the worker has not heard its next turn brings, once.
func TestHandOver(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.offer("first")
		l.now++
		l.equal(l.offer("last"), "t2")
		l.said()
		l.enqueuePlain("5")
		l.want(`
			handed last=2_5_t2_1800000030001_q
			leased:q 5:t2@30001d pad
			offers first=t1_30000
			steps 5=b5
			waiters:q first@1000
		`)
		l.equal(l.said(), []string{"wake.last ", "wake.last 3 2 5 t2 1800000030001 q/b5"})

		in := l.offering("last")
		call := l.turnCall(in)
		want := &luascripts.HandedOver{Lane: 1, ID: "5", Token: "t2", Body: "b5", ExpiryMS: start + 30_001}
		for range 2 { // sent twice, it is answered twice
			l.equal(luascripts.ParseTurn(l.ok(luascripts.Turn, call)).Handed, want)
		}
		l.equal(l.content("handed"), nothing)
		l.equal(l.turn(l.offering("last")).Handed, (*luascripts.HandedOver)(nil))
		l.equal(l.total("enqueued"), 1)
	})
}

// TestHandOverInTime: a place in line lasts until its end.
func TestHandOverInTime(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.offer("w")
		l.now += 1000
		l.enqueuePlain("5")
		l.equal(count(l, "leased:q", "5:"), 1)
	})
}

// TestHandOverArrived: the turn that says so does not bring the step again, and may
// end it.
func TestHandOverArrived(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		token := l.offer("w")
		l.enqueuePlain("5")
		in := settling(l.offering("w"), luascripts.OpComplete, "5:"+token)
		in.Got = "5:" + token
		l.equal(l.turn(in).Handed, (*luascripts.HandedOver)(nil))
		l.want(`
			leased:q pad
			offers w=t2_30000
			waiters:q w@1000
		`)
	})
}

// TestHandOverNeedsAWorker that is in line, offers a slot and hears, and a queue that
// is open and has no other work.
func TestHandOverNeedsAWorker(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(l *lab){
		"a turn without a slot": func(l *lab) {
			in := l.offering("w")
			in.Offer = false
			l.turn(in)
		},
		"nobody in line": func(l *lab) { l.put(l.rdb.Del(ctx, l.key("waiters:q"))) },
		"late":           func(l *lab) { l.now += 1001 },
		"deaf":           func(l *lab) { l.put(l.rdb.Del(ctx, l.messages+":hears")) },
		"paused":         func(l *lab) { l.pause(true) },
		"urgent work":    func(l *lab) { l.put(l.rdb.LPush(ctx, l.key("ready:q:h"), "9")) },
		"work":           func(l *lab) { l.put(l.rdb.LPush(ctx, l.key("ready:q:d"), "9")) },
		"late work":      func(l *lab) { l.put(l.rdb.LPush(ctx, l.key("ready:q:l"), "9")) },
		"taken already":  func(l *lab) { l.enqueuePlain("4"); l.stand("w", 1000) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(l *lab) {
				l.offer("w")
				spoil(l)
				l.enqueuePlain("5")
				l.equal(count(l, "leased:q", "5:"), 0)
				l.equal(count(l, "ready:q:d", "5"), 1)
				if name == "late" {
					l.equal(l.content("offers"), nothing)
				}
			})
		})
	}
}

// TestHandOverOfOne: several steps, a large one, or one that waits or holds a key are
// claimed.
func TestHandOverOfOne(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 16384)
	group := func(bodies ...string) luascripts.EnqueueGroup {
		return luascripts.EnqueueGroup{Lane: 1, IDs: []string{"5", "6"}[:len(bodies)], Bodies: bodies}
	}
	for name, in := range map[string]luascripts.EnqueueInput{
		"two":         {Groups: []luascripts.EnqueueGroup{group("a", "b")}},
		"two groups":  {Groups: []luascripts.EnqueueGroup{group("a"), {Lane: 2, IDs: []string{"6"}, Bodies: []string{"b"}}}},
		"and another": {Groups: []luascripts.EnqueueGroup{group("a")}, Items: []luascripts.EnqueueItem{item("6", due("+9"))}},
		"too large":   {Groups: []luascripts.EnqueueGroup{group(large + "x")}},
		"large":       {Groups: []luascripts.EnqueueGroup{group(large)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(l *lab) {
				l.offer("w")
				call := l.enqueueInput()
				call.MaxBytes, call.Groups, call.Items = 1<<20, in.Groups, in.Items
				l.ok(luascripts.Enqueue, l.enqueueCall(call))
				handed := 0
				if name == "large" {
					handed = 1
				}
				l.equal(count(l, "handed", "w="), handed)
				l.equal(count(l, "leased:q", "5:"), handed)
				if name == "two groups" {
					l.equal(l.content("steps"), []string{"5=a", "6=b"})
				}
			})
		})
	}
}

// TestOffer: a turn that stands in line offers a slot, every turn takes the offer of
// the one before back, and the dead lose theirs with their place in line.
func TestOffer(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.offer("w")
		l.equal(l.content("offers"), []string{"w=t1_30000"})
		l.turn(l.turnInput())
		l.equal(l.content("offers"), nothing)
		for name, change := range map[string]func(in *luascripts.TurnInput){
			"wants nothing": func(in *luascripts.TurnInput) { in.Wanted = 0 },
			"no line":       func(in *luascripts.TurnInput) { in.WaitMS = 0 },
			"no room":       func(in *luascripts.TurnInput) { in.Queues[0].Room = 0 },
		} {
			in := l.offering("w")
			change(in)
			l.turn(in)
			if got := l.content("offers"); len(got) > 0 {
				l.Errorf("%s: %v", name, got)
			}
		}
		l.offer("dead")
		l.now += 1001
		l.offer("w")
		l.equal(len(l.content("offers")), 1)
		l.equal(count(l, "offers", "w="), 1)
		l.put(l.rdb.HSet(ctx, l.key("offers"), "gone", "t 1"))
		l.offer("w") // alone in line
		l.equal(len(l.content("offers")), 1)
		l.stand("v", 1000)
		l.put(l.rdb.HSet(ctx, l.key("offers"), "v", "t 1"))
		l.offer("w")
		l.equal(len(l.content("offers")), 2)
	})
}

// TestOffersOfOthers: those of workers in line stay, whoever else stands there or does
// not; those of the dead go with their place.
func TestOffersOfOthers(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.offer("dead")
		passing := l.turnInput()
		passing.Worker = "passing"
		l.turn(passing)
		l.equal(l.content("offers"), []string{"dead=t1_30000"})
		l.now += 600
		l.offer("living")
		l.now += 600
		l.offer("last")
		l.equal(l.content("offers"), []string{"last=t4_30000", "living=t3_30000"})
	})
}

// TestHandOverTakesASlot: what a turn brings of an earlier offer is one of those that
// it wanted.
func TestHandOverTakesASlot(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.offer("w")
		l.enqueuePlain("5")
		l.ready("6", "7")
		in := wanting(l.turnInput(), 2)
		in.Worker = "w"
		reply := l.turn(in)
		l.equal(reply.Handed.ID, "5")
		l.equal(members(reply, in.Token), []string{"6:" + in.Token})
		l.equal(reply.NextMS, int64(30_000))

		l.equal(reply.More, true)

		l.turn(settling(l.turnInput(), luascripts.OpComplete, "6:"+in.Token))
		l.claim(1)
		l.offer("v")
		l.enqueuePlain("8")
		l.ready("9")
		in = wanting(l.turnInput(), 2)
		in.Worker, in.Queues[0].Room = "v", 1
		reply = l.turn(in)
		l.equal(reply.Handed.ID, "8")
		l.equal(len(reply.Claims), 0)
	})
}

// TestHandOverAsksAgain: a turn whose only slot is taken by what it brings stands in no
// line, so that there may be more.
func TestHandOverAsksAgain(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.offer("w")
		l.enqueuePlain("5")
		reply := l.turn(l.offering("w"))
		l.equal(reply.Handed.ID, "5")
		l.equal(reply.More, true)
		l.equal(l.content("waiters:q"), nothing)
	})
}

// TestHandOverThatIsOver: a lease that was lost or a step that was cancelled is not
// brought, nor is that of a queue the turn does not have.
func TestHandOverThatIsOver(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(l *lab, in *luascripts.TurnInput){
		"lost":      func(l *lab, _ *luascripts.TurnInput) { l.expire("5"); l.turn(l.turnInput()) },
		"cancelled": func(l *lab, _ *luascripts.TurnInput) { l.cancel("5") },
		"elsewhere": func(l *lab, in *luascripts.TurnInput) { in.Queues[0] = *named[luascripts.TurnQueue](l, "p") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(l *lab) {
				l.offer("w.x")
				l.enqueuePlain("5")
				in := l.turnInput()
				in.Worker = "w.x"
				end(l, in)
				l.equal(l.turn(in).Handed, (*luascripts.HandedOver)(nil))
				l.equal(l.content("handed"), nothing)
			})
		})
	}
}

// TestHandOverToTheDead: with the lease goes the note for a worker that will not ask.
func TestHandOverToTheDead(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		for _, worker := range []string{"dead", "other"} {
			l.put(l.rdb.HSet(ctx, l.messages+":hears", "wake."+worker, "1"))
			in := l.offering(worker)
			in.Token = worker + ".token"
			l.turn(in)
			l.enqueuePlain(map[string]string{"dead": "5", "other": "6"}[worker])
		}
		l.equal(len(l.content("handed")), 2)
		l.expire("5")
		l.turn(l.turnInput())
		l.equal(count(l, "handed", "dead="), 0)
		l.equal(count(l, "handed", "other="), 1)
		l.equal(l.content("ready:q:d"), []string{"5"})
		// A lost lease of an earlier claim leaves the note of a later one.
		l.put(l.rdb.ZAdd(ctx, l.key("leased:q"), leaseOf("5:other.before")))
		l.expire("5")
		l.turn(l.turnInput())
		l.equal(count(l, "handed", "other="), 1)
	})
}

// TestHandOverTells: both events, the claim as the worker's.
func TestHandOverTells(t *testing.T) {
	t.Parallel()
	each(t, func(l *lab) {
		l.offer("w")
		l.watch()
		l.said()
		l.enqueuePlain("5")
		l.equal(l.said(), []string{
			"wake.w ", "wake.w 3 2 5 t1 1800000030000 q/b5",
			"events 1800000000000/enqueued q 5 0 0//detail", "events 1800000000000 w/claimed q 5 0 0//detail",
		})
	})
}

// leaseOf is a lease that ends at the start.
func leaseOf(member string) redis.Z { return redis.Z{Member: member, Score: float64(start * 16)} }
