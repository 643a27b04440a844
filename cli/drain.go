package cli

import (
	"context"
	"errors"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/cyclone-queue/cyclone/cli/internal/terminal"
	"github.com/cyclone-queue/cyclone/queue"
)

func (p *program) drainCommand() *urfave.Command {
	return &urfave.Command{
		Name: "drain", Category: groupOperate, ArgsUsage: "QUEUE",
		Usage:       "wait until nothing waits or runs in a queue",
		Description: "It changes nothing: workers do the work, and producers may add to it. `purge` is what deletes.",
		Flags: []urfave.Flag{
			&urfave.DurationFlag{Name: "timeout", Usage: "give up after `DURATION`", DefaultText: "never"},
		},
		Action: p.drain,
	}
}

// drainShown is how often the count is shown.
const drainShown = time.Second

func (p *program) drain(c *urfave.Context) error {
	timeout := c.Duration("timeout")
	if timeout < 0 {
		return usagef("", "--timeout is %v: must not be negative", timeout)
	}
	client, name, err := p.onQueue(c)
	if err != nil {
		return err
	}
	if q, err := p.drained(c.Context, client, name); err != nil || q == nil {
		return err
	}
	ctx := c.Context
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	done := make(chan error, 1)
	go func() { done <- client.Drain(ctx, name) }()
	if err := p.watchDrain(ctx, client, name, done); err != nil {
		if errors.Is(err, context.DeadlineExceeded) && c.Context.Err() == nil {
			return refusedf("`cyclone queues "+name+"` shows what is there; `cyclone workers` who works on it.", "%s is not empty after %v", name, timeout)
		}
		return err
	}
	p.did(single{Operation: "drain", Queue: name}, "%s is empty", name)
	return nil
}

// drained returns the queue, or nil after having said that it is empty.
func (p *program) drained(ctx context.Context, client *queue.Client, name string) (*queue.QueueInfo, error) {
	all, err := client.Queues(ctx)
	if err != nil {
		return nil, err
	}
	q, err := pick(all, name)
	if err != nil {
		return nil, err
	}
	if q.Unfinished() == 0 {
		p.did(single{Operation: "drain", Queue: name}, "%s is empty", name)
		return nil, nil
	}
	if q.Paused {
		p.note("%s is paused: it empties only after `cyclone resume %s`.", name, name)
	}
	return &q, nil
}

// watchDrain shows how much is left until done says how it ended.
func (p *program) watchDrain(ctx context.Context, client *queue.Client, name string, done <-chan error) error {
	bar := p.progress()
	defer bar.done()
	ticker := time.NewTicker(drainShown)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-ticker.C:
		}
		all, err := client.Queues(ctx)
		if err != nil {
			continue // done tells
		}
		if q, err := pick(all, name); err == nil {
			bar.tell("%s left in %s", terminal.Plural(q.Unfinished(), "step", "steps"), name)
		}
	}
}
