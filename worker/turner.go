package worker

import (
	"context"
	"runtime"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// turners is how many turns may be under way at once: while Redis works on one,
// the worker takes in the reply of another.
const turners = 2

// eager is how much must have come together before a second turn on a partition
// goes out beside the first: small batches cost Redis more than they save time.
const eager = 48

// side bounds what one turn settles and what it claims, each.
const side = queue.TurnBudget / 2

// exchange is one turn: what is sent, and which slots it has reserved.
type exchange struct {
	part  *partition
	req   queue.TurnRequest
	slots int

	all  bool // these are all of them
	turn int  // which of the partition's it is
}

// turner exchanges turns with Redis until the worker has ended.
func (w *Worker) turner(ctx context.Context) {
	for {
		x := w.next()
		if x == nil {
			return
		}
		reply, err := w.store.Turn(ctx, &x.req)
		if err != nil {
			w.failed(x, err)
			continue
		}
		w.take(x, reply)
	}
}

// next waits until a turn is worth making and prepares it; nil at the end.
func (w *Worker) next() *exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		if w.ended {
			return nil
		}
		seen := true
		for range w.parts {
			p := w.parts[w.nextPart]
			w.nextPart = (w.nextPart + 1) % len(w.parts)
			if !w.worth(p) {
				continue
			}
			if w.gather(p) {
				return w.prepare(p)
			}
			seen = false // meanwhile anything may have happened, unheard
		}
		if seen {
			w.turnable.Wait()
		}
	}
}

// gather lets attempts that are about to return do so, as long as each pause
// brings results: they travel together. It reports whether the turn is still worth
// making, since another turner may have come first. The mutex is held.
func (w *Worker) gather(p *partition) bool {
	for seen := -1; len(p.settle) > seen && len(p.settle) < side && w.attempts.n > 0; {
		seen = len(p.settle)
		w.mu.Unlock()
		runtime.Gosched()
		w.mu.Lock()
	}
	return w.worth(p)
}

// worth reports whether a turn on the partition should go out now. The mutex is
// held.
func (w *Worker) worth(p *partition) bool {
	if !p.until.IsZero() && time.Now().Before(p.until) {
		return false
	}
	claims := p.look && w.free > 0 && !w.stopping
	if p.flight > 0 {
		return len(p.settle) >= eager || claims && w.free >= eager
	}
	return len(p.settle) > 0 || claims || p.woken
}

// prepare takes results and free slots for a turn. The mutex is held.
func (w *Worker) prepare(p *partition) *exchange {
	x := &exchange{part: p}
	x.req.Partition, x.req.Lease = p.number, w.cfg.Lease
	x.req.Settle = p.takeSettlements(side)
	if !w.stopping {
		x.slots = min(w.free, side)
		w.free -= x.slots
		if x.slots > 0 {
			x.req.Wait = 3 * w.cfg.Fallback
		}
	}
	w.turns++
	x.req.Wanted = x.slots
	window := p.window
	queues := w.turnQueues(p)
	if x.slots == 0 {
		p.window = window // nothing is taken, so these queues are still to be looked at
	}
	x.all = len(queues) == len(w.cfg.Queues)
	x.req.Offer, x.req.Got = x.all && x.slots > 0 && p.flight == 0, p.got
	x.req.Queues = w.rooms(queues, x.slots)
	x.req.Claim = w.quotas(queues, x.req.Queues, x.slots)
	for _, room := range x.req.Queues {
		w.occupy(room.Queue, room.N) // reserved until the reply
		if room.N < x.slots {
			p.crowd(room.Queue)
		}
	}
	// A turn without a slot takes nothing and stands in no line: another has to look.
	p.look, p.woken = x.slots == 0, false
	p.flight++
	p.turns++
	x.turn = p.turns
	return x
}

// unreserve returns the slots and per-queue reservations that the turn did not
// use. The mutex is held.
func (w *Worker) unreserve(x *exchange, used int) {
	w.free += x.slots - used
	for _, room := range x.req.Queues {
		w.occupy(room.Queue, -room.N)
	}
	x.part.flight--
}

