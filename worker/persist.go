package worker

import (
	"context"
	"errors"
	"time"

	"github.com/cyclone-queue/cyclone"
)

// persist calls do, which is safe to repeat, until Redis answers. The error says that
// the attempt has ended meanwhile, by Redis' word or by this worker's clock.
func (a *attempt) persist(what string, do func(context.Context) error) error {
	w := a.worker
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := do(w.base)
		if err == nil || errors.Is(err, cyclone.ErrLeaseLost) || errors.Is(err, cyclone.ErrCancelled) {
			return err
		}
		w.trouble(what, err)
		if a.lapsed() {
			return cyclone.ErrLeaseLost
		}
		sleep(w.base, w.jittered(pause))
	}
}

// lose ends the attempt because nothing that it stores counts any more.
func (a *attempt) lose(cause error) {
	a.worker.mu.Lock()
	defer a.worker.mu.Unlock()
	a.doom(cause)
}

// lapsed tells that nothing that the attempt stores counts any more.
func (a *attempt) lapsed() bool {
	a.worker.mu.Lock()
	defer a.worker.mu.Unlock()
	return a.done || time.Now().After(a.leaseUntil)
}
