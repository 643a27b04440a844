package worker

import (
	"time"

	"github.com/cyclone-queue/cyclone/queue"
)

// partition is what the worker knows of one partition. All of it is guarded by
// the worker's mutex.
type partition struct {
	worker *Worker
	number int

	settle []queue.Settlement   // to be sent
	spare  [][]queue.Settlement // memory for the next ones
	look   bool                 // there may be work
	woken  bool                 // a wake-up was received: it must be used or passed on
	flight int                  // turns under way
	turns  int                  // turns that have been prepared
	window int                  // first queue of the next turn, when not all fit
	unseen int                  // queues not looked at since work was last suspected
	// crowded has the queues whose caps may keep steps waiting here: a turn was
	// given less room than it had slots, and none has seen the end of the queue since.
	crowded map[string]bool
	timer   *time.Timer   // when to look again
	lookAt  time.Time     // when it fires, zero when it does not
	pause   time.Duration // after a failed turn
	until   time.Time     // no turn before

	offer queue.Offer    // of the last turn, if it was the only one under way: a step may come without one
	got   *queue.Claimed // has come so, and no turn has said so yet

	advances outbox // settlements that change more than their step
	pauses   outbox // of suspended tasks
	records  recorder

	sweeping bool // work on runs of many steps is being done
	unswept  bool // more of it is due

	// Steps that were cancelled while turns were under way: a claim of one of them
	// may have been executed before, and be told of after.
	cancelled map[queue.StepID]struct{}
}

// crowd notes that a cap may keep steps of a queue waiting. The mutex is held.
func (p *partition) crowd(queueName string) {
	if p.crowded == nil {
		p.crowded = make(map[string]bool)
	}
	p.crowded[queueName] = true
}

// takeSettlements removes up to n settlements for a turn. The mutex is held.
func (p *partition) takeSettlements(n int) []queue.Settlement {
	taken := p.settle
	if len(taken) > n {
		taken = taken[:n:n]
		p.settle = append(p.memory(), p.settle[n:]...)
	} else {
		p.settle = p.memory()
	}
	return taken
}

// memory is what settlements may be collected in. The mutex is held.
func (p *partition) memory() []queue.Settlement {
	last := len(p.spare) - 1
	if last < 0 {
		return nil
	}
	free := p.spare[last]
	p.spare = p.spare[:last]
	return free
}

// keptSettlements bounds the memory that a worker keeps for settlements.
const keptSettlements = 8 * side

// recycle takes the memory of settlements back that a turn has stored. The mutex
// is held.
func (p *partition) recycle(stored []queue.Settlement) {
	if cap(stored) == 0 || cap(stored) > keptSettlements || len(p.spare) == turners {
		return
	}
	clear(stored)
	p.spare = append(p.spare, stored[:0])
}

// lookIn makes the partition worth a turn after d, unless it will be sooner. The
// mutex is held.
func (p *partition) lookIn(d time.Duration) {
	at := time.Now().Add(d)
	if !p.lookAt.IsZero() && p.lookAt.Before(at) {
		return
	}
	p.lookAt = at
	if p.timer == nil {
		p.timer = time.AfterFunc(d, p.lookNow)
		return
	}
	p.timer.Reset(d)
}

func (p *partition) lookNow() {
	w := p.worker
	w.mu.Lock()
	defer w.mu.Unlock()
	p.lookAt = time.Time{}
	p.suspect()
	w.poke()
}

// poke wakes a turner. While the worker stops, others wait beside the turners, and
// all are woken. The mutex is held.
func (w *Worker) poke() {
	if w.stopping {
		w.turnable.Broadcast()
		return
	}
	w.turnable.Signal()
}

// suspect notes that there may be work. The mutex is held.
func (p *partition) suspect() {
	p.look = true
	p.unseen = len(p.worker.cfg.Queues)
	if p.worker.cfg.Strict {
		p.window = 0
	}
}

// wake is a signal from Redis; p is negative when it may concern any partition.
func (w *Worker) wake(number int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.parts {
		if number < 0 || p.number == number {
			p.suspect()
			p.woken = p.woken || number >= 0
		}
	}
	w.turnable.Broadcast()
}
