package cyclonetest

import (
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/worker"
)

// Drain runs the steps of the given definitions, one at a time, until none of
// them is left: those that wait now, and those that are enqueued meanwhile. A step
// that fails is tried again until it is completed or discarded; look at the
// outcome with [RequireState]. Steps of other kinds stay, see [Enqueued].
//
// In a testing/synctest bubble Drain returns at the virtual time at which the last
// step has ended: retries, snoozes and start times have taken as long as they
// should. Outside a bubble a step that waits for a time is run right away, by
// [queue.Client.RunNow].
//
// Drain fails the test when it cannot come to an end: a definition has no
// handler, a queue is paused, or in a bubble a handler does not return. Call it
// from the test's goroutine.
func Drain(t testing.TB, client *queue.Client, defs ...cyclone.Definition) {
	t.Helper()
	d := newDrain(t, client)
	d.kinds = map[string]bool{}
	for _, def := range defs {
		if def.Wire().Invoke == nil {
			t.Fatalf("cyclonetest: Drain: %s is only declared: give it a handler with Handle", def.Name())
		}
		for _, name := range names(def) {
			d.kinds[name] = true
		}
	}
	d.make = func(queues []string) *worker.Worker {
		t.Helper()
		w, err := worker.New(client, worker.Config{
			Queues: worker.Queues(queues...), Strict: true, Concurrency: 1, Fallback: idleFallback, Logger: logger(t),
		})
		if err != nil {
			t.Fatalf("cyclonetest: Drain: %v", err)
		}
		w.Register(defs...)
		return w
	}
	d.run()
}

// idleFallback keeps an idle worker from asking for work that nobody told it of,
// so that an hour of virtual time costs little.
const idleFallback = time.Hour

// DrainWorker is [Drain] with a worker as the program makes it: with its
// definitions, queues, middleware and concurrency. It runs w until no step of any
// kind is left in the deployment, then stops it; w cannot be run again.
//
// It fails the test when steps stay that w does not take: of a queue that it does
// not serve, or of a kind that it does not know.
func DrainWorker(t testing.TB, client *queue.Client, w *worker.Worker) {
	t.Helper()
	d := newDrain(t, client)
	d.given = w
	d.run()
}

// names returns the kinds under which steps of a definition may be stored.
func names(def cyclone.Definition) []string {
	return append([]string{def.Name()}, def.Wire().Aliases...)
}
