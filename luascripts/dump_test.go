package luascripts_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"
)

// dump returns every key of the partition with all that it holds, a line each.
// Times stand relative to the start: due times as @ms and lane, leases as @ms,
// lane and * once started, others as @ms.
func (l *lab) dump() []string {
	l.Helper()
	var keys []string
	it := l.rdb.Scan(ctx, 0, l.base+"*", 1000).Iterator()
	for it.Next(ctx) {
		keys = append(keys, it.Val())
	}
	if err := it.Err(); err != nil {
		l.Fatal(err)
	}
	slices.Sort(keys)
	var lines []string
	for _, key := range slices.Compact(keys) {
		name := strings.TrimPrefix(key, l.base)
		lines = append(lines, strings.TrimSpace(name+" "+strings.Join(l.content(name), " ")))
	}
	return lines
}

// content returns the elements of one key in their order.
func (l *lab) content(name string) []string {
	l.Helper()
	key := l.key(name)
	switch kind := l.rdb.Type(ctx, key).Val(); kind {
	case "string":
		return []string{l.rdb.Get(ctx, key).Val()}
	case "list":
		return l.rdb.LRange(ctx, key, 0, -1).Val()
	case "set":
		return slices.Sorted(slices.Values(l.rdb.SMembers(ctx, key).Val()))
	case "hash":
		all := l.rdb.HGetAll(ctx, key).Val()
		var out []string
		for _, field := range slices.Sorted(maps.Keys(all)) {
			out = append(out, field+"="+readable(all[field]))
		}
		return out
	case "zset":
		var out []string
		for _, z := range l.rdb.ZRangeWithScores(ctx, key, 0, -1).Val() {
			out = append(out, element(name, z))
		}
		return out
	case "none":
		return nil
	default:
		l.Fatalf("%s is a %s", name, kind)
		return nil
	}
}

func readable(text string) string {
	return strings.NewReplacer(" ", "_", "\n", "/").Replace(text)
}

func element(name string, z redis.Z) string {
	member := z.Member.(string)
	if strings.HasPrefix(member, "......") {
		return "pad"
	}
	score := int64(z.Score)
	switch index, _, _ := strings.Cut(name, ":"); index {
	case "scheduled", "retrying", "snoozed", "waiting":
		return fmt.Sprintf("%s@%d%c", member, score/16-start, "hdl???????????????"[score%16])
	case "leased":
		started := ""
		if score%2 == 1 {
			started = "*"
		}
		return fmt.Sprintf("%s@%d%c%s", member, score/16-start, "hdl?????"[score%16/2], started)
	}
	return member + "@" + strconv.FormatInt(score-start, 10)
}

// state is dump without sessions and counters.
func (l *lab) state() []string {
	l.Helper()
	return slices.DeleteFunc(l.dump(), func(line string) bool {
		name, _, _ := strings.Cut(line, " ")
		return name == "sess" || name == "sessx" || name == "stats" || name == "subs"
	})
}

// want compares the state with the lines of a text.
func (l *lab) want(text string) {
	l.Helper()
	l.equal(l.state(), lines(text))
}

// lines splits a text and drops indentation and empty lines.
func lines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

func (l *lab) equal(got, want any) {
	l.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		l.Fatalf("-want +got\n%s", diff)
	}
}

// total returns how often a verb was counted.
func (l *lab) total(verb string) int {
	l.Helper()
	n, err := l.rdb.HGet(ctx, l.key("stats"), "total:"+verb).Int()
	if err != nil && err != redis.Nil {
		l.Fatal(err)
	}
	return n
}
