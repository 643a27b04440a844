package libs

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/hibiken/asynq"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/client"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

// asynqLibrary has no call for many jobs.
type asynqLibrary struct {
	options  asynq.RedisClientOpt
	settings map[string]int
	client   *asynq.Client
}

func openAsynq(_ context.Context, address string, settings map[string]int) (client.Library, error) {
	options := asynq.RedisClientOpt{Addr: address, PoolSize: setting(settings, wire.Pool, 0)}
	return &asynqLibrary{options, settings, asynq.NewClient(options)}, nil
}

func (l *asynqLibrary) Close() error { return l.client.Close() }

func (l *asynqLibrary) Enqueue(ctx context.Context, job client.Job) error {
	options := []asynq.Option{asynq.Queue(job.Queue)}
	if !job.Due.IsZero() {
		options = append(options, asynq.ProcessAt(job.Due))
	}
	if job.Unique {
		options = append(options, asynq.Unique(keepFor), asynq.TaskID(strconv.Itoa(job.Number)))
	}
	if job.Keep {
		options = append(options, asynq.Retention(keepFor))
	}
	_, err := l.client.EnqueueContext(ctx, asynq.NewTask(wire.Kind, []byte(job.Payload)), options...)
	return err
}

func (l *asynqLibrary) EnqueueMany(context.Context, []client.Job) error { return client.ErrCannot }

func (l *asynqLibrary) Work(ctx context.Context, how client.Worker) (func() error, error) {
	config := asynq.Config{
		Concurrency:              setting(l.settings, wire.Concurrency, 0),
		Queues:                   map[string]int{},
		TaskCheckInterval:        time.Duration(setting(l.settings, wire.Poll, 1000)) * time.Millisecond,
		DelayedTaskCheckInterval: time.Duration(setting(l.settings, "delayed_poll", 5000)) * time.Millisecond,
		RetryDelayFunc:           func(int, error, *asynq.Task) time.Duration { return how.Retry },
		LogLevel:                 asynq.FatalLevel,
		BaseContext:              func() context.Context { return context.WithoutCancel(ctx) },
	}
	for _, name := range how.Queues {
		config.Queues[name] = 1
	}
	handler := asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		err := how.Handle(ctx, string(task.Payload()))
		if err != nil && how.Attempts == 1 {
			err = errors.Join(err, asynq.SkipRetry)
		}
		return err
	})
	var servers []*asynq.Server
	stop := func() error {
		var group sync.WaitGroup
		for _, server := range servers {
			group.Go(server.Shutdown)
		}
		group.Wait()
		return nil
	}
	for range setting(l.settings, wire.Servers, 1) {
		server := asynq.NewServer(l.options, config)
		if err := server.Start(handler); err != nil {
			return nil, errors.Join(err, stop())
		}
		servers = append(servers, server)
	}
	return stop, nil
}
