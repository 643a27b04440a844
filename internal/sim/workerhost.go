package sim

import (
	"context"
	"sync"
	"time"
)

// workerHost is a process that works, by whichever driver.
type workerHost struct {
	w    *world
	host *host

	mu      sync.Mutex
	name    string // its tokens begin with it
	cancel  context.CancelFunc
	stopped bool
}

// newWorkerHost returns a host with a context that ends with it.
func (w *world) newWorkerHost() (*workerHost, context.Context) {
	ctx, cancel := context.WithCancel(context.Background())
	h := &workerHost{w: w, host: w.net.newHost(w.name("worker")), cancel: cancel}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.workers = append(w.workers, h)
	return h, ctx
}

func (h *workerHost) id() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.name
}

func (h *workerHost) setID(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.name = name
}

// gone tells that the host takes no more work.
func (h *workerHost) gone() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stopped
}

// leave marks the host as gone, once.
func (h *workerHost) leave() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.stopped
	h.stopped = true
	return !was
}

// living lists the hosts that work.
func (w *world) living() (list []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, h := range w.workers {
		if !h.gone() {
			list = append(list, h.host.name+" "+h.id())
		}
	}
	return list
}

// stop is the soft stop of a worker. Another one takes its place.
func (h *workerHost) stop() {
	if h.leave() {
		h.cancel()
		h.w.replace()
	}
}

// crash ends a worker as a SIGKILL does: nothing that it does from here on reaches
// the server. Its goroutines are told to end as well, for tidiness.
func (w *world) crash(h *workerHost) {
	if !h.leave() {
		return
	}
	w.mu.Lock()
	w.cover.Crashes++
	w.mu.Unlock()
	h.host.crash()
	h.cancel()
	w.replace()
}

// replace starts another worker in a while.
func (w *world) replace() {
	n := uint64(len(w.name("")))
	w.kernel.in(2*time.Second, n, func() {
		if !w.closing.Load() {
			w.startWorker()
		}
	})
}

// startWorker starts a worker of the driver.
func (w *world) startWorker() {
	if w.cfg.Driver == EngineDriver {
		w.startEngine()
		return
	}
	w.startStoreWorker()
}
