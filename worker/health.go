package worker

import (
	"context"
	"errors"
	"time"
)

// Health is how a worker is doing.
type Health struct {
	// Running is the number of attempts under way, Free that of idle slots.
	Running, Free int
	// LastReply is when Redis last answered, zero for never.
	LastReply time.Time
	// Err is why the worker cannot fetch or store at the moment, nil when it can.
	Err error
	// Stuck is the number of handlers that go on although their context has ended.
	Stuck int
	// Stopping tells that Run's context is done: the worker claims nothing more.
	Stopping bool
}

// health is guarded by the worker's mutex.
type health struct {
	started   time.Time
	lastReply time.Time
	err       error
	logged    map[string]time.Time
}

func (h *health) answered(now time.Time) {
	h.lastReply, h.err = now, nil
}

// Health tells how the worker is doing; for a readiness probe.
func (w *Worker) Health() Health {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := Health{Running: w.attempts.n, Free: w.free, LastReply: w.health.lastReply, Err: w.health.err, Stopping: w.stopping}
	for a := w.attempts.first; a != nil; a = a.next {
		if a.stuck(time.Now()) {
			h.Stuck++
		}
	}
	return h
}

// trouble notes an error for Health and logs it, each duty's at most once a
// second.
func (w *Worker) trouble(duty string, err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	if w.quiet("duty "+duty, time.Second, err) {
		return
	}
	w.cfg.Logger.Error("cyclone: "+duty+" failed; it is tried again", "worker", w.id, "error", err)
}

// unknown reports a kind without a definition, at most once a minute each.
func (w *Worker) unknown(kind string) {
	if w.quiet("kind "+kind, time.Minute, nil) {
		return
	}
	w.cfg.Logger.Warn("cyclone: no definition for this kind; its steps are put back for a worker that has one", "kind", kind, "worker", w.id)
}

// maxLogged bounds what is remembered for keeping quiet.
const maxLogged = 1000

// quiet notes err and reports whether key was logged within d.
func (w *Worker) quiet(key string, d time.Duration, err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.health.err = err
	}
	now := time.Now()
	if last, ok := w.health.logged[key]; ok && now.Sub(last) < d {
		return true
	}
	if w.health.logged == nil || len(w.health.logged) >= maxLogged {
		w.health.logged = make(map[string]time.Time)
	}
	w.health.logged[key] = now
	return false
}
