package model_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/internal/model"
)

var (
	queues     = []string{"a", "b"}
	laneNames  = []string{"h", "d", "l"}
	indexNames = map[string]model.State{
		"scheduled": model.Scheduled, "retrying": model.Retrying, "snoozed": model.Snoozed,
		"completed": model.Completed, "discarded": model.Discarded, "cancelled": model.Cancelled,
	}
)

// expected is the key space that a model stands for, by name without the prefix.
func expected(s *model.Space) map[string]string {
	keys := map[string]string{}
	for _, q := range queues {
		for lane, name := range laneNames {
			keys["ready:"+q+":"+name] = entries(s.Ready(q, int8(lane)), func(e *model.Entry) string { return e.ID })
		}
		keys["leased:"+q] = entries(s.Leased(q), func(e *model.Entry) string {
			started := int64(0)
			if e.Lease.Started {
				started = 1
			}
			return fmt.Sprintf("%s:%s@%d", e.ID, e.Token, e.Lease.Until*16+int64(e.Lane)*2+started)
		})
		for name, state := range indexNames {
			keys[name+":"+q] = entries(s.In(q, state), func(e *model.Entry) string {
				if state.Waiting() {
					return fmt.Sprintf("%s@%d", e.ID, e.Due*16+int64(e.Lane))
				}
				return fmt.Sprintf("%s@%d", e.ID, e.At)
			})
		}
		var line []string
		for _, w := range s.Lines[q] {
			line = append(line, fmt.Sprintf("%s@%d", w.Worker, w.Until))
		}
		keys["waiters:"+q] = strings.Join(line, " ")
	}
	expectedHashes(s, keys)
	maps.DeleteFunc(keys, func(_, v string) bool { return v == "" })
	return keys
}

func entries(list []*model.Entry, text func(*model.Entry) string) string {
	var out []string
	for _, e := range list {
		out = append(out, text(e))
	}
	return strings.Join(out, " ")
}

func expectedHashes(s *model.Space, keys map[string]string) {
	steps, ghosts, tries, notes := map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}
	for id, e := range s.Steps {
		if e.State != model.Absent {
			steps[id] = e.Body
		}
		if g := e.Ghost(); g != "" {
			ghosts[id] = g + e.Queue
		}
		if t := e.Tries; t.Known {
			tries[id] = fmt.Sprintf("%d %d %d %d %d", t.Started, t.Unstarted, t.Interruptions, t.Limit, t.Forgone)
		}
	}
	for id, n := range s.Notes {
		notes[id] = strconv.Itoa(n)
	}
	uniq, uniqx, paused := map[string]string{}, map[string]string{}, map[string]string{}
	for digest, h := range s.Uniq {
		if h.Holder != "" {
			uniq[digest] = h.Holder
		}
		if h.Ends > 0 {
			uniqx[digest] = strconv.FormatInt(h.Ends, 10)
		}
	}
	for q := range s.Paused {
		paused[q] = "1"
	}
	for name, h := range map[string]map[string]string{
		"steps": steps, "ghosts": ghosts, "tries": tries, "history": notes, "uniq": uniq, "uniqof": s.Held,
		"results": s.Results, "paused": paused, "uniqx": uniqx,
	} {
		keys[name] = fields(h)
	}
	if s.IDs > 0 {
		keys["ids"] = strconv.FormatInt(s.IDs, 10)
	}
}

func fields(h map[string]string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		out = append(out, name+"="+h[name])
	}
	return strings.Join(out, " ")
}

// stored is the key space that there is.
func (b *bench) stored() map[string]string {
	pipe := b.rdb.Pipeline()
	lists, sets, hashes := map[string]*redis.StringSliceCmd{}, map[string]*redis.ZSliceCmd{}, map[string]*redis.MapStringStringCmd{}
	for _, q := range queues {
		for _, lane := range laneNames {
			name := "ready:" + q + ":" + lane
			lists[name] = pipe.LRange(ctx, b.key(name), 0, -1)
		}
		for _, name := range []string{"leased", "waiters"} {
			sets[name+":"+q] = pipe.ZRangeWithScores(ctx, b.key(name+":"+q), 0, -1)
		}
		for name := range indexNames {
			sets[name+":"+q] = pipe.ZRangeWithScores(ctx, b.key(name+":"+q), 0, -1)
		}
	}
	for _, name := range []string{"steps", "ghosts", "tries", "history", "uniq", "uniqof", "results", "paused"} {
		hashes[name] = pipe.HGetAll(ctx, b.key(name))
	}
	sets["uniqx"] = pipe.ZRangeWithScores(ctx, b.key("uniqx"), 0, -1)
	ids := pipe.Get(ctx, b.key("ids"))
	if _, err := pipe.Exec(ctx); err != nil && err != redis.Nil {
		b.Fatal(err)
	}
	keys := map[string]string{"ids": ids.Val()}
	for name, c := range lists {
		list := c.Val()
		slices.Reverse(list)
		keys[name] = strings.Join(list, " ")
	}
	for name, c := range sets {
		keys[name] = scores(name, c.Val())
	}
	for name, c := range hashes {
		keys[name] = fields(simplified(name, c.Val()))
	}
	maps.DeleteFunc(keys, func(_, v string) bool { return v == "" })
	return keys
}

// scores writes the members of a sorted set, without the padding of a lease set.
func scores(name string, list []redis.Z) string {
	var out []string
	if name == "uniqx" {
		slices.SortFunc(list, func(a, b redis.Z) int { return cmp.Compare(a.Member.(string), b.Member.(string)) })
	}
	for _, z := range list {
		member := z.Member.(string)
		switch {
		case strings.HasPrefix(member, "...."):
		case name == "uniqx":
			out = append(out, fmt.Sprintf("%s=%.0f", member, z.Score))
		default:
			out = append(out, fmt.Sprintf("%s@%.0f", member, z.Score))
		}
	}
	return strings.Join(out, " ")
}

// simplified counts the lines of a history and forgets since when a queue is
// paused.
func simplified(name string, h map[string]string) map[string]string {
	for field, text := range h {
		switch name {
		case "history":
			h[field] = strconv.Itoa(strings.Count(text, "\n"))
		case "paused":
			h[field] = "1"
		}
	}
	return h
}
