package lab

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// Tap is a hook of go-redis on the calls of one script. Its functions may be nil.
type Tap struct {
	// Script is the one to watch, on one partition.
	Script    *luascripts.Script
	Partition int
	// Before can fail a call instead of sending it.
	Before func() error
	// After sees the reply before the caller does.
	After func(reply []any)

	calls atomic.Int64
}

// Calls returns how many calls there were, failed ones included.
func (p *Tap) Calls() int { return int(p.calls.Load()) }

// DialHook passes on.
func (p *Tap) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook passes on: the watched calls go alone.
func (p *Tap) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook stands around each call.
func (p *Tap) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		// By its SHA, or whole when the server does not know it yet.
		args := cmd.Args()
		if len(args) < 4 || args[1] != p.Script.SHA && args[1] != p.Script.Source {
			return next(ctx, cmd)
		}
		if key, _ := args[3].(string); !strings.Contains(key, fmt.Sprintf("{%d}", p.Partition)) {
			return next(ctx, cmd)
		}
		p.calls.Add(1)
		if p.Before != nil {
			if err := p.Before(); err != nil {
				cmd.SetErr(err)
				return err
			}
		}
		err := next(ctx, cmd)
		if raw, ok := cmd.(*redis.Cmd); ok && err == nil && p.After != nil {
			if reply, err := raw.Slice(); err == nil {
				p.After(reply)
			}
		}
		return err
	}
}

// Counter is a hook of go-redis that counts commands.
type Counter struct{ n atomic.Int64 }

// Count returns how many commands were sent.
func (c *Counter) Count() int { return int(c.n.Load()) }

// DialHook passes on.
func (c *Counter) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook counts one command.
func (c *Counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook counts the commands of a pipeline.
func (c *Counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.n.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}
