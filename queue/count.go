package queue

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
)

// countBatch is how many queues one round trip counts.
const countBatch = 100

// oldestLooked is how many ids at the end of a ready list are looked at for one
// that is no ghost.
const oldestLooked = 10

// queueCount holds the replies for one queue on one partition.
type queueCount struct {
	name   string
	leased *redis.IntCmd
	sets   map[cyclone.StepState]*redis.IntCmd
	ready  [laneCount]*redis.IntCmd
	tails  [laneCount]*redis.StringSliceCmd
}

// count adds what the partition has of the queues.
func (p *partition) count(ctx context.Context, names []string, infos queueInfos) error {
	haunted, err := p.client.rdb.HLen(ctx, p.keys.ghosts()).Result()
	if err != nil {
		return err
	}
	var ghosts map[string]*ghostCount
	if haunted > 0 {
		if ghosts, err = p.ghostCounts(ctx); err != nil {
			return err
		}
	}
	for batch := range slices.Chunk(names, countBatch) {
		counts, err := p.countBatch(ctx, batch)
		if err != nil {
			return err
		}
		for i := range counts {
			counts[i].addTo(infos.of(counts[i].name), ghosts[counts[i].name])
		}
		if err := p.ages(ctx, counts, haunted > 0, infos); err != nil {
			return err
		}
	}
	return nil
}

func (p *partition) countBatch(ctx context.Context, names []string) ([]queueCount, error) {
	counts := make([]queueCount, len(names))
	_, err := p.client.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, name := range names {
			k := p.keys.queue(name)
			n := &counts[i]
			n.name, n.leased = name, pipe.ZCard(ctx, k.leased)
			n.sets = make(map[cyclone.StepState]*redis.IntCmd)
			for _, state := range visited {
				if state != cyclone.StepReady && state != cyclone.StepRunning {
					n.sets[state] = pipe.ZCard(ctx, k.index(state))
				}
			}
			for lane, key := range k.ready {
				n.ready[lane] = pipe.LLen(ctx, key)
				n.tails[lane] = pipe.LRange(ctx, key, -oldestLooked, -1)
			}
		}
		return nil
	})
	return counts, err
}

// addTo adds the counts, without the padding and the ghosts.
func (n *queueCount) addTo(q *QueueInfo, ghosts *ghostCount) {
	for state, cmd := range n.sets {
		q.add(state, cmd.Val())
	}
	var listed int64
	for _, cmd := range n.ready {
		listed += cmd.Val()
	}
	leased := max(n.leased.Val()-1, 0)
	if ghosts != nil {
		listed, leased = ghosts.ready(listed), ghosts.running(leased)
	}
	q.add(cyclone.StepReady, listed)
	q.add(cyclone.StepRunning, leased)
}

// ages finds out how old the steps are that are next in line.
func (p *partition) ages(ctx context.Context, counts []queueCount, haunted bool, infos queueInfos) error {
	var ids, queues []string
	for i := range counts {
		for _, tail := range counts[i].tails {
			id, err := p.lastLiving(ctx, tail.Val(), haunted)
			if err != nil {
				return err
			}
			if id != "" {
				ids, queues = append(ids, id), append(queues, counts[i].name)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	bodies, err := p.client.rdb.HMGet(ctx, p.keys.steps(), ids...).Result()
	if err != nil {
		return err
	}
	for i, raw := range bodies {
		body, ok := raw.(string)
		var env Envelope
		if !ok || env.Decode([]byte(body)) != nil {
			continue
		}
		q := infos.of(queues[i])
		age := time.Duration(p.client.clock.nowMS()-env.EnqueuedMs) * time.Millisecond
		q.OldestReady = max(q.OldestReady, age)
	}
	return nil
}

// lastLiving returns the last id that is no ghost, "" for none.
func (p *partition) lastLiving(ctx context.Context, ids []string, haunted bool) (string, error) {
	if len(ids) == 0 || !haunted {
		return last(ids), nil
	}
	marks, err := p.client.rdb.HMGet(ctx, p.keys.ghosts(), ids...).Result()
	if err != nil {
		return "", err
	}
	for i, raw := range slices.Backward(marks) {
		value, _ := raw.(string)
		if mark, _ := cutMark(value); mark != ghostDropped {
			return ids[i], nil
		}
	}
	return "", nil
}

func last(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return ids[len(ids)-1]
}
