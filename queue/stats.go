package queue

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/cyclone-queue/cyclone"
)

// StatsMinutes is how many minutes of counters are kept.
const StatsMinutes = 180

// counted are the transitions that the stats count.
var counted = []cyclone.EventType{
	cyclone.EventEnqueued, cyclone.EventCompleted, cyclone.EventFailed, cyclone.EventSnoozed, cyclone.EventReleased,
	cyclone.EventLost, cyclone.EventDiscarded, cyclone.EventCancelled, cyclone.EventRetried, cyclone.EventDeleted,
	cyclone.EventSuspended, countUnblocked, countSignalled,
}

// What is counted beside transitions that are events.
const (
	countUnblocked cyclone.EventType = "unblocked"
	countSignalled cyclone.EventType = "signalled"
)

// Stats counts transitions: all since the deployment began, and minute by minute.
// A step that is discarded counts as discarded and not as failed. A run of many steps
// counts as enqueued once; its nodes count as "unblocked" when they may start. Signals
// that were accepted count as "signalled".
type Stats struct {
	Totals map[cyclone.EventType]int64
	// Minutes are the latest ones, oldest first; the last one is not over yet.
	Minutes []MinuteStats
}

// MinuteStats counts the transitions of one minute. What did not happen is left out.
type MinuteStats struct {
	Start  time.Time
	Counts map[cyclone.EventType]int64
}

// Stats returns the totals and the counters of the last minutes, 0 for the totals
// alone, at most [StatsMinutes].
func (c *Client) Stats(ctx context.Context, minutes int) (Stats, error) {
	d, err := c.open(ctx)
	if err != nil {
		return Stats{}, err
	}
	now, err := c.rdb.Time(ctx).Result()
	if err != nil {
		return Stats{}, fmt.Errorf("queue: stats: %w", err)
	}
	s := Stats{Totals: make(map[cyclone.EventType]int64)}
	current := now.Unix() / 60
	for back := int64(min(max(minutes, 0), StatsMinutes)) - 1; back >= 0; back-- {
		start := time.Unix((current-back)*60, 0)
		s.Minutes = append(s.Minutes, MinuteStats{Start: start, Counts: make(map[cyclone.EventType]int64)})
	}
	for _, p := range d.parts {
		if err := s.add(ctx, p); err != nil {
			return Stats{}, fmt.Errorf("queue: stats: %w", err)
		}
	}
	return s, nil
}

// statsBatch is how many minutes one call reads: together with the verbs it stays
// within 500 fields.
const statsBatch = 50

// add adds the counters of a partition.
func (s *Stats) add(ctx context.Context, p *partition) error {
	totals := []MinuteStats{{Counts: s.Totals}}
	if err := addCounters(ctx, p, totals, func(MinuteStats) string { return "total" }); err != nil {
		return err
	}
	for batch := range slices.Chunk(s.Minutes, statsBatch) {
		err := addCounters(ctx, p, batch, func(m MinuteStats) string { return strconv.FormatInt(m.Start.Unix()/60, 10) })
		if err != nil {
			return err
		}
	}
	return nil
}

func addCounters(ctx context.Context, p *partition, into []MinuteStats, name func(MinuteStats) string) error {
	var fields []string
	for _, m := range into {
		for _, verb := range counted {
			fields = append(fields, name(m)+":"+string(verb))
		}
	}
	values, err := p.client.rdb.HMGet(ctx, p.keys.stats(), fields...).Result()
	if err != nil {
		return err
	}
	for i, raw := range values {
		text, _ := raw.(string)
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n != 0 {
			into[i/len(counted)].Counts[counted[i%len(counted)]] += n
		}
	}
	return nil
}
