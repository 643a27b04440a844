package queue

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// check says what is wrong with which of some members; it is asked again about
// those.
type check func(ctx context.Context, members []string) (map[string]string, error)

// verify reports what a check finds wrong each time that it is asked.
func (a *audit) verify(ctx context.Context, rule, key string, members []string, wrong check) error {
	var last map[string]string
	for try := range auditTries {
		if len(members) == 0 {
			return nil
		}
		now, err := wrong(ctx, members)
		if err != nil {
			return err
		}
		if try > 0 {
			maps.DeleteFunc(now, func(member, text string) bool { return last[member] != text })
		}
		last, members = now, slices.Sorted(maps.Keys(now))
	}
	for _, m := range members {
		a.found(Finding{Rule: rule, Key: key, Member: m, Text: last[m]})
	}
	return nil
}

// verifyHash verifies the fields of a hash.
func (a *audit) verifyHash(ctx context.Context, p *partition, rule, key string, wrong check) error {
	return a.hash(ctx, p.client.rdb, key, auditBodies, func(pairs []string) error {
		var fields []string
		for i := 0; i < len(pairs); i += 2 {
			fields = append(fields, pairs[i])
		}
		return a.verify(ctx, rule, key, fields, wrong)
	})
}

// has asks in one round trip which members a hash or a sorted set has.
func has(ctx context.Context, rdb redis.UniversalClient, members []string, ask func(redis.Pipeliner, string) redis.Cmder) ([]bool, error) {
	cmds := make([]redis.Cmder, len(members))
	pipe := rdb.Pipeline()
	for i, m := range members {
		cmds[i] = ask(pipe, m)
	}
	_, _ = pipe.Exec(ctx) // each command carries its own error
	there := make([]bool, len(members))
	for i, cmd := range cmds {
		err := cmd.Err()
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, err
		}
		switch c := cmd.(type) {
		case *redis.BoolCmd:
			there[i] = c.Val()
		case *redis.IntCmd:
			there[i] = c.Val() > 0
		default:
			there[i] = err == nil
		}
	}
	return there, nil
}

func inHash(ctx context.Context, rdb redis.UniversalClient, key string, fields []string) ([]bool, error) {
	return has(ctx, rdb, fields, func(pipe redis.Pipeliner, f string) redis.Cmder { return pipe.HExists(ctx, key, f) })
}

func inSet(ctx context.Context, rdb redis.UniversalClient, key string, members []string) ([]bool, error) {
	return has(ctx, rdb, members, func(pipe redis.Pipeliner, m string) redis.Cmder { return pipe.ZScore(ctx, key, m) })
}

// inFirstOnly is the check that what is in one place is in another one too. The
// first is asked last: what leaves both while we look is not wrong.
func inFirstOnly(text string, second, first func(context.Context, []string) ([]bool, error)) check {
	return func(ctx context.Context, members []string) (map[string]string, error) {
		fine, err := second(ctx, members)
		if err != nil {
			return nil, err
		}
		there, err := first(ctx, members)
		if err != nil {
			return nil, err
		}
		wrong := make(map[string]string)
		for i, m := range members {
			if !fine[i] && there[i] {
				wrong[m] = text
			}
		}
		return wrong, nil
	}
}

// sideTables checks that nothing is kept of steps that are gone, and that
// completed steps have their results.
func (a *audit) sideTables(ctx context.Context, p *partition) error {
	rdb := p.client.rdb
	hash := func(key string) func(context.Context, []string) ([]bool, error) {
		return func(ctx context.Context, m []string) ([]bool, error) { return inHash(ctx, rdb, key, m) }
	}
	for _, key := range []string{p.keys.tries(), p.keys.results(), p.keys.history()} {
		err := a.verifyHash(ctx, p, "side table", key, inFirstOnly("there is no such step", hash(p.keys.steps()), hash(key)))
		if err != nil {
			return err
		}
	}
	queues, err := p.queueNames(ctx)
	if err != nil {
		return err
	}
	for _, q := range queues {
		key := p.keys.queue(q).completed
		completed := func(ctx context.Context, m []string) ([]bool, error) { return inSet(ctx, rdb, key, m) }
		wrong := inFirstOnly("it is completed and has no result", hash(p.keys.results()), completed)
		err := a.index(ctx, rdb, key, false, func(page []entry) error {
			ids := make([]string, len(page))
			for i, e := range page {
				ids[i] = e.id
			}
			return a.verify(ctx, "result", key, ids, wrong)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sessions checks that every lane is forgotten one day.
func (a *audit) sessions(ctx context.Context, p *partition) error {
	rdb := p.client.rdb
	seen := func(ctx context.Context, lanes []string) ([]bool, error) {
		found, err := inSet(ctx, rdb, p.keys.sessx(), lanes)
		for i := range found {
			found[i] = found[i] || !strings.Contains(lanes[i], ".") // the padding
		}
		return found, err
	}
	there := func(ctx context.Context, lanes []string) ([]bool, error) {
		return inHash(ctx, rdb, p.keys.sess(), lanes)
	}
	return a.verifyHash(ctx, p, "session", p.keys.sess(), inFirstOnly("nothing says when it was last seen", seen, there))
}
