package libs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/beanstalkd/go-beanstalk"

	"github.com/cyclone-queue/cyclone/bench/peers/internal/client"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

const (
	beanstalkPriority = 1024
	beanstalkTTR      = time.Minute
	beanstalkWait     = time.Hour
)

// beanstalkLibrary spreads enqueues over connections; every handler has one of its
// own. Delays are whole seconds.
type beanstalkLibrary struct {
	address     string
	concurrency int
	connections []*beanstalk.Conn
	next        atomic.Int64
}

func openBeanstalkd(_ context.Context, address string, settings map[string]int) (client.Library, error) {
	l := &beanstalkLibrary{address: address, concurrency: setting(settings, wire.Concurrency, 10)}
	for range setting(settings, wire.Pool, 1) {
		c, err := beanstalk.Dial("tcp", address)
		if err != nil {
			return nil, errors.Join(err, l.Close())
		}
		l.connections = append(l.connections, c)
	}
	return l, nil
}

func (l *beanstalkLibrary) Close() error {
	var err error
	for _, c := range l.connections {
		err = errors.Join(err, c.Close())
	}
	return err
}

func (l *beanstalkLibrary) Enqueue(_ context.Context, job client.Job) error {
	var delay time.Duration
	if !job.Due.IsZero() {
		delay = max(0, time.Until(job.Due)+time.Second-1).Truncate(time.Second)
	}
	c := l.connections[l.next.Add(1)%int64(len(l.connections))]
	_, err := beanstalk.NewTube(c, job.Queue).Put([]byte(job.Payload), beanstalkPriority, delay, beanstalkTTR)
	return err
}

func (l *beanstalkLibrary) EnqueueMany(context.Context, []client.Job) error { return client.ErrCannot }

func (l *beanstalkLibrary) Work(ctx context.Context, how client.Worker) (func() error, error) {
	var workers []*beanstalkWorker
	var group sync.WaitGroup
	stop := func() error {
		var err error
		for _, w := range workers {
			err = errors.Join(err, w.close())
		}
		group.Wait()
		for _, w := range workers {
			err = errors.Join(err, w.err)
		}
		return err
	}
	for range l.concurrency {
		c, err := beanstalk.Dial("tcp", l.address)
		if err != nil {
			return nil, errors.Join(err, stop())
		}
		w := &beanstalkWorker{c: c, how: how}
		workers = append(workers, w)
		group.Go(func() { w.err = w.run(context.WithoutCancel(ctx)) })
	}
	return stop, nil
}

// beanstalkWorker reserves over one connection.
type beanstalkWorker struct {
	c    *beanstalk.Conn
	how  client.Worker
	busy sync.Mutex // held from the reply to a reserve until the job is settled
	done atomic.Bool
	err  error
}

// close ends the connection when no job is at work.
func (w *beanstalkWorker) close() error {
	w.done.Store(true)
	w.busy.Lock()
	defer w.busy.Unlock()
	return w.c.Close()
}

func (w *beanstalkWorker) run(ctx context.Context) error {
	tubes := beanstalk.NewTubeSet(w.c, w.how.Queues...)
	for !w.done.Load() {
		id, body, err := tubes.Reserve(beanstalkWait)
		if err == nil {
			err = w.settle(ctx, id, body)
		}
		if w.done.Load() {
			return nil // its connection was closed under a reserve
		}
		if err != nil {
			return fmt.Errorf("reserve: %w", err)
		}
	}
	return nil
}

func (w *beanstalkWorker) settle(ctx context.Context, id uint64, body []byte) error {
	w.busy.Lock()
	defer w.busy.Unlock()
	switch err := w.how.Handle(ctx, string(body)); {
	case err == nil:
		return w.c.Delete(id)
	case w.how.Attempts == 1:
		return w.c.Bury(id, beanstalkPriority)
	default:
		return w.c.Release(id, beanstalkPriority, w.how.Retry)
	}
}
