package queue

import (
	"context"
	"sync"
	"time"
)

// linger is how long the shared connection stays after its last user has left.
const linger = 3 * time.Second

// listener is the client's one connection on which events arrive, shared by all
// subscriptions and waiting calls. It is there while anybody uses it.
type listener struct {
	client *Client

	mu     sync.Mutex
	closed bool
	now    *hearing // nil while there is no connection
	users  int
	idle   *time.Timer
	subs   map[*Subscription]struct{}
	waits  map[string]map[*waiter]struct{} // by id
}

// use adds a user, who has to leave.
func (l *listener) use() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users++
	if l.idle != nil {
		l.idle.Stop()
		l.idle = nil
	}
}

// add lets a subscription hear events.
func (l *listener) add(s *Subscription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.subs == nil {
		l.subs = make(map[*Subscription]struct{})
	}
	l.subs[s] = struct{}{}
}

// addWaiter lets a waiting call hear of a run's end.
func (l *listener) addWaiter(id string, w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waits == nil {
		l.waits = make(map[string]map[*waiter]struct{})
	}
	if l.waits[id] == nil {
		l.waits[id] = make(map[*waiter]struct{})
	}
	l.waits[id][w] = struct{}{}
}

func (l *listener) leave(remove func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	remove()
	if l.users--; l.users == 0 && l.now != nil {
		h := l.now
		l.idle = time.AfterFunc(linger, func() { l.stopIdle(h) })
	}
}

func (l *listener) stopIdle(h *hearing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.users == 0 && l.now == h {
		l.now = nil
		h.end()
	}
}

// close ends the connection for good.
func (l *listener) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.idle != nil {
		l.idle.Stop()
	}
	if l.now != nil {
		l.now.end()
		l.now = nil
	}
}

// hear returns when all events are heard, or with the reason why they are not. It
// is for users.
func (l *listener) hear(ctx context.Context) (*hearing, error) {
	d, err := l.client.open(ctx)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, ErrClosed
	}
	h := l.now
	if h == nil {
		h = newHearing(l, d)
		l.now = h
		l.client.work.Go(h.run)
	}
	l.mu.Unlock()
	select {
	case <-h.ready:
		return h, h.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// drop forgets a hearing that has ended.
func (l *listener) drop(h *hearing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == h {
		l.now = nil
	}
}

// missed tells all users that events may be missing.
func (l *listener) missed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.subs {
		s.lag()
	}
	for _, set := range l.waits {
		for w := range set {
			w.look()
		}
	}
}
