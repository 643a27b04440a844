package queue

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/dag"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/luascripts"
)

// forgetBatch is how many nodes one script removes.
const forgetBatch = 150

// forgetRun removes a run of many steps with all that belongs to it, one that has
// ended or was never complete. Without now it stays while its time has not passed.
func (p *partition) forgetRun(ctx context.Context, text string, now bool) (gone bool, err error) {
	v, err := p.remains(ctx, text)
	if err != nil {
		return false, err
	}
	all := v.every()
	for first := true; first || len(all) > 0; first = false {
		part := all[:min(len(all), forgetBatch)]
		all = all[len(part):]
		in := v.chunk(part)
		in.Now, in.Last = now, len(all) == 0
		var call luascripts.Call
		k := p.keys
		luascripts.ForgetCall(&call, &luascripts.ForgetKeys{
			Steps: k.steps(), Tries: k.tries(), Uniq: k.uniq(), UniqOf: k.uniqof(), Results: k.results(), History: k.history(),
			Runs: k.runs(), Building: k.building(), Sweep: k.sweep(), Journals: k.journals(), Run: k.run(text),
		}, in)
		reply, err := p.forgetChunk(ctx, &call, now)
		if err != nil {
			return false, err
		}
		if !luascripts.Forgotten(reply) {
			return p.isForgotten(ctx, text)
		}
	}
	return true, nil
}

// forgetChunk makes one call. Somebody waits for one that is to go now: it is sent again
// until it is answered.
func (p *partition) forgetChunk(ctx context.Context, call *luascripts.Call, now bool) ([]any, error) {
	if now {
		return p.resend(ctx, luascripts.Forget, call, &tries{budget: p.client.cfg.ResendFor})
	}
	return luascripts.Forget.Run(ctx, p.client.rdb, call.Keys, call.Args)
}

// isForgotten tells a run that is gone, by an earlier call whose answer was lost or by
// somebody else's, from one that lives.
func (p *partition) isForgotten(ctx context.Context, text string) (bool, error) {
	there, err := p.client.rdb.HExists(ctx, p.keys.steps(), text).Result()
	return err == nil && !there, refine(err)
}

