package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/internal/dag"
)

// uniqueKeys checks that unique keys and their holders know of each other, that the
// holders hold them by right, and that those held for a time end.
func (a *audit) uniqueKeys(ctx context.Context, p *partition) error {
	if err := a.verifyHash(ctx, p, "unique key", p.keys.uniq(), p.wrongHolders); err != nil {
		return err
	}
	return a.verifyHash(ctx, p, "unique key", p.keys.uniqof(), p.wrongDigests)
}

// The marks that say how a step holds its key, see lib/unique.lua.
const (
	heldUnstarted = "u"
	heldStarted   = "s"
	heldForTime   = "d"
	heldByRequest = "r"
)

// endsByTime tells that a key is not freed when its holder ends.
func endsByTime(mark string) bool { return mark == heldForTime || mark == heldByRequest }

// wrongHolders is the check of digests.
func (p *partition) wrongHolders(ctx context.Context, digests []string) (map[string]string, error) {
	rdb := p.client.rdb
	holders, err := rdb.HMGet(ctx, p.keys.uniq(), digests...).Result()
	if err != nil {
		return nil, err
	}
	ids := stringsOf(holders)
	pipe := rdb.Pipeline()
	held := pipe.HMGet(ctx, p.keys.uniqof(), ids...)
	bodies := pipe.HMGet(ctx, p.keys.steps(), ids...)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	timed, err := inSet(ctx, rdb, p.keys.uniqx(), digests)
	if err != nil {
		return nil, err
	}
	ended, err := p.ended(ctx, ids, stringsOf(bodies.Val()))
	if err != nil {
		return nil, err
	}
	wrong := make(map[string]string)
	for i, digest := range digests {
		value, _ := held.Val()[i].(string)
		mark, of := cutMark(value)
		switch {
		case ids[i] == "": // freed meanwhile
		case of != digest:
			wrong[digest] = fmt.Sprintf("its holder %s does not know of it", ids[i])
		case endsByTime(mark) && !timed[i]:
			wrong[digest] = "nothing says when it ends"
		case !endsByTime(mark) && bodies.Val()[i] == nil:
			wrong[digest] = fmt.Sprintf("its holder %s is gone", ids[i])
		case !endsByTime(mark) && ended[i]:
			wrong[digest] = fmt.Sprintf("its holder %s has ended", ids[i])
		}
	}
	return wrong, nil
}

// ended tells which steps are in an index of finished ones.
func (p *partition) ended(ctx context.Context, ids, bodies []string) ([]bool, error) {
	var asked []int
	cmds := make([][3]*redis.FloatCmd, 0, len(ids))
	var many []int // positions of runs of many steps
	var states []*redis.StringCmd
	pipe := p.client.rdb.Pipeline()
	for i, body := range bodies {
		var env Envelope
		if body == "" || env.Decode([]byte(body)) != nil {
			continue
		}
		if env.Codec == codecGraph {
			st := pipe.HGet(ctx, p.keys.run(ids[i]), "st")
			many = append(many, i)
			states = append(states, st)
			continue
		}
		k := p.keys.queue(env.Queue)
		asked = append(asked, i)
		cmds = append(cmds, [3]*redis.FloatCmd{
			pipe.ZScore(ctx, k.completed, ids[i]), pipe.ZScore(ctx, k.discarded, ids[i]), pipe.ZScore(ctx, k.cancelled, ids[i]),
		})
	}
	_, _ = pipe.Exec(ctx) // each command carries its own error
	ended := make([]bool, len(ids))
	for n, i := range many {
		st, err := states[n].Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, err
		}
		ended[i] = st != "" && dag.RunMark(st[0]).Ended()
	}
	for n, i := range asked {
		for _, cmd := range cmds[n] {
			err := cmd.Err()
			if err != nil && !errors.Is(err, redis.Nil) {
				return nil, err
			}
			ended[i] = ended[i] || err == nil
		}
	}
	return ended, nil
}

// wrongDigests is the check of holders.
func (p *partition) wrongDigests(ctx context.Context, ids []string) (map[string]string, error) {
	rdb := p.client.rdb
	held, err := rdb.HMGet(ctx, p.keys.uniqof(), ids...).Result()
	if err != nil {
		return nil, err
	}
	values := stringsOf(held)
	digests := make([]string, len(ids))
	for i, value := range values {
		_, digests[i] = cutMark(value)
	}
	holders, err := rdb.HMGet(ctx, p.keys.uniq(), digests...).Result()
	if err != nil {
		return nil, err
	}
	wrong := make(map[string]string)
	for i, holder := range stringsOf(holders) {
		mark, digest := cutMark(values[i])
		switch {
		case values[i] == "": // freed meanwhile
		case mark != heldUnstarted && mark != heldStarted && !endsByTime(mark):
			wrong[ids[i]] = fmt.Sprintf("its mark is %.80q", values[i])
		case holder != ids[i]:
			wrong[ids[i]] = fmt.Sprintf("%s, which it should hold, is held by %q", digest, holder)
		}
	}
	return wrong, nil
}
