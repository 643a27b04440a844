package embedded_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/cyclone-queue/cyclone/internal/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, opts ...embedded.Option) *embedded.Server {
	t.Helper()
	s, err := embedded.Start(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func client(t *testing.T, o *redis.Options) *redis.Client {
	t.Helper()
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestStartListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	s := start(t)
	host, _, err := net.SplitHostPort(s.Addr())
	if err != nil || host != "127.0.0.1" {
		t.Fatalf("address %q (%v), want 127.0.0.1", s.Addr(), err)
	}
	o, err := redis.ParseURL(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	if err := client(t, o).Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.Miniredis().Get("k"); got != "v" {
		t.Fatalf("the engine holds %q, want v", got)
	}
}

func TestPassword(t *testing.T) {
	t.Parallel()
	s := start(t, embedded.Password("p@ss/word"))
	o := s.Options()
	o.Password = ""
	if err := client(t, o).Ping(t.Context()).Err(); err == nil {
		t.Fatal("the server let a client in without the password")
	}
	if err := client(t, s.Options()).Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	o, err := redis.ParseURL(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	if err := client(t, o).Ping(t.Context()).Err(); err != nil {
		t.Fatalf("by the URL: %v", err)
	}
}

func TestPort(t *testing.T) {
	t.Parallel()
	taken := start(t)
	_, port, _ := net.SplitHostPort(taken.Addr())
	n, _ := strconv.Atoi(port)
	if _, err := embedded.Start(embedded.Port(n)); err == nil {
		t.Fatal("two servers on one port")
	}
	taken.Close()
	if again := start(t, embedded.Port(n)); again.Addr() != taken.Addr() {
		t.Fatalf("listens on %s, want %s", again.Addr(), taken.Addr())
	}
}

func TestClosedServerRefuses(t *testing.T) {
	t.Parallel()
	s, err := embedded.InProcess()
	if err != nil {
		t.Fatal(err)
	}
	c := s.Client()
	defer func() { _ = c.Close() }()
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s.Close()
	if err := c.Ping(t.Context()).Err(); err == nil {
		t.Fatal("a closed server answered")
	}
	if _, err := s.Dial(context.Background(), "", ""); !errors.Is(err, net.ErrClosed) {
		t.Fatalf("Dial: %v, want net.ErrClosed", err)
	}
}
