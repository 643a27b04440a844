package worker

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// beatsPerRenewal is how often between two renewals the leases are looked at.
const beatsPerRenewal = 4

// stuckAfter is how long a handler may go on after its context has ended before
// it is reported.
const stuckAfter = 30 * time.Second

// heartbeats renews the leases of all attempts and ends those whose lease is gone,
// by Redis' word or by this worker's own clock when Redis does not answer.
func (w *Worker) heartbeats(ctx context.Context) {
	ticker := time.NewTicker(w.cfg.Heartbeat / beatsPerRenewal)
	defer ticker.Stop()
	for beat := 1; ; beat++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if beat%beatsPerRenewal == 0 {
			w.renew(ctx)
		}
		w.lookOver(time.Now())
	}
}

func (w *Worker) renew(ctx context.Context) {
	w.mu.Lock()
	attempts := make([]*attempt, 0, w.attempts.n)
	for a := w.attempts.first; a != nil; a = a.next {
		attempts = append(attempts, a)
	}
	held := make([]queue.Held, len(attempts))
	for i, a := range attempts {
		held[i] = queue.Held{Claim: a.claim, Started: a.started}
	}
	info := w.describe()
	w.mu.Unlock()

	sent := time.Now()
	limit, cancel := context.WithTimeout(ctx, w.cfg.Lease/2)
	defer cancel()
	gone, err := w.store.Extend(limit, held, w.cfg.Lease, info)
	if err != nil {
		if ctx.Err() == nil {
			w.trouble("heartbeat", err)
		}
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.health.answered(time.Now())
	for i, a := range attempts {
		if cause := gone[i]; cause != nil {
			a.doom(cause)
			continue
		}
		a.leaseUntil = sent.Add(w.cfg.Lease)
	}
}

// lookOver ends attempts whose lease has run out unrenewed and reports handlers
// that ignore their context.
func (w *Worker) lookOver(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for a := w.attempts.first; a != nil; a = a.next {
		if now.After(a.leaseUntil) {
			a.doom(cyclone.ErrLeaseLost)
		}
		if a.stuck(now) && !a.reported {
			a.reported = true
			w.cfg.Logger.Error("cyclone: handler goes on although its context has ended; it keeps its slot",
				"run", a.claim.ID.String(), "kind", a.kind.Name, "since", a.began)
		}
	}
}

// stuck reports whether the handler ignores that its context has ended. The mutex
// is held.
func (a *attempt) stuck(now time.Time) bool {
	if !a.started {
		return false
	}
	end := a.life.ending.Load()
	return end != nil && now.Sub(end.at) > stuckAfter || a.timeout > 0 && now.Sub(a.began) > a.timeout+stuckAfter
}

// shownAttempts bounds the description of a worker.
const shownAttempts = 100

// describe returns what the CLI shows of this worker. The mutex is held.
func (w *Worker) describe() []byte {
	host, _ := os.Hostname()
	info := queue.WorkerInfo{Host: host, PID: os.Getpid(), Started: w.health.started, Concurrency: w.cfg.Concurrency, Lease: w.cfg.Lease, Busy: w.attempts.n, Stopping: w.stopping}
	for _, q := range w.cfg.Queues {
		info.Queues = append(info.Queues, q.Name)
	}
	for a := w.attempts.first; a != nil && len(info.Running) < shownAttempts; a = a.next {
		if env := a.claim.Envelope; env != nil {
			info.Running = append(info.Running, queue.RunningStep{
				RunID: a.claim.ID, Node: env.Node, Kind: env.Kind, Queue: a.claim.Queue,
				Attempt: a.ordinal, Since: a.now,
			})
		}
	}
	b, err := json.Marshal(info)
	if err != nil {
		w.cfg.Logger.Error("cyclone: describe worker", "error", err)
		return nil
	}
	return b
}
