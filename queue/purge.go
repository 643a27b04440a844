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
		steps, err := p.nextToPurge(ctx, index, list)
		if err != nil || len(steps) == 0 {
			return err
		}
		held, err := p.holdChildren(ctx, childrenAmong(steps))
		if err != nil {
			return err
		}
		details := detailOf(steps)
		reply, err := p.operate(ctx, luascripts.Purge, func(call *luascripts.Call) {
			luascripts.PurgeCall(call, &luascripts.PurgeKeys{
				Steps: k.steps(), Sess: k.sess(), Ghosts: k.ghosts(), Tries: k.tries(), Uniq: k.uniq(), UniqOf: k.uniqof(),
				Results: k.results(), History: k.history(), Stats: k.stats(), Subs: k.subs(), Sweep: k.sweep(), Index: index,
			}, luascripts.Session{}, p.channels(), queue, list, p.client.hasListeners(), details, idsOf(steps))
		})
		if err != nil {
			return err
		}
		held.tell(ctx)
		taken, deleted, lines := luascripts.PurgeReply(reply)
		p.client.hear(luascripts.Now(reply), lines, details, "")
		done.Seen += taken
		done.Matched += deleted
		done.Done += deleted
		if taken > 0 && progress != nil {
			progress(*done)
		}
	}
}

// nextToPurge looks at what is next in an index. Only that is purged: whoever waits for
// a child run is told of its end, and only a look shows which are children.
func (p *partition) nextToPurge(ctx context.Context, index string, list bool) ([]*stored, error) {
	var ids []string
	var err error
	if list {
		ids, err = p.client.rdb.LRange(ctx, index, -operateBatch, -1).Result()
	} else {
		ids, err = p.client.rdb.ZRange(ctx, index, 0, operateBatch-1).Result()
	}
	if err != nil || len(ids) == 0 {
		return nil, refine(err)
	}
	bodies, err := p.client.rdb.HMGet(ctx, p.keys.steps(), ids...).Result()
	if err != nil {
		return nil, refine(err)
	}
	steps := make([]*stored, len(ids))
	for i, body := range stringsOf(bodies) {
		steps[i] = &stored{text: ids[i], part: p}
		steps[i].setBody(body)
	}
	return steps, nil
}
