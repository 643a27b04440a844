package worker

import (
	"context"
	"runtime"
	"time"

	"github.com/cyclone-queue/cyclone/queue"
)

// outbox stores the settlements of one partition that go another way than the turn,
// in batches of what has come together while the previous call was under way. Trouble
// with Redis is waited out; a settlement that was stored although no answer came is
// fenced by its token, so sending it again is safe.
type outbox struct {
	part *partition
	// send stores a batch. An error means that none is known to be stored.
	send func(ctx context.Context, batch []posted) error

	// Guarded by the worker's mutex.
	waiting []posted
	busy    bool
}

// posted is a settlement and the attempt that it is of.
type posted struct {
	attempt *attempt
	settle  queue.Settlement
}

// outboxBatch is the most that one call stores.
const outboxBatch = 100

// post gives a settlement the way that it has to go, and frees the slot. The mutex is
// held.
func (w *Worker) post(a *attempt, s queue.Settlement) {
	switch {
	case s.Suspends():
		a.part.pauses.add(a, s)
	case s.Advances():
		a.part.advances.add(a, s)
	default:
		w.finish(a.part, a.claim.Queue, s)
	}
}

// add queues a settlement and frees the slot, or has it wait when as much is unstored
// as the worker has slots: what is claimed must not outrun what is stored. The mutex is
// held.
func (o *outbox) add(a *attempt, s queue.Settlement) {
	w := o.part.worker
	o.waiting = append(o.waiting, posted{a, s})
	w.unstored++
	w.withheld++
	w.occupy(a.claim.Queue, -1)
	w.makeRoom(a.claim.Queue)
	w.freeWithheld()
	if !o.busy {
		o.busy = true
		w.wg.Go(func() { o.run(w.hard) })
	}
}

// freeWithheld frees slots as far as little enough is unstored. The mutex is held.
func (w *Worker) freeWithheld() {
	if n := min(w.withheld, w.cfg.Concurrency-w.unstored+w.withheld); n > 0 {
		w.withheld -= n
		w.free += n
	}
}

// run stores batches until none waits or the worker gives up.
func (o *outbox) run(ctx context.Context) {
	w := o.part.worker
	for pause := 50 * time.Millisecond; ; {
		batch := o.next(ctx)
		if len(batch) == 0 {
			return
		}
		if err := o.send(ctx, batch); err != nil {
			w.trouble("settle", err)
			w.mu.Lock()
			o.waiting = append(batch, o.waiting...)
			w.mu.Unlock()
			sleep(ctx, w.jittered(pause))
			pause = min(2*pause, 5*time.Second)
			continue
		}
		pause = 50 * time.Millisecond
		w.mu.Lock()
		w.health.answered(time.Now())
		w.unstored -= len(batch)
		w.freeWithheld()
		w.turnable.Broadcast()
		w.mu.Unlock()
	}
}

// next takes a batch. Attempts that are about to return get to do so first, as long as
// each pause brings results.
func (o *outbox) next(ctx context.Context) []posted {
	w := o.part.worker
	w.mu.Lock()
	defer w.mu.Unlock()
	for seen := -1; len(o.waiting) > seen && len(o.waiting) < outboxBatch && w.attempts.n > 0; {
		seen = len(o.waiting)
		w.mu.Unlock()
		runtime.Gosched()
		w.mu.Lock()
	}
	n := min(len(o.waiting), outboxBatch)
	if n == 0 || ctx.Err() != nil {
		o.busy = false
		return nil
	}
	batch := o.waiting[:n:n]
	o.waiting = o.waiting[n:]
	return batch
}

// settlements are those of a batch.
func settlements(batch []posted) []queue.Settlement {
	all := make([]queue.Settlement, len(batch))
	for i := range batch {
		all[i] = batch[i].settle
	}
	return all
}

// suspend is how an outbox stores suspended tasks.
func (p *partition) suspend(ctx context.Context, batch []posted) error {
	refused, err := p.worker.store.Suspend(ctx, p.number, settlements(batch))
	if err == nil {
		p.refused(batch, refused)
	}
	return err
}

// advance is how an outbox stores what changes more than its step.
func (p *partition) advance(ctx context.Context, batch []posted) error {
	reply, err := p.worker.store.Advance(ctx, p.number, settlements(batch))
	if err != nil {
		return err
	}
	p.refused(batch, reply.Lost)
	if reply.Sweep {
		p.worker.mu.Lock()
		p.sweep()
		p.worker.mu.Unlock()
	}
	for i, cause := range reply.Refused {
		p.worker.retract(batch[i].attempt, cause)
	}
	return nil
}

// refused tells of settlements that did not count.
func (p *partition) refused(batch []posted, causes map[int]error) {
	for i, cause := range causes {
		p.worker.cfg.Logger.Warn("cyclone: settlement refused", "run", batch[i].settle.Claim.ID, "error", cause)
	}
}

// retract settles an attempt anew whose transaction cannot be applied: it has failed.
func (w *Worker) retract(a *attempt, cause error) {
	s := a.decide(a, nil, cause, "")
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.Advances() {
		w.unstored++
		a.part.advances.waiting = append(a.part.advances.waiting, posted{a, s})
		return
	}
	a.part.settle = append(a.part.settle, s)
	w.turnable.Broadcast()
}
