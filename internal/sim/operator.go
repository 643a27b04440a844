package sim

import (
	"context"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// operator cancels, deletes, retries, reschedules, pauses and purges.
type operator struct {
	w      *world
	client *queue.Client
	paused string
}

func (w *world) operate(name string) {
	o := &operator{w: w, client: w.newClient(w.net.newHost(name))}
	w.actor(name, time.Second, o.act)
}

func (o *operator) act(rng *rand.Rand) {
	ctx, c := context.Background(), o.client
	switch dice := rng.IntN(20); {
	case dice < 6:
		o.to(rng, unfinished, func(id cyclone.RunID) error { return c.Cancel(ctx, id) })
	case dice < 8:
		o.to(rng, whatever, func(id cyclone.RunID) error { return c.Delete(ctx, id) })
	case dice < 14:
		o.to(rng, revivable, func(id cyclone.RunID) error {
			return c.RetryAll(ctx, id, cyclone.RetryAdditionalAttempts(1+rng.IntN(2)))
		})
	case dice < 15:
		o.to(rng, State.Waiting, func(id cyclone.RunID) error { return c.RunNow(ctx, id) })
	case dice < 16:
		at := o.w.clock.now().Add(time.Duration(rng.Int64N(int64(5 * time.Second))))
		o.to(rng, State.Waiting, func(id cyclone.RunID) error { return c.Reschedule(ctx, id, at) })
	case dice < 19:
		o.pause(ctx, rng)
	case rng.IntN(6) == 0:
		_, err := c.Purge(ctx, queueNames[rng.IntN(len(queueNames))], nil)
		o.done(err)
	}
}

// to does something to a run.
func (o *operator) to(rng *rand.Rand, such func(State) bool, do func(cyclone.RunID) error) {
	if id, ok := o.w.someRun(rng, such); ok {
		o.done(do(id))
	}
}

func (o *operator) done(err error) {
	if err == nil {
		o.w.ledger.done()
	}
}

func revivable(s State) bool { return s == Cancelled || s == Discarded }

// pause stops a queue, or lets the one go on that it has stopped.
func (o *operator) pause(ctx context.Context, rng *rand.Rand) {
	if o.paused != "" {
		err := o.client.Resume(ctx, o.paused)
		if o.done(err); err == nil {
			o.paused = ""
		}
		return
	}
	queueName := queueNames[rng.IntN(len(queueNames))]
	err := o.client.Pause(ctx, queueName)
	if o.done(err); err == nil {
		o.paused = queueName
	}
}

// meddle has steps cancelled whose claims are on their way to the worker: handlers
// start for steps that are cancelled already.
func (w *world) meddle(ids []string) {
	if !w.running.Load() {
		return
	}
	w.kernel.in(time.Millisecond, hashOf(w.cfg.Seed, []byte("meddle"), []byte(ids[0])), func() {
		select {
		case w.meddler <- ids:
		default: // there is enough to cancel
		}
	})
}

// meddles cancels what it is told to.
func (w *world) meddles() {
	o := &operator{w: w, client: w.newClient(w.net.newHost("meddler"))}
	w.actors.Go(func() {
		for ids := range w.meddler {
			for _, id := range ids {
				if run, index, ok := nodeOf(id); ok {
					o.done(o.client.CancelNode(context.Background(), runID(run), "n"+strconv.Itoa(index)))
				} else {
					o.done(o.client.Cancel(context.Background(), runID(id)))
				}
			}
		}
	})
}
