package queue

import (
	"context"
	"fmt"

	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// Pause stops the claims of a queue, on every partition; what runs goes on, and
// steps can be enqueued. Pausing a paused queue is no error.
func (c *Client) Pause(ctx context.Context, queue string) error {
	return c.setPaused(ctx, queue, true)
}

// Resume lets a paused queue go on. Resuming one that is not paused is no error.
func (c *Client) Resume(ctx context.Context, queue string) error {
	return c.setPaused(ctx, queue, false)
}

func (c *Client) setPaused(ctx context.Context, queue string, pause bool) error {
	if err := wire.CheckName("queue", queue); err != nil {
		return fmt.Errorf("queue: pause or resume: %w", err)
	}
	d, err := c.open(ctx)
	if err != nil {
		return err
	}
	for _, p := range d.parts {
		keys := luascripts.PauseKeys{Sess: p.keys.sess(), Paused: p.keys.paused(), Waiters: p.keys.queue(queue).waiters}
		_, err := p.operate(ctx, luascripts.Pause, func(call *luascripts.Call) {
			luascripts.PauseCall(call, keys, luascripts.Session{}, p.channels(), p.number, queue, pause)
		})
		if err != nil {
			return fmt.Errorf("queue: pause or resume %s: %w", queue, err)
		}
	}
	return nil
}