// failed puts everything back and lets the partition rest. What was settled is
// fenced by its token, so sending it again is safe even if it has arrived.
func (w *Worker) failed(x *exchange, err error) {
	w.trouble("turn", err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unreserve(x, 0)
	p := x.part
	p.settle = append(x.req.Settle, p.settle...)
	p.woken = true // what woke it, if anything did, is still to be used or passed on
	p.suspect()
	w.rest(p)
	for _, room := range x.req.Queues {
		w.makeRoom(room.Queue)
	}
}

// rest leaves the partition alone for a while, each time longer. The mutex is held.
func (w *Worker) rest(p *partition) {
	p.pause = min(max(2*p.pause, 50*time.Millisecond), 5*time.Second)
	wait := w.jittered(p.pause)
	p.until = time.Now().Add(wait)
	p.lookAt = time.Time{} // no sooner
	p.lookIn(wait)
}

// take brings the reply in: attempts for what was claimed, and the time of the
// next look.
func (w *Worker) take(x *exchange, reply *queue.TurnReply) {
	now := time.Now()
	var refused []refusal
	for i, err := range reply.Lost {
		refused = append(refused, refusal{x.req.Settle[i].Claim.ID, err})
	}
	p := x.part
	from := &arrival{worker: w, part: p, now: reply.Now, began: now}
	attempts := make([]attempt, len(reply.Claimed))
	w.mu.Lock()
	w.unreserve(x, len(reply.Claimed))
	if reply.Trouble == nil {
		p.pause, p.until = 0, time.Time{}
	}
	w.health.answered(now)
	for i := range reply.Claimed {
		c := &reply.Claimed[i]
		w.occupy(c.Queue, 1)
		if _, cancelled := p.cancelled[c.Step]; cancelled || w.stopping || c.Unread() || now.After(reply.LeaseUntil) {
			w.finish(p, c.Queue, queue.GiveBack(c))
			continue
		}
		a := &attempts[i]
		a.init(from, c, reply.LeaseUntil)
		w.enlist(a)
	}
	w.bring(x, reply, from)
	if p.flight == 0 {
		p.cancelled = nil
	}
	w.spawn()
	w.schedule(x, reply)
	w.caps(x, reply)
	if reply.Trouble != nil {
		w.rest(p)
	}
	if reply.Sweep {
		p.sweep()
	}
	p.recycle(x.req.Settle)
	w.turnable.Broadcast()
	w.mu.Unlock()
	if reply.Trouble != nil {
		w.trouble("claim", reply.Trouble)
	}
	for _, l := range refused {
		w.cfg.Logger.Warn("cyclone: settlement refused", "run", l.run, "error", l.cause)
	}
}

// refusal is a settlement that did not count.
type refusal struct {
	run   cyclone.RunID
	cause error
}

// caps notes which caps may have kept the turn from taking more, and passes on the
// room that it was given and did not need. The mutex is held.
func (w *Worker) caps(x *exchange, reply *queue.TurnReply) {
	if !w.cfg.capped || x.slots == 0 {
		return
	}
	for _, room := range x.req.Queues {
		n := 0
		for c := range reply.Claimed {
			if reply.Claimed[c].Queue == room.Queue {
				n++
			}
		}
		if reply.Handed != nil && reply.Handed.Queue == room.Queue {
			n++
		}
		if n == room.N && n < x.slots {
			continue // it may have more, and stays crowded
		}
		delete(x.part.crowded, room.Queue)
		if n < room.N {
			w.makeRoom(room.Queue)
		}
	}
}

// schedule decides when to look again. The mutex is held.
func (w *Worker) schedule(x *exchange, reply *queue.TurnReply) {
	p := x.part
	if reply.Next >= 0 {
		// Those in line before this worker look first.
		p.lookIn(reply.Next + time.Duration(reply.Rank)*rankStagger)
	}
	if !x.all && x.slots > 0 {
		p.unseen -= maxQueuesPerTurn
	}
	switch {
	case reply.More && w.cfg.Strict:
		p.suspect() // the first queues come first again
	case reply.More || !x.all && p.unseen > 0:
		p.look = true
	default:
		p.lookIn(w.jittered(w.cfg.Fallback))
	}
}

// rankStagger spreads idle workers that wait for the same due step.
const rankStagger = 2 * time.Millisecond

// finish frees the slot of a claim and queues its settlement. The mutex is held.
func (w *Worker) finish(p *partition, queueName string, s queue.Settlement) {
	w.free++
	w.occupy(queueName, -1)
	p.settle = append(p.settle, s)
	w.makeRoom(queueName)
}

// occupy counts steps that are held of a queue, for its cap. The mutex is held.
func (w *Worker) occupy(queueName string, n int) {
	if w.cfg.capped {
		w.inQueue[queueName] += n
	}
}

// makeRoom has the partitions look again where this queue's cap may keep steps
// waiting, now that there is room. The mutex is held.
func (w *Worker) makeRoom(queueName string) {
	if !w.cfg.capped {
		return
	}
	for _, p := range w.parts {
		if p.crowded[queueName] {
			p.suspect()
			w.poke()
		}
	}
}
