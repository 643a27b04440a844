package queue

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// idsAhead is how far a restored counter starts behind the last id that is known
// to have been used: ids of steps that are gone are not used again soon.
const idsAhead = 1 << 24

// idsUsed is what the partition tells about its ids, as sequence numbers.
type idsUsed struct {
	last     int64 // the counter
	enqueued int64 // how many steps were ever stored, each under an id of its own
	steps    bool  // there are steps
}

// lost tells that the counter cannot be right, as the enqueue script decides it.
func (u *idsUsed) lost() bool { return u.last < u.enqueued || u.last == 0 && u.steps }

// restoreIDs repairs the counter of ids after somebody has deleted it or set it
// back, which an enqueue finds when it asks for a block.
//
// It first forgets every session, and with its lane every block that was ever
// given out: from there on nobody can store a step before the counter is right, so
// the highest id among the steps is the highest one that must not come again. Any
// number of clients may do this at once; the counter only ever grows.
func (p *partition) restoreIDs(ctx context.Context) error {
	used, err := p.idsUsed(ctx)
	if err != nil || !used.lost() {
		return err
	}
	rdb := p.client.rdb
	if err := rdb.Del(ctx, p.keys.sess(), p.keys.sessx()).Err(); err != nil {
		return err
	}
	highest, err := p.highestID(ctx)
	if err != nil {
		return err
	}
	next := max(highest, used.enqueued) + idsAhead
	return rdb.IncrBy(ctx, p.keys.ids(), next-used.last).Err()
}

func (p *partition) idsUsed(ctx context.Context) (u idsUsed, err error) {
	pipe := p.client.rdb.Pipeline()
	last := pipe.Get(ctx, p.keys.ids())
	enqueued := pipe.HGet(ctx, p.keys.stats(), "total:enqueued")
	steps := pipe.Exists(ctx, p.keys.steps())
	_, _ = pipe.Exec(ctx) // Each command carries its own error.
	for cmd, n := range map[*redis.StringCmd]*int64{last: &u.last, enqueued: &u.enqueued} {
		if *n, err = cmd.Int64(); err != nil && !errors.Is(err, redis.Nil) {
			return u, err
		}
	}
	u.steps = steps.Val() > 0
	return u, steps.Err()
}

// highestID returns the highest sequence number among the ids of steps, 0 without
// any.
func (p *partition) highestID(ctx context.Context) (highest int64, err error) {
	partitions := int64(len(p.client.space.Load().parts))
	for cursor := uint64(0); ; {
		var page []string
		page, cursor, err = p.client.rdb.HScan(ctx, p.keys.steps(), cursor, "", auditPage).Result()
		if err != nil {
			return 0, err
		}
		for i := 0; i < len(page); i += 2 {
			number, _, _ := strings.Cut(page[i], ".") // a step of a workflow is run.node
			if id, err := strconv.ParseInt(number, 10, 64); err == nil {
				highest = max(highest, id/partitions)
			}
		}
		if cursor == 0 {
			return highest, nil
		}
	}
}
