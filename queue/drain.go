package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
)

// How often a drain counts: again soon when something has happened, and by itself.
const (
	drainSoon = 50 * time.Millisecond
	drainLate = 5 * time.Second
)

// Drain waits until a queue is empty: nothing waits in it, for a worker or for a
// time, and nothing runs. It changes nothing. It returns ctx's error when that is
// done first.
func (c *Client) Drain(ctx context.Context, queue string) error {
	if err := wire.CheckName("queue", queue); err != nil {
		return fmt.Errorf("queue: drain: %w", err)
	}
	d, err := c.open(ctx)
	if err != nil {
		return err
	}
	sub, err := c.Subscribe(ctx, EventFilter{Queues: []string{queue}, Types: []cyclone.EventType{
		cyclone.EventCompleted, cyclone.EventFailed, cyclone.EventDiscarded, cyclone.EventCancelled, cyclone.EventDeleted,
	}})
	if err == nil {
		defer func() { _ = sub.Close() }()
	} else if sub = nil; !errors.Is(err, ErrFull) { // at maxmemory it can only count
		return fmt.Errorf("queue: drain %s: %w", queue, err)
	}
	for {
		q, err := d.counts(ctx, queue)
		if err != nil {
			return fmt.Errorf("queue: drain %s: %w", queue, err)
		}
		if q.Unfinished() == 0 {
			return nil
		}
		if err := c.restDrain(ctx, sub); err != nil {
			return err
		}
	}
}

// restDrain waits for events, or a while, and then a little longer for those that
// come in one go.
func (c *Client) restDrain(ctx context.Context, sub *Subscription) error {
	var wake <-chan struct{}
	if sub != nil {
		wake = sub.wake
	}
	late := time.NewTimer(drainLate)
	defer late.Stop()
	select {
	case <-wake:
		late.Reset(drainSoon)
		select {
		case <-late.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	case <-late.C:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.life.Done():
		return ErrClosed
	}
	if sub != nil {
		sub.clear()
	}
	return nil
}
