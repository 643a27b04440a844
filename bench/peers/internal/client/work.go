package client

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cyclone-queue/cyclone/bench/internal/parallel"
	"github.com/cyclone-queue/cyclone/bench/peers/internal/wire"
)

// worker is a library's worker and what its handlers have seen.
type worker struct {
	order   wire.Work
	started int64
	end     func() error
	late    []int64 // ns
	begun   atomic.Int64
	handled atomic.Int64
	last    atomic.Int64
	failed  sync.Map // numbers whose first attempt has failed
	target  atomic.Int64
	reached chan struct{} // gets one when as many as the target were handled
}

// errPlanned is what handlers fail with on purpose.
var errPlanned = errors.New("this attempt is meant to fail")

// never is the wait of retries that are not to come while something is measured.
const never = time.Hour

func startWorker(ctx context.Context, library Library, order wire.Work) (*worker, error) {
	w := &worker{
		order: order, late: make([]int64, order.Expect), reached: make(chan struct{}, 1),
		started: time.Now().UnixNano(),
	}
	how := Worker{Handle: w.handle, Queues: []string{wire.Queue}}
	if order.FailAll {
		how.Retry = never
	}
	if order.Discard {
		how.Attempts = 1
	}
	if order.Queues > 0 {
		how.Queues = nil
		for i := range order.Queues {
			how.Queues = append(how.Queues, queueName(i))
		}
	}
	var err error
	w.end, err = library.Work(ctx, how)
	return w, err
}

// handle is the handler of all jobs.
func (w *worker) handle(ctx context.Context, text string) error {
	start := time.Now().UnixNano()
	at, number, err := parsePayload(text)
	if err != nil {
		return err
	}
	end := start
	if w.order.Sleep > 0 {
		if err := parallel.Pause(ctx, time.Duration(w.order.Sleep)); err != nil {
			return err
		}
		end = time.Now().UnixNano()
	}
	if w.order.FailEvery > 0 && number%w.order.FailEvery == 0 {
		if _, before := w.failed.LoadOrStore(number, true); !before {
			return errPlanned
		}
	}
	if i := w.begun.Add(1); i <= int64(len(w.late)) {
		atomic.StoreInt64(&w.late[i-1], start-at)
	}
	if end > w.last.Load() {
		w.last.Store(end)
	}
	if w.handled.Add(1) == w.target.Load() {
		w.tell()
	}
	if w.order.FailAll {
		return errPlanned
	}
	return nil
}

func (w *worker) tell() {
	select {
	case w.reached <- struct{}{}:
	default:
	}
}

func (w *worker) await(ctx context.Context, order wire.Await) (*wire.Handled, error) {
	select {
	case <-w.reached: // of an await that timed out
	default:
	}
	w.target.Store(int64(order.Jobs))
	if w.handled.Load() >= int64(order.Jobs) {
		w.tell()
	}
	timer := time.NewTimer(time.Duration(order.Limit) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-w.reached:
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	result := &wire.Handled{Jobs: int(w.handled.Load()), Last: w.last.Load()}
	if order.Late {
		late := make([]int64, min(result.Jobs, len(w.late)))
		for i := range late {
			late[i] = atomic.LoadInt64(&w.late[i])
		}
		result.Late = lateness(late)
	}
	return result, nil
}

func (w *worker) stop() error { return w.end() }
