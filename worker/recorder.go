package worker

import (
	"context"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/queue"
)

// recorder stores what tasks of one partition record. Records that come together while
// one call is under way share the next one.
type recorder struct {
	part *partition

	// Guarded by the worker's mutex.
	waiting []*recording
	busy    bool
}

// recording is one record on its way.
type recording struct {
	attempt *attempt
	entry   queue.Recorded
	done    chan error
}

// recordBytes is how much one call takes, but for its first record.
const recordBytes = 4 << 20

// store returns nil when the record is in Redis, [queue.ErrRecordDiffers], or why the
// attempt has ended.
func (r *recorder) store(a *attempt, entry queue.Recorded) error {
	w := r.part.worker
	rec := &recording{attempt: a, entry: entry, done: make(chan error, 1)}
	w.mu.Lock()
	r.waiting = append(r.waiting, rec)
	if !r.busy {
		r.busy = true
		go r.send(w.base)
	}
	w.mu.Unlock()
	return <-rec.done
}

// send stores batches until none waits.
func (r *recorder) send(ctx context.Context) {
	for batch := r.next(); len(batch) > 0; batch = r.next() {
		entries := make([]queue.Recorded, len(batch))
		for i, rec := range batch {
			entries[i] = rec.entry
		}
		for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
			refused, err := r.part.worker.store.Record(ctx, r.part.number, entries)
			if err == nil {
				for i, rec := range batch {
					rec.done <- refused[i]
				}
				break
			}
			r.part.worker.trouble("record", err)
			if batch, entries = giveUp(batch, entries); len(batch) == 0 {
				break
			}
			sleep(ctx, r.part.worker.jittered(pause))
		}
	}
}

// giveUp answers those whose lease has ended and returns the others.
func giveUp(batch []*recording, entries []queue.Recorded) ([]*recording, []queue.Recorded) {
	n := 0
	for i, rec := range batch {
		if rec.attempt.lapsed() {
			rec.done <- cyclone.ErrLeaseLost
			continue
		}
		batch[n], entries[n] = rec, entries[i]
		n++
	}
	return batch[:n], entries[:n]
}

// next takes what fits into one call.
func (r *recorder) next() []*recording {
	w := r.part.worker
	w.mu.Lock()
	defer w.mu.Unlock()
	n, size := 0, 0
	for n < min(len(r.waiting), queue.RecordBatch) {
		if size += len(r.waiting[n].entry.Value); n > 0 && size > recordBytes {
			break
		}
		n++
	}
	batch := r.waiting[:n:n]
	r.waiting = r.waiting[n:]
	if n == 0 {
		r.waiting, r.busy = nil, false
	}
	return batch
}
