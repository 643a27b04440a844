package libs

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/client"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// cycloneLibrary uses the public API with default settings, but for the worker's
// concurrency.
type cycloneLibrary struct {
	rdb         *redis.Client
	client      *queue.Client
	action      *cyclone.Action[string]
	concurrency int
}

func openCyclone(_ context.Context, address string, settings map[string]int) (client.Library, error) {
	rdb := redis.NewClient(&redis.Options{Addr: address, PoolSize: setting(settings, wire.Pool, 0)})
	c, err := queue.NewClient(rdb, queue.Config{Partitions: setting(settings, wire.Partitions, 0), Logger: quiet})
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	return &cycloneLibrary{rdb, c, cyclone.DeclareAction[string](wire.Kind), setting(settings, wire.Concurrency, 0)}, nil
}

func (l *cycloneLibrary) Close() error { return errors.Join(l.client.Close(), l.rdb.Close()) }

// keepFor is how long finished jobs stay when they are asked for.
const keepFor = time.Hour

func (l *cycloneLibrary) options(job client.Job) []cyclone.EnqueueOption {
	var options []cyclone.EnqueueOption
	if job.Queue != wire.Queue {
		options = append(options, cyclone.WithQueue(job.Queue))
	}
	if !job.Due.IsZero() {
		options = append(options, cyclone.WithStartAt(job.Due))
	}
	if job.Unique {
		options = append(options, cyclone.WithUnique(cyclone.Unique{Key: strconv.Itoa(job.Number)}))
	}
	if job.Keep {
		options = append(options, cyclone.WithRetention(keepFor))
	}
	return options
}

func (l *cycloneLibrary) Enqueue(ctx context.Context, job client.Job) error {
	_, err := cyclone.EnqueueAction(ctx, l.client, l.action, job.Payload, l.options(job)...)
	return err
}

func (l *cycloneLibrary) EnqueueMany(ctx context.Context, jobs []client.Job) error {
	requests := make([]cyclone.Request, len(jobs))
	for i, job := range jobs {
		requests[i] = l.action.With(job.Payload, l.options(job)...)
	}
	_, err := cyclone.EnqueueMany(ctx, l.client, requests...)
	return err
}

func (l *cycloneLibrary) Work(ctx context.Context, how client.Worker) (func() error, error) {
	options := []cyclone.DefinitionOption{cyclone.WithBackoff(func(int) time.Duration { return how.Retry })}
	if how.Attempts > 0 {
		options = append(options, cyclone.WithMaxAttempts(how.Attempts))
	}
	action := cyclone.NewAction(wire.Kind, how.Handle, options...)
	w, err := worker.New(l.client, worker.Config{
		Concurrency: l.concurrency, Queues: worker.Queues(how.Queues...), Logger: quiet,
	})
	if err != nil {
		return nil, err
	}
	w.Register(action)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return func() error { cancel(); return <-ended }, nil
}
