package cyclonetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/internal/record"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/retry"
)

// memory is what would be stored of a task: what it has recorded, and its signals. It
// has a clock of its own, which jumps to wherever the task wants to go on.
type memory struct {
	mu       sync.Mutex
	now      int64 // ms
	entries  map[string][]byte
	recorded []string // the ids of the recorded steps, in order
	signals  map[string][][]byte
}

func newMemory() *memory {
	return &memory{entries: map[string][]byte{}, signals: map[string][][]byte{}}
}

// Recorded returns the names of the steps, sleeps excluded, that [CallTask] has
// recorded in this context, in the order in which they ended. A name that was used
// again is there again, and so is a step that has failed for good.
func Recorded(ctx context.Context) []string {
	a, ok := ctx.Value(wire.ContextKey{}).(*attempt)
	if !ok {
		return nil
	}
	a.memory.mu.Lock()
	defer a.memory.mu.Unlock()
	return append([]string(nil), a.memory.recorded...)
}

// signal queues a signal.
func (m *memory) signal(name string, outcome []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.signals[name] = append(m.signals[name], outcome)
}

// keep writes a step's end. The mutex is held.
func (m *memory) keep(id string, value []byte) {
	m.entries[entryName(wire.EntryRecord, id)] = bytes.Clone(value)
	name, _, _ := bytes.Cut([]byte(id), []byte("#"))
	m.recorded = append(m.recorded, string(name))
}

func entryName(kind byte, id string) string { return string(kind) + ":" + id }

// journal is one attempt of a task, see [wire.Journal].
type journal struct {
	*memory
	ctx    context.Context // the attempt's
	logger *slog.Logger
	rule   retry.Rule

	flight  sync.WaitGroup // steps that have begun and not ended
	uses    map[string]int // guarded by the memory's mutex, like the rest
	pauses  []wire.Suspension
	yielded bool
	over    bool
}

var _ wire.Journal = (*journal)(nil)

func (j *journal) Begin(name string) (int, error) {
	j.Yield()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.over || j.suspended() {
		runtime.Goexit()
	}
	j.uses[name]++
	if _, known := j.entries[entryName(wire.EntryRecord, wire.StepID(name, j.uses[name], 0))]; !known && len(j.recorded) >= wire.MaxRecords {
		return 0, fmt.Errorf("a task has at most %d recorded steps: start child runs", wire.MaxRecords)
	}
	j.flight.Add(1)
	return j.uses[name], nil
}

func (j *journal) End() { j.flight.Done() }

func (j *journal) suspended() bool { return j.yielded || len(j.pauses) > 0 }

func (j *journal) Suspended() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.suspended()
}

func (j *journal) Yield() {
	switch context.Cause(j.ctx) {
	case cyclone.ErrShutdown, cyclone.ErrCancelled, cyclone.ErrLeaseLost:
		j.mu.Lock()
		j.yielded = true
		j.mu.Unlock()
		runtime.Goexit()
	}
}

func (j *journal) Suspend(s wire.Suspension) {
	j.mu.Lock()
	j.pauses = append(j.pauses, s)
	j.mu.Unlock()
	runtime.Goexit()
}

// close lets no more step begin and waits for those that have.
func (j *journal) close() {
	j.mu.Lock()
	j.over = true
	j.mu.Unlock()
	j.flight.Wait()
}

func (j *journal) Entry(kind byte, id string) ([]byte, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	b, ok := j.entries[entryName(kind, id)]
	return b, ok
}

func (j *journal) Record(_ context.Context, id string, value []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if old, ok := j.entries[entryName(wire.EntryRecord, id)]; ok {
		if !bytes.Equal(old, value) {
			return errors.New("another result was recorded for this step before")
		}
		return nil
	}
	j.keep(id, value)
	return nil
}

func (j *journal) Take(_ context.Context, signal, id string, deadline int64) (payload []byte, taken, timedOut bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if queued := j.signals[signal]; len(queued) > 0 {
		j.signals[signal] = queued[1:]
		j.keep(id, queued[0])
		return queued[0], true, false, nil
	}
	if deadline > 0 && j.now >= deadline {
		j.keep(id, record.AppendTimeout(nil))
		return nil, false, true, nil
	}
	return nil, false, false, nil
}

// Start runs the child to its end at once: its outcome is there when it is waited for.
func (j *journal) Start(ctx context.Context, id string, spec *wire.Spec) (child int64, existed bool, err error) {
	if _, started := j.Entry(wire.EntryChild, id); started {
		return childRun, true, nil
	}
	if spec.Def == nil || spec.Def.Invoke == nil {
		return 0, false, fmt.Errorf("cyclonetest: %s is only declared: give it a handler with Handle", spec.Kind)
	}
	outcome, err := j.runChild(spec)
	if err != nil {
		return 0, false, err
	}
	j.signal(wire.ChildSignal(id), outcome)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries[entryName(wire.EntryChild, id)] = record.AppendTime(nil, childRun)
	return childRun, false, nil
}

// StartRun refuses: there is no queue for the nodes.
func (j *journal) StartRun(_ context.Context, _ string, spec *wire.RunSpec) (int64, bool, error) {
	if err := spec.Err(); err != nil {
		return 0, false, err
	}
	return 0, false, fmt.Errorf("cyclonetest: CallTask cannot run the child workflow %s: enqueue the task by a NewClient and use Drain", spec.Name)
}

// Ask has nothing to do: a child has told its outcome when Start returns.
func (j *journal) Ask(context.Context, string, int64) error { return nil }

// Failure is of no use where no task is opened again.
func (j *journal) Failure(context.Context, int64) ([]byte, error) { return nil, nil }

func (j *journal) Encode(v any) (uint8, []byte, error) {
	b, err := codec.Marshal(v)
	return codec.ID(), b, err
}

func (j *journal) Decode(_ uint8, payload []byte, into any) error {
	return codec.Unmarshal(payload, into)
}

func (j *journal) Rule() retry.Rule { return j.rule }
func (j *journal) Generation() int  { return 0 }
func (j *journal) Dice() float64    { return 0.5 } // no jitter

func (j *journal) NowMS() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.now
}
