package queue

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// hearing is one life of the listener's connection.
type hearing struct {
	l        *listener
	d        *deployment
	ctx      context.Context
	end      context.CancelFunc
	channels map[string]*partition

	ready chan struct{} // closed when all partitions are heard, or will not be
	err   error         // why they will not be
	once  sync.Once

	mu    sync.Mutex
	sub   *redis.PubSub
	pongs map[string]chan struct{}
	asked int
}

func newHearing(l *listener, d *deployment) *hearing {
	h := &hearing{
		l: l, d: d, channels: make(map[string]*partition), ready: make(chan struct{}), pongs: make(map[string]chan struct{}),
	}
	h.ctx, h.end = context.WithCancel(l.client.life)
	for _, p := range d.parts {
		h.channels[p.keys.events()] = p
	}
	return h
}

// run hears events until the hearing ends. A start that fails ends it; later the
// connection is replaced as often as it fails.
func (h *hearing) run() {
	defer h.l.drop(h)
	defer h.settle(ErrClosed)
	defer h.end()
	if _, err := h.d.light(h.ctx); err != nil {
		h.settle(fmt.Errorf("make events visible: %w", err))
		return
	}
	var light sync.WaitGroup
	defer light.Wait()
	defer h.end()
	light.Go(h.keepLight)
	trouble := func(err error) {
		if h.settle(fmt.Errorf("subscribe: %w", err)) {
			h.end()
		}
	}
	_ = receive(h.ctx, h.subscribe, trouble, h.handle) // ends with ctx only
}

// settle says how the start went; true for the first to do so.
func (h *hearing) settle(err error) (first bool) {
	h.once.Do(func() {
		first = true
		h.err = err
		close(h.ready)
	})
	return first
}

func (h *hearing) subscribe() *redis.PubSub {
	names := make([]string, 0, len(h.channels))
	for name := range h.channels {
		names = append(names, name)
	}
	sub := h.l.client.rdb.Subscribe(h.ctx, names...)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sub = sub
	return sub
}

func (h *hearing) handle(msg any) {
	switch m := msg.(type) {
	case *redis.Subscription:
		// After the first time events may have been missed.
		if m.Count == len(h.channels) && !h.settle(nil) {
			h.l.missed()
		}
	case *redis.Pong:
		h.pong(m.Payload)
	case *redis.Message:
		if p := h.channels[m.Channel]; p != nil {
			h.l.dispatch(h.ctx, p, m.Payload)
		}
	}
}

// barrierFor bounds the wait for what is still under way on the connection.
const barrierFor = 2 * time.Second

// barrier returns when all events have been handled that were published before it
// was called, as far as the order on one connection can tell.
func (h *hearing) barrier(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, barrierFor)
	defer cancel()
	pong := make(chan struct{})
	h.mu.Lock()
	h.asked++
	name := strconv.Itoa(h.asked)
	h.pongs[name] = pong
	sub := h.sub
	h.mu.Unlock()
	if sub != nil && sub.Ping(ctx, name) == nil {
		select {
		case <-pong:
		case <-ctx.Done():
		case <-h.ctx.Done():
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.pongs, name)
}

func (h *hearing) pong(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if pong := h.pongs[name]; pong != nil {
		delete(h.pongs, name)
		close(pong)
	}
}
