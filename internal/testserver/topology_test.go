package testserver_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/internal/testserver"
)

func TestClusterServesAllSlots(t *testing.T) {
	t.Parallel()
	c := testserver.StartCluster(t, testserver.Redis, 3)
	rdb := redis.NewUniversalClient(c.Options())
	defer func() { _ = rdb.Close() }()
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		if err := rdb.Set(t.Context(), key, key, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, node := range c.Nodes {
		if n := node.Client.DBSize(t.Context()).Val(); n == 0 {
			t.Errorf("%s has no key", node.Addr())
		}
	}
}

func TestSentinelsFailOver(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("waits for a failover")
	}
	s := testserver.StartSentinel(t, testserver.Redis, 1, 1)
	rdb := redis.NewUniversalClient(s.Options())
	defer func() { _ = rdb.Close() }()
	if err := rdb.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if now := s.Failover(); now != s.Replicas[0].Addr() {
		t.Errorf("%s is the primary, want %s", now, s.Replicas[0].Addr())
	}
	if got, err := rdb.Get(t.Context(), "k").Result(); err != nil || got != "v" {
		t.Errorf("after the failover: %q (%v)", got, err)
	}
}
