package server

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/bench/internal/redisserver"
)

type redisServer struct {
	*redisserver.Server
	admin   *redis.Client
	version string
}

// Redis starts a redis-server from PATH.
func Redis(ctx context.Context, o Options) (Server, error) {
	started, err := redisserver.Start(ctx, o.Persist)
	if err != nil {
		return nil, err
	}
	s := &redisServer{Server: started, admin: redis.NewClient(&redis.Options{Addr: started.Address, PoolSize: 1})}
	fields, err := redisserver.Info(ctx, s.admin, "server")
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	s.version = "Redis " + fields["redis_version"]
	return s, nil
}

func (s *redisServer) Address() string { return s.Server.Address }

func (s *redisServer) Version() string { return s.version }

func (s *redisServer) Clear(ctx context.Context) error { return s.admin.FlushAll(ctx).Err() }

func (s *redisServer) Memory(ctx context.Context) (float64, error) {
	return redisserver.Memory(ctx, s.admin)
}

// Commands leaves out INFO, which only this program sends.
func (s *redisServer) Commands(ctx context.Context) (int, error) {
	counts, err := redisserver.CommandCounts(ctx, s.admin)
	total := 0
	for name, n := range counts {
		if name != "info" {
			total += n
		}
	}
	return total, err
}

func (s *redisServer) Stop() error { return errors.Join(s.admin.Close(), s.Server.Stop()) }
