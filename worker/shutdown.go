package worker

import (
	"context"
	"fmt"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// afterCancel is how long handlers may take to return once their contexts have
// ended, and lastFlush how long what is left to say may take to reach Redis.
const (
	afterCancel = 5 * time.Second
	lastFlush   = 5 * time.Second
)

// shutdown brings the worker to its end: no more claims; running attempts may
// finish; then their contexts end; what does not return is given back.
func (w *Worker) shutdown(hard context.Context, end context.CancelFunc) error {
	w.mu.Lock()
	w.stopping = true
	w.turnable.Broadcast()
	w.mu.Unlock()

	stuck := 0
	if !w.handlersReturn(w.cfg.ShutdownGrace) {
		w.doomAll()
		if !w.handlersReturn(afterCancel) {
			stuck = w.abandon()
		}
	}
	w.flush(hard, end)
	if stuck > 0 {
		return fmt.Errorf("worker: %d handlers did not return; their steps were given back", stuck)
	}
	return nil
}

// handlersReturn waits for all attempts and turns that may bring more.
func (w *Worker) handlersReturn(limit time.Duration) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.mu.Lock()
		for w.attempts.n > 0 || w.claiming() {
			w.turnable.Wait()
		}
		w.mu.Unlock()
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		// The goroutine above ends with the last attempt, or with abandon.
		return false
	}
}

// claiming reports whether a turn is under way that may bring claims. The mutex
// is held.
func (w *Worker) claiming() bool {
	for _, p := range w.parts {
		if p.flight > 0 {
			return true
		}
	}
	return false
}

func (w *Worker) doomAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for a := w.attempts.first; a != nil; a = a.next {
		a.doom(cyclone.ErrShutdown)
	}
}

// abandon gives back what still runs and returns how much that was. Whatever
// those handlers return is dropped.
func (w *Worker) abandon() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.attempts.n
	for a := w.attempts.first; a != nil; a = w.attempts.first {
		a.done = true
		w.attempts.remove(a)
		w.finish(a.part, a.claim.Queue, queue.Release(a.claim))
	}
	w.unbegun = nil
	w.turnable.Broadcast()
	return n
}

// flush sends what is left to settle and ends the turns.
func (w *Worker) flush(hard context.Context, end context.CancelFunc) {
	stop := time.AfterFunc(lastFlush, func() {
		end()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.turnable.Broadcast()
	})
	defer stop.Stop()
	w.mu.Lock()
	w.passOn()
	for w.unsent() && hard.Err() == nil {
		w.turnable.Wait()
	}
	w.ended = true
	for _, p := range w.parts {
		if p.timer != nil {
			p.timer.Stop()
		}
	}
	w.turnable.Broadcast()
	w.mu.Unlock()
	w.wg.Wait()
}

// leave takes the worker out of all lines and lists, which nothing may put it back
// on: the heartbeat has ended.
func (w *Worker) leave(hard context.Context) {
	ctx, cancel := context.WithTimeout(hard, lastFlush)
	defer cancel()
	if err := w.store.Leave(ctx, w.queueNames()); err != nil {
		w.trouble("leave", err)
	}
}

// passOn has every partition make a last turn, which takes this worker out of line
// and wakes another one for what is ready: it may have been woken for that itself.
// While Redis is away the others' fallback must do. The mutex is held.
func (w *Worker) passOn() {
	for _, p := range w.parts {
		p.woken = w.health.err == nil
	}
	w.turnable.Broadcast()
}

// unsent reports whether settlements wait or are under way, or a wake-up is to be
// passed on. The mutex is held.
func (w *Worker) unsent() bool {
	if w.unstored > 0 {
		return true
	}
	for _, p := range w.parts {
		if len(p.settle) > 0 || p.flight > 0 || p.woken {
			return true
		}
	}
	return false
}
