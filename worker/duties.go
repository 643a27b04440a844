package worker

import (
	"context"
	"sync"
	"time"

	"github.com/cyclone-queue/cyclone/queue"
)

// maintainEvery is how often a worker trims, clamps and tidies; jittered, so that
// workers rarely do it at once. Nothing depends on a single one doing it.
const maintainEvery = 15 * time.Second

// listen hears of work and of cancelled steps. ready is closed when it first does.
func (w *Worker) listen(ctx context.Context, ready chan<- struct{}) {
	var once sync.Once
	err := w.store.Listen(ctx, queue.Signals{
		Wake: func(p int) {
			once.Do(func() { close(ready) })
			w.wake(p)
		},
		Handed:  w.handed,
		Cancel:  w.cancelled,
		Trouble: func(err error) { w.trouble("listen", err) },
	})
	if ctx.Err() == nil {
		w.trouble("listen", err)
	}
}

func (w *Worker) maintain(ctx context.Context) {
	queues := w.queueNames()
	for sleep(ctx, w.jittered(maintainEvery)) {
		if err := w.store.Maintain(ctx, queues, w.cfg.Lease); err != nil && ctx.Err() == nil {
			w.trouble("maintain", err)
		}
	}
}

func (w *Worker) queueNames() []string {
	names := make([]string, len(w.cfg.Queues))
	for i, q := range w.cfg.Queues {
		names[i] = q.Name
	}
	return names
}

// sleep waits for d and reports whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// jittered varies d by a fifth either way.
func (w *Worker) jittered(d time.Duration) time.Duration {
	return d*4/5 + w.spread(d*2/5)
}

// spread is a random part of d.
func (w *Worker) spread(d time.Duration) time.Duration {
	return time.Duration(w.cfg.Dice() * float64(d))
}
