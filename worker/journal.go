package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/record"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/retry"
)

// journal is one attempt of a task as its recorded steps see it, see [wire.Journal].
type journal struct {
	attempt *attempt
	there   bool // in Redis there is one, or has been

	mu      sync.Mutex
	landed  sync.Cond         // flight has become 0
	entries map[string]string // by field
	records int               // among them, and steps in flight that may add one
	uses    map[string]int    // by name: how often this attempt has used it
	flight  int               // steps that have begun and not ended
	over    bool              // the handler is over, or no step begins for another reason
	yielded bool              // the attempt was ended from outside
	pauses  []wire.Suspension
	unsaved []wire.Entry // to be written with a suspension
}

var _ wire.Journal = (*journal)(nil)

// newJournal makes the journal of an attempt from what was stored, nil for nothing.
func newJournal(a *attempt, stored map[string]string) *journal {
	j := &journal{attempt: a, there: stored != nil, entries: stored, uses: make(map[string]int)}
	if j.entries == nil {
		j.entries = make(map[string]string)
	}
	for field := range j.entries {
		if strings.HasPrefix(field, string(wire.EntryRecord)) {
			j.records++
		}
	}
	j.landed.L = &j.mu
	return j
}

// Begin implements [wire.Journal].
func (j *journal) Begin(name string) (int, error) {
	j.Yield()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over || j.yielded || len(j.pauses) > 0 {
		runtime.Goexit()
	}
	n := j.uses[name] + 1
	if _, known := j.entries[queue.JournalField(wire.EntryRecord, wire.StepID(name, n, 0))]; !known {
		if j.records+j.flight >= wire.MaxRecords {
			return 0, fmt.Errorf("a task has at most %d recorded steps: start child runs", wire.MaxRecords)
		}
	}
	j.uses[name] = n
	j.flight++
	return n, nil
}

// End implements [wire.Journal].
func (j *journal) End() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.flight--; j.flight == 0 {
		j.landed.Broadcast()
	}
}

// Suspended implements [wire.Journal].
func (j *journal) Suspended() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.yielded || len(j.pauses) > 0
}

// Suspend implements [wire.Journal].
func (j *journal) Suspend(s wire.Suspension) {
	j.mu.Lock()
	j.pauses = append(j.pauses, s)
	j.mu.Unlock()
	runtime.Goexit()
}

// Yield implements [wire.Journal].
func (j *journal) Yield() {
	switch j.attempt.cause() {
	case cyclone.ErrShutdown, cyclone.ErrCancelled, cyclone.ErrLeaseLost:
		j.yield()
	}
}

func (j *journal) yield() {
	j.mu.Lock()
	j.yielded = true
	j.mu.Unlock()
	runtime.Goexit()
}

// lose ends the attempt because Redis says that it has ended.
func (j *journal) lose(cause error) {
	j.attempt.lose(cause)
	j.yield()
}

// Entry implements [wire.Journal].
func (j *journal) Entry(kind byte, id string) ([]byte, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	value, ok := j.entries[queue.JournalField(kind, id)]
	return []byte(value), ok
}

// Record implements [wire.Journal].
func (j *journal) Record(_ context.Context, id string, value []byte) error {
	entry := queue.Recorded{
		Claim: j.attempt.claim, Field: queue.JournalField(wire.EntryRecord, id), Value: string(value), First: j.fresh(),
	}
	switch err := j.attempt.part.records.store(j.attempt, entry); {
	case err == nil:
		j.note(entry.Field, entry.Value)
		return nil
	case errors.Is(err, queue.ErrRecordDiffers):
		return err
	default:
		j.lose(err)
		return err
	}
}

// fresh tells that the journal may not be there yet.
func (j *journal) fresh() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return !j.there || len(j.entries) == 0
}

// note keeps what is stored now.
func (j *journal) note(field, value string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, known := j.entries[field]; !known {
		j.records++
	}
	j.entries[field], j.there = value, true
}

// stored tells whether there is a journal in Redis.
func (j *journal) stored() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.there
}

// Take implements [wire.Journal].
func (j *journal) Take(_ context.Context, signal, id string, deadline int64) (payload []byte, taken, timedOut bool, err error) {
	a := j.attempt
	var value string
	err = a.persist("take signal", func(ctx context.Context) (err error) {
		value, err = a.worker.store.Take(ctx, a.claim, signal, id, deadline, j.fresh())
		return err
	})
	if err != nil {
		j.lose(err)
	}
	if value == "" {
		return nil, false, false, nil
	}
	j.note(queue.JournalField(wire.EntryRecord, id), value)
	if value == timeout {
		return nil, false, true, nil
	}
	return []byte(value), true, false, nil
}

// timeout is the record of a wait that has timed out.
var timeout = string(record.AppendTimeout(nil))

// Encode implements [wire.Journal].
func (j *journal) Encode(v any) (uint8, []byte, error) { return j.attempt.worker.client.Encode(v) }

// Decode implements [wire.Journal].
func (j *journal) Decode(codec uint8, payload []byte, into any) error {
	if raw, ok := into.(*wire.Raw); ok {
		raw.Codec, raw.Payload = codec, payload
		return nil
	}
	return j.attempt.worker.client.Decode(codec, payload, into)
}

// Rule implements [wire.Journal]. It is without the limit of an operator's retry, which
// is the task's own.
func (j *journal) Rule() retry.Rule { return j.attempt.stepRule() }

// Generation implements [wire.Journal].
func (j *journal) Generation() int { return j.attempt.claim.Envelope.Discards }

// Dice implements [wire.Journal].
func (j *journal) Dice() float64 { return j.attempt.worker.cfg.Dice() }

// NowMS implements [wire.Journal]. It counts from the claim, so that a step which the
// claim has found due is due.
func (j *journal) NowMS() int64 {
	return j.attempt.now.UnixMilli() + time.Since(j.attempt.began).Milliseconds()
}
