package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/redis/go-redis/v9"
)

// machine says where the figures come from.
type machine struct {
	CPUs  int    `json:"cpus"`
	OS    string `json:"os"`
	Go    string `json:"go"`
	Redis string `json:"redis"`
}

func describe(ctx context.Context, rdb *redis.Client) (machine, error) {
	fields, err := info(ctx, rdb, "server")
	if err != nil {
		return machine{}, err
	}
	version := "Redis " + fields["redis_version"]
	if valkey := fields["valkey_version"]; valkey != "" {
		version = "Valkey " + valkey
	}
	return machine{
		CPUs: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH,
		Go: runtime.Version(), Redis: version,
	}, nil
}

func (m machine) String() string {
	return fmt.Sprintf("%s, %s, %s, %d CPUs for server and client", m.Redis, m.Go, m.OS, m.CPUs)
}
