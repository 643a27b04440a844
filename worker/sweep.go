package worker

import (
	"context"
	"time"
)

// sweep has the work on runs of many steps done that is due on the partition, by one
// goroutine of this worker at a time. Other workers may do the same; a worker that
// stops leaves it to them. The mutex is held.
func (p *partition) sweep() {
	w := p.worker
	p.unswept = true
	if p.sweeping || w.stopping {
		return
	}
	p.sweeping = true
	w.wg.Go(func() { p.sweepAll(w.hard) })
}

// sweepAll goes on until nothing is known to be due.
func (p *partition) sweepAll(ctx context.Context) {
	w := p.worker
	for pause := 50 * time.Millisecond; ; {
		w.mu.Lock()
		if !p.unswept || w.stopping || ctx.Err() != nil {
			p.sweeping = false
			w.mu.Unlock()
			return
		}
		p.unswept = false
		w.mu.Unlock()
		more, err := w.store.Sweep(ctx, p.number)
		if err != nil {
			// What was taken is due again by itself.
			w.trouble("sweep", err)
			sleep(ctx, w.jittered(pause))
			pause = min(2*pause, 5*time.Second)
		}
		w.mu.Lock()
		p.unswept = p.unswept || more
		w.mu.Unlock()
	}
}
