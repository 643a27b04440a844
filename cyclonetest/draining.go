package cyclonetest

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// How long nothing may happen before it is taken for a mistake in the test.
const (
	unclaimed  = 10 * time.Second // of ready steps while nothing runs
	unreturned = 6 * time.Hour    // of running steps, in virtual time
	putBacks   = 10               // of a step whose kind the worker does not know
)

// drain is one call of Drain or DrainWorker.
type drain struct {
	t      testing.TB
	ctx    context.Context // of the drain's own commands
	client *queue.Client
	server atomic.Pointer[server] // nil when it is none of NewRedis
	bubble bool
	kinds  map[string]bool // of the steps to run, nil for all

	make  func(queues []string) (*worker.Worker, error)
	grows bool // a worker serves the queues that it is made for, and no others

	served []string // the queues of the worker that runs
	stop   func()   // ends it; nil when none runs
	done   chan error
	news   *news // while it runs
}

func newDrain(t testing.TB, client *queue.Client) *drain {
	d := &drain{t: t, client: client, bubble: inBubble(), news: newNews()}
	d.ctx = asking(t.Context(), &d.server)
	return d
}

func (d *drain) run() {
	d.t.Helper()
	defer d.halt()
	for {
		if d.bubble {
			settle()
		}
		d.forget()
		left := d.look()
		if left.active() == 0 {
			left = d.quiet()
		}
		if left.active() > 0 {
			d.start(left.queues)
			d.await(left.queues)
			continue
		}
		timed, endless := d.waiting(left)
		if len(timed) == 0 {
			d.tell(endless)
			return // what is left waits for a signal, or is of other kinds
		}
		d.pass(timed, left.queues)
	}
}

// remainder is what is not finished, in all queues.
type remainder struct {
	queues                  []string
	ready, running, waiting int64
}

func (r remainder) active() int64 { return r.ready + r.running }

// look counts what is left. While steps move, the counts are not of one instant:
// that there is nothing is believed when it is seen twice.
func (d *drain) look() remainder {
	d.t.Helper()
	if r := d.count(); r.active()+r.waiting > 0 {
		return r
	}
	return d.count()
}

// quiet does what is left to do for runs of many steps, which no count shows, and
// looks again.
func (d *drain) quiet() remainder {
	d.t.Helper()
	if !d.bubble {
		d.halt() // the worker may be at it
	}
	store := queue.NewStore(d.client, "cyclonetest")
	partitions, err := store.Partitions(d.ctx)
	for p := 0; p < partitions && err == nil; p++ {
		for more := true; more && err == nil; {
			more, err = store.Sweep(d.ctx, p)
		}
	}
	if err != nil {
		d.t.Fatalf("cyclonetest: Drain: %v", err)
	}
	return d.count()
}

func (d *drain) count() (r remainder) {
	d.t.Helper()
	queues, err := d.client.Queues(d.ctx)
	if err != nil {
		d.t.Fatalf("cyclonetest: Drain: %v", err)
	}
	for _, q := range queues {
		all, ready, running := q.Unfinished(), q.Counts[cyclone.StepReady], q.Counts[cyclone.StepRunning]
		if q.Paused && all > 0 {
			d.t.Fatalf("cyclonetest: Drain: queue %q is paused and holds %d steps", q.Name, all)
		}
		r.queues = append(r.queues, q.Name)
		r.ready += ready
		r.running += running
		r.waiting += all - ready - running
	}
	return r
}

// await returns when something has happened to a step, or there is a new queue.
func (d *drain) await(queues []string) {
	d.t.Helper()
	var idle time.Duration
	tick := time.Second
	if !d.bubble {
		tick = 10 * time.Millisecond // a clock that was set forward may have cut off the news
	}
	for {
		select {
		case <-d.news.any:
			return
		case err := <-d.done:
			d.done <- nil // for halt
			d.t.Fatalf("cyclonetest: Drain: the worker has ended: %v", err)
		case <-time.After(tick):
		}
		idle += tick
		left := d.count()
		switch {
		case left.active() == 0 || !slices.Equal(left.queues, queues):
			return
		case left.running == 0 && idle >= unclaimed:
			d.t.Fatalf("cyclonetest: Drain: %d steps stay ready: does the worker serve all of the queues %q?", left.ready, left.queues)
		case d.bubble && idle >= unreturned:
			d.t.Fatalf("cyclonetest: Drain: %d handlers do not return", left.running)
		case d.bubble && left.running > 0:
			tick = min(2*tick, time.Hour)
		case !d.bubble:
			tick = min(2*tick, time.Second)
		}
	}
}

// start makes a worker run that serves the queues, if none does.
func (d *drain) start(queues []string) {
	d.t.Helper()
	if d.stop != nil {
		if !d.grows || slices.Equal(queues, d.served) {
			return
		}
		d.halt()
	}
	w, err := d.make(queues)
	if err != nil {
		d.t.Fatalf("cyclonetest: Drain: %v", err)
	}
	d.news.open(d.t, d.client)
	ctx, cancel := context.WithCancel(context.WithoutCancel(d.t.Context()))
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	d.served, d.stop, d.done = queues, cancel, done
}

// halt ends the worker that runs, if any.
func (d *drain) halt() {
	d.t.Helper()
	if d.stop == nil {
		return
	}
	d.stop()
	d.stop = nil
	if err := <-d.done; err != nil {
		d.t.Errorf("cyclonetest: Drain: %v", err)
	}
	d.news.close()
}
