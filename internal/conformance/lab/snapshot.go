package lab

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

// Keys returns every key under the prefix.
func (l *Lab) Keys() []string {
	l.Helper()
	var keys []string
	it := l.Redis.Scan(context.Background(), 0, l.Prefix+":*", 1000).Iterator()
	for it.Next(context.Background()) {
		keys = append(keys, it.Val())
	}
	if err := it.Err(); err != nil {
		l.Fatal(err)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Snapshot returns the whole key space, a line for each element of each key.
func (l *Lab) Snapshot() []string {
	l.Helper()
	var lines []string
	for _, key := range l.Keys() {
		for _, element := range l.elements(key) {
			lines = append(lines, key+" "+element)
		}
	}
	return lines
}

// Same fails the test when the key space is not as it was.
func (l *Lab) Same(before []string) {
	l.Helper()
	if diff := cmp.Diff(before, l.Snapshot()); diff != "" {
		l.Errorf("the key space changed (-before +after):\n%s", diff)
	}
}

// elements returns what a key holds, in an order that depends on nothing else.
func (l *Lab) elements(key string) []string {
	l.Helper()
	ctx := context.Background()
	var out []string
	switch kind := l.Redis.Type(ctx, key).Val(); kind {
	case "none":
	case "string":
		out = []string{l.Redis.Get(ctx, key).Val()}
	case "list":
		out = l.Redis.LRange(ctx, key, 0, -1).Val()
	case "hash":
		all := l.Redis.HGetAll(ctx, key).Val()
		for _, field := range slices.Sorted(maps.Keys(all)) {
			out = append(out, field+" "+all[field])
		}
	case "zset":
		for _, z := range l.zset(key) {
			out = append(out, fmt.Sprintf("%s %s", z.Member, strconv.FormatFloat(z.Score, 'f', -1, 64)))
		}
	default:
		l.Fatalf("%s is a %s, which Cyclone does not use", key, kind)
	}
	return out
}

func (l *Lab) zset(key string) []redis.Z {
	return l.Redis.ZRangeWithScores(context.Background(), key, 0, -1).Val()
}

// Leftovers returns the elements of the key space that are not part of the fixed
// set: what a deployment keeps although no step is left. That is `meta`; per
// partition the sessions of clients (`sess`, `sessx`), the counter of ids, the
// counters of transitions, the names of the queues, and the padding member of
// each lease set.
func (l *Lab) Leftovers() []string {
	l.Helper()
	var left []string
	for _, key := range l.Keys() {
		name := l.name(key)
		switch base, _, _ := strings.Cut(name, ":"); base {
		case "meta", "ids", "sess", "sessx", "stats", "queues":
			continue
		case "leased":
			for _, z := range l.zset(key) {
				if !padding(z.Member) {
					left = append(left, fmt.Sprintf("%s %s", key, z.Member))
				}
			}
			continue
		}
		for _, element := range l.elements(key) {
			left = append(left, key+" "+element)
		}
	}
	return left
}

// Has reports whether any partition has the key with this name.
func (l *Lab) Has(name string) bool {
	l.Helper()
	return slices.ContainsFunc(l.Keys(), func(key string) bool { return l.name(key) == name })
}

// Named reports whether the key's name begins so.
func (l *Lab) Named(key, name string) bool { return strings.HasPrefix(l.name(key), name) }

// name returns a key without prefix and partition.
func (l *Lab) name(key string) string {
	rest := strings.TrimPrefix(key, l.Prefix+":")
	if strings.HasPrefix(rest, "{") {
		_, rest, _ = strings.Cut(rest, ":")
	}
	return rest
}

func padding(member any) bool {
	text, _ := member.(string)
	return strings.HasPrefix(text, "......")
}
