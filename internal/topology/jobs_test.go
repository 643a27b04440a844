package topology_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cyclone-queue/cyclone"
)

// queueNames are the queues that workers serve.
var queueNames = []string{"default", "mail", "bulk", "held"}

// What the tests enqueue. Every input is the key of a job that no other has.
var (
	plain  = cyclone.DeclareAction[string]("plain")
	flaky  = cyclone.DeclareAction[string]("flaky", quickly)
	sleepy = cyclone.DeclareAction[string]("sleepy")
	broken = cyclone.DeclareAction[string]("broken", quickly)
	report = cyclone.DeclareStep[string, string]("report")
	synced = cyclone.DeclareTask[string, string]("sync")

	quickly = cyclone.Retry(cyclone.RetryPolicy{MaxAttempts: 2, Delays: []time.Duration{50 * time.Millisecond}})
)

// ledger knows which jobs were done.
type ledger struct {
	mended atomic.Bool // broken does its work

	mu   sync.Mutex
	done map[string]int // by key, how often the handler succeeded
	seen map[string]int // and how often it began
}

func (l *ledger) begin(key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen, l.done = map[string]int{}, map[string]int{}
	}
	l.seen[key]++
	return l.seen[key]
}

func (l *ledger) end(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done[key]++
}

// times is how often a job succeeded.
func (l *ledger) times(key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done[key]
}

var errAsPlanned = errors.New("as planned")

// handlers are the definitions with their handlers.
func (l *ledger) handlers() []cyclone.Definition {
	act := func(decide func(ctx cyclone.Context, began int) error) func(cyclone.Context, string) error {
		return func(ctx cyclone.Context, key string) error {
			err := decide(ctx, l.begin(key))
			if err == nil {
				l.end(key)
			}
			return err
		}
	}
	succeed := func(cyclone.Context, int) error { return nil }
	answer := func(ctx cyclone.Context, key string) (string, error) { return "did " + key, act(succeed)(ctx, key) }
	return []cyclone.Definition{
		cyclone.NewAction("plain", act(succeed)), cyclone.NewStep("report", answer),
		cyclone.NewTask("sync", cyclone.HandlerFunc(answer)),
		cyclone.NewAction("flaky", act(func(ctx cyclone.Context, _ int) error {
			if ctx.Attempt() == 1 {
				return errAsPlanned
			}
			return nil
		}), quickly),
		cyclone.NewAction("sleepy", act(func(_ cyclone.Context, began int) error {
			if began == 1 {
				return cyclone.Snooze(100 * time.Millisecond)
			}
			return nil
		})),
		cyclone.NewAction("broken", act(func(cyclone.Context, int) error {
			if !l.mended.Load() {
				return errAsPlanned
			}
			return nil
		}), quickly),
	}
}
