package main

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/bench/internal/parallel"
	"github.com/cyclone-queue/cyclone/bench/internal/redisserver"
)

var idleCase = benchCase{
	name:      "idle",
	about:     "what a worker with nothing to do asks of Redis, one queue and one partition",
	maxRounds: 2,
	cyclone:   cycloneIdle,
	figures: []figure{
		{"idle worker, commands sent per second", clientCommands, target{of: medianValue, atMost: true, bound: 2}},
		{"  with those inside scripts", countedCommands, target{}},
	},
}

// cycloneIdle runs one job, so that the worker has seen work, and then watches.
func cycloneIdle(ctx context.Context, l *lab) (sample, error) {
	count, sent := newCountdown(1), &commandCounter{}
	action := noop(count)
	w, err := l.work(ctx, action, sent)
	if err != nil {
		return nil, err
	}
	err = w.fill(ctx, 1, plain(action))
	if err == nil {
		err = w.await(ctx, count.done)
	}
	var s sample
	if err == nil {
		s, err = l.watchIdle(ctx, sent)
	}
	return s, errors.Join(err, w.stop())
}

// watchIdle lets the worker calm down and then counts for a while.
func (l *lab) watchIdle(ctx context.Context, sent *commandCounter) (sample, error) {
	if err := parallel.Pause(ctx, l.size.idle/4); err != nil {
		return nil, err
	}
	before, err := redisserver.CommandCounts(ctx, l.admin)
	if err != nil {
		return nil, err
	}
	sentBefore := sent.total.Load()
	if err := parallel.Pause(ctx, l.size.idle); err != nil {
		return nil, err
	}
	sentAfter := sent.total.Load()
	after, err := redisserver.CommandCounts(ctx, l.admin)
	if err != nil {
		return nil, err
	}
	all, subscriptions := 0, 0
	for name, calls := range after {
		switch calls -= before[name]; name {
		case "info": // our own
			continue
		case "ping", "subscribe", "unsubscribe":
			subscriptions += calls
		}
		all += calls
	}
	seconds := l.size.idle.Seconds()
	return sample{
		clientCommands:  float64(int(sentAfter-sentBefore)+subscriptions) / seconds,
		countedCommands: float64(all) / seconds,
	}, nil
}

// commandCounter is a go-redis hook that counts what a client sends, pings and
// subscriptions aside: those bypass hooks, and the server counts them.
type commandCounter struct{ total atomic.Int64 }

func (c *commandCounter) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (c *commandCounter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "ping" {
			c.total.Add(1)
		}
		return next(ctx, cmd)
	}
}

func (c *commandCounter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		c.total.Add(int64(len(commands)))
		return next(ctx, commands)
	}
}
