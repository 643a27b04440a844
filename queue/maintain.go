package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cyclone-queue/cyclone/luascripts"
)

const (
	// maintainBatch is how many entries one script handles, maintainScripts how
	// many scripts one call of Maintain sends at the most.
	maintainBatch   = 200
	maintainScripts = 2000
	// workerGone is how long a worker that is not heard of stays on the list.
	workerGone = 5 * time.Minute
)

// Maintain does what nobody waits for, a bounded amount at a time: it removes
// finished steps that are over the bounds of [Config], brings leases that end too
// late after a clock was set back to one lease from now, and forgets old session
// lanes, unique keys whose time is over, old counters and workers that are gone.
// Each call takes care of one of the queues, the given ones and the known ones in
// turn. lease is the worker's own. Every worker calls it now and then; none has
// to.
func (s *Store) Maintain(ctx context.Context, queues []string, lease time.Duration) error {
	d, err := s.client.open(ctx)
	if err != nil {
		return err
	}
	longest, err := d.forgetWorkers(ctx)
	if err != nil {
		return fmt.Errorf("queue: maintain: %w", err)
	}
	m := maintenance{cfg: &s.client.cfg, lease: max(lease, longest), left: maintainScripts, round: int(s.rounds.Add(1))}
	var errs []error
	for _, p := range d.parts {
		if err := m.partition(ctx, p, queues); err != nil {
			errs = append(errs, fmt.Errorf("queue: maintain partition %d: %w", p.number, err))
		}
	}
	return errors.Join(errs...)
}

// maintenance is one call of Maintain.
type maintenance struct {
	cfg   *Config
	lease time.Duration
	left  int // scripts
	round int
}

func (m *maintenance) partition(ctx context.Context, p *partition, queues []string) error {
	known, err := p.queueNames(ctx)
	if err != nil {
		return err
	}
	queues = append(slices.Clone(queues), known...)
	slices.Sort(queues)
	queues = slices.Compact(queues)
	if len(queues) > 0 {
		if err := m.queue(ctx, p, queues[m.round%len(queues)]); err != nil {
			return err
		}
	}
	if err := m.forgetRuns(ctx, p); err != nil {
		return err
	}
	if m.round%tidyEvery != 0 {
		return nil
	}
	if err := m.forgetJournals(ctx, p); err != nil {
		return err
	}
	return m.tidy(ctx, p)
}

// tidyEvery is how many rounds pass between two of tidying.
const tidyEvery = 4

func (m *maintenance) queue(ctx context.Context, p *partition, queue string) error {
	k := p.keys.queue(queue)
	for _, t := range []struct {
		index string
		age   time.Duration
		keep  int
	}{
		{k.completed, 0, m.cfg.FinishedMax}, // scored by the time until which it is kept
		{k.discarded, m.cfg.DiscardedRetention, m.cfg.DiscardedMax},
		{k.cancelled, m.cfg.CancelledRetention, m.cfg.FinishedMax},
	} {
		err := m.repeat(ctx, p, luascripts.Trim, luascripts.Removed, func(call *luascripts.Call) {
			keys := p.keys
			luascripts.TrimCall(call, &luascripts.TrimKeys{
				Steps: keys.steps(), Tries: keys.tries(), Uniq: keys.uniq(), UniqOf: keys.uniqof(),
				Results: keys.results(), History: keys.history(), Index: t.index,
			}, t.age.Milliseconds(), t.keep, maintainBatch)
		})
		if err != nil {
			return err
		}
	}
	return m.repeat(ctx, p, luascripts.Clamp, luascripts.Removed, func(call *luascripts.Call) {
		luascripts.ClampCall(call, k.leased, m.lease.Milliseconds(), maintainBatch)
	})
}

// repeat runs a script until it finds less than a batch, or too much is done.
func (m *maintenance) repeat(ctx context.Context, p *partition, script *luascripts.Script, handled func([]any) int, build func(*luascripts.Call)) error {
	var call luascripts.Call
	build(&call)
	for m.left > 0 {
		m.left--
		reply, err := script.Run(ctx, p.client.rdb, call.Keys, call.Args)
		if err != nil {
			return err
		}
		if handled(reply) < maintainBatch {
			return nil
		}
	}
	return nil
}

func (m *maintenance) tidy(ctx context.Context, p *partition) error {
	verbs := make([]string, len(counted))
	for i, v := range counted {
		verbs[i] = string(v)
	}
	keys := p.keys
	return m.repeat(ctx, p, luascripts.Tidy, luascripts.Tidied, func(call *luascripts.Call) {
		luascripts.TidyCall(call, &luascripts.TidyKeys{
			Sess: keys.sess(), SessX: keys.sessx(), Uniq: keys.uniq(), UniqOf: keys.uniqof(), UniqX: keys.uniqx(), Stats: keys.stats(),
		}, sessionLife.Milliseconds(), StatsMinutes, maintainBatch, verbs)
	})
}

// forgetWorkers takes workers off the list that were not heard of for long, and
// returns the longest lease of the others.
func (d *deployment) forgetWorkers(ctx context.Context) (time.Duration, error) {
	rdb, key := d.parts[0].client.rdb, d.parts[0].keys.workers()
	raw, err := rdb.HGetAll(ctx, key).Result()
	if err != nil || len(raw) == 0 {
		return 0, err
	}
	now, err := rdb.Time(ctx).Result()
	if err != nil {
		return 0, err
	}
	var gone []string
	var longest time.Duration
	for id, text := range raw {
		w, err := parseWorker(text)
		if err == nil {
			longest = max(longest, w.Lease)
		}
		if now.Sub(w.LastSeen) > workerGone {
			gone = append(gone, id)
		}
	}
	if len(gone) == 0 {
		return longest, nil
	}
	return longest, rdb.HDel(ctx, key, gone...).Err()
}
