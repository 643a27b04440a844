package cyclonetest

import (
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/embedded"
	"github.com/cyclone-queue/cyclone/queue"
)

// NewRedis returns a client of a Redis-compatible server of the test's own. The
// server is part of the process and listens on nothing: it is reached through
// this client alone. Both are closed when the test ends; inside a
// testing/synctest bubble both belong to the bubble.
//
// Use it for a [queue.Client] with a configuration, or for two on one server.
func NewRedis(t testing.TB) *redis.Client {
	t.Helper()
	s, err := embedded.InProcess()
	if err != nil {
		t.Fatalf("cyclonetest: %v", err)
	}
	rdb := s.Client()
	rdb.AddHook(watch{&server{embedded: s, used: make(chan struct{}, 1)}})
	t.Cleanup(func() {
		_ = rdb.Close()
		s.Close()
	})
	return rdb
}

// NewClient returns a client on a server of its own, see [NewRedis], with the
// default configuration. It logs to the test's output and is closed when the
// test ends.
func NewClient(t testing.TB, opts ...cyclone.ClientOption) *queue.Client {
	t.Helper()
	client, err := queue.NewClient(NewRedis(t), queue.Config{Logger: logger(t)}, opts...)
	if err != nil {
		t.Fatalf("cyclonetest: %v", err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// logger writes to the test's output, which is shown when the test fails.
func logger(t testing.TB) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }
