package sim

import (
	"sync"
	"time"

	"github.com/cyclone-queue/cyclone/internal/embedded"
)

// serverClock is the server's idea of the time: the bubble's, and an error that
// changes by jumps.
type serverClock struct {
	mu     sync.Mutex
	server *embedded.Server
	error  time.Duration
	jumped time.Time // when it last jumped
}

func (c *serverClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.error)
}

func (c *serverClock) lastJump() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.jumped
}

// ms is the time as scripts see it.
func (c *serverClock) ms() int64 { return c.now().UnixMilli() }

// jump moves the clock by d.
func (c *serverClock) jump(d time.Duration) {
	c.mu.Lock()
	c.error += d
	c.jumped = time.Now()
	c.mu.Unlock()
	c.server.SetClock(c.now)
}
