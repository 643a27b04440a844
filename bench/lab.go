package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/redis/go-redis/v9"
)

// lab is the server under test and the sizes to test at.
type lab struct {
	options     *redis.Options
	admin       *redis.Client
	size        size
	concurrency int // of Cyclone's worker
}

// newLab connects to the server and refuses one that holds data: every
// measurement empties the database first.
func newLab(ctx context.Context, options *redis.Options, size size, concurrency int) (*lab, error) {
	l := &lab{options: options, size: size, concurrency: concurrency}
	l.admin = l.connect(2)
	keys, err := l.admin.DBSize(ctx).Result()
	if err == nil && keys > 0 {
		err = fmt.Errorf("database %d of %s holds %d keys: name an empty one, it is flushed between cases",
			options.DB, options.Addr, keys)
	}
	if err != nil {
		return nil, errors.Join(err, l.admin.Close())
	}
	return l, nil
}

func (l *lab) close() error { return l.admin.Close() }

// connect opens a client of its own for one side of a case.
func (l *lab) connect(connections int) *redis.Client {
	options := *l.options
	options.PoolSize = connections
	return redis.NewClient(&options)
}

// clear empties the database and the heap, so that no side pays for another.
func (l *lab) clear(ctx context.Context) error {
	if err := l.admin.FlushDB(ctx).Err(); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	runtime.GC()
	return nil
}

// millis is a duration as the report shows it.
func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
