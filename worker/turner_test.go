package worker

import (
	"sync"
	"testing"
	"testing/synctest"
)

// A turner that looked away to gather results sees what happened meanwhile: here
// the end of the worker, which is announced once.
func TestTurnerMissesNoSignalWhileItGathers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // a missed signal is a deadlock of the bubble
		for range 2000 {
			w := idle(t, Config{})
			w.turnable = sync.NewCond(&w.mu)
			p := &partition{worker: w, woken: true}
			w.parts = []*partition{p}
			w.attempts.n = 1 // makes it gather
			go func() {
				w.mu.Lock()
				defer w.mu.Unlock()
				p.woken, w.ended = false, true
				w.turnable.Broadcast()
			}()
			w.next()
		}
	})
}
