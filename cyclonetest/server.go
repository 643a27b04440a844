package cyclonetest

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/internal/embedded"
)

// server is a test's server as Drain sees it.
type server struct {
	embedded *embedded.Server
	used     chan struct{} // has room for one: somebody but a drain has sent a command

	mu    sync.Mutex
	ahead time.Duration // of the process's clock
}

// setForward sets the server's clock forward.
func (s *server) setForward(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += d
	ahead := s.ahead
	s.embedded.SetClock(func() time.Time { return time.Now().Add(ahead) })
}

// now is the server's time.
func (s *server) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(s.ahead)
}

// askKey is the key of a context that asks which server its commands go to.
type askKey struct{}

// asking returns a context whose commands leave their server in found.
func asking(ctx context.Context, found *atomic.Pointer[server]) context.Context {
	return context.WithValue(ctx, askKey{}, found)
}

// sent sees each command on its way. A client of package queue does not show its
// connection; this is how a drain learns of the server behind it.
func (s *server) sent(ctx context.Context) {
	if found, ok := ctx.Value(askKey{}).(*atomic.Pointer[server]); ok {
		found.Store(s)
		return
	}
	select {
	case s.used <- struct{}{}:
	default:
	}
}

// watch is the hook of the server's clients.
type watch struct{ server *server }

func (w watch) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (w watch) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		w.server.sent(ctx)
		return err
	}
}

func (w watch) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		w.server.sent(ctx)
		return err
	}
}
