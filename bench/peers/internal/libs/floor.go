package libs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone/bench/internal/floor"
	"github.com/cyclone-queue/cyclone/bench/internal/parallel"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/client"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

// floorLibrary calls the floor's scripts and runs handlers one after the other on
// the connection that claimed them.
type floorLibrary struct{ rdb *redis.Client }

func openFloor(_ context.Context, address string, settings map[string]int) (client.Library, error) {
	return &floorLibrary{redis.NewClient(&redis.Options{Addr: address, PoolSize: setting(settings, wire.Pool, 50)})}, nil
}

func (l *floorLibrary) Close() error { return l.rdb.Close() }

func (l *floorLibrary) Enqueue(ctx context.Context, job client.Job) error {
	return floor.EnqueueAndWake(ctx, l.rdb, floor.Job{ID: strconv.Itoa(job.Number), Body: job.Payload})
}

func (l *floorLibrary) EnqueueMany(ctx context.Context, jobs []client.Job) error {
	batch := make([]floor.Job, len(jobs))
	for i, job := range jobs {
		batch[i] = floor.Job{ID: strconv.Itoa(job.Number), Body: job.Payload}
	}
	return floor.Enqueue(ctx, l.rdb, batch...)
}

// Work claims over all connections. Those that find nothing wait for a message, and
// look again after a pause that grows.
func (l *floorLibrary) Work(ctx context.Context, how client.Worker) (func() error, error) {
	subscription := l.rdb.Subscribe(ctx, floor.Channel)
	if _, err := subscription.Receive(ctx); err != nil {
		return nil, err
	}
	wake := make(chan struct{}, 1)
	waking := parallel.InBackground(func() error {
		for range subscription.Channel() {
			select {
			case wake <- struct{}{}:
			default:
			}
		}
		return nil
	})
	soft, cancel := context.WithCancel(ctx)
	work := parallel.InBackground(func() error {
		return parallel.Run(ctx, floor.Connections, func(ctx context.Context, i int) error {
			w := floorWorker{floor.NewWorker(l.rdb, fmt.Sprintf("%08x", i)), how.Handle, wake}
			return w.run(ctx, soft)
		})
	})
	return func() error {
		cancel()
		return errors.Join(work.Wait(), subscription.Close(), waking.Wait())
	}, nil
}

// floorWorker is one connection's.
type floorWorker struct {
	*floor.Worker
	handle func(context.Context, string) error
	wake   <-chan struct{}
}

// run takes turns until soft is done, and then completes what it has claimed.
func (w floorWorker) run(ctx, soft context.Context) error {
	empty := floor.EmptyPause
	for {
		want := floor.Batch
		if soft.Err() != nil {
			want = 0
		}
		_, bodies, err := w.Turn(ctx, want)
		if err != nil {
			return err
		}
		for _, body := range bodies {
			text, _ := body.(string)
			if err := w.handle(ctx, text); err != nil {
				return err
			}
		}
		switch {
		case want == 0:
			return nil
		case len(bodies) > 0:
			empty = floor.EmptyPause
			continue
		}
		select {
		case <-soft.Done():
		case <-w.wake:
		case <-time.After(empty):
			empty = min(2*empty, longestEmptyPause)
		}
	}
}

// longestEmptyPause is what an idle worker's pauses grow to.
const longestEmptyPause = 50 * time.Millisecond
