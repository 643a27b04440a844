package worker

import (
	"time"

	"github.com/cyclone-queue/cyclone/queue"
)

// handed takes up a step that has come by an offer. One that cannot be taken up now
// is left to the next turn, which brings it again: while a turn is under way it may
// have brought it already.
func (w *Worker) handed(h *queue.Handed) {
	w.mu.Lock()
	a := w.accept(h, time.Now())
	w.mu.Unlock()
	if a == nil {
		return
	}
	w.store.Arrived(h, a.now) // before anything else can happen to it
	w.mu.Lock()
	defer w.mu.Unlock()
	p := a.part
	_, cancelled := p.cancelled[h.Claimed.Step]
	if p.flight--; p.flight == 0 {
		p.cancelled = nil
	}
	if cancelled || w.stopping {
		w.finish(p, h.Claimed.Queue, queue.GiveBack(&h.Claimed))
	} else {
		w.enlist(a)
		w.spawn()
	}
	p.suspect() // it stands in line no more
	w.turnable.Broadcast()
}

// accept takes a slot for the step and makes its attempt, nil when it cannot be taken
// up. Until the attempt is enlisted it counts as a turn under way. The mutex is held.
func (w *Worker) accept(h *queue.Handed, now time.Time) *attempt {
	if h.Partition >= len(w.parts) {
		return nil
	}
	p := w.parts[h.Partition]
	until, ours := h.Under(p.offer)
	if !ours || p.flight > 0 || w.stopping || w.free == 0 || now.After(until) || !w.hasRoom(h.Claimed.Queue) {
		p.suspect()
		p.woken = true
		w.poke()
		return nil
	}
	p.offer, p.got = queue.Offer{}, &h.Claimed
	p.flight++
	w.free--
	w.occupy(h.Claimed.Queue, 1)
	a := new(attempt)
	a.init(&arrival{worker: w, part: p, now: h.At(w.cfg.Lease), began: now}, &h.Claimed, until)
	return a
}

// bring takes in what the turn has brought of an earlier offer, unless there is no
// slot for it any more. The turn's own offer counts only if no other turn was under way
// with it: what was handed over under it may have come by that one. The mutex is held.
func (w *Worker) bring(x *exchange, reply *queue.TurnReply, from *arrival) {
	p, c := x.part, reply.Handed
	if x.req.Got == p.got {
		p.got = nil
	}
	p.offer = queue.Offer{}
	if x.turn == p.turns {
		p.offer = reply.Offer
	}
	if c == nil {
		return
	}
	fits := w.free > 0 && w.hasRoom(c.Queue)
	w.free--
	w.occupy(c.Queue, 1)
	if _, cancelled := p.cancelled[c.Step]; cancelled || !fits || w.stopping || from.began.After(reply.HandedUntil) {
		w.finish(p, c.Queue, queue.GiveBack(c))
		return
	}
	a := new(attempt)
	a.init(from, c, reply.HandedUntil)
	w.enlist(a)
}

// enlist adds an attempt that has not begun. The mutex is held.
func (w *Worker) enlist(a *attempt) {
	w.attempts.add(a)
	if w.unbegun == nil {
		w.unbegun = a
	}
}

// hasRoom reports whether the cap of a queue admits one more. The mutex is held.
func (w *Worker) hasRoom(queueName string) bool {
	for i := range w.cfg.Queues {
		if w.cfg.Queues[i].Name == queueName {
			return w.room(&w.cfg.Queues[i], 1) > 0
		}
	}
	return false
}
