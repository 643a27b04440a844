package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/bench/internal/redisserver"
)

// machine says where the figures come from.
type machine struct {
	CPUs  int    `json:"cpus"`
	OS    string `json:"os"`
	Go    string `json:"go"`
	Redis string `json:"redis"`
	// Load is the load average of the minute before the first measurement, 0 where
	// the system does not tell. Anything much above 0 disturbs the figures.
	Load float64 `json:"load_before"`
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
	return machine{
		CPUs: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH,
		Go: runtime.Version(), Redis: version, Load: loadAverage(),
	}, nil
}

func (m machine) String() string {
	text := fmt.Sprintf("%s, %s, %s, %d CPUs for server and client", m.Redis, m.Go, m.OS, m.CPUs)
	if m.Load >= busy {
		text += fmt.Sprintf("\nThe machine was busy with other things (load average %.1f): the figures are low and wide.", m.Load)
	}
	return text
}

// busy is a load average that disturbs.
const busy = 0.5

// loadAverage reads the first field of /proc/loadavg, which only Linux has.
func loadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return load
}
