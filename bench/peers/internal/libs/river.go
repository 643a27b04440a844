package libs

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/client"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

// riverArgs are a job's arguments, which River keeps as JSON.
type riverArgs struct {
	Payload string `json:"payload"`
}

// Kind names the kind of job.
func (riverArgs) Kind() string { return wire.Kind }

// riverLibrary keeps finished jobs always: River removes them after a day.
type riverLibrary struct {
	pool     *pgxpool.Pool
	settings map[string]int
	client   *river.Client[pgx.Tx]
}

func openRiver(ctx context.Context, address string, settings map[string]int) (client.Library, error) {
	pool, err := pgxpool.New(ctx, fmt.Sprintf("%s pool_max_conns=%d", address, setting(settings, wire.Pool, 10)))
	if err != nil {
		return nil, err
	}
	c, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: quiet})
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &riverLibrary{pool, settings, c}, nil
}

func (l *riverLibrary) Close() error { l.pool.Close(); return nil }

func riverOptions(job client.Job) *river.InsertOpts {
	options := &river.InsertOpts{Queue: job.Queue, ScheduledAt: job.Due}
	if job.Unique {
		options.UniqueOpts = river.UniqueOpts{ByArgs: true}
	}
	return options
}

func (l *riverLibrary) Enqueue(ctx context.Context, job client.Job) error {
	_, err := l.client.Insert(ctx, riverArgs{job.Payload}, riverOptions(job))
	return err
}

func (l *riverLibrary) EnqueueMany(ctx context.Context, jobs []client.Job) error {
	many := make([]river.InsertManyParams, len(jobs))
	for i, job := range jobs {
		many[i] = river.InsertManyParams{Args: riverArgs{job.Payload}, InsertOpts: riverOptions(job)}
	}
	_, err := l.client.InsertManyFast(ctx, many)
	return err
}

// riverRetry waits for the same time after every failure.
type riverRetry time.Duration

// NextRetry is the time of the next attempt.
func (r riverRetry) NextRetry(*rivertype.JobRow) time.Time { return time.Now().Add(time.Duration(r)) }

func (l *riverLibrary) Work(ctx context.Context, how client.Worker) (func() error, error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, job *river.Job[riverArgs]) error {
		return how.Handle(ctx, job.Args.Payload)
	}))
	queues := map[string]river.QueueConfig{}
	for _, name := range how.Queues {
		queues[name] = river.QueueConfig{MaxWorkers: setting(l.settings, wire.Concurrency, 100)}
	}
	c, err := river.NewClient(riverpgxv5.New(l.pool), &river.Config{
		Logger: quiet, Workers: workers, Queues: queues, RetryPolicy: riverRetry(how.Retry), MaxAttempts: how.Attempts,
		FetchCooldown:     time.Duration(setting(l.settings, "cooldown", 100)) * time.Millisecond,
		FetchPollInterval: time.Duration(setting(l.settings, wire.Poll, 1000)) * time.Millisecond,
	})
	if err != nil {
		return nil, err
	}
	if err := c.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, err
	}
	return func() error { return c.Stop(context.WithoutCancel(ctx)) }, nil
}
