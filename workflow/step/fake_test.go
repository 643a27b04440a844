package step_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cyclone-queue/cyclone"
	"github.com/cyclone-queue/cyclone/cyclonetest"
	"github.com/cyclone-queue/cyclone/internal/record"
	"github.com/cyclone-queue/cyclone/internal/wire"
	"github.com/cyclone-queue/cyclone/queue"
	"github.com/cyclone-queue/cyclone/retry"
)

// task is a task and its journal in memory: what Redis would hold of it.
type task struct {
	t          *testing.T
	now        int64 // ms
	entries    map[string][]byte
	signals    map[string][][]byte
	children   map[string]int64
	failures   map[int64][]byte // of children
	rule       retry.Rule
	generation int
	limit      int // of records
	lost       bool
	log        bytes.Buffer
	attempts   int
}

func newTask(t *testing.T) *task {
	return &task{
		t: t, now: 1_700_000_000_000, entries: map[string][]byte{}, signals: map[string][][]byte{}, children: map[string]int64{},
		rule: retry.Rule{MaxAttempts: 3, Delays: []time.Duration{time.Second, time.Minute}}, limit: wire.MaxRecords,
	}
}

// ended is how an attempt ended.
type ended struct {
	err       error
	panicked  any
	gone      bool // the handler's goroutine ended
	givenBack bool
	pauses    []wire.Suspension
}

// attempt runs the handler once, as a worker does.
func (k *task) attempt(handler func(context.Context) error) ended {
	k.t.Helper()
	return k.attemptIn(k.t.Context(), handler)
}

func (k *task) attemptIn(parent context.Context, handler func(context.Context) error) (e ended) {
	k.t.Helper()
	k.attempts++
	j := &journal{task: k, uses: map[string]int{}}
	logger := slog.New(slog.NewTextHandler(&k.log, nil))
	base := cyclonetest.NewContext(k.t, cyclonetest.Logger(logger), cyclonetest.Parent(parent))
	j.ctx = base
	ctx := context.WithValue(base, wire.JournalKey{}, wire.Journal(j))
	done := make(chan struct{})
	go func() {
		defer close(done)
		returned := false
		defer func() { e.panicked, e.gone = recover(), !returned }()
		e.err = handler(ctx)
		returned = true
	}()
	<-done
	j.mu.Lock()
	j.over = true
	j.mu.Unlock()
	j.flight.Wait()
	e.pauses, e.givenBack = j.pauses, j.yielded
	for _, p := range j.pauses {
		for _, entry := range p.Entries {
			k.entries[string(entry.Kind)+":"+entry.ID] = entry.Value
		}
	}
	return e
}

// run runs the handler until it is over, with time passing as it is asked to, and
// returns its error.
func (k *task) run(handler func(context.Context) error) error {
	k.t.Helper()
	for range 100 {
		e := k.attempt(handler)
		switch {
		case e.panicked != nil:
			k.t.Fatalf("the handler panicked: %v", e.panicked)
		case len(e.pauses) == 0:
			return e.err
		}
		k.pass(e)
	}
	k.t.Fatal("the task does not end")
	return nil
}

// pass makes time go on until the suspended attempt is due.
func (k *task) pass(e ended) {
	k.t.Helper()
	due := dueOf(slices.MinFunc(e.pauses, func(a, b wire.Suspension) int { return int(dueOf(a) - dueOf(b)) }))
	if due == never {
		k.t.Fatalf("the task waits for ever: %+v", e.pauses)
	}
	k.now = max(k.now, due)
}

const never = 1 << 60

func dueOf(s wire.Suspension) int64 {
	if s.DueMS == 0 {
		return never
	}
	return s.DueMS
}

// kept lists what the journal holds, sorted.
func (k *task) kept() []string { return slices.Sorted(maps.Keys(k.entries)) }

// signal sends a signal with a payload as a client does.
func (k *task) signal(name string, payload any) {
	k.t.Helper()
	codec := queue.NewMsgpackCodec(0)
	b, err := codec.Marshal(payload)
	if err != nil {
		k.t.Fatal(err)
	}
	k.signals[name] = append(k.signals[name], record.AppendValue(nil, codec.ID(), b))
}

