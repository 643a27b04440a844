package queue

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Health is what can be seen of the servers and the deployment.
type Health struct {
	Prefix     string
	Schema     int
	Partitions int
	// Servers has one entry, on Redis Cluster one per primary.
	Servers []ServerHealth
}

// ServerHealth is what one server says about itself. Facts that it does not tell,
// or not this account, are named in Unknown.
type ServerHealth struct {
	Addr string
	// Software is "redis" or "valkey", Version its version, Mode standalone,
	// sentinel or cluster.
	Software, Version, Mode string
	// UsedMemory and MaxMemory are in bytes; MaxMemory is 0 for no limit.
	UsedMemory, MaxMemory int64
	// EvictionPolicy must be "noeviction": any other one may delete steps.
	EvictionPolicy string
	// AOF tells whether the append-only file is on, and Fsync how it is synced:
	// always, everysec or no. Snapshots is the schedule of snapshots, "" for none.
	AOF       bool
	Fsync     string
	Snapshots string
	Replicas  int
	// ClockDifference is the server's clock minus the local one, within half of
	// RoundTrip.
	ClockDifference, RoundTrip time.Duration
	// Unknown has the reason for each fact that could not be read, by the fact's
	// name.
	Unknown map[string]string
}

// Evicts reports whether the server may delete steps to make room.
func (s *ServerHealth) Evicts() bool {
	return s.EvictionPolicy != "" && s.EvictionPolicy != "noeviction"
}

// Health asks the servers about themselves. What an account may not ask is no
// error but an unknown fact; a server that cannot be reached is one.
func (c *Client) Health(ctx context.Context) (Health, error) {
	d, err := c.open(ctx)
	if err != nil {
		return Health{}, err
	}
	h := Health{Prefix: c.cfg.Prefix, Schema: schemaVersion, Partitions: len(d.parts)}
	var mu sync.Mutex
	err = c.eachServer(ctx, func(ctx context.Context, rdb *redis.Client) error {
		s, err := askServer(ctx, rdb)
		mu.Lock()
		defer mu.Unlock()
		h.Servers = append(h.Servers, s)
		return err
	})
	if err != nil {
		return h, fmt.Errorf("queue: health: %w", err)
	}
	slices.SortFunc(h.Servers, func(a, b ServerHealth) int { return strings.Compare(a.Addr, b.Addr) })
	return h, nil
}

// eachServer calls f for each server that holds keys, some at the same time.
func (c *Client) eachServer(ctx context.Context, f func(context.Context, *redis.Client) error) error {
	switch rdb := c.rdb.(type) {
	case *redis.ClusterClient:
		return rdb.ForEachMaster(ctx, f)
	case *redis.Ring:
		return rdb.ForEachShard(ctx, f)
	case *redis.Client:
		return f(ctx, rdb)
	}
	return fmt.Errorf("a client of type %T cannot be asked", c.rdb)
}
