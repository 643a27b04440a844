package queue

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
)

// position is how far a visit of one place has come. In a sorted set it names the
// last entry that was seen, so that nothing is skipped or seen twice when entries
// come and go; in a list it is an offset from the end where the visit began.
type position struct {
	Offset int64
	Score  int64
	Member string
}

// entry is an id as an index has it.
type entry struct {
	id, member string
	score      int64
}

// newestFirst tells in which order a state is visited. What has ended is shown
// latest first, and a visit that goes back in time ends.
func newestFirst(s cyclone.StepState) bool { return s.Finished() }

// fetchList reads n ids of a list from pos on, from the tail (next in line first)
// or the head: ids leave at the tail, so a visit from the head misses none.
func fetchList(ctx context.Context, rdb redis.UniversalClient, key string, pos *position, n int64, fromHead bool) (entries []entry, more bool, err error) {
	start, stop := -pos.Offset-n-1, -pos.Offset-1
	if fromHead {
		start, stop = pos.Offset, pos.Offset+n
	}
	ids, err := rdb.LRange(ctx, key, start, stop).Result()
	if err != nil {
		return nil, false, err
	}
	if !fromHead {
		slices.Reverse(ids)
	}
	if more = int64(len(ids)) > n; more {
		ids = ids[:n]
	}
	for _, id := range ids {
		entries = append(entries, entry{id: id, member: id})
	}
	pos.Offset += int64(len(ids))
	return entries, more, nil
}

// fetchSet reads n entries of a sorted set behind pos.
func fetchSet(ctx context.Context, rdb redis.UniversalClient, key string, pos *position, n int64, reverse bool) (entries []entry, more bool, err error) {
	from := int64(0)
	if pos.Member != "" {
		if from, err = rankBehind(ctx, rdb, key, pos, reverse); err != nil {
			return nil, false, err
		}
	}
	found, err := rangeOf(ctx, rdb, key, from, from+n, reverse)
	if err != nil {
		return nil, false, err
	}
	if more = int64(len(found)) > n; more {
		found = found[:n]
	}
	for _, z := range found {
		e := entryOf(z)
		pos.Score, pos.Member = e.score, e.member
		if e.member == leasePad {
			continue
		}
		entries = append(entries, e)
	}
	return entries, more, nil
}

// leasePad is the member that keeps the lease set out of its compact encoding.
var leasePad = strings.Repeat(".", 65)

func entryOf(z redis.Z) entry {
	member, _ := z.Member.(string)
	id, _, _ := strings.Cut(member, ":")
	return entry{id: id, member: member, score: wholeScore(z.Score)}
}

func rangeOf(ctx context.Context, rdb redis.UniversalClient, key string, from, to int64, reverse bool) ([]redis.Z, error) {
	if reverse {
		return rdb.ZRevRangeWithScores(ctx, key, from, to).Result()
	}
	return rdb.ZRangeWithScores(ctx, key, from, to).Result()
}

// rankBehind returns the rank of the first entry behind pos. When the entry that
// pos names is gone, it is looked for among those of the same score, which can be
// many: their order is that of their bytes.
func rankBehind(ctx context.Context, rdb redis.UniversalClient, key string, pos *position, reverse bool) (int64, error) {
	rankOf := rdb.ZRank
	if reverse {
		rankOf = rdb.ZRevRank
	}
	score, err := rdb.ZScore(ctx, key, pos.Member).Result()
	if err == nil && int64(score) == pos.Score {
		rank, err := rankOf(ctx, key, pos.Member).Result()
		if err == nil {
			return rank + 1, nil
		}
		if !errors.Is(err, redis.Nil) {
			return 0, err
		}
	} else if err != nil && !errors.Is(err, redis.Nil) {
		return 0, err
	}
	text := strconv.FormatInt(pos.Score, 10)
	before, upTo := [2]string{"-inf", "(" + text}, [2]string{"-inf", text}
	if reverse {
		before, upTo = [2]string{"(" + text, "+inf"}, [2]string{text, "+inf"}
	}
	low, err := rdb.ZCount(ctx, key, before[0], before[1]).Result()
	if err != nil {
		return 0, err
	}
	high, err := rdb.ZCount(ctx, key, upTo[0], upTo[1]).Result()
	if err != nil {
		return 0, err
	}
	n := sort.Search(int(high-low), func(i int) bool {
		at, rangeErr := rangeOf(ctx, rdb, key, low+int64(i), low+int64(i), reverse)
		if rangeErr != nil {
			err = rangeErr
		}
		return len(at) == 0 || behind(entryOf(at[0]), pos, reverse)
	})
	return low + int64(n), err
}

// behind tells whether a visit sees e after pos.
func behind(e entry, pos *position, reverse bool) bool {
	order := cmp.Or(cmp.Compare(e.score, pos.Score), cmp.Compare(e.member, pos.Member))
	if reverse {
		order = -order
	}
	return order > 0
}