// journal is one attempt of a task.
type journal struct {
	task    *task
	ctx     context.Context
	mu      sync.Mutex
	uses    map[string]int
	flight  sync.WaitGroup
	pauses  []wire.Suspension
	yielded bool
	over    bool
}

var _ wire.Journal = (*journal)(nil)

func (j *journal) Begin(name string) (int, error) {
	j.Yield()
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.pauses) > 0 || j.yielded || j.over {
		runtime.Goexit()
	}
	j.uses[name]++
	if _, known := j.task.entries["r:"+wire.StepID(name, j.uses[name], 0)]; !known && len(j.task.entries) >= j.task.limit {
		return 0, fmt.Errorf("%d records", len(j.task.entries))
	}
	j.flight.Add(1)
	return j.uses[name], nil
}

func (j *journal) End() { j.flight.Done() }

func (j *journal) Suspended() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.pauses) > 0 || j.yielded
}

func (j *journal) Yield() {
	if cause := context.Cause(j.ctx); cause == cyclone.ErrShutdown || cause == cyclone.ErrLeaseLost || cause == cyclone.ErrCancelled {
		j.mu.Lock()
		j.yielded = true
		j.mu.Unlock()
		runtime.Goexit()
	}
}

func (j *journal) Entry(kind byte, id string) ([]byte, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	b, ok := j.task.entries[string(kind)+":"+id]
	return b, ok
}

func (j *journal) Record(_ context.Context, id string, value []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.task.lost {
		j.yielded = true
		runtime.Goexit()
	}
	if old, ok := j.task.entries["r:"+id]; ok && !bytes.Equal(old, value) {
		return errors.New("recorded differently before")
	}
	j.task.entries["r:"+id] = bytes.Clone(value)
	return nil
}

func (j *journal) Take(_ context.Context, signal, id string, deadline int64) (payload []byte, taken, timedOut bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if queued := j.task.signals[signal]; len(queued) > 0 {
		j.task.signals[signal] = queued[1:]
		j.task.entries["r:"+id] = queued[0]
		return queued[0], true, false, nil
	}
	if deadline > 0 && j.task.now >= deadline {
		j.task.entries["r:"+id] = record.AppendTimeout(nil)
		return nil, false, true, nil
	}
	return nil, false, false, nil
}

func (j *journal) Suspend(s wire.Suspension) {
	j.mu.Lock()
	j.pauses = append(j.pauses, s)
	j.mu.Unlock()
	runtime.Goexit()
}

func (j *journal) Start(_ context.Context, id string, _ *wire.Spec) (int64, bool, error) {
	child, existed := j.child(id)
	return child, existed, nil
}

func (j *journal) StartRun(_ context.Context, id string, spec *wire.RunSpec) (int64, bool, error) {
	if err := spec.Err(); err != nil {
		return 0, false, err
	}
	child, existed := j.child(id)
	return child, existed, nil
}

func (j *journal) child(id string) (child int64, existed bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, existed = j.task.children[id]; !existed {
		j.task.children[id] = int64(1000 + len(j.task.children))
	}
	return j.task.children[id], existed
}

func (j *journal) Ask(context.Context, string, int64) error { return nil }

func (j *journal) Failure(_ context.Context, child int64) ([]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.task.failures[child], nil
}

func (j *journal) Encode(v any) (uint8, []byte, error) {
	codec := queue.NewMsgpackCodec(0)
	b, err := codec.Marshal(v)
	return codec.ID(), b, err
}

func (j *journal) Decode(_ uint8, payload []byte, into any) error {
	return queue.NewMsgpackCodec(0).Unmarshal(payload, into)
}

func (j *journal) Rule() retry.Rule { return j.task.rule }
func (j *journal) Generation() int  { return j.task.generation }
func (j *journal) Dice() float64    { return 0.5 }
func (j *journal) NowMS() int64     { return j.task.now }
