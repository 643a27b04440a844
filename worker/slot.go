package worker

import "github.com/cyclone-queue/cyclone/queue"

// spawn sees to it that what is runnable gets going. Goroutines come one by one:
// each starts the next before it enters a handler, so that as many run as
// handlers block, and few when handlers are short. The mutex is held.
func (w *Worker) spawn() {
	if len(w.runnable) > 0 && !w.spawning {
		w.spawning = true
		go w.slot()
	}
}

// slot runs attempts until none is left to begin.
func (w *Worker) slot() {
	w.mu.Lock()
	w.spawning = false
	for len(w.runnable) > 0 {
		a := w.begin()
		w.mu.Unlock()
		s := a.run()
		w.mu.Lock()
		a.settle(s)
	}
	w.runnable = nil // its memory is of no use to a worker that idles
	w.mu.Unlock()
}

// begin takes the next runnable attempt. The mutex is held.
func (w *Worker) begin() *attempt {
	a := w.runnable[0]
	w.runnable[0] = nil
	w.runnable = w.runnable[1:]
	if a.kind != nil {
		a.setTerms()
		a.started = !a.kind.countsLost
	}
	w.spawn()
	return a
}

// settle queues the settlement and frees the slot, unless the worker has given
// the claim up. The mutex is held.
func (a *attempt) settle(s queue.Settlement) {
	w := a.worker
	a.cancel(nil)
	if a.done {
		return
	}
	a.done = true
	w.attempts.remove(a)
	w.finish(a.part, a.claim.Queue, s)
	if w.worth(a.part) {
		w.poke()
	}
}
