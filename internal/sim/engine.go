package sim

import (
	"log/slog"
	"math/rand/v2"
	"strings"

	"github.com/cyclone-queue/cyclone/worker"
)

// startEngine runs a whole worker on a host of its own.
func (w *world) startEngine() {
	h, ctx := w.newWorkerHost()
	client := w.newClient(h.host)
	rng := w.rng(h.host.name)
	cfg := worker.Config{
		Concurrency: 1 + rng.IntN(5), Lease: lease, Heartbeat: heartbeat, Fallback: fallback, ShutdownGrace: lease / 2,
		Dice: h.host.roll, Logger: slog.New(slog.DiscardHandler),
	}
	for _, q := range queueNames {
		cfg.Queues = append(cfg.Queues, worker.Queue{Name: q, Weight: 1 + rng.IntN(3)})
	}
	if rng.IntN(3) == 0 {
		cfg.Queues = cfg.Queues[:1+rng.IntN(len(cfg.Queues))]
	}
	if rng.IntN(3) == 0 {
		cfg.Queues[0].Max = 1
	}
	alien := w.serves(h, &cfg) || !w.ignorance(h, rng)
	wk, err := worker.New(client, cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	h.setID(wk.ID())
	wk.Register(w.handled(h, alien)...)
	w.crew.Go(func() {
		if err := wk.Run(ctx); err != nil && !ignored(err) {
			w.fail("worker %s: %v", h.host.name, err)
		}
	})
}

// serves keeps every queue and kind served by at least one worker: the first, and
// any that comes when none does. It tells whether this is the one.
func (w *world) serves(h *workerHost, cfg *worker.Config) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.versatile != nil && !w.versatile.gone() {
		return false
	}
	w.versatile = h
	cfg.Queues = worker.Queues(queueNames...)
	return true
}

// ignorance tells whether a worker does not know the kind alien: one at the most,
// since every other that does not puts such a step back for some seconds.
func (w *world) ignorance(h *workerHost, rng *rand.Rand) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ignorant != nil && !w.ignorant.gone() || rng.IntN(2) == 0 {
		return false
	}
	w.ignorant = h
	return true
}

// ignored are the errors of a soft stop that a deaf handler causes.
func ignored(err error) bool { return strings.Contains(err.Error(), "handlers did not return") }
