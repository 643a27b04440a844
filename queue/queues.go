package queue

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cyclone-queue/cyclone"
)

// QueueInfo is what can be seen of a queue from outside.
type QueueInfo struct {
	Name   string
	Paused bool
	// Counts has the number of steps by state; a state without steps is left out.
	Counts map[cyclone.StepState]int64
	// OldestReady is how long ago the step that is next in line was enqueued, 0
	// when none is ready.
	OldestReady time.Duration
}

// Unfinished is the number of steps that wait or run.
func (q *QueueInfo) Unfinished() int64 {
	n := int64(0)
	for state, count := range q.Counts {
		if !state.Finished() {
			n += count
		}
	}
	return n
}

// Queues returns all queues that ever had steps, or are paused, by name. The
// counts come from the indexes, one after the other: while steps move they are
// not of one instant.
func (c *Client) Queues(ctx context.Context) ([]QueueInfo, error) {
	d, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	infos, err := d.queueInfos(ctx)
	if err != nil {
		return nil, fmt.Errorf("queue: queues: %w", err)
	}
	list := make([]QueueInfo, 0, len(infos))
	for _, name := range slices.Sorted(maps.Keys(infos)) {
		list = append(list, *infos[name])
	}
	return list, nil
}

func (d *deployment) queueInfos(ctx context.Context) (queueInfos, error) {
	client := d.parts[0].client
	now, err := client.rdb.Time(ctx).Result() // for the ages
	if err != nil {
		return nil, err
	}
	client.clock.observe(now.UnixMilli())
	known, err := d.queues(ctx)
	if err != nil {
		return nil, err
	}
	infos := make(queueInfos)
	for _, p := range d.parts {
		var names []string
		for _, q := range known {
			if slices.Contains(q.parts, p.number) {
				names = append(names, q.name)
			}
		}
		paused, err := p.client.rdb.HKeys(ctx, p.keys.paused()).Result()
		if err != nil {
			return nil, err
		}
		for _, name := range paused {
			infos.of(name).Paused = true
		}
		if err := p.count(ctx, names, infos); err != nil {
			return nil, err
		}
	}
	return infos, nil
}

// counts returns what is in one queue, all partitions together.
func (d *deployment) counts(ctx context.Context, queue string) (*QueueInfo, error) {
	infos := make(queueInfos)
	for _, p := range d.parts {
		if err := p.count(ctx, []string{queue}, infos); err != nil {
			return nil, err
		}
	}
	return infos.of(queue), nil
}

// queueInfos are queues by name.
type queueInfos map[string]*QueueInfo

func (m queueInfos) of(name string) *QueueInfo {
	q := m[name]
	if q == nil {
		q = &QueueInfo{Name: name, Counts: make(map[cyclone.StepState]int64)}
		m[name] = q
	}
	return q
}

func (q *QueueInfo) add(state cyclone.StepState, n int64) {
	if n > 0 {
		q.Counts[state] += n
	}
}
