package worker

import (
	"time"

	"github.com/cyclone-queue/cyclone/queue"
)

// handed takes up a step that has come by an offer. One that cannot be taken up now
// is left to the next turn, which brings it again: while a turn is under way it may
// have brought it already.
func (w *Worker) handed(h *queue.Handed) {
	now := time.Now()
	w.mu.Lock()
	taken := w.takeHanded(h, now)
	w.mu.Unlock()
	if taken != nil {
		w.store.Arrived(h, taken.now)
	}
}

// takeHanded returns the attempt that it makes, if it does. The mutex is held.
func (w *Worker) takeHanded(h *queue.Handed, now time.Time) *attempt {
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
	w.free--
	w.occupy(h.Claimed.Queue, 1)
	a := new(attempt)
	a.init(&arrival{worker: w, part: p, now: h.At(w.cfg.Lease), began: now}, &h.Claimed, until)
	w.enlist(a)
	w.spawn()
	p.suspect() // it stands in line no more
	w.poke()
	return a
}

// bring takes in what the turn has brought of an earlier offer, unless there is no
// slot for it any more. The mutex is held.
func (w *Worker) bring(x *exchange, reply *queue.TurnReply, from *arrival) {
	p, c := x.part, reply.Handed
	if x.req.Got == p.got {
		p.got = nil
	}
	p.offer = reply.Offer
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
