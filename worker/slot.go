package worker

import "github.com/cyclone-queue/cyclone/queue"

// spawn sees to it that what has not begun gets going. Goroutines come one by one:
// each starts the next before it enters a handler, so that as many run as
// handlers block, and few when handlers are short. The mutex is held.
func (w *Worker) spawn() {
	if w.unbegun != nil && !w.spawning {
		w.spawning = true
		go w.slot()
	}
}

// slot runs attempts until none is left to begin.
func (w *Worker) slot() {
	w.mu.Lock()
	w.spawning = false
	for w.unbegun != nil {
		a := w.begin()
		w.mu.Unlock()
		s := a.run()
		w.mu.Lock()
		a.settle(s)
	}
	w.mu.Unlock()
}

// begin takes the next attempt. The mutex is held.
func (w *Worker) begin() *attempt {
	a := w.unbegun
	w.unbegun = a.next
	if a.kind != nil {
		a.setTerms()
		a.started = !a.kind.acknowledged
	}
	w.spawn()
	return a
}

// settle queues the settlement and frees the slot, unless the worker has given
// the claim up. The mutex is held.
func (a *attempt) settle(s queue.Settlement) {
	w := a.worker
	a.end(returned)
	if a.done {
		return
	}
	a.done = true
	w.attempts.remove(a)
	w.post(a, s)
	if w.worth(a.part) {
		w.poke()
	}
}
