package lab

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/luascripts"
)

// Loss is a hook of go-redis that loses replies to calls of one script: the call has
// been applied, and its caller sees a broken connection.
type Loss struct {
	Script *luascripts.Script
	// Lose tells whether the next reply is lost. It is called from any goroutine.
	Lose func() bool
}

var errLost = fmt.Errorf("lab: the reply is lost: %w", io.ErrUnexpectedEOF)

// DialHook passes on.
func (h *Loss) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook loses the reply to a call.
func (h *Loss) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if h.loses(cmd, err) {
			return errLost
		}
		return err
	}
}

// ProcessPipelineHook loses the replies to all calls that travel with a lost one.
func (h *Loss) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			if !h.loses(cmd, cmd.Err()) {
				continue
			}
			for _, other := range cmds {
				other.SetErr(errLost)
			}
			return errLost
		}
		return err
	}
}

func (h *Loss) loses(cmd redis.Cmder, err error) bool {
	args := cmd.Args()
	called := len(args) > 1 && (args[1] == h.Script.SHA || args[1] == h.Script.Source)
	if !called || err != nil && !errors.Is(err, redis.Nil) || !h.Lose() {
		return false
	}
	cmd.SetErr(errLost)
	return true
}

// Scripts are those of which a lost reply is made good by sending the call again.
func Scripts() []*luascripts.Script {
	return []*luascripts.Script{
		luascripts.Build, luascripts.Turn, luascripts.Advance, luascripts.Sweep, luascripts.Record, luascripts.Suspend, luascripts.Signal,
		luascripts.Take, luascripts.Extend,
	}
}
