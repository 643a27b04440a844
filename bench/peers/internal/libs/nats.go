package libs

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/client"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/server"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

const (
	natsSubjects  = "jobs."
	natsSchedules = "schedules."
	natsDurable   = "workers"
	// natsUnacknowledged is how many jobs may be at work or on their way.
	natsUnacknowledged = 20_000
	natsDedupe         = 2 * time.Minute
)

// natsLibrary keeps jobs in a work-queue stream with one pull consumer. The server
// confirms every publish; acknowledgements are sent and not confirmed.
type natsLibrary struct {
	connection *nats.Conn
	streams    jetstream.JetStream
	settings   map[string]int
}

func openNATS(ctx context.Context, address string, settings map[string]int) (client.Library, error) {
	c, err := nats.Connect(address)
	if err != nil {
		return nil, err
	}
	streams, err := jetstream.New(c, jetstream.WithPublishAsyncMaxPending(setting(settings, "pending", 4000)))
	if err == nil {
		storage := jetstream.MemoryStorage
		if settings[wire.Persist] > 0 {
			storage = jetstream.FileStorage
		}
		_, err = streams.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
			Name: server.NATSStream, Subjects: []string{natsSubjects + ">", natsSchedules + ">"},
			Retention: jetstream.WorkQueuePolicy, Storage: storage, Duplicates: natsDedupe, AllowMsgSchedules: true,
		})
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return &natsLibrary{c, streams, settings}, nil
}

func (l *natsLibrary) Close() error { l.connection.Close(); return nil }

func (l *natsLibrary) message(job client.Job) (*nats.Msg, []jetstream.PublishOpt) {
	message := &nats.Msg{Subject: natsSubjects + job.Queue, Data: []byte(job.Payload)}
	var options []jetstream.PublishOpt
	if job.Unique {
		options = append(options, jetstream.WithMsgID(strconv.Itoa(job.Number)))
	}
	if !job.Due.IsZero() {
		message.Header = nats.Header{
			"Nats-Schedule":        []string{"@at " + job.Due.UTC().Format(time.RFC3339Nano)},
			"Nats-Schedule-Target": []string{message.Subject},
		}
		message.Subject = natsSchedules + strconv.Itoa(job.Number)
	}
	return message, options
}

func (l *natsLibrary) Enqueue(ctx context.Context, job client.Job) error {
	message, options := l.message(job)
	_, err := l.streams.PublishMsg(ctx, message, options...)
	return err
}

func (l *natsLibrary) EnqueueMany(ctx context.Context, jobs []client.Job) error {
	futures := make([]jetstream.PubAckFuture, len(jobs))
	for i, job := range jobs {
		message, options := l.message(job)
		var err error
		if futures[i], err = l.streams.PublishMsgAsync(message, options...); err != nil {
			return err
		}
	}
	for _, future := range futures {
		select {
		case <-future.Ok():
		case err := <-future.Err():
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (l *natsLibrary) Work(ctx context.Context, how client.Worker) (func() error, error) {
	config := jetstream.ConsumerConfig{
		Durable: natsDurable, AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: natsUnacknowledged,
		FilterSubject: natsSubjects + wire.Queue, MaxDeliver: -1,
	}
	if how.Attempts > 0 {
		config.MaxDeliver = how.Attempts
	}
	consumer, err := l.streams.CreateOrUpdateConsumer(ctx, server.NATSStream, config)
	if err != nil {
		return nil, err
	}
	concurrency := setting(l.settings, wire.Concurrency, 1)
	slots := make(chan struct{}, concurrency)
	var group sync.WaitGroup
	var mu sync.Mutex
	var failures error
	settle := func(message jetstream.Msg) {
		if err := natsSettle(context.WithoutCancel(ctx), message, how); err != nil {
			mu.Lock()
			failures = errors.Join(failures, err)
			mu.Unlock()
		}
	}
	consuming, err := consumer.Consume(func(message jetstream.Msg) {
		if concurrency == 1 {
			settle(message)
			return
		}
		slots <- struct{}{}
		group.Go(func() {
			settle(message)
			<-slots
		})
	}, jetstream.PullMaxMessages(l.prefetch()))
	if err != nil {
		return nil, err
	}
	return func() error {
		consuming.Drain()
		<-consuming.Closed()
		group.Wait()
		mu.Lock()
		defer mu.Unlock()
		return errors.Join(failures, l.connection.FlushTimeout(10*time.Second))
	}, nil
}

// natsAhead is how much is fetched ahead of the handlers at most: a client that falls
// behind by more than its buffers is thrown out.
const natsAhead = 16 << 20

func (l *natsLibrary) prefetch() int {
	return min(setting(l.settings, "prefetch", 500), max(1, natsAhead/setting(l.settings, wire.Bytes, 1)))
}

func natsSettle(ctx context.Context, message jetstream.Msg, how client.Worker) error {
	switch err := how.Handle(ctx, string(message.Data())); {
	case err == nil:
		return message.Ack()
	case how.Attempts == 1:
		return message.Term()
	case how.Retry > 0:
		return message.NakWithDelay(how.Retry)
	default:
		return message.Nak()
	}
}