// remains reads what there is of a run that is to go, as far as it can be read.
func (p *partition) remains(ctx context.Context, text string) (*runView, error) {
	id, err := cyclone.ParseRunID(text)
	if err != nil {
		return nil, err
	}
	v := &runView{p: p, id: id, text: text, graph: new(dag.Graph)}
	body, err := p.client.rdb.HGet(ctx, p.keys.steps(), text).Result()
	if errors.Is(err, redis.Nil) {
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	var env Envelope
	if err := env.Decode([]byte(body)); err != nil {
		return nil, err // a newer program's: let that remove it
	}
	if v.graph, err = graphOf(&env); err != nil {
		return nil, err
	}
	return v, v.readNodes(ctx)
}

// chunk is what goes with some of the nodes.
func (v *runView) chunk(nodes []int) *luascripts.ForgetInput {
	in := &luascripts.ForgetInput{ID: v.text}
	at := make(map[string]int)
	for _, i := range nodes {
		n, member := &v.graph.Nodes[i], memberOf(v.text, i)
		in.Members = append(in.Members, member)
		if n.Class == wire.ClassTask {
			in.Journals = append(in.Journals, v.p.keys.journal(member))
		}
		if v.state.Nodes[i].Ended != dag.MarkDiscarded {
			continue
		}
		q, known := at[n.Queue]
		if !known {
			q = len(in.Queues)
			at[n.Queue] = q
			in.Queues = append(in.Queues, luascripts.ForgetQueue{Discarded: v.p.keys.queue(n.Queue).discarded})
		}
		in.Queues[q].Members = append(in.Queues[q].Members, member)
	}
	return in
}

// deleteRun removes a run of many steps in whatever state it is.
func (c *Client) deleteRun(ctx context.Context, s *stored) error {
	err := s.part.stopRun(ctx, s.id)
	if err != nil && !errors.Is(err, ErrFinished) {
		return err
	}
	gone, err := s.part.forgetRun(ctx, s.text, true)
	if err == nil && !gone {
		return errBusyRun
	}
	return err
}

// forgetRuns removes runs of many steps whose time has passed, and those that were
// never complete; each script counts against the maintenance's limit.
func (m *maintenance) forgetRuns(ctx context.Context, p *partition) error {
	now, err := p.client.rdb.Time(ctx).Result()
	if err != nil {
		return err
	}
	for _, key := range []string{p.keys.runs(), p.keys.building()} {
		for m.left > 0 {
			over, err := p.client.rdb.ZRangeByScore(ctx, key, &redis.ZRangeBy{
				Min: "-inf", Max: strconv.FormatInt(now.UnixMilli(), 10), Count: maintainBatch,
			}).Result()
			if err != nil {
				return err
			}
			for _, id := range over {
				m.left--
				if longer, err := m.keepLonger(ctx, p, id, now.UnixMilli()); err != nil || longer {
					if err != nil {
						return err
					}
					continue
				}
				if _, err := p.forgetRun(ctx, id, false); err != nil && !errors.Is(err, ErrEnvelopeVersion) {
					return err
				}
			}
			if len(over) < maintainBatch {
				break
			}
		}
	}
	return nil
}

// keepLonger gives a run that failed or was cancelled the time that such steps have:
// somebody may want to repair it.
func (m *maintenance) keepLonger(ctx context.Context, p *partition, id string, nowMS int64) (bool, error) {
	values, err := p.client.rdb.HMGet(ctx, p.keys.run(id), "st", "fin").Result()
	if err != nil {
		return false, err
	}
	found := stringsOf(values)
	until, err := strconv.ParseInt(found[1], 10, 64)
	if err != nil || found[0] == "" {
		return false, nil // it was never complete, or is going
	}
	switch dag.RunMark(found[0][0]) {
	case dag.RunFailed:
		until += m.cfg.DiscardedRetention.Milliseconds()
	case dag.RunCancelled:
		until += m.cfg.CancelledRetention.Milliseconds()
	}
	if until <= nowMS {
		return false, nil
	}
	return true, p.client.rdb.ZAddXX(ctx, p.keys.runs(), redis.Z{Score: float64(until), Member: id}).Err()
}

// journalAge is how old a journal is at least that may be an orphan: the step that
// it belongs to is stored before it.
const journalAge = 60_000

// forgetJournals removes journals of steps that are gone: whoever deletes a step
// does not know whether it had one.
func (m *maintenance) forgetJournals(ctx context.Context, p *partition) error {
	rdb, key := p.client.rdb, p.keys.journals()
	for cursor := uint64(0); m.left > 0; {
		m.left--
		pairs, next, err := rdb.ZScan(ctx, key, cursor, "", maintainBatch).Result()
		if err != nil {
			return err
		}
		if err := p.dropOrphans(ctx, pairs); err != nil {
			return err
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
	return nil
}

// dropOrphans removes the journals among the pairs of member and score that belong
// to nobody.
func (p *partition) dropOrphans(ctx context.Context, pairs []string) error {
	var members []string
	for i := 0; i < len(pairs); i += 2 {
		if p.client.clock.nowMS()-parseScore(pairs[i+1]) > journalAge {
			members = append(members, pairs[i])
		}
	}
	if len(members) == 0 {
		return nil
	}
	there, err := inHash(ctx, p.client.rdb, p.keys.steps(), members)
	if err != nil {
		return err
	}
	members = slices.DeleteFunc(members, func(string) bool {
		kept := there[0]
		there = there[1:]
		return kept
	})
	if len(members) == 0 {
		return nil
	}
	pipe := p.client.rdb.Pipeline()
	for _, m := range members {
		pipe.Unlink(ctx, p.keys.journal(m))
		pipe.ZRem(ctx, p.keys.journals(), m)
	}
	_, err = pipe.Exec(ctx)
	return err
}
