package redisserver

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Info returns the fields of one INFO section.
func Info(ctx context.Context, rdb *redis.Client, section string) (map[string]string, error) {
	text, err := rdb.Info(ctx, section).Result()
	if err != nil {
		return nil, fmt.Errorf("INFO %s: %w", section, err)
	}
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields, nil
}

func infoNumber(fields map[string]string, name string) (float64, error) {
	value, err := strconv.ParseFloat(fields[name], 64)
	if err != nil {
		return 0, fmt.Errorf("INFO gives no number for %s: %q", name, fields[name])
	}
	return value, nil
}

// CPU is the processor time the server has used so far, in µs.
func CPU(ctx context.Context, rdb *redis.Client) (float64, error) {
	fields, err := Info(ctx, rdb, "cpu")
	if err != nil {
		return 0, err
	}
	user, err := infoNumber(fields, "used_cpu_user")
	if err != nil {
		return 0, err
	}
	system, err := infoNumber(fields, "used_cpu_sys")
	return (user + system) * 1e6, err
}

// Memory is what the server has allocated, in bytes, less the buffers of
// its clients, which are no part of the data.
func Memory(ctx context.Context, rdb *redis.Client) (float64, error) {
	fields, err := Info(ctx, rdb, "memory")
	if err != nil {
		return 0, err
	}
	used, err := infoNumber(fields, "used_memory")
	if err != nil {
		return 0, err
	}
	clients, err := infoNumber(fields, "mem_clients_normal")
	return used - clients, err
}

// CommandCounts is how often each command has run, those that scripts call included.
func CommandCounts(ctx context.Context, rdb *redis.Client) (map[string]int, error) {
	fields, err := Info(ctx, rdb, "commandstats")
	if err != nil {
		return nil, err
	}
	counts := map[string]int{}
	for name, value := range fields {
		calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
		n, err := strconv.Atoi(calls)
		if err != nil {
			return nil, fmt.Errorf("INFO commandstats: %s has no calls: %q", name, value)
		}
		counts[strings.TrimPrefix(name, "cmdstat_")] = n
	}
	return counts, nil
}
