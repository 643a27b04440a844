package queue

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/internal/testserver"
)

func TestHealthTellsFacts(t *testing.T) {
	t.Parallel()
	testserver.EachReal(t, func(t *testing.T, s *testserver.RealServer) {
		t.Parallel()
		l := newLab(t, s.Server, Config{Partitions: 2})
		h, err := l.client.Health(l.ctx)
		l.ok(err)
		if h.Prefix != s.Prefix || h.Schema != schemaVersion || h.Partitions != 2 || len(h.Servers) != 1 {
			t.Fatalf("%+v", h)
		}
		got := h.Servers[0]
		if got.Software != s.Name || !strings.Contains(got.Version, ".") || got.Mode != "standalone" || got.UsedMemory == 0 {
			t.Errorf("%+v", got)
		}
		if got.MaxMemory != 64<<20 || got.EvictionPolicy != "allkeys-lru" || !got.Evicts() {
			t.Errorf("memory: %+v", got)
		}
		if !got.AOF || got.Fsync != "always" || got.Snapshots != "900 1" || got.Replicas != 0 {
			t.Errorf("persistence: %+v", got)
		}
		if got.ClockDifference.Abs() > time.Minute || got.RoundTrip <= 0 || got.Unknown != nil {
			t.Errorf("%+v", got)
		}
	}, "--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru", "--appendonly", "yes", "--appendfsync", "always", "--save", "900", "1")
}

// TestHealthNamesWhatItMayNotAsk instead of failing.
func TestHealthNamesWhatItMayNotAsk(t *testing.T) {
	t.Parallel()
	testserver.EachReal(t, func(t *testing.T, s *testserver.RealServer) {
		t.Parallel()
		ctx := t.Context()
		if err := s.Client.Do(ctx, "ACL", "SETUSER", "viewer", "on", ">secret", "~*", "+hmget", "+hsetnx", "+time", "+hello", "+info").Err(); err != nil {
			t.Fatal(err)
		}
		options := s.Options()
		options.Username, options.Password = "viewer", "secret"
		rdb := redis.NewClient(options)
		defer func() { _ = rdb.Close() }()
		c, err := NewClient(rdb, Config{Prefix: s.Prefix})
		if err != nil {
			t.Fatal(err)
		}
		h, err := c.Health(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got := h.Servers[0]
		if got.EvictionPolicy != "noeviction" || got.Evicts() || got.AOF {
			t.Errorf("what INFO tells: %+v", got)
		}
		for _, fact := range []string{"fsync", "snapshots"} {
			if !strings.Contains(got.Unknown[fact], "NOPERM") {
				t.Errorf("%s: %q", fact, got.Unknown[fact])
			}
		}
	})
}

func TestHealthOfTheEmbeddedServer(t *testing.T) {
	t.Parallel()
	bubbled(t, Config{}, func(l *lab) {
		h, err := l.client.Health(l.ctx)
		l.ok(err)
		if len(h.Servers) != 1 || h.Servers[0].ClockDifference != 0 || len(h.Servers[0].Unknown) == 0 {
			l.Errorf("%+v", h)
		}
	})
}
