package bounds

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// metric is what a figure counts, for each job or step.
type metric string

const (
	scriptCalls   metric = "script calls"
	commands      metric = "Redis commands" // those that scripts call and those that clients send, script calls apart
	bytesSent     metric = "bytes sent"
	bytesReceived metric = "bytes received"
	allocations   metric = "Go allocations" // of the whole process
	redisBytes    metric = "bytes in Redis"
)

// sample is what one round yielded, for each job or step.
type sample map[metric]float64

// reading is where the counters stand.
type reading struct {
	scripts, commands, sent, received, allocations float64
}

func (l *lab) read(ctx context.Context) (r reading, err error) {
	if r.scripts, r.commands, err = commandCounts(ctx, l.server.Client); err != nil {
		return r, err
	}
	r.sent, r.received = float64(l.traffic.sent.Load()), float64(l.traffic.received.Load())
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	r.allocations = float64(memory.Mallocs)
	return r, nil
}

// metered returns what work cost for each of n jobs.
func (l *lab) metered(ctx context.Context, n int, work func() error) (sample, error) {
	before, err := l.read(ctx)
	if err != nil {
		return nil, err
	}
	if err := work(); err != nil {
		return nil, err
	}
	after, err := l.read(ctx)
	if err != nil {
		return nil, err
	}
	each := func(before, after float64) float64 { return (after - before) / float64(n) }
	return sample{
		scriptCalls:   each(before.scripts, after.scripts),
		commands:      each(before.commands, after.commands),
		bytesSent:     each(before.sent, after.sent),
		bytesReceived: each(before.received, after.received),
		allocations:   each(before.allocations, after.allocations),
	}, nil
}

// weighed returns what Redis keeps for each of n jobs after work.
func (l *lab) weighed(ctx context.Context, n int, work func() error) (sample, error) {
	before, err := memory(ctx, l.server.Client)
	if err != nil {
		return nil, err
	}
	if err := work(); err != nil {
		return nil, err
	}
	after, err := memory(ctx, l.server.Client)
	return sample{redisBytes: (after - before) / float64(n)}, err
}

// unjudged are commands that open a connection, or that the meter itself sends.
var unjudged = map[string]bool{"hello": true, "client": true, "auth": true, "select": true, "info": true, "ping": true}

// commandCounts returns how many scripts and how many other commands the server has run.
func commandCounts(ctx context.Context, rdb redis.UniversalClient) (scripts, others float64, err error) {
	fields, err := info(ctx, rdb, "commandstats")
	if err != nil {
		return 0, 0, err
	}
	for name, value := range fields {
		name, _, _ = strings.Cut(strings.TrimPrefix(name, "cmdstat_"), "|")
		calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
		n, err := strconv.ParseFloat(calls, 64)
		switch {
		case err != nil:
			return 0, 0, fmt.Errorf("INFO commandstats: %s has no calls: %q", name, value)
		case name == "evalsha" || name == "eval":
			scripts += n
		case !unjudged[name]:
			others += n
		}
	}
	return scripts, others, nil
}

// memory is what the server has allocated, without the buffers of its clients.
func memory(ctx context.Context, rdb redis.UniversalClient) (float64, error) {
	fields, err := info(ctx, rdb, "memory")
	if err != nil {
		return 0, err
	}
	var values [2]float64
	for i, name := range []string{"used_memory", "mem_clients_normal"} {
		if values[i], err = strconv.ParseFloat(fields[name], 64); err != nil {
			return 0, fmt.Errorf("INFO memory: %s is %q", name, fields[name])
		}
	}
	return values[0] - values[1], nil
}

// info returns the fields of one section of INFO.
func info(ctx context.Context, rdb redis.UniversalClient, section string) (map[string]string, error) {
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
