package main

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	shared "github.com/cyclone-queue/cyclone/bench/internal/machine"
	"github.com/cyclone-queue/cyclone/bench/internal/redisserver"
)

// machine says where the figures come from.
type machine struct {
	shared.Machine
	Redis string `json:"redis"`
}

func describe(ctx context.Context, rdb *redis.Client) (machine, error) {
	fields, err := redisserver.Info(ctx, rdb, "server")
	if err != nil {
		return machine{}, err
	}
	version := "Redis " + fields["redis_version"]
	if valkey := fields["valkey_version"]; valkey != "" {
		version = "Valkey " + valkey
	}
	return machine{shared.Describe(), version}, nil
}

func (m machine) String() string {
	text := fmt.Sprintf("%s, %s, %s, %d CPUs for server and client", m.Redis, m.Go, m.OS, m.CPUs)
	if m.Load >= shared.Busy {
		text += fmt.Sprintf("\nThe machine was busy with other things (load average %.1f): the figures are low and wide.", m.Load)
	}
	return text
}
