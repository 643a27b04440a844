package worker

import (
	"context"
	"time"

	"github.com/cyclone-queue/cyclone/queue"
)

// acker tells Redis that attempts have started, before their handlers are
// entered, for definitions that count lost attempts and for tasks, whose journals it
// reads on the same way. Acknowledgements that come together while one call is under
// way share the next one.
type acker struct {
	worker  *Worker
	waiting []*ack
	busy    bool
}

type ack struct {
	attempt *attempt
	ok      chan bool
}

// confirm returns whether the handler may be entered.
func (k *acker) confirm(a *attempt) bool {
	w := k.worker
	entry := &ack{attempt: a, ok: make(chan bool, 1)}
	w.mu.Lock()
	k.waiting = append(k.waiting, entry)
	if !k.busy {
		k.busy = true
		go k.send(w.base)
	}
	w.mu.Unlock()
	return <-entry.ok
}

// send acknowledges batches until none waits.
func (k *acker) send(ctx context.Context) {
	w := k.worker
	for {
		w.mu.Lock()
		batch := k.waiting
		k.waiting = nil
		k.busy = len(batch) > 0
		w.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		held := make([]queue.Held, len(batch))
		for i, entry := range batch {
			held[i] = queue.Held{Claim: entry.attempt.claim, Started: true, Task: entry.attempt.kind.task()}
		}
		sent := time.Now()
		journals, gone, err := w.beginUntil(ctx, held, batch)
		w.mu.Lock()
		for i, entry := range batch {
			ok := gone[i] == nil && err == nil && !entry.attempt.done
			if ok {
				entry.attempt.started, entry.attempt.leaseUntil = true, sent.Add(w.cfg.Lease)
				if held[i].Task {
					entry.attempt.more().journal = newJournal(entry.attempt, journals[i])
				}
			}
			entry.ok <- ok
		}
		w.mu.Unlock()
	}
}

// beginUntil tries until it is answered or every lease of the batch has ended.
func (w *Worker) beginUntil(ctx context.Context, held []queue.Held, batch []*ack) ([]map[string]string, map[int]error, error) {
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		journals, gone, err := w.store.Begin(ctx, held, w.cfg.Lease)
		if err == nil || w.allLapsed(batch) {
			return journals, gone, err
		}
		w.trouble("acknowledge", err)
		sleep(ctx, w.jittered(pause))
	}
}

func (w *Worker) allLapsed(batch []*ack) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for _, entry := range batch {
		if entry.attempt.leaseUntil.After(now) && !entry.attempt.done {
			return false
		}
	}
	return true
}
