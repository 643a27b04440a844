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

// ProcessPipelineHook stands around each call that travels with others.
func (p *Tap) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			if err := p.before(cmd); err != nil {
				return err
			}
		}
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			p.after(cmd, cmd.Err())
		}
		return err
	}
}

// ProcessHook stands around each call.
func (p *Tap) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := p.before(cmd); err != nil {
			return err
		}
		err := next(ctx, cmd)
		p.after(cmd, err)
		return err
	}
}

// watched tells whether the command is a call of the script: by its SHA, or whole when
// the server does not know it yet.
func (p *Tap) watched(cmd redis.Cmder) bool {
	args := cmd.Args()
	if len(args) < 4 || args[1] != p.Script.SHA && args[1] != p.Script.Source {
		return false
	}
	return strings.Contains(Text(args[3]), fmt.Sprintf("{%d}", p.Partition))
}

// Text returns an argument of a command that is a text, by value or by reference, and
// nothing for any other.
func Text(arg any) string {
	switch v := arg.(type) {
	case string:
		return v
	case *string:
		return *v
	}
	return ""
}

func (p *Tap) before(cmd redis.Cmder) error {
	if !p.watched(cmd) {
		return nil
	}
	p.calls.Add(1)
	if p.Before == nil {
		return nil
	}
	err := p.Before()
	if err != nil {
		cmd.SetErr(err)
	}
	return err
}

func (p *Tap) after(cmd redis.Cmder, err error) {
	raw, ok := cmd.(*redis.Cmd)
	if !ok || err != nil || p.After == nil || !p.watched(cmd) {
		return
	}
	if reply, err := raw.Slice(); err == nil {
		p.After(reply)
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
