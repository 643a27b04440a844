package testserver_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/internal/testserver"
)

func TestRealTakesConfiguration(t *testing.T) {
	t.Parallel()
	testserver.EachReal(t, func(t *testing.T, s *testserver.RealServer) {
		t.Parallel()
		got, err := s.Client.ConfigGet(t.Context(), "maxmemory").Result()
		if err != nil || got["maxmemory"] != "8388608" {
			t.Fatalf("maxmemory %v (%v), want 8388608", got, err)
		}
	}, "--maxmemory", "8mb")
}

func TestKillAndRestartKeepTheAppendOnlyFile(t *testing.T) {
	t.Parallel()
	testserver.EachReal(t, func(t *testing.T, s *testserver.RealServer) {
		t.Parallel()
		addr := s.Addr()
		if err := s.Client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
			t.Fatal(err)
		}
		s.Kill()
		o := s.Options()
		o.MaxRetries = -1
		dead := redis.NewClient(o)
		defer func() { _ = dead.Close() }()
		if err := dead.Ping(t.Context()).Err(); err == nil {
			t.Fatal("a killed server answered")
		}
		s.Restart()
		if got, err := s.Client.Get(t.Context(), "k").Result(); err != nil || got != "v" || s.Addr() != addr {
			t.Fatalf("after the restart on %s: %q (%v)", s.Addr(), got, err)
		}
	}, "--appendonly", "yes")
}

func TestStopFreezesUntilCont(t *testing.T) {
	t.Parallel()
	s := testserver.Real(t)
	o := s.Options()
	o.MaxRetries, o.ReadTimeout, o.ContextTimeoutEnabled = -1, 100*time.Millisecond, true
	c := redis.NewClient(o)
	defer func() { _ = c.Close() }()
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := c.Ping(ctx).Err(); err == nil {
		t.Fatal("a stopped server answered")
	}
	s.Cont()
	if err := s.Client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestRealLeavesNoDirectory(t *testing.T) {
	t.Parallel()
	var dir string
	t.Run("inner", func(t *testing.T) {
		s := testserver.Real(t)
		dir = s.Dir()
		if _, err := os.Stat(dir); err != nil {
			t.Fatal(err)
		}
	})
	if _, err := os.Stat(dir); dir != "" && !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("%s: %v, want it gone", dir, err)
	}
}
