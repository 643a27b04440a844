package queue

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// auditPage is how many entries the audit asks for at a time, auditBodies how many
// if they can be large.
const (
	auditPage   = 500
	auditBodies = 100
)

// hash calls f with pairs of fields and values, page by page. A field can come
// twice.
func (a *audit) hash(ctx context.Context, rdb redis.UniversalClient, key string, count int64, f func(pairs []string) error) error {
	for cursor := uint64(0); ; {
		pairs, next, err := rdb.HScan(ctx, key, cursor, "", count).Result()
		if err != nil {
			return err
		}
		a.looked(len(pairs) / 2)
		if err := f(pairs); err != nil {
			return err
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// index calls f with the entries of an index, page by page. Entries that move while
// they are read can come twice or be missed.
func (a *audit) index(ctx context.Context, rdb redis.UniversalClient, key string, list bool, f func([]entry) error) error {
	var pos position
	var before map[string]struct{}
	for more := true; more; {
		var page []entry
		var err error
		if list {
			page, more, err = fetchList(ctx, rdb, key, &pos, auditPage, true)
			page, before = withoutRepeated(page, before)
		} else {
			page, more, err = fetchSet(ctx, rdb, key, &pos, auditPage, false)
		}
		if err != nil {
			return err
		}
		a.looked(len(page))
		if err := f(page); err != nil {
			return err
		}
	}
	return nil
}

// withoutRepeated drops what was on the page before: a push moves a list on.
func withoutRepeated(page []entry, before map[string]struct{}) ([]entry, map[string]struct{}) {
	here := make(map[string]struct{}, len(page))
	kept := page[:0]
	for _, e := range page {
		here[e.id] = struct{}{}
		if _, repeated := before[e.id]; !repeated {
			kept = append(kept, e)
		}
	}
	return kept, here
}

// stringsOf reads the values of an HMGET; "" for what is not there.
func stringsOf(values []any) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i], _ = v.(string)
	}
	return out
}
