package bounds

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/testserver"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

const (
	kind = "noop"
	// payloadBytes is the encoded size of every input: a text of two bytes less.
	payloadBytes = 100
	// chunk is how many requests one call of a bulk enqueue has.
	chunk = 1000
)

var payload = strings.Repeat("x", payloadBytes-2)

// lab is the server of one workload, emptied for every round.
type lab struct {
	server  *testserver.RealServer
	traffic traffic
}

func newLab(t *testing.T) *lab { return &lab{server: testserver.Real(t)} }

// client opens a client whose bytes are counted. close ends it.
func (l *lab) client() (c *queue.Client, close func() error, err error) {
	options := l.server.Options()
	options.Dialer = l.traffic.dial
	rdb := redis.NewClient(options)
	c, err = queue.NewClient(rdb, queue.Config{})
	if err != nil {
		return nil, nil, errors.Join(err, rdb.Close())
	}
	return c, func() error { return errors.Join(c.Close(), rdb.Close()) }, nil
}

// with runs f with a client of its own.
func (l *lab) with(f func(c *queue.Client) (sample, error)) (sample, error) {
	c, close, err := l.client()
	if err != nil {
		return nil, err
	}
	s, err := f(c)
	return s, errors.Join(err, close())
}

var action = cyclone.DeclareAction[string](kind)

// plain is the i-th of requests that are all alike.
func plain(int) cyclone.Request { return action.With(payload) }

// unique is the i-th of requests that have a unique key each.
func unique(i int) cyclone.Request {
	return action.With(payload, cyclone.WithUnique(cyclone.Unique{Key: fmt.Sprintf("invoice-%06d", i)}))
}

// fill enqueues n jobs from one goroutine, a chunk a call.
func fill(ctx context.Context, c *queue.Client, n int, request func(i int) cyclone.Request) error {
	requests := make([]cyclone.Request, 0, chunk)
	for done := 0; done < n; done += len(requests) {
		requests = requests[:0]
		for i := range min(chunk, n-done) {
			requests = append(requests, request(done+i))
		}
		if _, err := cyclone.EnqueueMany(ctx, c, requests...); err != nil {
			return err
		}
	}
	return nil
}

// concurrency is how many steps the worker runs at once: enough for full turns.
const concurrency = 400

// definition makes what a worker runs; its handler calls hit for each step.
type definition func(hit func()) cyclone.Definition

// drain starts a worker, waits until n steps have run and returns when all is stored.
func (l *lab) drain(ctx context.Context, n int, d definition) error {
	c, close, err := l.client()
	if err != nil {
		return err
	}
	err = func() error {
		w, err := worker.New(c, worker.Config{Concurrency: concurrency})
		if err != nil {
			return err
		}
		var left atomic.Int64
		left.Store(int64(n))
		running, stop := context.WithCancel(ctx)
		defer stop()
		w.Register(d(func() {
			if left.Add(-1) == 0 {
				stop()
			}
		}))
		if err := w.Run(running); err != nil {
			return err
		}
		if over := left.Load(); over != 0 {
			return fmt.Errorf("%d steps did not run, or ran twice", over)
		}
		return nil
	}()
	return errors.Join(err, close())
}

// noop does nothing but count.
func noop(hit func()) cyclone.Definition {
	return cyclone.NewAction(kind, func(context.Context, string) error { hit(); return nil })
}
