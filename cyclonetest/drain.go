package cyclonetest

import (
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// Drain runs the steps of the given definitions, one at a time, until none of
// them is left: those that wait now, and those that are enqueued meanwhile, nodes of
// workflows included. A step that fails is tried again until it is completed or
// discarded; look at the outcome with [RequireState] and [RequireRun]. Steps of other
// kinds stay, see [Enqueued].
//
// Retries, snoozes, start times, sleeps and the timeouts of waits come to their time:
// in a testing/synctest bubble by virtual time, so that Drain returns when the last
// step has ended, and outside of one by setting the clock of the server of [NewRedis]
// or [NewClient] forward. On any other server time passes as it does there.
//
// What can only be brought back by a signal stops Drain: it tells in the test's log
// what still waits, and returns. Send the signal and drain again. A wait that has a
// timeout times out, unless its signal was sent before, or is sent meanwhile by another
// goroutine of the bubble. The deadline of a run is not waited for.
//
// Drain fails the test when it cannot come to an end: a definition has no
// handler, a queue is paused, or in a bubble a handler does not return. Call it
// from the test's goroutine.
func Drain(t testing.TB, client *queue.Client, defs ...cyclone.Definition) {
	t.Helper()
	d := newDrain(t, client)
	d.kinds = map[string]bool{wire.KindWait: true, wire.KindSleep: true}
	for _, def := range defs {
		if def.Wire().Invoke == nil {
			t.Fatalf("cyclonetest: Drain: %s is only declared: give it a handler with Handle", def.Name())
		}
		for _, name := range names(def) {
			d.kinds[name] = true
		}
	}
	d.grows = true
	d.make = func(queues []string) (*worker.Worker, error) {
		w, err := worker.New(client, worker.Config{
			Queues: worker.Queues(queues...), Strict: true, Concurrency: 1, Logger: logger(t),
			Lease: longLease, Fallback: longFallback, Heartbeat: longLease / 3,
		})
		if err == nil {
			w.Register(defs...)
		}
		return w, err
	}
	d.run()
}

// Nobody dies in a test, and every wake-up arrives: a worker that rarely asks makes
// an hour of virtual time cheap.
const longLease, longFallback = time.Hour, time.Hour

// DrainWorker is [Drain] with workers as the program makes them: with its
// definitions, queues, middleware and concurrency. It runs one until no step of any
// kind is left in the deployment, then stops it. For a long wait it stops the worker
// and calls newWorker again, since an idle worker is not free in virtual time, and is
// not there when a clock is set forward.
//
// It fails the test when steps stay that the worker does not take: of a queue that
// it does not serve, or of a kind that it does not know.
func DrainWorker(t testing.TB, client *queue.Client, newWorker func() (*worker.Worker, error)) {
	t.Helper()
	d := newDrain(t, client)
	d.make = func([]string) (*worker.Worker, error) { return newWorker() }
	d.run()
}

// names returns the kinds under which steps of a definition may be stored.
func names(def cyclone.Definition) []string {
	return append([]string{def.Name()}, def.Wire().Aliases...)
}
