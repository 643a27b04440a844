package queue

import (
	"context"
	"strings"
)

// The marks that a ghost's value begins with; the name of its queue follows.
const (
	ghostDropped = "x" // cancelled or deleted: whoever takes the id next drops it
	ghostRevived = "r" // opened again: whoever takes the id next makes it ready
)

// ghostCount counts the ghosts of one queue by where their ids still are.
type ghostCount struct {
	dropped                        int64 // in ready lists and in the lease set
	droppedLeased, revivedInLeased int64
}

// ready and running correct what the indexes count.
func (g ghostCount) ready(listed int64) int64 {
	return max(listed-(g.dropped-g.droppedLeased)+g.revivedInLeased, 0)
}

func (g ghostCount) running(leased int64) int64 {
	return max(leased-g.droppedLeased-g.revivedInLeased, 0)
}

// ghostCounts counts the partition's ghosts by queue.
func (p *partition) ghostCounts(ctx context.Context) (map[string]*ghostCount, error) {
	counts := make(map[string]*ghostCount)
	for cursor := uint64(0); ; {
		pairs, next, err := p.client.rdb.HScan(ctx, p.keys.ghosts(), cursor, "", scanCount).Result()
		if err != nil {
			return nil, err
		}
		for i := 1; i < len(pairs); i += 2 {
			mark, queue := cutMark(pairs[i])
			g := counts[queue]
			if g == nil {
				g = new(ghostCount)
				counts[queue] = g
			}
			if mark == ghostDropped {
				g.dropped++
			}
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	for queue, g := range counts {
		if err := p.ghostsLeased(ctx, queue, g); err != nil {
			return nil, err
		}
	}
	return counts, nil
}

// cutMark takes a ghost's value apart.
func cutMark(value string) (mark, queue string) {
	if value == "" {
		return "", ""
	}
	return value[:1], value[1:]
}

// ghostsLeased counts the ghosts among the leases of one queue.
func (p *partition) ghostsLeased(ctx context.Context, queue string, g *ghostCount) error {
	key := p.keys.queue(queue).leased
	for from := int64(0); ; from += scanCount {
		members, err := p.client.rdb.ZRange(ctx, key, from, from+scanCount-1).Result()
		if err != nil || len(members) == 0 {
			return err
		}
		ids := make([]string, len(members))
		for i, m := range members {
			ids[i], _, _ = strings.Cut(m, ":")
		}
		marks, err := p.client.rdb.HMGet(ctx, p.keys.ghosts(), ids...).Result()
		if err != nil {
			return err
		}
		for _, raw := range marks {
			value, _ := raw.(string)
			switch mark, _ := cutMark(value); mark {
			case ghostDropped:
				g.droppedLeased++
			case ghostRevived:
				g.revivedInLeased++
			}
		}
	}
}
