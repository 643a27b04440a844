package worker_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/embedded"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// host is one process of a test: its connections are its own.
type host struct {
	t      *testing.T
	server *embedded.Server
	rdb    *redis.Client
	client *queue.Client
	deaf   bool // its subscription brings no messages
}

func newHost(t *testing.T, s *embedded.Server, hook redis.Hook, deaf bool) *host {
	return newHostOf(t, s, hook, deaf, 1)
}

// newHostOf is newHost for a deployment of so many partitions.
func newHostOf(t *testing.T, s *embedded.Server, hook redis.Hook, deaf bool, partitions int) *host {
	h := &host{t: t, server: s, deaf: deaf}
	o := s.Options()
	o.Dialer = h.dial
	h.rdb = redis.NewClient(o)
	if hook != nil {
		h.rdb.AddHook(hook)
	}
	client, err := queue.NewClient(h.rdb, queue.Config{Logger: slog.New(slog.DiscardHandler), Partitions: partitions})
	if err != nil {
		t.Fatal(err)
	}
	h.client = client
	return h
}

func (h *host) close() {
	_ = h.client.Close()
	_ = h.rdb.Close()
}

func (h *host) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := h.server.Dial(ctx, network, addr)
	if err != nil || !h.deaf {
		return conn, err
	}
	return &deafConn{Conn: conn}, nil
}

// run starts a worker and returns what stops it.
func (h *host) run(cfg worker.Config, defs ...cyclone.Definition) (stop func()) {
	cfg.Logger = slog.New(slog.DiscardHandler)
	w, err := worker.New(h.client, cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	w.Register(defs...)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			h.t.Error(err)
		}
	}
}

// deafConn is a connection that brings no message of a subscription.
type deafConn struct {
	net.Conn
	mu         sync.Mutex
	subscribed bool
}

func (c *deafConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.subscribed = c.subscribed || bytes.Contains(p, []byte("subscribe"))
	c.mu.Unlock()
	return c.Conn.Write(p)
}

func (c *deafConn) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		c.mu.Lock()
		deaf := c.subscribed && bytes.Contains(p[:n], []byte("message"))
		c.mu.Unlock()
		if !deaf || err != nil {
			return n, err
		}
	}
}

// slowTurns holds the replies of scripts back for a while once it is on.
type slowTurns struct {
	redis.Hook
	mu    sync.Mutex
	delay time.Duration
}

func (s *slowTurns) set(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = d
}

func (s *slowTurns) DialHook(next redis.DialHook) redis.DialHook { return next }
func (s *slowTurns) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *slowTurns) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		s.mu.Lock()
		d := s.delay
		s.mu.Unlock()
		if d > 0 && cmd.Name() == "evalsha" {
			time.Sleep(d)
		}
		return err
	}
}

// A step that is cancelled after its claim was executed and before the worker was
// told of it does not start.
func TestCancelOvertakesClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := embedded.InProcess()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var slow slowTurns
		there, here := newHost(t, s, &slow, false), newHost(t, s, nil, false)
		defer there.close()
		defer here.close()
		started := 0
		mail := cyclone.NewAction("mail", func(context.Context, string) error { started++; return nil })
		stop := there.run(worker.Config{}, mail)
		defer stop()
		synctest.Wait()

		slow.set(100 * time.Millisecond)
		// A step with a unique key is not handed over: it has to be claimed.
		run, err := cyclone.EnqueueAction(t.Context(), here.client, mail, "x", cyclone.WithUnique(cyclone.Unique{Key: "x"}))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
		if err := here.client.Cancel(t.Context(), run.ID()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if started != 0 {
			t.Error("the handler started for a step that had been cancelled")
		}
		if s.Miniredis().Exists("cyclone:{0}:ghosts") {
			t.Error("a ghost is left")
		}
	})
}

// A worker that was woken for a step and stops before it hears of that passes the
// wake-up on: the next worker does not wait for its fallback.
func TestStopPassesWakeUpOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := embedded.InProcess()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		first, second, here := newHost(t, s, nil, false), newHost(t, s, nil, true), newHost(t, s, nil, false)
		defer first.close()
		defer second.close()
		defer here.close()
		started := make(chan time.Time, 1)
		mail := cyclone.NewAction("mail", func(context.Context, string) error { started <- time.Now(); return nil })
		cfg := worker.Config{Fallback: time.Hour}
		stopFirst := first.run(cfg, mail)
		defer stopFirst()
		time.Sleep(time.Second)
		stopSecond := second.run(cfg, mail) // the newest in line, and deaf
		time.Sleep(time.Second)

		if _, err := cyclone.EnqueueAction(t.Context(), here.client, mail, "x"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if len(started) > 0 {
			t.Fatal("the test is wrong: the deaf worker was not woken")
		}
		stopped := time.Now()
		stopSecond()
		if late := (<-started).Sub(stopped); late > time.Second {
			t.Errorf("the step started %v after the worker that was woken for it had stopped", late)
		}
	})
}
