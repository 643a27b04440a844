package queue

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// While anybody listens, a key on each partition makes scripts publish. It ends
// by itself subsLife after its last renewal, since other clients may listen too.
const (
	subsLife  = 30 * time.Second
	subsRenew = 10 * time.Second
)

// light makes scripts publish on all partitions, and tells whether they did not
// somewhere. A renewal needs no memory, so it works at maxmemory.
func (d *deployment) light(ctx context.Context) (dark bool, err error) {
	rdb := d.parts[0].client.rdb
	renewed := make([]*redis.BoolCmd, len(d.parts))
	_, err = rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, p := range d.parts {
			renewed[i] = pipe.PExpire(ctx, p.keys.subs(), subsLife)
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	_, err = rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, p := range d.parts {
			if !renewed[i].Val() {
				dark = true
				pipe.Set(ctx, p.keys.subs(), "1", subsLife)
			}
		}
		return nil
	})
	return dark, refine(err)
}

// keepLight renews the keys until the hearing ends.
func (h *hearing) keepLight() {
	tick := time.NewTicker(subsRenew)
	defer tick.Stop()
	for {
		select {
		case <-h.ctx.Done():
			return
		case <-tick.C:
		}
		dark, err := h.d.light(h.ctx)
		if err != nil && h.ctx.Err() == nil {
			h.l.client.cfg.Logger.Warn("cyclone: events may go missing", "error", err)
		}
		if dark {
			h.l.missed()
		}
	}
}
