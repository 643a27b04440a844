package wire

import (
	"context"
	"strconv"

	"github.com/cyclone-queue/cyclone/retry"
)

// JournalKey is the key under which the context of a task's attempt carries its
// [Journal].
type JournalKey struct{}

// The kinds of a journal's entries.
const (
	EntryRecord byte = 'r' // the result of a recorded step, written once
	EntryTries  byte = 't' // the tries that a recorded step has used up
	EntryWake   byte = 'z' // when a sleep, or a wait's timeout, is over
	EntryChild  byte = 'c' // the id of a child run that was started
)

// ChildSignal is the signal that brings the outcome of the child run that the
// recorded step with this id has started. A '#' is in no name of a user's signal.
func ChildSignal(id string) string { return id }

// StepID is the id of the n-th use, from 1, of a recorded step's name in the given
// generation of its task: `name#n`, and `name#n!generation` after the first.
func StepID(name string, n, generation int) string {
	id := name + "#" + strconv.Itoa(n)
	if generation > 0 {
		id += "!" + strconv.Itoa(generation)
	}
	return id
}

// Journal is one attempt of a task as package step sees it. A recorded step is
// known by its id, see [StepID]. All methods are safe for concurrent use.
type Journal interface {
	// Begin enters a recorded step and returns its occurrence, from 1: how often
	// this attempt has used the name. Once the attempt is suspended, over, or ended
	// from outside it does not return: it ends the calling goroutine. Each Begin that
	// returns without an error is matched by a call of End, deferred. The error says
	// that the task has [MaxRecords] entries already.
	Begin(name string) (occurrence int, err error)
	End()
	// Suspended tells whether Suspend or Yield has ended a goroutine.
	Suspended() bool
	// Yield ends the calling goroutine when the attempt was ended from outside, by a
	// shutdown, a cancellation or a lost lease: whatever failed has not failed by
	// itself, and the attempt is given back. Otherwise it returns.
	Yield()

	// Entry returns a stored entry, as of the claim or written since.
	Entry(kind byte, id string) ([]byte, bool)
	// Record stores the result of a step under the attempt's fence and returns when
	// it is in Redis. An equal record that is there already is a success, a different
	// one an error that another attempt would not mend. Trouble with Redis is waited
	// out; when the lease is lost meanwhile, Record yields.
	Record(ctx context.Context, id string, value []byte) error
	// Take asks for the oldest queued signal of the name. It is recorded under id in
	// the same instant. Past the deadline (ms by Redis' clock, 0 for none) the
	// timeout is recorded instead. With neither, taken and timedOut are false. It
	// deals with trouble as Record does.
	Take(ctx context.Context, signal, id string, deadline int64) (payload []byte, taken, timedOut bool, err error)
	// Suspend notes why the attempt has to end and ends the calling goroutine with
	// runtime.Goexit. No step begins after it.
	Suspend(s Suspension)

	// Start enqueues a child run on the run's partition, once however often it is
	// called for the same id, and returns the child's id. Its outcome will come as
	// the signal [ChildSignal]; that of one that existed has to be asked for, see Ask.
	// The error is of a child that cannot be enqueued; it deals with trouble as Record
	// does, and suspends the attempt for a while when Redis has no room.
	Start(ctx context.Context, id string, spec *Spec) (child int64, existed bool, err error)
	// StartRun is Start for a child run of many steps. The error is a [RunFaults] when
	// the spec has faults.
	StartRun(ctx context.Context, id string, spec *RunSpec) (child int64, existed bool, err error)
	// Ask has the outcome of a child run that has ended told, whatever became of its
	// word when it ended. It deals with trouble as Record does.
	Ask(ctx context.Context, id string, child int64) error
	// Failure is how a child run has failed or was cancelled, as it is recorded. It is
	// nil for any other, and for one of which nothing is kept. It deals with trouble as
	// Record does.
	Failure(ctx context.Context, child int64) ([]byte, error)

	Encode(v any) (codec uint8, payload []byte, err error)
	Decode(codec uint8, payload []byte, into any) error
	// Rule is the task's rule, which its steps follow unless they have their own.
	Rule() retry.Rule
	// Generation is how often the task was discarded and opened again. What has
	// failed in an earlier generation is tried again.
	Generation() int
	// Dice returns a number in [0,1).
	Dice() float64
	// NowMS is Redis' time, as well as the process knows it.
	NowMS() int64
}

// Suspension says how a suspended attempt comes back.
type Suspension struct {
	State   SuspendedIn
	DueMS   int64  // by Redis' clock; 0: only a signal brings it back
	Signal  string // that brings it back earlier, "" for none
	Entries []Entry
	// Err is why a try of a recorded step failed, and Code its class: for the history
	// and the worker's hook. It is nil for any other suspension.
	Err  error
	Code string
}

// Entry is written into the journal together with the suspension.
type Entry struct {
	Kind  byte
	ID    string
	Value []byte
}

// Raw is a payload that passes through as it is. [Journal.Decode] fills one, and a
// handler of this module may return one.
type Raw struct {
	Codec   uint8
	Payload []byte
}

// SuspendedIn is the state that a suspended task is stored in.
type SuspendedIn byte

// The states of a suspended task.
const (
	SuspendedWaiting  SuspendedIn = 'w' // for a time or a signal
	SuspendedRetrying SuspendedIn = 'r' // for the next try of a recorded step
	SuspendedSnoozed  SuspendedIn = 'z' // because a recorded step snoozed, or its child could not be started
)
