package queue

import (
	"context"
	"fmt"

	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// Purge deletes what waits in a queue: ready, scheduled, retrying, snoozed
// and waiting steps, with all that is kept of them. What runs or has ended stays. progress, if
// not nil, is called after every hundred steps or so; a purge that was stopped
// goes on when it is called again.
func (c *Client) Purge(ctx context.Context, queue string, progress func(Progress)) (Progress, error) {
	if err := wire.CheckName("queue", queue); err != nil {
		return Progress{}, fmt.Errorf("queue: purge: %w", err)
	}
	d, err := c.open(ctx)
	if err != nil {
		return Progress{}, err
	}
	var done Progress
	for _, p := range d.parts {
		q := p.keys.queue(queue)
		// Retrying before scheduled before ready: promotions go that way.
		for _, key := range []string{q.retrying, q.snoozed, q.waiting, q.scheduled, q.ready[0], q.ready[1], q.ready[2]} {
			list := key == q.ready[0] || key == q.ready[1] || key == q.ready[2]
			if err := p.purge(ctx, queue, key, list, &done, progress); err != nil {
				return done, fmt.Errorf("queue: purge %s: %w", queue, err)
			}
		}
	}
	return done, nil
}

// purge empties one index.
func (p *partition) purge(ctx context.Context, queue, index string, list bool, done *Progress, progress func(Progress)) error {
	k := p.keys
	for {
		held, err := p.nextChildren(ctx, index, list)
		if err != nil {
			return err
		}
		reply, err := p.operate(ctx, luascripts.Purge, func(call *luascripts.Call) {
			luascripts.PurgeCall(call, &luascripts.PurgeKeys{
				Steps: k.steps(), Sess: k.sess(), Ghosts: k.ghosts(), Tries: k.tries(), Uniq: k.uniq(), UniqOf: k.uniqof(),
				Results: k.results(), History: k.history(), Stats: k.stats(), Subs: k.subs(), Sweep: k.sweep(), Index: index,
			}, luascripts.Session{}, p.channels(), queue, list, operateBatch)
		})
		if err != nil {
			return err
		}
		held.tell(ctx)
		taken, deleted := luascripts.PurgeReply(reply)
		done.Seen += taken
		done.Matched += deleted
		done.Done += deleted
		if taken > 0 && progress != nil {
			progress(*done)
		}
		if taken < operateBatch {
			return nil
		}
	}
}
