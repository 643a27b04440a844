package embedded

import (
	"net"
	"sync"
)

// outboxLimit is how many unread bytes a connection may owe its client before
// it is closed: Redis' hard limit for slow subscribers.
const outboxLimit = 32 << 20

// outbox is the server's end of an in-process connection. A pipe has no buffer
// where a socket has one: the server, which publishes while it holds its lock,
// would stand still until a subscriber reads, and a client that writes a long
// pipeline before reading would wait for itself. So writes are taken at once
// and a goroutine carries them across.
type outbox struct {
	net.Conn

	mu      sync.Mutex
	changed *sync.Cond
	pending []byte
	closed  bool
}

func newOutbox(conn net.Conn) *outbox {
	o := &outbox{Conn: conn}
	o.changed = sync.NewCond(&o.mu)
	return o
}

// Write takes all of p, or returns net.ErrClosed.
func (o *outbox) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.pending)+len(p) > outboxLimit {
		_ = o.shut()
	}
	if o.closed {
		return 0, net.ErrClosed
	}
	o.pending = append(o.pending, p...)
	o.changed.Signal()
	return len(p), nil
}

// pump writes what is pending until the connection ends.
func (o *outbox) pump() {
	for {
		out, ok := o.take()
		if !ok {
			return
		}
		if _, err := o.Conn.Write(out); err != nil {
			_ = o.Close()
			return
		}
	}
}

func (o *outbox) take() (out []byte, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.pending) == 0 && !o.closed {
		o.changed.Wait()
	}
	out, o.pending = o.pending, nil
	return out, !o.closed
}

// Close ends the connection; what is pending is dropped.
func (o *outbox) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.shut()
}

func (o *outbox) shut() error {
	o.closed = true
	o.changed.Signal()
	return o.Conn.Close()
}
