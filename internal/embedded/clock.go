package embedded

import (
	"net"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// clock moves the server's time. miniredis would read the time at every
// command of a script; setting it as bytes arrive, which waits for a running
// script, gives scripts the frozen time that they have in Redis. TTLs follow
// the time that was set.
type clock struct {
	mini *miniredis.Miniredis

	mu   sync.Mutex
	now  func() time.Time
	last time.Time
}

func (c *clock) attach(mini *miniredis.Miniredis) {
	c.mini, c.now = mini, time.Now
	c.tick()
	mini.ClockTTL(true)
}

// tick brings the server to the present. Connections race to it, and the mutex
// with last keeps the slower one from setting the time back.
func (c *clock) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.After(c.last) {
		c.last = now
		c.mini.SetTime(now)
	}
}

// SetClock makes now the server's source of time from here on, for TIME and
// for TTLs, and jumps to it at once, forwards or backwards. It is called
// whenever a client's bytes arrive, from any goroutine.
func (s *Server) SetClock(now func() time.Time) {
	s.clock.mu.Lock()
	s.clock.now, s.clock.last = now, time.Time{}
	s.clock.mu.Unlock()
	s.clock.tick()
}

// clockedConn is the server's end of a connection; what it reads carries the
// clock forward.
type clockedConn struct {
	net.Conn
	clock *clock
}

func (c *clockedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.clock.tick()
	}
	return n, err
}
