package sim

import (
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"time"
)

var errReset = errors.New("sim: connection reset")

// link is the client's end of a connection.
type link struct {
	host   *host
	server net.Conn

	mu      sync.Mutex
	changed *sync.Cond
	inbox   []byte
	out     []byte    // of a command that is not complete
	err     error     // of every call from now on
	silent  bool      // the far end is gone, and nothing tells
	deaf    bool      // replies are lost
	sent    time.Time // when the latest request arrives
	heard   time.Time // when the latest reply arrives
	limit   time.Time // of reads
	alarm   *time.Timer
	current *delivery // what the server works on
}

func newLink(h *host, server net.Conn) *link {
	l := &link{host: h, server: server}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// Write takes requests and plans their arrival.
func (l *link) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return 0, l.err
	}
	l.out = append(l.out, p...)
	for {
		args, n := cutCommand(l.out)
		if n == 0 {
			return len(p), nil
		}
		raw := append([]byte(nil), l.out[:n]...)
		l.out = l.out[n:]
		l.host.mu.Lock()
		m, latency := l.host.net.plan(l.host, raw, args)
		l.host.mu.Unlock()
		l.sent = latest(time.Now().Add(latency), l.sent.Add(1))
		l.host.net.k.at(l.sent, m.key, func() { l.arrive(m) })
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// arrive is a request at the server's door.
func (l *link) arrive(m *message) {
	n := l.host.net
	if d := l.host.thawsIn(); d > 0 && !handshake(m.args) {
		l.mu.Lock()
		l.sent = latest(time.Now().Add(d), l.sent.Add(1))
		n.k.at(l.sent, m.key, func() { l.arrive(m) })
		l.mu.Unlock()
		return
	}
	l.mu.Lock()
	silent := l.silent
	l.mu.Unlock()
	if silent {
		return
	}
	switch m.fate {
	case lostRequest:
		n.cover.LostRequests++
		l.cut(m.rng)
		return
	case late:
		n.cover.LateRequests++
		n.orphan(l.host.name, m, n.lateBy(m.rng))
		l.cut(m.rng)
		return
	case duplicated:
		n.cover.Duplicates++
		n.orphan(l.host.name, m, n.lateBy(m.rng))
	}
	d := &delivery{host: l.host.name, args: m.args, content: m.content}
	l.mu.Lock()
	l.current = d
	l.deaf = l.deaf || m.fate == lostReply
	l.mu.Unlock()
	n.begin(d)
	_, _ = l.server.Write(m.raw)
	if m.fate == lostReply {
		n.cover.LostReplies++
		l.cut(m.rng)
		if s := scriptOf(m.args); n.faults.Full > 0 && s != nil && s.Name == "enqueue" && m.rng.IntN(2) == 0 {
			// What was stored already is asked for again.
			n.k.in(time.Nanosecond, m.key, func() { n.fillUp(m.rng) })
		}
	}
}

// lateBy is how much later a request arrives: soon, or after leases have ended.
func (n *network) lateBy(rng *rand.Rand) time.Duration {
	if rng.IntN(2) == 0 {
		return time.Duration(rng.Int64N(int64(200 * time.Millisecond)))
	}
	return time.Duration(rng.Int64N(int64(20 * time.Second)))
}

// cut breaks the connection: the client is told soon, or never.
func (l *link) cut(rng *rand.Rand) {
	l.mu.Lock()
	l.silent = true
	l.mu.Unlock()
	if rng.IntN(3) > 0 {
		l.host.net.k.in(time.Duration(rng.Int64N(int64(time.Millisecond))), rng.Uint64(), func() { l.hangUp(errReset) })
	}
}

// hangUp ends the connection on both sides. What has been sent still arrives.
func (l *link) hangUp(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	l.err = err
	l.changed.Broadcast()
	l.host.net.k.at(latest(l.sent, time.Now()).Add(1), 0, func() { _ = l.server.Close() })
}

// listen reads what the server writes.
func (l *link) listen() {
	buf := make([]byte, 16<<10)
	for {
		n, err := l.server.Read(buf)
		if n > 0 {
			l.fromServer(append([]byte(nil), buf[:n]...))
		}
		if err != nil {
			l.hangUp(net.ErrClosed)
			return
		}
	}
}

// fromServer plans the arrival of a reply or a message.
func (l *link) fromServer(b []byte) {
	n := l.host.net
	l.mu.Lock()
	defer l.mu.Unlock()
	current := l.current != nil && l.current == n.busy
	if current {
		b = n.refuse.answer(b)
		l.current.reply = append(l.current.reply, b...)
	}
	if l.deaf || len(b) == 0 {
		return
	}
	l.host.mu.Lock()
	key := hashOf(n.seed, []byte(l.host.name), []byte("reply"), veil(b))
	l.host.seen[key]++
	key = hashOf(key, []byte{byte(l.host.seen[key])})
	l.host.mu.Unlock()
	wait := n.latency(rand.New(rand.NewPCG(n.seed, key)))
	hello := current && handshake(l.current.args)
	if hello {
		wait = 0
	}
	if current {
		l.current.wait = wait
	}
	l.heard = latest(time.Now().Add(wait), l.heard.Add(1))
	n.k.at(l.heard, key, func() { l.deliver(key, b, hello) })
}

// deliver gives a reply to the client.
func (l *link) deliver(key uint64, b []byte, hello bool) {
	d := l.host.thawsIn()
	l.mu.Lock()
	defer l.mu.Unlock()
	if d > 0 && !hello {
		l.heard = latest(time.Now().Add(d), l.heard.Add(1))
		l.host.net.k.at(l.heard, key, func() { l.deliver(key, b, hello) })
		return
	}
	l.inbox = append(l.inbox, b...)
	l.changed.Broadcast()
}

// Read waits for a reply.
func (l *link) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.inbox) == 0 {
		switch {
		case l.err != nil:
			return 0, l.err
		case !l.limit.IsZero() && !time.Now().Before(l.limit):
			return 0, os.ErrDeadlineExceeded
		}
		l.changed.Wait()
	}
	n := copy(p, l.inbox)
	l.inbox = l.inbox[n:]
	return n, nil
}

// Close ends the connection; what has been sent still arrives.
func (l *link) Close() error {
	l.hangUp(net.ErrClosed)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.alarm != nil {
		l.alarm.Stop()
	}
	return nil
}

// SetReadDeadline bounds reads. Writes never block.
func (l *link) SetReadDeadline(t time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limit = t
	if l.alarm != nil {
		l.alarm.Stop()
		l.alarm = nil
	}
	if !t.IsZero() {
		l.alarm = time.AfterFunc(time.Until(t), l.changed.Broadcast)
	}
	return nil
}

// SetDeadline is SetReadDeadline.
func (l *link) SetDeadline(t time.Time) error { return l.SetReadDeadline(t) }

// SetWriteDeadline does nothing.
func (l *link) SetWriteDeadline(time.Time) error { return nil }

// LocalAddr and RemoteAddr are of no network.
func (l *link) LocalAddr() net.Addr  { return addr{} }
func (l *link) RemoteAddr() net.Addr { return addr{} }

type addr struct{}

func (addr) Network() string { return "sim" }
func (addr) String() string  { return "sim" }
