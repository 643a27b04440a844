package queue

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// announced remembers which queues this client has put on a partition's list of
// queues, and when: the list is what inspection goes by, so a queue is on it
// before its first step is stored. After renewAfter it is put there again, since
// a failover may have lost it.
type announced struct {
	mu sync.RWMutex
	at map[string]time.Time
}

// fresh returns the queues of the batch that have to be announced.
func (a *announced) fresh(batch []*item, now time.Time) (queues []string) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for i, it := range batch {
		if i > 0 && it.queue == batch[i-1].queue {
			continue
		}
		if at, ok := a.at[it.queue]; (!ok || now.Sub(at) >= renewAfter) && !slices.Contains(queues, it.queue) {
			queues = append(queues, it.queue)
		}
	}
	return queues
}

// stale returns those of the queues that have to be announced.
func (a *announced) stale(names []string, now time.Time) (queues []string) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for _, name := range names {
		if at, ok := a.at[name]; (!ok || now.Sub(at) >= renewAfter) && !slices.Contains(queues, name) {
			queues = append(queues, name)
		}
	}
	return queues
}

func (a *announced) note(queues []string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at == nil || len(a.at) >= maxCachedQueues {
		a.at = make(map[string]time.Time)
	}
	for _, q := range queues {
		a.at[q] = now
	}
}

// announce puts the queues of a batch on the partition's list. After an error
// nothing of the batch is stored.
func (p *partition) announce(ctx context.Context, batch []*item) error {
	now := time.Now()
	return p.list(ctx, p.announced.fresh(batch, now), now)
}

// announceQueues is announce for queues that steps are going to be in later.
func (p *partition) announceQueues(ctx context.Context, names []string) error {
	now := time.Now()
	return p.list(ctx, p.announced.stale(names, now), now)
}

// list puts queues on the partition's list.
func (p *partition) list(ctx context.Context, queues []string, now time.Time) error {
	if len(queues) == 0 {
		return nil
	}
	err := persist(ctx, connectFor, func() error {
		_, err := p.client.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, q := range queues {
				pipe.HSetNX(ctx, p.keys.queues(), q, p.client.clock.nowMS())
			}
			return nil
		})
		return err
	})
	if err == nil {
		p.announced.note(queues, now)
	}
	return err
}

// persist calls do, which must be safe to repeat, until it succeeds, its error is
// one that does not pass, or the budget is used up.
func persist(ctx context.Context, budget time.Duration, do func() error) error {
	deadline := time.Now().Add(budget)
	for pause := resendFirst; ; pause = min(2*pause, resendMost) {
		err := do()
		if err == nil {
			return nil
		}
		if again, _ := classify(err); !again || time.Now().Add(pause).After(deadline) {
			return refine(err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
}

// queueNames returns the queues that the partition has had steps of, sorted.
func (p *partition) queueNames(ctx context.Context) ([]string, error) {
	names, err := p.client.rdb.HKeys(ctx, p.keys.queues()).Result()
	slices.Sort(names)
	return names, err
}

// queueParts is a queue and the partitions that it is known on.
type queueParts struct {
	name  string
	parts []int
}

// queues returns the queues of the deployment, sorted by name.
func (d *deployment) queues(ctx context.Context) ([]queueParts, error) {
	cmds := make([]*redis.StringSliceCmd, len(d.parts))
	_, err := d.parts[0].client.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, p := range d.parts {
			cmds[i] = pipe.HKeys(ctx, p.keys.queues())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	parts := make(map[string][]int)
	for i, cmd := range cmds {
		for _, name := range cmd.Val() {
			parts[name] = append(parts[name], i)
		}
	}
	all := make([]queueParts, 0, len(parts))
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		all = append(all, queueParts{name, parts[name]})
	}
	return all, nil
}

// everywhere is a queue that may be on any partition.
func (d *deployment) everywhere(queue string) queueParts {
	q := queueParts{name: queue}
	for i := range d.parts {
		q.parts = append(q.parts, i)
	}
	return q
}
